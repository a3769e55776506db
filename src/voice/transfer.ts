import { type CallOutcome, connectingWords, unreachedWords } from "#src/conversation/index.ts";
import { isDeclineCode } from "#src/kernel/payment.ts";
import type { Project } from "#src/projects/index.ts";
import type { Session } from "#src/sessions/index.ts";
import { bridge } from "./bridge.ts";
import { type Destination, destinationOf } from "./destination.ts";
import { type Caller, dial, RING_MS, type Target, type Unanswered } from "./dial.ts";
import { outlast } from "./outlast.ts";
import { partsOf, playToEnd } from "./playback.ts";
import { refer, referTarget } from "./refer.ts";
import { ringingTone } from "./tones.ts";
import { beginTransfer, endTransfer } from "./transfer-quota.ts";
import { type TransferStatus, writeTransferStatus } from "./transfer-status.ts";
import type { CallDeps } from "./types.ts";

/**
 * Calls the session's callback, while the caller hears that he is being connected, and joins him to it until one side hangs up;
 * after every ending that finds the caller on the line. The payment is final or out of our hands before this begins and
 * nothing here can change it. The target hears nothing of the collection: its leg is opened after it.
 */
export async function transferBack(caller: Caller, deps: CallDeps): Promise<void> {
  const { session, signal } = caller;
  if (session.callback === null) return;
  if (signal.aborted) return await writeTransferStatus(session.id, "caller_hung_up", deps);

  const outcome = await attempt(session.callback, caller, deps).catch((error: unknown): "failed" => {
    deps.log.error("transfer_failed", { session: session.id, error });
    return "failed";
  });
  if (outcome === "completed") return;
  await writeTransferStatus(session.id, outcome, deps);
  if (outcome !== "caller_hung_up") await tellUnreached(outcome, outcomeOf(session), caller, deps);
  if (caller.dialog.isTakenOver) await writeTransferStatus(session.id, "completed", deps);
}

/**
 * Dials within the project's rules and the installation's limits, by REFER where the project wants that and the caller's side can,
 * else by a call of our own. The bridge is over, or the caller is with the target, when it resolves with `completed`.
 */
async function attempt(callback: string, caller: Caller, deps: CallDeps): Promise<TransferStatus> {
  const { session, signal } = caller;
  const { database, projects, settings, log } = deps;
  const project = await outlast(() => projects.projectById(database.db, session.projectId), signal, deps);
  const destination = project ? destinationOf(callback, project, settings.trunks) : "not allowed";
  const referred =
    project?.voice.transfer.mode === "refer" && destination !== "not allowed" ? referTarget(callback, destination, caller) : null;
  if (!project || destination === "not allowed" || (destination === "no trunk" && referred === null)) {
    log.warn("transfer_not_allowed", {
      session: session.id,
      project: session.projectId,
      reason: project ? (destination as string) : "no project",
    });
    return "failed";
  }
  const counted = { sessionId: session.id, projectId: session.projectId, owner: settings.owner };
  const transfer = await outlast(() => beginTransfer(database, counted, settings.transfers), signal, deps);
  if (typeof transfer === "string") {
    log.warn("transfer_limit_reached", { session: session.id, project: session.projectId, reason: transfer });
    return "failed";
  }
  try {
    const outcome = referred === null ? "bridge" : await refer(referred, project.country, caller, deps);
    const target = outcome === "bridge" ? await reach(destination, project, referred !== null, caller, deps) : outcome;
    if (typeof target !== "string") return await bridge(caller, target, deps);
    if (target === "completed") await handOver(caller, deps);
    return target;
  } finally {
    await endTransfer(database, transfer.id).catch((error: unknown) =>
      log.warn("transfer_end_not_written", { session: session.id, error }),
    );
  }
}

/** The caller's side has reached the target by itself. */
async function handOver({ session, dialog }: Caller, deps: CallDeps): Promise<void> {
  await writeTransferStatus(session.id, "completed", deps);
  if (!dialog.ended) await dialog.bye();
}

/**
 * Rings the target once the payment's last sentence is over: whoever answers is heard from his first word, and cuts nothing off but the
 * words of being connected and the ringing tone. What is said before the answer, an announcement say, cuts off the tone alone. `isTold`: the caller has heard those words already.
 */
async function reach(
  destination: Destination | "no trunk",
  project: Project,
  isTold: boolean,
  caller: Caller,
  deps: CallDeps,
): Promise<Target | Unanswered> {
  if (destination === "no trunk") return "failed";
  const { speaking, leg, spoken, signal } = caller;
  const clips = await deps.prompts.clips(isTold ? [] : connectingWords(speaking));
  await spoken;
  if (signal.aborted) return "caller_hung_up";
  const told = Promise.withResolvers<void>();
  leg.on.played = (id) => {
    if (id === "connecting") told.resolve();
  };
  if (isTold) told.resolve();
  else leg.play("connecting", partsOf(clips));
  leg.play("ringing", ringingTone(project.country, RING_MS));
  const target = await dial(destination, project, caller, told.promise, deps);
  if (typeof target === "string" || target.silentUntil === null) leg.stopPlayback();
  return target;
}

/** The caller hears, once the last sentence is over, that his agent is not there. `outcome`: of the payment; null: he has just been told of it. */
export async function tellUnreached(
  why: Exclude<Unanswered, "caller_hung_up">,
  outcome: CallOutcome | null,
  { session, speaking, leg, signal, spoken }: Pick<Caller, "session" | "speaking" | "leg" | "signal" | "spoken">,
  { prompts }: CallDeps,
): Promise<void> {
  await spoken;
  const clips = await prompts.clips(unreachedWords(speaking, why, session.mode, outcome));
  await playToEnd(leg, clips, signal);
}

/** A session that is still open is being charged, or nobody knows what became of that. */
function outcomeOf({ status, errorCode }: Session): CallOutcome {
  if (status === "payment-success" || status === "payment-authorized") return { kind: "paid" };
  if (status === "COLLECTING") return { kind: "unknown" };
  return { kind: "not_paid", code: errorCode !== null && isDeclineCode(errorCode) ? errorCode : null };
}
