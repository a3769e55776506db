import type { CardBrand, CardCells } from "#src/kernel/card.ts";
import type { LanguageTag } from "#src/kernel/language.ts";
import type { DeclineCode, Mode } from "#src/kernel/payment.ts";
import type { ListenFor, RecognitionResult } from "#src/kernel/recognition.ts";
import type { FaultName, SentenceId, Values } from "./languages/language.ts";

/** What a project may want collected (docs/operations.md, Apply file, `voice.collect`). */
export type Field = "number" | "expiry" | "cvv" | "zip" | "name";

/** Every question of the conversation: the fields, then whether the card read back is the right one. */
export type Question = Field | "confirm";

/** How long a caller is waited for, ms. */
interface Timeouts {
  /** After a prompt, for the answer to begin; then the question is asked again. */
  firstDigitMs: number;
  /** For an answer that has begun to go on; null: three seconds, five in a card number. A name, which is spelled, has ten at least. */
  betweenDigitsMs: number | null;
}

export interface ConversationSetup {
  /** What the caller is spoken to in. */
  language: LanguageTag;
  mode: Mode;
  /** Whole minor units of `currency`. */
  amountMinor: number;
  /** ISO 4217, upper case. */
  currency: string;
  /** In the order of asking. Number and expiry are asked even when they are missing here. */
  collect: readonly Field[];
  /** Cards per call. */
  attempts: number;
  /** Faulty answers per field and card; the last of them ends the call. */
  tries: number;
  /** As the greeting says it; null: the greeting names nobody. */
  merchant: string | null;
  /** Cards of other brands are refused; empty: whatever the gateway takes. */
  acceptedBrands: readonly CardBrand[];
  /** The last four digits are read back before the card is used. */
  readBack: boolean;
  timeouts: Timeouts;
  /** The project's own words: of a sentence the first that fits is said. */
  wordings: readonly Wording[];
  /** Sentences that the project has recorded. */
  recordings?: Recordings;
  /** The test word is obeyed: a test key whose project did not switch it off. */
  testWord: boolean;
  /** A recogniser is there; without it, or without a model of the language, the keypad alone is offered. */
  speech: boolean;
  /** The recogniser understands names; else they are asked for on the keypad alone. */
  spokenNames: boolean;
  /** ISO 3166-1 alpha-2: how long a postal code is. */
  country: string;
  /** The caller goes back to where he came from afterwards: no last sentence says goodbye. */
  transfersBack: boolean;
  /** Wall clock at the start of the call, ms since the Unix epoch: cards are checked against it. */
  nowMs: number;
}

/** DTMF digits beyond 0 to 9, as RFC 4733 section 3.2 numbers them. */
export const STAR = 10;
export const POUND = 11;

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
  /** A second star key that comes before it asks for the operator. */
  | "star"
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
  /** Answer to `look_up_code`. `closed`: no code is looked at for a while. */
  | { type: "code_looked_up"; found: "session" | "none" | "closed" }
  | { type: "hung_up" };

/** One piece of speech. A fixed one is the same in every call of the language, so it can be rendered once and kept. */
export interface Piece {
  text: string;
  isFixed: boolean;
}

/** One sentence as it is to be said. */
export interface Sentence {
  id: SentenceId;
  language: LanguageTag;
  /** In a row: the sentence, or its parts around digits that are said one by one. */
  pieces: readonly Piece[];
  /** What was filled in, for another wording of it. */
  values: Partial<Values>;
  /** The recording that says it. */
  recording?: string;
}

/** Why something is said: what another wording of a prompt may depend on. */
export interface Situation {
  /** The question that the caller is to answer now, null when none. */
  asks: Question | null;
  /** Which try at the question it is, from 1; without a question which card. */
  attempt: number;
  /** What went wrong with the try before, null when nothing did. */
  error: FaultName | "not_heard" | "not_confirmed" | DeclineCode | null;
  /** Of the card number given; null as long as there is none. */
  brand: CardBrand | null;
}

/** A sentence in a project's own words, in every situation or in some. */
export interface Wording {
  sentence: SentenceId;
  /** As in `Situation`; undefined: any. */
  attempt?: number | undefined;
  error?: NonNullable<Situation["error"]> | undefined;
  brand?: CardBrand | undefined;
  /** With the places of the sentence's own words, `{amount}` for one. */
  text: string;
}

/** Recordings of sentences, each by its name (a digest); how they sound is not the conversation's. */
export type Recordings = Readonly<Partial<Record<SentenceId, string>>>;

/** Stable names of everything the caller can hear, for logs, timelines and scripted callers. */
export type PromptName =
  | "greeting"
  | "ask_number"
  | "ask_expiry"
  | "ask_cvv"
  | "ask_zip"
  | "ask_name"
  | "name_unended"
  | "confirm_last4"
  | FaultName
  | "not_confirmed"
  | "not_heard"
  | "use_keypad"
  | "keypad_only"
  | "cleared"
  | "help"
  | "declined_try_again"
  | "one_moment"
  | "still_working"
  | "ask_code"
  | "code_unknown"
  | "code_not_found"
  | ClosingName;

/** The last sentence of a call. */
export type ClosingName = "success" | "declined" | "unknown_outcome" | "too_many_tries" | "nobody_there" | "goodbye" | "cancelled";

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
  /** Speak these sentences, at once, instead of whatever is playing. */
  | { type: "play"; prompt: PromptName; situation: Situation; sentences: readonly Sentence[] }
  /** Stop the prompt. */
  | { type: "stop_playback" }
  /**
   * Recognise speech, also while a prompt plays. `have`: digits of the answer already there. `lengths`: digits that the whole answer
   * may have, null where the recogniser knows. Sent again when that changes.
   */
  | { type: "listen"; what: ListenFor; have: number; lengths: readonly number[] | null }
  | { type: "stop_listening" }
  /** Sets the timer, or sets it anew. */
  | { type: "timer"; name: TimerName; ms: number }
  | { type: "cancel_timer"; name: TimerName }
  /** Charge or store this card. It is a copy that the receiver owns and wipes. `mayRetry`: the caller has another card left. */
  | { type: "submit_card"; card: CardCells; mayRetry: boolean }
  /** The test word was said: record the synthetic payment. */
  | { type: "skip" }
  /** Find and claim the session of this short code, eight digits. */
  | { type: "look_up_code"; code: string }
  /** How the call ends is decided; its last sentence is being spoken, and nothing of the card is kept. */
  | { type: "closing"; reason: FinishReason }
  /** The conversation is over and its memory wiped; no effect follows. `reason` is that of `closing`, where there was one. */
  | { type: "finish"; reason: FinishReason };
