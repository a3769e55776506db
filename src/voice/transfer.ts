import { sleep } from "#src/kernel/clock.ts";
import { crashPoint } from "#src/kernel/crash-points.ts";
import { createOffer, readAnswer, type LocalMedia, type MediaLeg, type RemoteMedia } from "#src/media/index.ts";
import type { Session } from "#src/sessions/index.ts";
import type { CallDialog, OutgoingCall } from "#src/sip/index.ts";
import type { CallDeps } from "./types.ts";
import { type Destination, destinationOf } from "./destination.ts";
import { transferHeaders } from "./transfer-headers.ts";
import { beginTransfer, endTransfer } from "./transfer-quota.ts";

/** How long the target may ring. */
const RING_MS = 60_000;
/** A bridged call is ended after this long: nobody pays for a line that two machines keep open. */
const LONGEST_BRIDGE_MS = 2 * 3_600_000;
const SORRY = "Sorry, I could not connect you. Goodbye.";

/** Fixed prompts of a transfer-back, to be rendered at start. */
export const TRANSFER_PROMPTS: readonly string[] = [SORRY];

/** `transfer_status`. */
type Unanswered = "no_answer" | "busy" | "failed" | "caller_hung_up";
type TransferStatus = "completed" | "skipped" | Unanswered;

/** Which payments hand the caller back: the merchant's agent takes over after a result, not after a cancel. */
const AFTER: ReadonlySet<string> = new Set(["payment-success", "payment-authorized", "payment-failed", "COLLECTING"]);

/** Final SIP statuses of the target (RFC 3261 section 21). */
const STATUS_OF: Readonly<Record<number, Unanswered>> = { 486: "busy", 600: "busy", 408: "no_answer", 480: "no_answer", 487: "no_answer" };

export interface Caller {
  session: Session;
  leg: MediaLeg;
  dialog: CallDialog;
  /** Aborted when the caller has hung up. */
  signal: AbortSignal;
}

/**
 * Calls the session's callback and joins the caller to it until one side hangs up. The payment is final before this begins
 * and nothing here can change it. The target hears nothing of the collection: its leg is opened after it.
 */
export async function transferBack(caller: Caller, deps: CallDeps): Promise<void> {
  const { session } = caller;
  const { sessions, log } = deps;
  if (session.callback === null || session.status === "abandoned" || session.status === "expired") return;
  const report = (status: TransferStatus) => sessions.setTransferStatus(session.id, status);
  if (!AFTER.has(session.status)) return await report("skipped");
  if (caller.signal.aborted) return await report("caller_hung_up");

  const outcome = await attempt(session.callback, caller, deps).catch((error: unknown): "failed" => {
    log.error("transfer_failed", { session: session.id, error });
    return "failed";
  });
  if (outcome === "completed") return;
  await report(outcome);
  if (outcome !== "caller_hung_up") await apologise(caller, deps);
}

/** Dials within the project's rules and the installation's limits; the bridge is over when it resolves with `completed`. */
async function attempt(callback: string, caller: Caller, deps: CallDeps): Promise<"completed" | Unanswered> {
  const { session } = caller;
  const { database, projects, settings, log } = deps;
  const project = await projects.projectById(database.db, session.projectId);
  const destination = project ? destinationOf(callback, project, settings.trunks) : "not allowed";
  if (typeof destination === "string") {
    log.warn("transfer_not_allowed", { session: session.id, project: session.projectId, reason: destination });
    return "failed";
  }
  const counted = { sessionId: session.id, projectId: session.projectId, owner: settings.owner };
  const transfer = await beginTransfer(database, counted, settings.transfers);
  if (typeof transfer === "string") {
    log.warn("transfer_limit_reached", { session: session.id, project: session.projectId, reason: transfer });
    return "failed";
  }
  try {
    const target = await dial(destination, caller, deps);
    if (typeof target === "string") return target;
    await deps.sessions.setTransferStatus(session.id, "completed");
    crashPoint("transfer_reported");
    await bridged(caller, target, deps);
    return "completed";
  } finally {
    await endTransfer(database, transfer.id).catch((error: unknown) =>
      log.warn("transfer_end_not_written", { session: session.id, error }),
    );
  }
}

