import { askNext } from "./ask.ts";
import type { Field, PaymentResult, Sentence } from "./contract.ts";
import { callOff, close, succeed } from "./ending.ts";
import { QUESTIONS } from "./questions.ts";
import { CLOSING, REASON, declined, purpose } from "./sentences.ts";
import { NO_FAULTS } from "./state.ts";
import { cancelTimers, clearEntry, stopListening, stopPlayback, play, say, setTimer, wipe, type Turn } from "./turn.ts";

/** A waiting caller hears every ten seconds that the line is alive. */
const PATIENCE_MS = 10_000;

/** Hands a copy of the card out and waits. The copy has a life of its own: a charge runs on when the caller hangs up. */
export function submitCard(turn: Turn): void {
  const { state } = turn;
  const { card, setup, informed } = state.draft;
  state.cards++;
  // Who cut the greeting short, and whose card is not read back, hears here what is paid.
  wait(turn, setup.readBack || informed ? [] : [purpose(setup)]);
  turn.effects.push({ type: "submit_card", card: card.copy(), mayRetry: state.cards < setup.attempts });
  // Not kept past the authorization (PCI DSS 3.3.1): another try asks for it again.
  card.cvv.wipe();
}

/**
 * The session is being paid in another way: the caller waits for what becomes of it, and his own card stays where it is. When it
 * is decided already he is told at once.
 */
export function onPaidElsewhere(turn: Turn, result: PaymentResult): void {
  if (result.kind === "elsewhere") wait(turn);
  else if (result.kind !== "open" && result.kind !== "refused") conclude(turn, result);
}

/** The test word came too late, or the session is being paid in another way. */
export function onSkipRefused(turn: Turn, result: PaymentResult): void {
  if (result.kind === "elsewhere") wait(turn);
  else conclude(turn, result);
}

/** Nothing is asked until it is known what becomes of a card, this one or another. */
function wait(turn: Turn, unheard: readonly Sentence[] = []): void {
  const { state } = turn;
  cancelTimers(turn);
  stopListening(turn);
  clearEntry(turn);
  state.stage = "charging";
  state.typeAhead = "take";
  state.result = null;
  play(turn, "one_moment", [...unheard, say(turn, "one_moment")]);
  setTimer(turn, "patience", PATIENCE_MS);
}

/** The other payment was not made: the caller is asked what is still missing, and in any case whether his card is right. */
function goOn(turn: Turn): void {
  cancelTimers(turn);
  turn.state.stage = "asking";
  QUESTIONS.confirm.forget(turn.state.draft);
  if (askNext(turn, { sentences: [say(turn, "not_paid_elsewhere")] })) return;
  // Without a read-back a whole card has nothing left to be asked for.
  const { cards, draft } = turn.state;
  if (cards < draft.setup.attempts) submitCard(turn);
  else close(turn, "too_many_tries", CLOSING.too_many_tries, "exhausted");
}

/** A fast gateway does not cut "one moment, please" in half: its result waits for the end of the prompt. */
export function onPaymentResult(turn: Turn, result: PaymentResult): void {
  if (result.kind === "elsewhere") {
    // Another one has begun before the caller was told that he may go on.
    if (turn.state.result?.kind === "open") turn.state.result = null;
    return;
  }
  if (turn.state.speaking) turn.state.result = result;
  else conclude(turn, result);
}

export function onPatiencePromptEnded(turn: Turn): void {
  turn.state.speaking = null;
  if (turn.state.result) conclude(turn, turn.state.result);
}

export function askForPatience(turn: Turn): void {
  if (!turn.state.speaking) play(turn, "still_working", [say(turn, "still_working")]);
  setTimer(turn, "patience", PATIENCE_MS);
}

function conclude(turn: Turn, result: PaymentResult): void {
  switch (result.kind) {
    case "approved":
      return succeed(turn);
    case "declined":
      return decline(turn, result);
    case "unknown":
      return close(turn, "unknown_outcome", CLOSING.unknown_outcome, "done");
    case "refused":
      return callOff(turn);
    case "open":
      return goOn(turn);
    case "elsewhere":
      return;
  }
}

/**
 * Asks again what the bank objected to, and the security code with it; for a whole new card when that is not one field.
 * The last try, and a refusal that no other try can mend, end the call.
 */
function decline(turn: Turn, { code, fix, final }: Extract<PaymentResult, { kind: "declined" }>): void {
  const { state } = turn;
  const { setup } = state.draft;
  if (final || state.cards >= setup.attempts) {
    return close(turn, "declined", declined(setup.mode, code), final ? "done" : "exhausted");
  }
  cancelTimers(turn);
  state.stage = "asking";
  state.faults = NO_FAULTS;
  state.misrecognised = 0;
  const field: Field | null = fix !== null && fix !== "number" && state.questions.includes(fix) ? fix : null;
  for (const question of field ? [field] : state.questions) QUESTIONS[question].forget(state.draft);
  const reason = say(turn, REASON[code]);
  const sentences = field ? [reason] : [reason, say(turn, "another_card")];
  askNext(turn, { prompt: "declined_try_again", sentences, error: code });
}

/** The test word takes the place of card and gateway (docs/interface.md, States and transitions). */
export function skip(turn: Turn): void {
  stopPlayback(turn);
  cancelTimers(turn);
  stopListening(turn);
  wipe(turn);
  turn.state.stage = "skipping";
  turn.effects.push({ type: "skip" });
}
