import { type Lead, ask, askNext } from "./ask.ts";
import type { FaultName } from "./languages/language.ts";
import { close } from "./ending.ts";
import { submitCard } from "./gateway.ts";
import { QUESTIONS, monthAndYear } from "./questions.ts";
import { CLOSING } from "./sentences.ts";
import { cancelTimer, clearEntry, listen, play, say, setTimer, type Turn } from "./turn.ts";

/** An answer that has begun ends by itself after two seconds where it can be whole, else after three; a long one is read off a card. */
const WHOLE_PAUSE_MS = 2_000;
const PAUSE_MS = 3_000;
const NUMBER_PAUSE_MS = 5_000;
/** At least, in a name: its letters are looked for on the keys. */
const NAME_PAUSE_MS = 10_000;

/** The answer has begun and may go on. */
export function awaitMore(turn: Turn): void {
  const { asks, draft } = turn.state;
  cancelTimer(turn, "silence");
  const usual = draft.setup.timeouts.betweenDigitsMs ?? (asks === "number" ? NUMBER_PAUSE_MS : PAUSE_MS);
  const pause = asks === "name" ? Math.max(usual, NAME_PAUSE_MS) : usual;
  setTimer(turn, "digits", QUESTIONS[asks].mayEnd?.(draft) ? Math.min(WHOLE_PAUSE_MS, pause) : pause);
  listen(turn);
}

/** The answer does not go on: it has ended, or the caller is told how to end it. */
export function onPause(turn: Turn): void {
  const { reminder } = QUESTIONS[turn.state.asks];
  if (reminder) play(turn, reminder, [say(turn, reminder)]);
  else complete(turn);
}

/** The answer has ended: checks it, and asks the next question or the same one again. False when it was refused. */
export function complete(turn: Turn): boolean {
  const { state } = turn;
  const rules = QUESTIONS[state.asks];
  const fault = rules.check(state.draft);
  if (fault) {
    if (state.spoken) onMisrecognised(turn, fault);
    else refuse(turn, fault);
    return false;
  }
  const wasConfirm = state.asks === "confirm";
  rules.keep(state.draft);
  // A no is an answer, not a fault: it may be said as often as the caller likes.
  if (wasConfirm && !state.draft.confirmed) {
    const { number } = state.draft.card;
    const lead: Partial<Lead> = number.length === 0 ? { prompt: "not_confirmed", sentences: [say(turn, "not_confirmed")] } : {};
    askNext(turn, { ...lead, error: "not_confirmed" });
  } else proceed(turn);
  return true;
}

/** An answer was taken: the next question, or the card is whole. */
export function proceed(turn: Turn): void {
  if (!askNext(turn)) submitCard(turn);
}

/** Says what is wrong with the present answer. */
function leadOf(turn: Turn, fault: FaultName): Lead {
  const { entry, setup } = turn.state.draft;
  const date = fault === "expiry_past" ? monthAndYear(entry) : null;
  const values = { ...(date && { date }), brands: setup.acceptedBrands };
  return { prompt: fault, sentences: [say(turn, fault, values)], error: fault };
}

/**
 * Utterances to one question that are answered by asking again. The last of them points at the keypad; from then on a noisy line
 * disturbs neither the prompts nor a caller who is typing, and what is understood still counts.
 */
export const MISRECOGNISED_LIMIT = 2;

/**
 * Speech that was not understood, or that does not fit (`fault`): the recogniser may be wrong, so it is never a fault that can end a
 * payment. The question is asked again, then the keypad is asked for, then such speech is passed over.
 */
export function onMisrecognised(turn: Turn, fault: FaultName | null = null): void {
  const { state } = turn;
  if (state.misrecognised >= MISRECOGNISED_LIMIT) return passOver(turn);
  state.misrecognised++;
  const error = fault ?? "not_heard";
  if (state.misrecognised >= MISRECOGNISED_LIMIT) ask(turn, { prompt: "use_keypad", sentences: [say(turn, "use_keypad")], error });
  else ask(turn, fault ? leadOf(turn, fault) : { prompt: "not_heard", sentences: [say(turn, "not_heard")], error });
}

/** The answer starts from nothing, and the caller's time to give it goes on. */
function passOver(turn: Turn): void {
  clearEntry(turn);
  cancelTimer(turn, "digits");
  if (!turn.state.speaking && !turn.state.timers.includes("silence"))
    setTimer(turn, "silence", turn.state.draft.setup.timeouts.firstDigitMs);
  listen(turn);
}

/** Says what was wrong and asks again, that question alone; at the last try the call ends. */
function refuse(turn: Turn, fault: FaultName): void {
  const { state } = turn;
  const count = state.faults[state.asks] + 1;
  state.faults = { ...state.faults, [state.asks]: count };
  if (count >= state.draft.setup.tries) return close(turn, "too_many_tries", CLOSING.too_many_tries, "exhausted");
  ask(turn, leadOf(turn, fault));
}
