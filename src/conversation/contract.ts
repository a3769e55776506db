import type { CardCells } from "#src/kernel/card.ts";
import type { DeclineCode, Mode } from "#src/kernel/payment.ts";

/** What a project may want collected (docs/operations.md, Apply file, `voice.collect`). */
export type CollectField = "number" | "expiry" | "cvv" | "zip" | "name";

/** What a caller can be asked on the telephone. A name is not among it: our recogniser cannot spell. */
export type Field = Exclude<CollectField, "name">;

/** Every question of the conversation: the fields, then whether the card read back is the right one. */
export type Question = Field | "confirm";

export interface ConversationSetup {
  mode: Mode;
  /** Whole minor units of `currency`. */
  amountMinor: number;
  /** ISO 4217, upper case. */
  currency: string;
  /** In the order of asking. Number and expiry are asked even when they are missing here; `name` is left out. */
  collect: readonly CollectField[];
  /** Faulty answers per field and card, and cards per call. */
  attempts: number;
  /** The test word is obeyed: a test key whose project did not switch it off. */
  testWord: boolean;
  /** A recogniser is there; false = keypad only. */
  speech: boolean;
  /** ISO 3166-1 alpha-2: how long a postal code is. */
  country: string;
  /** Wall clock at the start of the call, ms since the Unix epoch: cards are checked against it. */
  nowMs: number;
}

/** DTMF digits beyond 0 to 9, as RFC 4733 section 3.2 numbers them. */
export const STAR = 10;
export const POUND = 11;

/** The caller's spoken wishes about the conversation itself. */
export type Command = "repeat" | "help" | "back" | "cancel" | "operator";

/** One finished utterance, as the recogniser understood it. */
export type RecognitionResult =
  /**
   * Digits 0-9 in the order spoken, to be put behind what the field already holds. `final`: the recogniser takes this for
   * the end of the answer, not for one part of it. The machine overwrites the array once it has read it.
   */
  | { kind: "digits"; digits: Uint8Array; final: boolean; certain: boolean }
  /** Month 1-12; year as spoken, two or four digits. */
  | { kind: "expiry"; month: number; year: number; certain: boolean }
  | { kind: "yes" }
  | { kind: "no" }
  | { kind: "command"; command: Command }
  | { kind: "test_word" }
  /** Speech, or a noise like it, that means nothing here. */
  | { kind: "nothing" };

/** What became of the card (`payments/`). */
export type PaymentResult =
  | { kind: "approved" }
  | { kind: "declined"; code: DeclineCode; fix: Field | null; final: boolean }
  | { kind: "unknown" }
  /** The session was no longer being collected: nothing was sent to a gateway. */
  | { kind: "refused" }
  /** The session is being paid in another way, by the page of its link: what becomes of that follows. */
  | { kind: "elsewhere" }
  /** That payment did not come about: the caller may go on. */
  | { kind: "open" };

export type TimerName =
  /** Nobody says or keys anything after a prompt. */
  | "silence"
  /** The answer has begun and does not go on. */
  | "digits"
  /** Digits typed ahead that belong to no question any more are still coming. */
  | "type_ahead"
  /** The gateway takes its time. */
  | "patience";

export type ConversationEvent =
  /** Media flows in both directions. */
  | { type: "answered" }
  /** 0-9, STAR, POUND; others are ignored. */
  | { type: "dtmf"; digit: number }
  /** The caller has begun to speak; a `recognised` follows. */
  | { type: "speech_started" }
  | { type: "recognised"; result: RecognitionResult }
  /** The last word of this prompt was played. A prompt that was stopped or replaced need not be reported; late reports are ignored. */
  | { type: "prompt_ended"; prompt: PromptName }
  | { type: "timer"; name: TimerName }
  /**
   * What became of the card of `submit_card`; also of a `skip` that came too late; or, at any time, of a payment of the same
   * session that is not this call's.
   */
  | { type: "payment_result"; result: PaymentResult }
  /** Answer to `skip`. */
  | { type: "skipped" }
  /** The merchant cancelled the session. */
  | { type: "cancelled" }
  /** No recogniser is free, or it died: the keypad alone from here on. */
  | { type: "speech_unavailable" }
  | { type: "hung_up" };

/** What can be wrong with an answer. Each is also the name of the prompt that says so and asks again. */
export type FaultName =
  | "number_length"
  | "number_invalid"
  | "number_not_accepted"
  | "expiry_invalid"
  | "expiry_past"
  | "cvv_length"
  | "zip_length"
  | "confirm_unclear"
  | "not_confirmed";

/** Stable names of everything the caller can hear, for logs, timelines and scripted callers. */
export type PromptName =
  | "greeting"
  | "ask_number"
  | "ask_expiry"
  | "ask_cvv"
  | "ask_zip"
  | "confirm_last4"
  | FaultName
  | "not_heard"
  | "use_keypad"
  | "cleared"
  | "help"
  | "declined_try_again"
  | "one_moment"
  | "still_working"
  | ClosingName;

/** The last sentence of a call. */
export type ClosingName = "success" | "declined" | "unknown_outcome" | "too_many_tries" | "nobody_there" | "goodbye" | "cancelled";

export type Listening = "number" | "expiry" | "cvv" | "zip" | "yes_no";

export type FinishReason =
  /** The payment has its outcome: approved, finally declined, or unknown. */
  | "done"
  /** Silence, or the caller's wish to stop. */
  | "abandoned"
  /** Too many faulty answers, or too many cards. */
  | "exhausted"
  | "cancelled"
  /** The caller left before any of the above was decided. */
  | "hung_up";

export type ConversationEffect =
  /**
   * Speak, at once, instead of whatever is playing. `asks`: the question that a caller is to answer now, null when none.
   * `parts` are spoken in a row; what varies (amount, single digits) is a part of its own, so the rest can be kept rendered.
   */
  | { type: "play"; prompt: PromptName; asks: Question | null; parts: readonly string[] }
  /** Stop the prompt. */
  | { type: "stop_playback" }
  /**
   * Recognise speech, also while a prompt plays. `have`: digits of the answer already there. `lengths`: digits that the whole answer
   * may have, null where the recogniser knows. Sent again when that changes.
   */
  | { type: "listen"; what: Listening; have: number; lengths: readonly number[] | null }
  | { type: "stop_listening" }
  /** Sets the timer, or sets it anew. */
  | { type: "timer"; name: TimerName; ms: number }
  | { type: "cancel_timer"; name: TimerName }
  /** Charge or store this card. It is a copy that the receiver owns and wipes. `mayRetry`: the caller has another card left. */
  | { type: "submit_card"; card: CardCells; mayRetry: boolean }
  /** The test word was said: record the synthetic payment. */
  | { type: "skip" }
  /** The conversation is over and its memory wiped; no effect follows. */
  | { type: "finish"; reason: FinishReason };
