import { createConversation, type FinishReason, type PaymentResult } from "#src/conversation/index.ts";
import type { CardCells } from "#src/kernel/card.ts";
import { sleep } from "#src/kernel/clock.ts";
import { crashPoint } from "#src/kernel/crash-points.ts";
import { DECLINES } from "#src/kernel/payment.ts";
import { acceptOffer, createOffer, readAnswer } from "#src/media/index.ts";
import { isTerminal } from "#src/sessions/index.ts";
import type { CallDialog, IncomingCall } from "#src/sip/index.ts";
import type { Admission } from "./admit.ts";
import { ConversationDriver } from "./conversation-driver.ts";
import type { CallDeps } from "./types.ts";
import { SpeechInput } from "./speech-input.ts";
import { transferBack } from "./transfer.ts";

/** A call that takes longer has lost its caller. */
const LONGEST_CALL_MS = 15 * 60_000;

const JITTER_BUFFER_MS = 100;

/** One answered call, from the answer to the hang-up. Resolves when everything of it is closed. */
export async function runCall(call: IncomingCall, admission: Admission, deps: CallDeps): Promise<void> {
  const { session, project, leg, local } = admission;
  const { sessions, payments, clock, database } = deps;
  const log = deps.log.child({ session: session.id, call: call.callId });
  const started = clock.monotonic();
  const over = Promise.withResolvers<FinishReason>();
  const hungUp = new AbortController();
  /** The charge that runs, if one does: a hang-up does not stop it, and it is awaited before the call counts as over. */
  let charging: Promise<unknown> = Promise.resolve();

  const settle = async (card: CardCells, mayRetry: boolean): Promise<PaymentResult> => {
    crashPoint("card_collected");
    try {
      return await payments.settle({ session, card, mayRetry });
    } catch (error) {
      log.error("payment_not_started", { error });
      const { message } = DECLINES.processing_error;
      await sessions.apply(session.id, "fail", { errorCode: "processing_error", errorMessage: message }).catch(() => null);
      return { kind: "declined", code: "processing_error", fix: null, final: true };
    } finally {
      card.wipe();
    }
  };

  const speechInput: SpeechInput = new SpeechInput({
    audio: leg,
    recogniser: deps.recogniser,
    testWord: session.environment === "test" && project.voice.testWord,
    feed: (event) => conversation.feed(event),
  });
  const conversation = new ConversationDriver({
    machine: createConversation({
      mode: session.mode,
      amountMinor: session.amountMinor,
      currency: session.currency,
      collect: project.voice.collect,
      attempts: project.voice.attempts,
      testWord: session.environment === "test" && project.voice.testWord,
      speech: deps.recogniser !== null,
      country: project.country,
      nowMs: clock.now(),
    }),
    playback: leg,
    speechInput,
    prompts: deps.prompts,
    clock,
    settle: (card, mayRetry) => {
      const result = settle(card, mayRetry);
      charging = result;
      return result;
    },
    skip: () => {
      const done = payments.skip(session).then(({ kind }) => kind === "approved");
      charging = done;
      return done.catch(() => false);
    },
    onPrompt: (prompt) => log.debug("prompt", { prompt }),
    onFinish: over.resolve,
  });
  leg.on.dtmfDigit = (digit) => {
    crashPoint("digit_received");
    conversation.feed({ type: "dtmf", digit });
  };
  leg.on.speechStarted = () => speechInput.speechStarted();
  leg.on.played = (id) => conversation.played(id);

  const hangUp = () => {
    crashPoint("hang_up_received");
    hungUp.abort();
    conversation.feed({ type: "hung_up" });
  };
  leg.on.mediaLost = hangUp;
  const cancelLimit = clock.after(LONGEST_CALL_MS, hangUp);
  const unwatch = sessions.watch(session.id, () => {
    sessions.find(database.db, session.id).then(
      (current) => {
        if (current?.status === "cancelled") conversation.feed({ type: "cancelled" });
      },
      // A cancel that goes unseen here is seen by the charge, which is refused.
      (error: unknown) => log.warn("session_not_read", { error }),
    );
  });

  if (admission.remote) leg.start(admission.remote);
  let dialog: CallDialog;
  try {
    const answering = call.answer(admission.description);
    if (admission.remote) conversation.feed({ type: "answered" });
    dialog = await answering;
  } catch {
    // No ACK within 64*T1: the session goes back, unless the caller has already been charged over the open media.
    hangUp();
    await charging;
    await sessions.apply(session.id, "release");
    unwatch();
    cancelLimit();
    await leg.close();
    log.warn("call_not_acknowledged");
    return;
  }

  crashPoint("call_answered");
  dialog.onBye = hangUp;
  dialog.onDtmfDigit = (digit) => conversation.feed({ type: "dtmf", digit });
  let reoffered: string | null = null;
  dialog.onAnswer = (sdp) => {
    const agreed = reoffered === null ? null : readAnswer(sdp, reoffered);
    if (agreed?.kind === "agreed") leg.update(agreed.remote);
  };
  dialog.onReinvite = (offer) => {
    if (offer === null) return (reoffered = local.previous = createOffer(local));
    const agreed = acceptOffer(offer, local);
    if (agreed.kind === "refused") return null;
    local.previous = agreed.answer;
    leg.update(agreed.remote);
    return agreed.answer;
  };
  if (!admission.remote) {
    const agreed = dialog.remoteSdp === null ? null : readAnswer(dialog.remoteSdp, admission.description);
    if (agreed?.kind === "agreed") {
      leg.start(agreed.remote);
      conversation.feed({ type: "answered" });
    } else hangUp();
  }
  if (dialog.ended) hangUp();

  const reason = await over.promise;
  crashPoint("call_collected");
  cancelLimit();
  unwatch();
  log.info("call_collected", { reason, rule: admission.rule, ms: Math.round(clock.monotonic() - started) });
  // A hang-up in mid-charge: the gateway's result is still written.
  await charging;
  await END[reason](session.id, deps);

  const current = await sessions.find(database.db, session.id);
  if (current && (isTerminal(current.status) || current.phase === "unknown")) {
    await transferBack({ session: current, leg, dialog, signal: hungUp.signal }, deps);
  }
  crashPoint("call_ending");
  // The last packet has left, but the caller's jitter buffer still holds the end of the sentence.
  await sleep(clock, JITTER_BUFFER_MS);
  if (!dialog.ended) await dialog.bye();
  const stats = await leg.close();
  log.info("call_ended", {
    ms: Math.round(clock.monotonic() - started),
    packets_in: stats.packetsIn,
    packets_out: stats.packetsOut,
    lost: stats.lost,
  });
}

/** What each end of the conversation leaves to be written: the payment itself has been, where there was one. */
const END: Readonly<Record<FinishReason, (id: string, deps: CallDeps) => Promise<unknown>>> = {
  done: async () => undefined,
  cancelled: async () => undefined,
  abandoned: giveUp,
  hung_up: giveUp,
  exhausted: (id, { sessions }) =>
    sessions.apply(id, "fail", { errorCode: "attempts_exhausted", errorMessage: DECLINES.attempts_exhausted.message }),
};

async function giveUp(id: string, { sessions, payments, database }: CallDeps): Promise<void> {
  const session = await sessions.find(database.db, id);
  if (session && !isTerminal(session.status)) await payments.giveUp(session);
}
