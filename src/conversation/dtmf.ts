import { KEY_PAUSE_MS, awaitMore, complete } from "./answers.ts";
import { repeat } from "./ask.ts";
import { POUND, STAR } from "./contract.ts";
import { QUESTIONS } from "./questions.ts";
import { NOTE } from "./sentences.ts";
import type { Gate } from "./state.ts";
import { cancelTimer, clearEntry, stopPlayback, listen, say, setTimer } from "./turn.ts";
import type { Turn } from "./turn.ts";

/** Keys closer than this are one run, typed without listening. */
const RUN_PAUSE_MS = 500;

export function onDtmfDigit(turn: Turn, { key }: { key: number }): void {
  if (!Number.isInteger(key) || key < 0 || key > POUND || isSwallowed(turn, key)) return;
  stopPlayback(turn);
  turn.state.silences = 0;
  if (key === STAR) onStar(turn);
  else if (key === POUND) onPound(turn);
  else onDigit(turn, key);
}

function onDigit(turn: Turn, digit: number): void {
  const { state } = turn;
  state.draft.entry.push(digit);
  state.keyed = true;
  if (!QUESTIONS[state.asks].isWhole(state.draft)) return awaitMore(turn, KEY_PAUSE_MS);
  const accepted = complete(turn);
  if (state.stage === "asking") setGate(turn, accepted ? (state.asks === "confirm" ? "group" : "pound") : "run");
}

/** Ends the answer. */
function onPound(turn: Turn): void {
  if (!complete(turn) && turn.state.stage === "asking") setGate(turn, "run");
}

/** Clears the answer; when there is none, repeats the question. */
function onStar(turn: Turn): void {
  if (turn.state.draft.entry.length === 0) return repeat(turn);
  clearEntry(turn);
  cancelTimer(turn, "digits");
  say(turn, "cleared", [NOTE.cleared]);
  listen(turn);
}

export function openGate(turn: Turn): void {
  turn.state.gate = "open";
  cancelTimer(turn, "keys");
}

function setGate(turn: Turn, gate: Gate): void {
  turn.state.gate = gate;
  if (gate !== "pound") setTimer(turn, "keys", RUN_PAUSE_MS);
}

function isSwallowed(turn: Turn, key: number): boolean {
  const { gate } = turn.state;
  if (gate === "open") return false;
  if (gate === "pound" || (gate === "group" && key === POUND)) {
    openGate(turn);
    return key === POUND;
  }
  setTimer(turn, "keys", RUN_PAUSE_MS);
  return true;
}
