import type { FinishReason } from "#src/conversation/index.ts";
import { sleep } from "#src/kernel/clock.ts";
import { crashPoint } from "#src/kernel/crash-points.ts";
import { DECLINES } from "#src/kernel/payment.ts";
import { readAnswer } from "#src/media/index.ts";
import { isTerminal } from "#src/sessions/index.ts";
import type { CallDialog, IncomingCall } from "#src/sip/index.ts";
import type { Admission } from "./admit.ts";
import { Collection } from "./collection.ts";
import { followReoffers } from "./reoffer.ts";
import { transferBack } from "./transfer.ts";
import type { CallDeps } from "./types.ts";

const JITTER_BUFFER_MS = 100;

/** One admitted call, from the answer to the hang-up. Resolves when everything of it is closed. */
export async function runCall(call: IncomingCall, admission: Admission, deps: CallDeps): Promise<void> {
  const { session, leg, rule } = admission;
  const log = deps.log.child({ session: session.id, call: call.callId });
  const started = deps.clock.monotonic();
  const elapsed = () => Math.round(deps.clock.monotonic() - started);
  const collection = new Collection(admission, deps, log);
  let dialog: CallDialog | null = null;
  try {
    dialog = await answer(call, admission, collection);
    if (!dialog) {
      log.warn("call_not_acknowledged");
      return await release(collection, session.id, deps);
    }
    const reason = await collection.finished;
    crashPoint("call_collected");
    log.info("call_collected", { reason, rule, ms: elapsed() });
    await collection.stop();
    await END[reason](session.id, deps);
    await transferBackIfEnded(admission, dialog, collection.hungUp, deps);
    crashPoint("call_ending");
    // The last packet has left, but the caller's jitter buffer still holds the end of the sentence.
    await sleep(deps.clock, JITTER_BUFFER_MS);
  } catch (error) {
    collection.hangUp();
    throw error;
  } finally {
    void collection.stop();
    if (dialog && !dialog.ended) await dialog.bye();
    const { packetsIn, packetsOut, lost } = await leg.close();
    if (dialog) log.info("call_ended", { ms: elapsed(), packets_in: packetsIn, packets_out: packetsOut, lost });
  }
}

/** Answers the INVITE and starts the media with the caller; null when no ACK came within 64*T1. */
async function answer(
  call: IncomingCall,
  { leg, local, description, remote }: Admission,
  collection: Collection,
): Promise<CallDialog | null> {
  if (remote) leg.start(remote);
  const answering = call.answer(description);
  // The caller hears us from our 200 on, and needs not wait for its ACK.
  if (remote) collection.begin();
  const dialog = await answering.catch(() => null);
  if (!dialog) return null;

  crashPoint("call_answered");
  dialog.onBye = () => collection.hangUp();
  dialog.onDtmfDigit = (digit) => collection.press(digit);
  followReoffers(dialog, leg, local);
  if (!remote) {
    // A delayed offer: the caller's side came with the ACK.
    const agreed = dialog.remoteSdp === null ? null : readAnswer(dialog.remoteSdp, description);
    if (agreed?.kind === "agreed") {
      leg.start(agreed.remote);
      collection.begin();
    } else collection.hangUp();
  }
  if (dialog.ended) collection.hangUp();
  return dialog;
}

/** The session goes back, unless the caller has already been charged over the open media. */
async function release(collection: Collection, sessionId: string, { sessions }: CallDeps): Promise<void> {
  collection.hangUp();
  await collection.stop();
  await sessions.apply(sessionId, "release");
}

/** After a payment that is decided, or whose outcome is unknown, the caller goes back to where the merchant wants him. */
async function transferBackIfEnded(
  { session: { id }, leg }: Admission,
  dialog: CallDialog,
  signal: AbortSignal,
  deps: CallDeps,
): Promise<void> {
  const session = await deps.sessions.find(deps.database.db, id);
  if (session && (isTerminal(session.status) || session.phase === "unknown")) await transferBack({ session, leg, dialog, signal }, deps);
}

/** What each end of the conversation leaves to be written: the payment itself has been, where there was one. */
const END: Readonly<Record<FinishReason, (id: string, deps: CallDeps) => Promise<unknown>>> = {
  done: async () => undefined,
  cancelled: async () => undefined,
  abandoned: giveUp,
  hung_up: giveUp,
  exhausted: (id, { sessions }) =>
    sessions.apply(id, "fail", {
      errorCode: "attempts_exhausted",
      errorMessage: DECLINES.attempts_exhausted.message,
      from: "collecting",
    }),
};

async function giveUp(id: string, { sessions, payments, database }: CallDeps): Promise<void> {
  const session = await sessions.find(database.db, id);
  if (session && !isTerminal(session.status)) await payments.giveUp(session);
}
