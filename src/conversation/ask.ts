import type { PromptName, Sentence, Situation } from "./contract.ts";
import { QUESTIONS } from "./questions.ts";
import { CLOSING, greeting } from "./sentences.ts";
import { close } from "./ending.ts";
import { cancelTimer, clearEntry, listen, play, say, setTimer, type Turn } from "./turn.ts";

/** A prompt that nobody answers is repeated so often. */
const REPEATS = 3;

export function greet(turn: Turn): void {
  turn.state.stage = "asking";
  askNext(turn, { prompt: "greeting", sentences: greeting(turn.state.draft.setup) });
}

/** What is said before a question. */
export interface Lead {
  prompt: PromptName;
  sentences: readonly Sentence[];
  /** What went wrong before. */
  error?: Situation["error"];
}

/** Asks the first question that has no answer. False when all have one: the card is complete. */
export function askNext(turn: Turn, lead: Partial<Lead> = {}): boolean {
  const { state } = turn;
  const question = state.questions.find((question) => !QUESTIONS[question].isAnswered(state.draft));
  if (!question) return false;
  if (question !== state.asks) state.misrecognised = 0;
  state.silences = 0;
  state.asks = question;
  ask(turn, lead);
  return true;
}

/** Asks the present question, after the lead. The answer starts from nothing. */
export function ask(turn: Turn, { prompt, sentences = [], error = null }: Partial<Lead> = {}): void {
  const { state } = turn;
  const rules = QUESTIONS[state.asks];
  clearEntry(turn);
  cancelTimer(turn, "silence");
  cancelTimer(turn, "digits");
  state.prompt = prompt ?? rules.prompt;
  state.lead = sentences;
  state.error = error;
  const question = say(turn, rules.ask(state.draft)[state.speech ? "speech" : "keypad"]);
  play(turn, state.prompt, [...sentences, ...offerHelp(turn), ...(rules.preface?.(state.draft) ?? []), question]);
  listen(turn);
}

/** Who needs a second try is told, once, how to be helped and how to get out of here. */
function offerHelp(turn: Turn): readonly Sentence[] {
  const { state } = turn;
  const isInTrouble = state.silences > 0 || state.misrecognised > 0 || Object.values(state.faults).some((count) => count > 0);
  if (state.helpOffered || !isInTrouble) return [];
  state.helpOffered = true;
  return [say(turn, state.speech ? "help_offer" : "help_offer_keypad")];
}

/** The same prompt again, with all that was said before the question. */
export function repeat(turn: Turn): void {
  const { prompt, lead, error } = turn.state;
  ask(turn, { prompt, sentences: lead, error });
}

/** The prompt was heard to its end: the caller's time to answer runs. */
export function awaitAnswer(turn: Turn): void {
  const { state } = turn;
  if (state.speaking === "greeting") state.draft.informed = true;
  state.speaking = null;
  setTimer(turn, "silence", state.draft.setup.timeouts.firstDigitMs);
}

export function onSilence(turn: Turn): void {
  const { state } = turn;
  if (state.silences >= REPEATS) return close(turn, "nobody_there", CLOSING.nobody_there, "abandoned");
  state.silences++;
  // What went wrong before was said once; whoever was away is asked the question.
  ask(turn);
}
