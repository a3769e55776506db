import { CardCells, Cell, LONGEST_NAME } from "#src/kernel/card.ts";
import type { ConversationSetup, FinishReason, PaymentResult, PromptName, Question, Sentence, Situation, TimerName } from "./contract.ts";
import { LANGUAGES } from "./languages/index.ts";
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

/** What happens to a DTMF digit before the question gets it: callers type ahead, and end answers that have ended by themselves. */
export type TypeAhead =
  | "take"
  /** The answer was whole without its pound key: one such key is dropped, any other belongs to the next question. */
  | "drop_pound"
  /** The same before yes-or-no and before a name: the rest of a longer code (a nine-digit ZIP) must not confirm a card, nor spell a name. Up to a pound key or a pause. */
  | "drop_to_pound"
  /** The answer was refused: what was typed ahead with it meant other questions. Up to a pause. */
  | "drop_all";

/** Plain data, but for the memory of its own that `draft` points to. Each step returns a new value. */
export interface ConversationState {
  /** In the order of asking. */
  readonly questions: readonly Question[];
  readonly draft: Draft;
  readonly stage: Stage;
  readonly asks: Question;
  /** The question's prompt and what was said before the question, for repeating. */
  readonly prompt: PromptName;
  readonly lead: readonly Sentence[];
  /** What the lead says went wrong. */
  readonly error: Situation["error"];
  /** What is being spoken. */
  readonly speaking: PromptName | null;
  readonly speech: boolean;
  readonly typeAhead: TypeAhead;
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
  readonly misrecognised: number;
  /** The caller has been told how to be helped. */
  readonly helpOffered: boolean;
  /** Cards handed out by `submit_card`. */
  readonly cards: number;
  /** What became of the card, while "one moment, please" is still being spoken. */
  readonly result: PaymentResult | null;
  readonly ending: FinishReason | null;
}

export const NO_FAULTS: ConversationState["faults"] = { number: 0, expiry: 0, cvv: 0, zip: 0, name: 0, confirm: 0 };

/** More than any answer has, so that a too long one is seen to be too long: the longest name takes five keys a letter. */
const ENTRY_DIGITS = 5 * LONGEST_NAME + 12;

/** The conversation before the call is answered. */
export function startConversation(setup: ConversationSetup): ConversationState {
  const needed = (["number", "expiry"] as const).filter((field) => !setup.collect.includes(field));
  return {
    questions: [...new Set([...needed, ...setup.collect]), ...(setup.readBack ? (["confirm"] as const) : [])],
    draft: { setup, card: new CardCells(), entry: new Cell(ENTRY_DIGITS), informed: false, confirmed: false },
    stage: "ringing",
    asks: "number",
    prompt: "greeting",
    lead: [],
    error: null,
    speaking: null,
    speech: setup.speech && LANGUAGES[setup.language].recognised,
    typeAhead: "take",
    keyed: false,
    spoken: false,
    timers: [],
    faults: NO_FAULTS,
    silences: 0,
    misrecognised: 0,
    helpOffered: false,
    cards: 0,
    result: null,
    ending: null,
  };
}
