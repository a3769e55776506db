import { parsePhoneNumberFromString, type CountryCode } from "libphonenumber-js";
import { crashPoint } from "#src/kernel/crash-points.ts";
import { acceptOffer, createOffer, type LocalMedia, type MediaLeg, type RemoteMedia } from "#src/media/index.ts";
import type { Project } from "#src/projects/index.ts";
import type { Session } from "#src/sessions/index.ts";
import type { IncomingCall } from "#src/sip/index.ts";
import { callIdentifiersOf } from "./call-identifiers.ts";
import type { CallDeps } from "./types.ts";
import { matchCall, type MatchRule, type Miss, type SessionIndex } from "./match.ts";

/** A call that was let in: its session is claimed, its media port is open, nothing is answered yet. */
export interface Admission {
  session: Session;
  project: Project;
  rule: MatchRule;
  leg: MediaLeg;
  local: LocalMedia;
  /** Our description for the 200: an answer, or an offer when the INVITE had none. */
  description: string;
  /** Null until a delayed offer's answer comes with the ACK. */
  remote: RemoteMedia | null;
}

/** In so many countries at most is a national number read when the dialled number names no project. */
const MAX_COUNTRIES = 5;

/** Why a call was refused, as its final SIP status. */
export interface Refusal {
  status: 400 | 404 | 410 | 486 | 487 | 488 | 503;
  why: string;
  /** Why no rule found a session, when none did. */
  misses?: Miss[];
}

/** Finds and claims the call's session. On a refusal nothing is held and the session is as it was. */
export async function admit(call: IncomingCall, deps: CallDeps): Promise<Admission | Refusal> {
  const match = await matchCall(callIdentifiersOf(call.request), indexOf(deps, call.source.address), readNational);
  if ("misses" in match) return { status: 404, why: "no session matches", misses: match.misses };

  const leg = await deps.media.open();
  const keep = await describe(call, deps, leg);
  if ("status" in keep) return await without(leg, keep);

  crashPoint("call_matched");
  const claim = await deps.sessions.claim(match.sessionId, { owner: deps.settings.owner, callId: call.callId });
  if (claim.kind === "missing") return await without(leg, { status: 404, why: "no session matches" });
  if (claim.kind === "gone") return await without(leg, { status: 410, why: `the session is ${claim.status}` });
  if (claim.kind === "busy") return await without(leg, { status: 486, why: "the session is being collected by another call" });

  const { session } = claim;
  crashPoint("call_claimed");
  const project = await deps.projects.projectById(deps.database.db, session.projectId);
  if (call.cancelled || !project) {
    await deps.sessions.apply(session.id, "release");
    crashPoint("call_released");
    return await without(leg, { status: 487, why: "cancelled before the answer" });
  }
  return { session, project, rule: match.rule, leg, ...keep };
}

async function without(leg: MediaLeg, refusal: Refusal): Promise<Refusal> {
  await leg.close();
  return refusal;
}

async function describe(
  call: IncomingCall,
  { settings, random }: CallDeps,
  leg: MediaLeg,
): Promise<Pick<Admission, "local" | "description" | "remote"> | Refusal> {
  const sessionId = String(Buffer.from(random.bytes(4)).readUInt32BE());
  const local: LocalMedia = { host: settings.mediaHost, port: leg.port, sessionId, previous: null };
  if (call.offer === null) return { local, description: createOffer(local), remote: null };
  const agreed = acceptOffer(call.offer, local);
  if (agreed.kind === "refused") return { status: agreed.reason === "malformed" ? 400 : 488, why: agreed.detail };
  return { local, description: agreed.answer, remote: agreed.remote };
}

function indexOf({ database: { db }, sessions, projects }: CallDeps, source: string): SessionIndex {
  return {
    channelOf: async (id) => (await sessions.find(db, id))?.channel ?? null,
    waitingFor: (callers, projectId) => sessions.waitingByCallers(db, callers, projectId),
    projectOfNumber: (number) => projects.projectOfNumber(db, number),
    projectOfTrunk: () => projects.projectOfTrunk(db, source),
    countries: () => projects.countries(db, MAX_COUNTRIES),
  };
}

function readNational(digits: string, country: string): string | null {
  const parsed = parsePhoneNumberFromString(digits, country as CountryCode);
  return parsed?.isPossible() ? parsed.number : null;
}
