import { stop } from "./ending.ts";
import { awaitMore, complete } from "./answers.ts";
import { repeat } from "./ask.ts";
import { POUND, type Question, STAR } from "./contract.ts";
import { QUESTIONS } from "./questions.ts";
import type { TypeAhead } from "./state.ts";
import { cancelTimer, clearEntry, stopPlayback, listen, play, say, setTimer, type Turn } from "./turn.ts";

/** DTMF digits closer than this were typed ahead together, without listening. */
const TYPE_AHEAD_PAUSE_MS = 500;
/** Before these questions the rest of a longer code is dropped, too: it would answer them. */
const REST: Readonly<Partial<Record<Question, TypeAhead>>> = { confirm: "drop_to_pound", name: "drop_to_pound" };
/** Two star keys within this time ask for the operator. */
const TWO_STARS_MS = 2_000;

export function onDtmfDigit(turn: Turn, { digit }: { digit: number }): void {
  if (!Number.isInteger(digit) || digit < 0 || digit > POUND || isDropped(turn, digit)) return;
  stopPlayback(turn);
  turn.state.silences = 0;
  if (digit === STAR) return onStar(turn);
  cancelTimer(turn, "star");
  if (digit === POUND) onPound(turn);
  else onDigit(turn, digit);
}

function onDigit(turn: Turn, digit: number): void {
  const { state } = turn;
  state.draft.entry.push(digit);
  state.keyed = true;
  if (!QUESTIONS[state.asks].isWhole(state.draft)) return awaitMore(turn);
  const accepted = complete(turn);
  if (state.stage === "asking") dropTypeAhead(turn, accepted ? (REST[state.asks] ?? "drop_pound") : "drop_all");
}

/** Ends the answer. */
function onPound(turn: Turn): void {
  if (!complete(turn) && turn.state.stage === "asking") dropTypeAhead(turn, "drop_all");
}

/** Clears the answer; when there is none, repeats the question. Twice: the caller wants to stop. */
function onStar(turn: Turn): void {
  if (turn.state.timers.includes("star")) return stop(turn);
  setTimer(turn, "star", TWO_STARS_MS);
  if (turn.state.draft.entry.length === 0) return repeat(turn);
  clearEntry(turn);
  cancelTimer(turn, "digits");
  play(turn, "cleared", [say(turn, "cleared")]);
  listen(turn);
}

/** The run is over; but who keys slowly may still end an answer that had ended by itself. */
export function onTypeAheadPause(turn: Turn): void {
  turn.state.typeAhead = turn.state.typeAhead === "drop_to_pound" ? "drop_pound" : "take";
}

export function takeTypeAhead(turn: Turn): void {
  turn.state.typeAhead = "take";
  cancelTimer(turn, "type_ahead");
}

function dropTypeAhead(turn: Turn, typeAhead: TypeAhead): void {
  turn.state.typeAhead = typeAhead;
  if (typeAhead !== "drop_pound") setTimer(turn, "type_ahead", TYPE_AHEAD_PAUSE_MS);
}

function isDropped(turn: Turn, digit: number): boolean {
  const { typeAhead } = turn.state;
  if (typeAhead === "take") return false;
  if (typeAhead === "drop_pound" || (typeAhead === "drop_to_pound" && digit === POUND)) {
    takeTypeAhead(turn);
    return digit === POUND;
  }
  setTimer(turn, "type_ahead", TYPE_AHEAD_PAUSE_MS);
  return true;
}
