import type { Command } from "#src/kernel/language.ts";
import type { RecognitionResult } from "#src/kernel/recognition.ts";
import { MISRECOGNISED_LIMIT, awaitMore, complete, proceed, onMisrecognised } from "./answers.ts";
import { ask, askNext, repeat } from "./ask.ts";
import { stop } from "./ending.ts";
import { skip } from "./gateway.ts";
import { takeTypeAhead } from "./dtmf.ts";
import { ANSWER_DIGITS, QUESTIONS, isName } from "./questions.ts";
import { clearEntry, say, stopListening, stopPlayback, setTimer, type Turn } from "./turn.ts";

/** No utterance of a caller who goes on with an answer is longer. */
const UTTERANCE_MS = 10_000;

/** The caller may talk over a prompt, until the line has proved too noisy for it. */
export function onSpeechStarted(turn: Turn): void {
  const { state } = turn;
  if (state.misrecognised >= MISRECOGNISED_LIMIT) return;
  stopPlayback(turn);
  if (state.draft.entry.length > 0) setTimer(turn, "digits", UTTERANCE_MS);
  else setTimer(turn, "silence", state.draft.setup.timeouts.firstDigitMs);
}

export function onRecognised(turn: Turn, { result }: { result: RecognitionResult }): void {
  switch (result.kind) {
    case "test_word":
      return skip(turn);
    case "digits":
      // A spoken digit never confirms or refuses a card, and spells nothing.
      return result.certain && turn.state.asks !== "confirm" && turn.state.asks !== "name"
        ? takeSpoken(turn, result.digits, result.final)
        : notUnderstood(turn);
    case "expiry":
      return result.certain && turn.state.asks === "expiry" ? takeExpiry(turn, result) : notUnderstood(turn);
    case "name":
      return result.certain && turn.state.asks === "name" && isName(result.name) ? takeName(turn, result.name) : notUnderstood(turn);
    case "yes":
    case "no":
      return turn.state.asks === "confirm" ? takeYesOrNo(turn, result.kind) : notUnderstood(turn);
    case "command":
      return turn.state.keyed ? undefined : COMMANDS[result.command](turn);
    case "nothing":
      return turn.state.draft.entry.length > 0 ? undefined : notUnderstood(turn);
  }
}

/** Puts an utterance behind what the answer already holds, keyed or spoken. */
function takeSpoken(turn: Turn, digits: Iterable<number>, final: boolean): void {
  const { state } = turn;
  const { entry } = state.draft;
  const rules = QUESTIONS[state.asks];
  stopPlayback(turn);
  takeTypeAhead(turn);
  for (const digit of digits) entry.push(digit);
  state.spoken = true;
  if (rules.isWhole(state.draft) || (final && entry.length >= rules.minimum)) return void complete(turn);
  state.silences = 0;
  awaitMore(turn);
}

function takeYesOrNo(turn: Turn, answer: "yes" | "no"): void {
  stopPlayback(turn);
  takeTypeAhead(turn);
  clearEntry(turn);
  turn.state.draft.entry.push(ANSWER_DIGITS[answer]);
  complete(turn);
}

/** One that is being spelled is not talked over. */
function takeName(turn: Turn, name: string): void {
  if (turn.state.keyed) return;
  stopPlayback(turn);
  takeTypeAhead(turn);
  turn.state.draft.card.cardholderName = name;
  proceed(turn);
}

function takeExpiry(turn: Turn, { month, year }: { month: number; year: number }): void {
  const fullYear = year < 100 ? 2000 + year : year;
  clearEntry(turn);
  takeSpoken(turn, [Math.floor(month / 10), month % 10, ...[1000, 100, 10, 1].map((place) => Math.floor(fullYear / place) % 10)], true);
}

/** Doubtful speech is never an answer, and never disturbs one that is being typed. */
function notUnderstood(turn: Turn): void {
  if (!turn.state.keyed && turn.state.misrecognised < MISRECOGNISED_LIMIT) onMisrecognised(turn);
}

const COMMANDS: Readonly<Record<Command, (turn: Turn) => void>> = {
  repeat,
  help: (turn) => ask(turn, { prompt: "help", sentences: [say(turn, turn.state.speech ? "help" : "help_keypad")] }),
  back: goBack,
  cancel: stop,
  operator: stop,
};

/** The answer before is forgotten and asked for; at the first question there is only that question again. */
function goBack(turn: Turn): void {
  const { state } = turn;
  const former = state.questions[state.questions.indexOf(state.asks) - 1];
  if (former) QUESTIONS[former].forget(state.draft);
  askNext(turn);
}

/** No recogniser, or none any more: the caller is told, and the question is put in words that do not promise one. */
export function onSpeechUnavailable(turn: Turn): void {
  stopListening(turn);
  turn.state.speech = false;
  const { keyed, lead, error } = turn.state;
  if (!keyed) ask(turn, { prompt: "keypad_only", sentences: [say(turn, "keypad_only"), ...lead], error });
}
