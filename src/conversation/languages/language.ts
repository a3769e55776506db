import type { CardBrand } from "#src/kernel/card.ts";
import type { DeclineCode } from "#src/kernel/payment.ts";

/** How to ask for each field: for voice and keypad, and under the second name for the keypad alone. */
type Asking =
  | "ask_number"
  | "ask_number_keypad"
  | "ask_expiry"
  | "ask_expiry_keypad"
  | "ask_cvv3"
  | "ask_cvv3_keypad"
  | "ask_cvv4"
  | "ask_cvv4_keypad"
  | "ask_zip"
  | "ask_zip_keypad"
  | "ask_postal_code"
  | "ask_postal_code_keypad"
  | "ask_postal_digits"
  | "ask_postal_digits_keypad"
  | "ask_name"
  | "ask_name_keypad"
  | "ask_confirm"
  | "ask_confirm_keypad"
  | "ask_confirm_name"
  | "ask_confirm_name_keypad";

/** What can be wrong with an answer. Each is the name of the sentence that says so, and of the prompt that asks again. */
export const FAULTS = [
  "number_length",
  "number_invalid",
  "number_not_accepted",
  "brand_not_accepted",
  "expiry_invalid",
  "expiry_past",
  "cvv_length",
  "zip_length",
  "name_invalid",
  "name_length",
  "confirm_unclear",
] as const;
export type FaultName = (typeof FAULTS)[number];

/** Why the payment did not happen. Codes that the caller need not tell apart share a sentence (`sentences.ts`). */
type Reason =
  | Extract<
      DeclineCode,
      | "card_declined"
      | "insufficient_funds"
      | "expired_card"
      | "incorrect_number"
      | "incorrect_cvc"
      | "incorrect_zip"
      | "invalid_expiry"
      | "card_not_supported"
      | "held_for_review"
      | "limit_exceeded"
      | "authentication_required"
      | "duplicate_transaction"
    >
  | "not_processed";

/** Stable names of the sentences: what a recording or another wording goes by. */
export type SentenceId =
  | "greeting"
  | "greeting_of"
  | "you_pay"
  | "will_store"
  | "card_ends_in"
  | "name_is"
  | Asking
  | FaultName
  | Reason
  | "not_heard"
  | "use_keypad"
  | "keypad_only"
  | "cleared"
  | "help"
  | "help_keypad"
  | "help_offer"
  | "help_offer_keypad"
  | "name_unended"
  | "not_confirmed"
  | "another_card"
  | "one_moment"
  | "still_working"
  | "not_paid_elsewhere"
  | "paid"
  | "stored"
  | "not_charged"
  | "not_stored"
  | "not_completed"
  | "do_not_repeat"
  | "will_be_told"
  | "too_many_tries"
  | "nobody_there"
  | "goodbye"
  | "cancelled"
  | "say_goodbye"
  | "connecting"
  | "connecting_to"
  | "line_busy"
  | "nobody_answers"
  | "not_connected"
  | "call_later"
  | "call_later_to_pay"
  | "ask_code"
  | "code_unknown"
  | "code_not_found";

/** What a sentence may hold besides its own words, each at the place that `{name}` has in it; the language puts it in words. */
export interface Values {
  /** Whole minor units of an ISO 4217 currency. */
  amount: { minor: number; currency: string };
  brand: CardBrand;
  /** What a project accepts. */
  brands: readonly CardBrand[];
  /** The merchant's name as it is spoken. */
  merchant: string;
  /** Month 1-12 and a year of four digits. */
  date: { month: number; year: number };
  /** The card's last four, said one by one. */
  last4: readonly number[];
  /** The name on the card in capitals, spelled letter by letter. */
  cardholder: string;
}

/** What a card is called in `{brand}`, in every language; empty where the word for a card says enough. */
export const BRAND_NAMES: Readonly<Record<CardBrand, string>> = {
  visa: "Visa",
  mastercard: "Mastercard",
  amex: "American Express",
  discover: "Discover",
  diners: "Diners Club",
  jcb: "J C B",
  unionpay: "Union Pay",
  maestro: "Maestro",
  elo: "Elo",
  unknown: "",
};

/**
 * One language. A sentence is whole, with its own word order: `{amount}`, `{brand}`, `{brands}`, `{merchant}`, `{date}`, `{last4}` and `{cardholder}` stand where the
 * language wants them. The compiler refuses a language that lacks anything.
 */
export interface Language {
  sentences: Readonly<Record<SentenceId, string>>;
  /** Zero to nine, as digits are read out. */
  digits: readonly [string, string, string, string, string, string, string, string, string, string];
  /** What is said for characters of a spelled name that are not said as they are written. */
  spelled: Readonly<Partial<Record<string, string>> & Record<" " | "'", string>>;
  /** Whole minor units of an ISO 4217 currency, as callers say them: "forty nine dollars and ninety five cents". */
  amountInWords: (amountMinor: number, currency: string) => string;
  /** Month 1-12 and a year of four digits: "march twenty twenty five". */
  dateInWords: (month: number, year: number) => string;
  /** The recogniser has a model of this language; without one the keypad alone is offered. */
  recognised: boolean;
}
