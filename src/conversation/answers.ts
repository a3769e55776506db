import { SILENCE_MS, ask, askNext } from "./ask.ts";
import type { FaultName } from "./contract.ts";
import { close } from "./ending.ts";
import { submitCard } from "./gateway.ts";
import { FAULT_OF, QUESTIONS } from "./questions.ts";
import { CLOSING, FAULT, NOTE } from "./sentences.ts";
import { cancelTimer, clearEntry, listen, setTimer } from "./turn.ts";
import type { Turn } from "./turn.ts";

/** An answer that has begun ends by itself after two seconds where it can be whole, else after five between digits. */
const WHOLE_PAUSE_MS = 2_000;
export const DIGIT_PAUSE_MS = 5_000;
/** A caller who has spoken a part may be looking for the keypad. */
export const SPEECH_PAUSE_MS = 10_000;

/** The answer has begun and may go on. */
export function awaitMore(turn: Turn, pauseMs: number): void {
  const { asks, draft } = turn.state;
  cancelTimer(turn, "silence");
  setTimer(turn, "digits", QUESTIONS[asks].mayEnd(draft) ? WHOLE_PAUSE_MS : pauseMs);
  listen(turn);
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
  rules.keep(state.draft);
  if (!askNext(turn)) submitCard(turn);
  return true;
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
  if (state.misrecognised >= MISRECOGNISED_LIMIT) ask(turn, "use_keypad", [NOTE.use_keypad]);
  else if (fault) ask(turn, fault, [FAULT[fault]]);
  else ask(turn, "not_heard", [NOTE.not_heard]);
}

/** The answer starts from nothing, and the caller's time to give it goes on. */
function passOver(turn: Turn): void {
  clearEntry(turn);
  cancelTimer(turn, "digits");
  if (!turn.state.speaking && !turn.state.timers.includes("silence")) setTimer(turn, "silence", SILENCE_MS);
  listen(turn);
}

/** Says what was wrong and asks again, that question alone; at the last try the call ends. */
function refuse(turn: Turn, fault: FaultName): void {
  const { state } = turn;
  const question = FAULT_OF[fault] ?? state.asks;
  const count = state.faults[question] + 1;
  state.faults = { ...state.faults, [question]: count };
  if (count >= state.draft.setup.attempts) return close(turn, "too_many_tries", CLOSING.too_many_tries, "exhausted");
  QUESTIONS[question].forget(state.draft);
  askNext(turn, fault, [FAULT[fault]]);
}
