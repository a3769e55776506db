import { type DeclineCode, mayHaveMoved, type Mode } from "#src/kernel/payment.ts";
import type { Sentence } from "./contract.ts";
import type { SentenceId } from "./languages/language.ts";
import { CLOSING, NOTHING_HAPPENED, sentence, SUCCESS } from "./sentences.ts";
import { NO_QUESTION, type Speaking, worded } from "./wordings.ts";

/** What a caller hears who is taken back to where he came from, or cannot be. */

/** Why nobody is there at the other end. */
const UNREACHED = { busy: "line_busy", no_answer: "nobody_answers", failed: "not_connected" } as const satisfies Record<string, SentenceId>;

/** How the payment ended, for whoever is told once more. `code`: why it was not made. */
export type CallOutcome = { kind: "paid" } | { kind: "unknown" } | { kind: "not_paid"; code: DeclineCode | null };

/** The caller goes on to the agent: the merchant's, by name, unless the project has words or a recording of its own without it. */
export function connectingWords(speaking: Speaking): readonly Sentence[] {
  const { merchant, wordings, recordings } = speaking;
  const isOwn = recordings?.connecting !== undefined || wordings.some((wording) => wording.sentence === "connecting");
  return said(speaking, [merchant === null || isOwn ? "connecting" : "connecting_to"]);
}

/** Nobody could be reached: why, how the payment ended (null: he has just been told) and what to do next, goodbye. */
export function unreachedWords(
  speaking: Speaking,
  why: keyof typeof UNREACHED,
  mode: Mode,
  outcome: CallOutcome | null,
): readonly Sentence[] {
  return said(speaking, [UNREACHED[why], ...(outcome ? outcomeWords(mode, outcome) : []), "say_goodbye"]);
}

function said({ language, merchant, ...own }: Speaking, ids: readonly SentenceId[]): readonly Sentence[] {
  return worded(
    ids.map((id) => sentence(language, id, merchant === null ? {} : { merchant })),
    NO_QUESTION,
    own,
  );
}

function outcomeWords(mode: Mode, outcome: CallOutcome): readonly SentenceId[] {
  if (outcome.kind === "paid") return [SUCCESS[mode], "call_later"];
  const isUncertain = outcome.kind === "unknown" || mayHaveMoved(outcome.code);
  return isUncertain ? CLOSING.unknown_outcome : [NOTHING_HAPPENED[mode], "call_later_to_pay"];
}
