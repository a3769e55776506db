import { parsePhoneNumberFromString, type CountryCode } from "libphonenumber-js/max";
import { acceptOffer, createOffer, type LocalMedia, type MediaLeg, type RemoteMedia } from "#src/media/index.ts";
import type { Project } from "#src/projects/index.ts";
import type { Session } from "#src/sessions/index.ts";
import type { IncomingCall } from "#src/sip/index.ts";
import { callIdentifiersOf } from "./call-identifiers.ts";
import { newLocalMedia } from "./local-media.ts";
import type { CallDeps } from "./types.ts";
import { matchCall, type MatchRule, type Miss, type NamedProject, type SessionIndex, type Unmatched } from "./match.ts";

/** The audio of a call that is to be answered: its media port is open. */
export interface CallMedia {
  leg: MediaLeg;
  local: LocalMedia;
  /** Our description for the 200: an answer, or an offer when the INVITE had none. */
  description: string;
  /** Null until a delayed offer's answer comes with the ACK. */
  remote: RemoteMedia | null;
}

/** A call that was let in: its session is claimed, nothing is answered yet. */
export interface Admission extends CallMedia {
  session: Session;
  project: Project;
  rule: MatchRule;
}

/** In so many countries at most is a national number read when the dialled number names no project. */
const MAX_COUNTRIES = 5;

/** Why a call was refused, as its final SIP status. */
export interface Refusal {
  status: 400 | 404 | 410 | 486 | 487 | 488 | 503;
  why: string;
  /** Why no rule found a session, when none did. */
  misses?: Miss[];
  /** Whose caller may be asked for a short code instead. */
  codeProject?: NamedProject;
}

/**
 * Finds and claims the call's session. On a refusal nothing is held and the session is as it was. Where the call names its session this is one
 * statement: it is claimed at once, while the media port is opened, and only a refusal is explained by further ones.
 */
export async function admit(call: IncomingCall, deps: CallDeps): Promise<Admission | Refusal> {
  const identifiers = callIdentifiersOf(call.request, call.source.isTrunk);
  const find = (channelOf: SessionIndex["channelOf"]) =>
    matchCall(identifiers, indexOf(deps, call.source.address, channelOf), readNational);
  const unacceptable = refusalOf(call, deps);
  if (unacceptable) {
    const match = await find(async (id) => (await deps.sessions.find(deps.database.db, id))?.channel ?? null);
    return "misses" in match ? unmatched({ ...match, project: null }) : unacceptable;
  }

  const attempt = new Attempt(call, deps);
  try {
    const admission = await attempt.run(find);
    if ("status" in admission) await attempt.close();
    return admission;
  } catch (error) {
    await attempt.close();
    throw error;
  }
}

const unmatched = ({ misses, project }: Partial<Unmatched> = {}): Refusal => ({
  status: 404,
  why: "no session matches",
  ...(misses && { misses }),
  ...(project && { codeProject: project }),
});

/** What one call asks for: a session and a port. */
class Attempt {
  readonly #call: IncomingCall;
  readonly #deps: CallDeps;
  readonly #claims = new Map<string, ReturnType<CallDeps["sessions"]["claim"]>>();
  /** Being opened since the first claim, and described while the database is at it. */
  #media: Promise<CallMedia> | null = null;

  constructor(call: IncomingCall, deps: CallDeps) {
    this.#call = call;
    this.#deps = deps;
  }

  async run(find: (channelOf: SessionIndex["channelOf"]) => ReturnType<typeof matchCall>): Promise<Admission | Refusal> {
    const [call, deps] = [this.#call, this.#deps];
    const match = await find(async (id) => {
      const { kind } = await this.#claim(id);
      return kind === "missing" ? null : kind === "widget" ? "widget" : "voice";
    });
    if ("misses" in match) return unmatched(match);
    const claim = await this.#claim(match.sessionId);
    if (claim.kind === "missing" || claim.kind === "widget") return unmatched();
    if (claim.kind === "gone") return { status: 410, why: `the session is ${claim.status}` };
    if (claim.kind === "busy") return { status: 486, why: "the session is being collected by another call" };

    const { session } = claim;
    const media = await this.#media?.catch(async (error: unknown) => await this.#release(session.id).then(() => Promise.reject(error)));
    if (call.cancelled || !media) {
      await this.#release(session.id);
      return { status: 487, why: "cancelled before the answer" };
    }
    return { session, project: deps.projects.fromJson(claim.project), rule: match.rule, ...media };
  }

  /** Gives the port back. */
  async close(): Promise<void> {
    const media = await this.#media?.catch(() => null);
    await media?.leg.close();
  }

  async #release(sessionId: string): Promise<void> {
    await this.#deps.sessions.apply(sessionId, "release");
  }

  async #open(): Promise<CallMedia> {
    const leg = await this.#deps.media.open({ signallingHost: this.#call.source.address });
    return { leg, ...describe(this.#call, this.#deps, leg.port) };
  }

  #claim(id: string): ReturnType<CallDeps["sessions"]["claim"]> {
    const { sessions, settings } = this.#deps;
    const claim = this.#claims.get(id) ?? sessions.claim(id, { owner: settings.owner, callId: this.#call.callId });
    this.#claims.set(id, claim);
    if (!this.#media) {
      this.#media = this.#open();
      // Whoever waits for it hears of its failure.
      this.#media.catch(() => {});
    }
    return claim;
  }
}

/** Why no description of ours can answer the offer; null when one can. */
function refusalOf(call: IncomingCall, deps: CallDeps): Refusal | null {
  if (call.offer === null) return null;
  const agreed = acceptOffer(call.offer, localMedia(call, deps, 0));
  return agreed.kind === "refused" ? { status: agreed.reason === "malformed" ? 400 : 488, why: agreed.detail } : null;
}

function localMedia({ source }: IncomingCall, deps: CallDeps, port: number): LocalMedia {
  return newLocalMedia(port, source.transport === "tls", deps);
}

/** Our description with this port, for an offer that can be answered. */
export function describe(call: IncomingCall, deps: CallDeps, port: number): Pick<Admission, "local" | "description" | "remote"> {
  const local = localMedia(call, deps, port);
  if (call.offer === null) {
    // Who gives no description says nothing of SRTP either, and cannot be asked twice.
    local.previous = createOffer(local, !local.srtp?.required);
    return { local, description: local.previous, remote: null };
  }
  const agreed = acceptOffer(call.offer, local);
  if (agreed.kind === "refused") throw new Error("an offer was found acceptable and is not");
  local.previous = agreed.answer;
  return { local, description: agreed.answer, remote: agreed.remote };
}

function indexOf(
  { database: { db }, sessions, projects, shortCodes }: CallDeps,
  source: string,
  channelOf: SessionIndex["channelOf"],
): SessionIndex {
  return {
    channelOf,
    waitingFor: (callers, projectId) => sessions.waitingByCallers(db, callers, projectId),
    projectOf: async (dialled) => {
      const found = await projects.projectOfCall(db, dialled, source);
      return found && { ...found.project, number: found.number };
    },
    sessionOfCode: (project, code) => shortCodes.find(project, code, source),
    countries: () => projects.countries(db, MAX_COUNTRIES),
  };
}

function readNational(digits: string, country: string): string | null {
  const parsed = parsePhoneNumberFromString(digits, country as CountryCode);
  return parsed?.isPossible() ? parsed.number : null;
}
