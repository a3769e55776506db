import type { TransferPolicy } from "#src/checkout/index.ts";
import { crashPoint } from "#src/kernel/crash-points.ts";
import type { Speaking } from "#src/conversation/index.ts";
import { acceptOffer, createOffer, isUnspecified, type LocalMedia, type MediaLeg, readAnswer, type RemoteMedia } from "#src/media/index.ts";
import type { Session } from "#src/sessions/index.ts";
import type { CallDialog, InviteFailed, OutgoingCall } from "#src/sip/index.ts";
import { type Destination, isEncrypted, redirection } from "./destination.ts";
import { newLocalMedia } from "./local-media.ts";
import { outlast } from "./outlast.ts";
import { transferHeaders } from "./transfer-headers.ts";
import type { CallDeps } from "./types.ts";

/** How long the target may ring, wherever it is redirected to. */
export const RING_MS = 60_000;
const MOST_REDIRECTIONS = 3;
/** The address of whoever holds the call and gives none (RFC 3264 section 8.4). */
const NOWHERE = "0.0.0.0";

/** Why there is no target: values of `transfer_status`. */
export type Unanswered = "no_answer" | "busy" | "failed" | "caller_hung_up";

/** Final SIP statuses of the target (RFC 3261 section 21). */
export const STATUS_OF: Readonly<Record<number, Unanswered>> = {
  486: "busy",
  600: "busy",
  603: "failed",
  408: "no_answer",
  480: "no_answer",
  487: "no_answer",
};

/** What a description is refused with (RFC 3261 sections 21.4.26 and 21.6.4). */
const NOT_ACCEPTABLE: ReadonlySet<number> = new Set([488, 606]);

/** What the INVITE said of the caller's side. */
export interface Peer {
  /** It takes REFER: its Allow says so. */
  acceptsRefer: boolean;
  /** Host of its From, where its numbers are; null when that is no SIP URI. */
  domain: string | null;
}

export interface Caller {
  /** As the collection has left it. */
  session: Session;
  speaking: Speaking;
  leg: MediaLeg;
  dialog: CallDialog;
  peer: Peer;
  /** The last sentence of the collection, how the payment ended, was spoken, or the caller has hung up. */
  spoken: Promise<void>;
  /** Aborted when the caller has hung up. */
  signal: AbortSignal;
  /** Called when he is joined to the target: from here on the limit is the bridge's. */
  joined: () => void;
}

/** The callback, answered: a leg of its own, which sends nothing but silence before it is bridged. */
export interface Target {
  leg: MediaLeg;
  dialog: CallDialog;
  /** Our side of the session, for the target's re-INVITEs. */
  local: LocalMedia;
  /** It has answered, and is not to be heard yet: a queue that picks up before it has an agent (RFC 3725). Until when it may leave it at that. */
  silentUntil: number | null;
}

/**
 * Calls the destination and waits for its answer, as long as it may ring and the caller stays; where it is redirected to, as far as the
 * project's rules let it. What it says before it answers takes the place of the ringing tone once the caller is `told` that he is being connected.
 */
export async function dial(
  destination: Destination,
  project: TransferPolicy,
  caller: Caller,
  told: Promise<void>,
  deps: CallDeps,
): Promise<Target | Unanswered> {
  const { clock, settings, log } = deps;
  const end = clock.monotonic() + RING_MS;
  let answer = await call(destination, RING_MS, caller, told, deps);
  for (let redirections = 0; typeof answer === "object" && "contacts" in answer; redirections++) {
    const next = redirections < MOST_REDIRECTIONS ? redirection(answer.contacts, answer.from, project, settings.trunks) : null;
    if (!next) {
      const { id, projectId } = caller.session;
      log.warn("transfer_not_allowed", { session: id, project: projectId, reason: "redirected" });
      return "failed";
    }
    answer = await call(next, end - clock.monotonic(), caller, told, deps);
  }
  return answer;
}

/** The destination is somewhere else: at one of these URIs. */
interface Redirected {
  from: Destination;
  contacts: readonly string[];
}

