import type { PromptName } from "./contract.ts";
import { QUESTIONS } from "./questions.ts";
import { CLOSING, greetingWords } from "./sentences.ts";
import { close } from "./ending.ts";
import { cancelTimer, clearEntry, listen, play, setTimer } from "./turn.ts";
import type { Turn } from "./turn.ts";

/** A prompt that nobody answers is repeated after this time, three times. */
export const SILENCE_MS = 10_000;
const REPEATS = 3;

export function greet(turn: Turn): void {
  turn.state.stage = "asking";
  askNext(turn, "greeting", greetingWords(turn.state.draft.setup));
}

/** Asks the first question that has no answer. False when all have one: the card is complete. */
export function askNext(turn: Turn, prompt?: PromptName, lead: readonly string[] = []): boolean {
  const { state } = turn;
  const question = state.questions.find((question) => !QUESTIONS[question].isAnswered(state.draft));
  if (!question) return false;
  if (question !== state.asks) state.misrecognised = 0;
  state.silences = 0;
  state.asks = question;
  ask(turn, prompt ?? QUESTIONS[question].prompt, lead);
  return true;
}

/** Asks the present question, after `lead`. The answer starts from nothing. */
export function ask(turn: Turn, prompt: PromptName, lead: readonly string[]): void {
  const { state } = turn;
  const rules = QUESTIONS[state.asks];
  const words = rules.ask(state.draft)[state.speech ? "speech" : "keypad"];
  clearEntry(turn);
  cancelTimer(turn, "silence");
  cancelTimer(turn, "digits");
  state.prompt = prompt;
  state.lead = lead;
  play(turn, prompt, [...lead, ...(rules.preface?.(state.draft) ?? []), words]);
  listen(turn);
}

/** The same prompt again, with all that was said before the question. */
export function repeat(turn: Turn): void {
  ask(turn, turn.state.prompt, turn.state.lead);
}

/** The prompt was heard to its end: the caller's time to answer runs. */
export function awaitAnswer(turn: Turn): void {
  turn.state.speaking = null;
  setTimer(turn, "silence", SILENCE_MS);
}

export function onSilence(turn: Turn): void {
  const { state } = turn;
  if (state.silences >= REPEATS) return close(turn, "nobody_there", CLOSING.nobody_there, "abandoned");
  state.silences++;
  repeat(turn);
}
