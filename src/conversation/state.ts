import { CardCells, Cell } from "#src/kernel/card.ts";
import type { ConversationSetup, Field, FinishReason, PromptName, Question, TimerName, PaymentResult } from "./contract.ts";
import type { Draft } from "./questions.ts";

export type Stage =
  | "ringing"
  | "asking"
  /** The card is at the gateway. */
  | "charging"
  /** The test word was said. */
  | "skipping"
  /** The last sentence is being spoken. */
  | "closing"
  | "over";

/** What happens to a key before the question sees it: callers type ahead, and end answers that have ended by themselves. */
export type Gate =
  | "open"
  /** The answer was whole without its pound key: one such key is swallowed, any other belongs to the next question. */
  | "pound"
  /** The same before yes-or-no: the rest of a longer code (a nine-digit ZIP) must not confirm a card. Up to a pound key or a pause. */
  | "group"
  /** The answer was refused: what was typed ahead in the same run meant other questions. Up to a pause. */
  | "run";

/** Plain data, but for the memory of its own that `draft` points to. Each step answers a new value. */
export interface DialogState {
  /** In the order of asking. */
  readonly questions: readonly Question[];
  readonly draft: Draft;
  readonly stage: Stage;
  readonly asks: Question;
  /** The question's prompt and what was said before the question, for repeating. */
  readonly prompt: PromptName;
  readonly lead: readonly string[];
  /** What is being spoken. */
  readonly speaking: PromptName | null;
  readonly speech: boolean;
  readonly gate: Gate;
  /** The entry holds a keyed digit: doubtful speech cannot be the answer. */
  readonly keyed: boolean;
  /** The entry holds a spoken digit, which may have been misheard: if the answer does not fit, that is no fault of the caller. */
  readonly spoken: boolean;
  readonly timers: readonly TimerName[];
  /** Faulty answers to each question with the present card, keyed ones only. */
  readonly faults: Readonly<Record<Question, number>>;
  /** Prompts in a row that nobody answered. */
  readonly silences: number;
  /** Utterances to the present question that were not understood, or did not fit. */
  readonly mishearings: number;
  /** Cards handed to `settle`. */
  readonly cards: number;
  /** The answer to `settle`, while "one moment, please" is still being spoken. */
  readonly verdict: PaymentResult | null;
  readonly ending: FinishReason | null;
}

export const NO_FAULTS: DialogState["faults"] = { number: 0, expiry: 0, cvv: 0, zip: 0, confirm: 0 };

/** More than any answer has, so that a too long one is seen to be too long. */
const ENTRY_DIGITS = 32;

/** The conversation before the call is answered. */
export function startDialog(setup: ConversationSetup): DialogState {
  const asked = setup.collect.filter((field): field is Field => field !== "name");
  const needed = (["number", "expiry"] as const).filter((field) => !asked.includes(field));
  return {
    questions: [...new Set([...needed, ...asked]), "confirm"],
    draft: { setup, card: new CardCells(), entry: new Cell(ENTRY_DIGITS), confirmed: false },
    stage: "ringing",
    asks: "number",
    prompt: "greeting",
    lead: [],
    speaking: null,
    speech: setup.speech,
    gate: "open",
    keyed: false,
    spoken: false,
    timers: [],
    faults: NO_FAULTS,
    silences: 0,
    mishearings: 0,
    cards: 0,
    verdict: null,
    ending: null,
  };
}