async function call(
  destination: Destination,
  ringTimeoutMs: number,
  caller: Caller,
  told: Promise<void>,
  deps: CallDeps,
): Promise<Target | Unanswered | Redirected> {
  const { session, signal } = caller;
  const { settings, media, userAgent, log } = deps;
  const { trunks } = settings;
  const { target, via, avoidsTrunks } = destination;
  const started = deps.clock.monotonic();
  const from = await outlast(() => presentedAs(session.projectId, deps), signal, deps);
  const leg = await media.open();
  const local = newLocalMedia(leg.port, isEncrypted(destination), deps);
  let outgoing: OutgoingCall | null = null;
  const over = new AbortController();
  const startEarly = async (agreed: ReturnType<typeof readAnswer>) => {
    await told;
    const remote = agreed.kind === "agreed" ? await sendable(agreed.remote, deps) : null;
    if (!remote || over.signal.aborted) return;
    leg.start(remote);
    media.relayEarlyMedia(leg, caller.leg);
  };
  let offer = "";
  const invite = () => {
    offer = createOffer(local);
    local.previous = offer;
    outgoing = userAgent.invite({
      target,
      from,
      offer,
      headers: transferHeaders(session),
      ringTimeoutMs,
      ...(avoidsTrunks ? { mayReach: async (address) => !(await trunks.isTrunkAddress(address)) } : {}),
      ...(via ? { transport: via.transport, ...(via.credentials ? { credentials: via.credentials } : {}) } : {}),
    });
    // Of several branches whichever rang last, in this order however long one of them is looked at.
    let started = Promise.resolve();
    const hear = (agreed: ReturnType<typeof readAnswer>) => void (started = started.then(() => startEarly(agreed)).catch(() => undefined));
    const asked = offer;
    outgoing.onEarlyAnswer = (sdp) => hear(readAnswer(sdp, asked));
    outgoing.onReoffer = (sdp) => {
      const agreed = acceptOffer(sdp, local);
      if (agreed.kind === "refused") return null;
      local.previous = agreed.answer;
      hear(agreed);
      return agreed.answer;
    };
    if (signal.aborted) outgoing.cancel();
    return outgoing.answered;
  };
  const giveUp = () => outgoing?.cancel();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    const { dialog, sdp, isOffer } = await invite().catch((error: unknown) => {
      // Who cannot do SRTP says so, and is called without it: nothing of the collection is heard over this leg.
      if (!NOT_ACCEPTABLE.has((error as Partial<InviteFailed>).status ?? 0) || !local.srtp || local.srtp.required) throw error;
      delete local.srtp;
      local.previous = null;
      return invite();
    });
    // Another branch may have been answered anew than the one that answers the call.
    if (!isOffer) local.previous = offer;
    const agreed = isOffer ? acceptOffer(sdp, local) : readAnswer(sdp, offer);
    if (agreed.kind === "refused") log.warn("transfer_refused", { session: session.id, project: session.projectId, reason: agreed.detail });
    const remote = signal.aborted || agreed.kind === "refused" ? null : await sendable(agreed.remote, deps);
    if (!remote) {
      // Not waited for: the caller hears the ringing tone meanwhile.
      void dialog.bye();
      await leg.close();
      return signal.aborted ? "caller_hung_up" : "failed";
    }
    over.abort();
    leg.start(remote);
    crashPoint("transfer_answered");
    const silentUntil = agreed.kind === "agreed" && !isHeard(agreed.remote) ? started + ringTimeoutMs : null;
    return { leg, dialog, local, silentUntil };
  } catch (error) {
    await leg.close();
    if (signal.aborted) return "caller_hung_up";
    const { status = 0, contacts = [] } = error as Partial<InviteFailed>;
    if (contacts.length > 0) return { from: destination, contacts };
    const outcome = STATUS_OF[status] ?? "failed";
    // What a peer says beside its status may be anything.
    const why = status > 0 ? { status: String(status) } : { error };
    if (outcome === "failed") log.warn("transfer_refused", { session: session.id, project: session.projectId, ...why });
    return outcome;
  } finally {
    over.abort();
    signal.removeEventListener("abort", giveUp);
  }
}

/** never the caller's own number, which a trunk would have to take our word for. */
export async function presentedAs(projectId: string, { projects, database, settings }: CallDeps): Promise<string> {
  const [ownNumber] = await projects.numbersOf(database.db, projectId);
  return `sip:${ownNumber ?? settings.phoneNumber ?? "anonymous"}@${settings.publicHost}`;
}

/**
 * A target's side as far as it may be sent to; null: not at all, where audio of ours is to go. Who holds the call from the first is sent
 * none, wherever he says: a queue that picks up before it has an agent (RFC 3725).
 */
export async function sendable(remote: RemoteMedia, deps: CallDeps): Promise<RemoteMedia | null> {
  if (remote.host === NOWHERE || (await isReachable(remote, deps))) return remote;
  return isSentTo(remote) ? null : { ...remote, host: NOWHERE };
}

/** Whether audio may come from there: who holds the call may play music. */
export function isHeard({ direction, host }: RemoteMedia): boolean {
  return (direction === "sendrecv" || direction === "recvonly") && !isUnspecified(host);
}

/** Whether audio is sent there: whoever holds the call gets none. */
function isSentTo({ direction }: RemoteMedia): boolean {
  return direction === "sendrecv" || direction === "sendonly";
}

/** Whoever answers names where our audio goes: an address that signalling may reach, and no port of another service (S-50). */
async function isReachable({ host, port, rtcp }: RemoteMedia, { userAgent, log }: CallDeps): Promise<boolean> {
  for (const address of [{ host, port }, ...(typeof rtcp === "object" ? [rtcp] : [])]) {
    if (address.port > 1023 && (await userAgent.mayReach(address.host, address.port))) continue;
    log.warn("media_address_not_allowed", { host: address.host, port: address.port });
    return false;
  }
  return true;
}
