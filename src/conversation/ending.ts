import type { ClosingName, FinishReason } from "./contract.ts";
import { CLOSING, successWords } from "./sentences.ts";
import { cancelTimers, stopListening, play, wipe } from "./turn.ts";
import type { Turn } from "./turn.ts";

/** One last sentence; nothing is heard and nothing is kept any more. */
export function close(turn: Turn, prompt: ClosingName, parts: readonly string[], ending: FinishReason): void {
  cancelTimers(turn);
  stopListening(turn);
  wipe(turn);
  turn.state.stage = "closing";
  turn.state.ending = ending;
  play(turn, prompt, parts);
}

export function succeed(turn: Turn): void {
  close(turn, "success", successWords(turn.state.draft.setup), "done");
}

/** The session is no longer ours to collect for. */
export function callOff(turn: Turn): void {
  close(turn, "cancelled", CLOSING.cancelled, "cancelled");
}

export function finish(turn: Turn, reason: FinishReason): void {
  cancelTimers(turn);
  wipe(turn);
  turn.state.stage = "over";
  turn.state.speaking = null;
  turn.effects.push({ type: "finish", reason });
}

/** The caller is gone. What was decided before stays the reason. */
export function leave(turn: Turn): void {
  finish(turn, turn.state.ending ?? "hung_up");
}
