import type { ClosingName, FinishReason } from "./contract.ts";
import type { SentenceId } from "./languages/language.ts";
import { CLOSING, SUCCESS } from "./sentences.ts";
import { cancelTimers, play, say, stopListening, wipe, type Turn } from "./turn.ts";

/** Last sentences that would end too suddenly by themselves. */
const WITH_GOODBYE: ReadonlySet<ClosingName> = new Set(["nobody_there", "goodbye", "cancelled"]);

/** One last sentence; nothing is heard and nothing is kept any more. */
export function close(turn: Turn, prompt: ClosingName, sentences: readonly SentenceId[], ending: FinishReason): void {
  cancelTimers(turn);
  stopListening(turn);
  wipe(turn);
  turn.state.stage = "closing";
  turn.state.ending = ending;
  turn.effects.push({ type: "closing", reason: ending });
  const saysGoodbye = WITH_GOODBYE.has(prompt) && !turn.state.draft.setup.transfersBack;
  const said = saysGoodbye ? ([...sentences, "say_goodbye"] as const) : sentences;
  play(
    turn,
    prompt,
    said.map((id) => say(turn, id)),
  );
}

export function succeed(turn: Turn): void {
  close(turn, "success", [SUCCESS[turn.state.draft.setup.mode]], "done");
}

/** Nothing is taken from a caller who wants to stop. A person to speak with is where the call came from. */
export function stop(turn: Turn): void {
  close(turn, "goodbye", CLOSING.goodbye, "abandoned");
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