interface Target {
  leg: MediaLeg;
  dialog: CallDialog;
}

async function dial({ target, via, avoidsTrunks }: Destination, { session, signal }: Caller, deps: CallDeps): Promise<Target | Unanswered> {
  const { settings, media, random, userAgent, projects, database } = deps;
  const { trunks } = settings;
  const [ownNumber] = await projects.numbersOf(database.db, session.projectId);
  crashPoint("transfer_dialling");
  const leg = await media.open();
  const local: LocalMedia = {
    host: settings.mediaHost,
    port: leg.port,
    sessionId: String(Buffer.from(random.bytes(4)).readUInt32BE()),
    previous: null,
  };
  const offer = createOffer(local);
  const outgoing: OutgoingCall = userAgent.invite({
    target,
    // never the caller's own number, which a trunk would have to take our word for.
    from: `sip:${ownNumber ?? settings.phoneNumber ?? "anonymous"}@${settings.publicHost}`,
    offer,
    headers: transferHeaders({ ...session, status: session.phase === "unknown" ? "unknown" : session.status }),
    ringTimeoutMs: RING_MS,
    ...(avoidsTrunks ? { mayReach: async (address) => !(await trunks.isTrunkAddress(address)) } : {}),
    ...(via ? { transport: via.transport, ...(via.credentials ? { credentials: via.credentials } : {}) } : {}),
  });
  const giveUp = () => outgoing.cancel();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    const { dialog, sdp } = await outgoing.answered;
    const agreed = readAnswer(sdp, offer);
    if (signal.aborted || agreed.kind === "refused" || !(await isReachable(agreed.remote, deps))) {
      await Promise.all([dialog.bye(), leg.close()]);
      return signal.aborted ? "caller_hung_up" : "failed";
    }
    leg.start(agreed.remote);
    crashPoint("transfer_answered");
    return { leg, dialog };
  } catch (error) {
    await leg.close();
    return signal.aborted ? "caller_hung_up" : (STATUS_OF[(error as { status?: number }).status ?? 0] ?? "failed");
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

/** Whoever answers names where our audio goes: an address that signalling may reach, and no port of another service (S-50). */
async function isReachable({ host, port }: RemoteMedia, { userAgent, log }: CallDeps): Promise<boolean> {
  if (port > 1023 && (await userAgent.mayReach(host, port))) return true;
  log.warn("media_address_not_allowed", { host, port });
  return false;
}

/** Relays until one side hangs up, then ends the other. */
async function bridged({ leg, signal }: Caller, target: Target, { media, clock }: CallDeps): Promise<void> {
  const over = new AbortController();
  const end = () => over.abort(new Error("one side hung up"));
  signal.addEventListener("abort", end, { once: true });
  target.dialog.onBye = end;
  target.leg.on.mediaLost = end;
  if (signal.aborted || target.dialog.ended) end();
  media.bridge(leg, target.leg);
  await sleep(clock, LONGEST_BRIDGE_MS, over.signal).catch(() => undefined);
  if (!target.dialog.ended) await target.dialog.bye();
  await target.leg.close();
}

async function apologise({ leg, signal }: Caller, { prompts }: CallDeps): Promise<void> {
  if (signal.aborted) return;
  const clips = await prompts.clips([SORRY]);
  const spoken = Promise.withResolvers<void>();
  leg.on.played = () => spoken.resolve();
  signal.addEventListener("abort", () => spoken.resolve(), { once: true });
  leg.play(
    "sorry",
    clips.map((clip) => ({ clip })),
  );
  await spoken.promise;
}
