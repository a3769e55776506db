import { DIGIT_WORDS } from "#src/kernel/number-words.ts";
import type { DeclineCode, Mode } from "#src/kernel/payment.ts";
import type { ClosingName, ConversationSetup, FaultName } from "./contract.ts";
import { moneyInWords } from "./money-in-words.ts";

/** Every sentence of the conversation, in American English. One string is one fragment of speech. */

type Payment = Pick<ConversationSetup, "mode" | "amountMinor" | "currency">;

interface Asking {
  /** Both ways of answering are open. */
  speech: string;
  keypad: string;
}

export const ASK = {
  number: {
    speech: "Please say or key in your card number, then press the pound key.",
    keypad: "Please key in your card number, then press the pound key.",
  },
  expiry: {
    speech: "Now the expiry date. Say it, or key in two digits for the month and two digits for the year.",
    keypad: "Now the expiry date. Key in two digits for the month and two digits for the year.",
  },
  cvv3: {
    speech: "Now say or key in the three digit security code. It is on the back of the card.",
    keypad: "Now key in the three digit security code. It is on the back of the card.",
  },
  cvv4: {
    speech: "Now say or key in the four digit security code. It is on the front of the card.",
    keypad: "Now key in the four digit security code. It is on the front of the card.",
  },
  zip: {
    speech: "Now say or key in the five digit zip code of your billing address.",
    keypad: "Now key in the five digit zip code of your billing address.",
  },
  postalCode: {
    speech: "Now say or key in the postal code of your billing address, then press the pound key.",
    keypad: "Now key in the postal code of your billing address, then press the pound key.",
  },
  confirm: {
    // A lone yes or no is too short to be told from other words: the longer answer is the one that is heard (docs/conversation.md).
    speech: "Is that right? Say yes, that's right, or press one. Say no, that's wrong, or press two.",
    keypad: "Is that right? Press one for yes, or two for no.",
  },
} as const satisfies Record<string, Asking>;

/** What is said before a question that is asked again, because of the answer it got. */
export const FAULT: Readonly<Record<FaultName, string>> = {
  number_length: "That card number does not have the right number of digits.",
  number_invalid: "That card number is not valid.",
  number_not_accepted: "That kind of card is not accepted here.",
  expiry_invalid: "That is not a valid expiry date.",
  expiry_past: "That card has expired.",
  cvv_length: "That security code does not have the right number of digits.",
  zip_length: "That code does not have the right number of digits.",
  confirm_unclear: "I did not understand the answer.",
  not_confirmed: "All right, let us try the card number again.",
};

export const NOTE = {
  not_heard: "I did not catch that. You can also use the keypad.",
  use_keypad: "I still could not understand. Please use the keypad of your phone.",
  cleared: "Cleared.",
  help: {
    speech:
      "You can say each answer or key it in. The star key clears it, the pound key ends it. Say repeat to hear a question again, back for the one before, or cancel to stop.",
    keypad: "Key in each answer. The star key clears it, or repeats the question. The pound key ends it.",
  },
  one_moment: "One moment, please.",
  still_working: "Still working on it. Please stay on the line.",
  another_card: "You can try again, or use another card.",
  not_paid_elsewhere: "The payment on the web page was not made. We can go on here.",
} as const;

const GREETING = "This is the secure payment line.";
const AMOUNT_IS = "Your payment is";
const WILL_STORE = "We will store your card for later. Nothing is charged now.";
const YOU_PAY = "You are paying";
const WITH_CARD = "with the card that ends in";
const STORE_CARD = "We will store the card that ends in";

/** The first words of a call, before the first question. The description is not spoken: it may hold anything. */
export function greetingWords({ mode, amountMinor, currency }: Payment): readonly string[] {
  return mode === "charge" ? [GREETING, AMOUNT_IS, moneyInWords(amountMinor, currency)] : [GREETING, WILL_STORE];
}

/** What the caller is about to agree to: amount and card, its digits one by one. Whoever cut the greeting short hears the amount here. */
export function readBackWords({ mode, amountMinor, currency }: Payment, digits: readonly number[]): readonly string[] {
  const agreement = mode === "charge" ? [YOU_PAY, moneyInWords(amountMinor, currency), WITH_CARD] : [STORE_CARD];
  return [...agreement, ...digits.map((digit) => DIGIT_WORDS[digit] ?? "")];
}

const DECLINED = "The card was declined.";
const NOT_PROCESSED = "The payment could not be processed.";

/** Why the payment did not happen, for the caller: nothing that would help a thief, nothing about the merchant's settings. */
export const REASON: Readonly<Record<DeclineCode, string>> = {
  card_declined: DECLINED,
  insufficient_funds: "The card does not have enough funds.",
  expired_card: "The bank says that this card has expired.",
  incorrect_number: "The bank does not know this card number.",
  incorrect_cvc: "The security code does not match the card.",
  incorrect_zip: "The zip code does not match the card.",
  invalid_expiry: "The expiry date does not match the card.",
  card_not_supported: FAULT.number_not_accepted,
  do_not_honor: DECLINED,
  lost_or_stolen: DECLINED,
  fraud_suspected: DECLINED,
  held_for_review: "The payment is held for review, and the sum may be held on your card.",
  limit_exceeded: "The limit of the card is reached.",
  authentication_required: "The bank asks for a check that cannot be done on the phone.",
  duplicate_transaction: "The same payment was made a short time ago, so this one was refused.",
  processing_error: NOT_PROCESSED,
  gateway_unavailable: NOT_PROCESSED,
  gateway_credentials_invalid: NOT_PROCESSED,
  gateway_misconfigured: NOT_PROCESSED,
  outcome_unknown: NOT_PROCESSED,
  webhook_gateway_error: NOT_PROCESSED,
  attempts_exhausted: NOT_PROCESSED,
};

const NOTHING_HAPPENED: Readonly<Record<Mode, string>> = { charge: "You have not been charged.", tokenize: "The card was not stored." };
const DO_NOT_REPEAT = "Please do not try again yet.";

/** Refusals after which money may have moved all the same: the caller is told not to pay a second time. */
const MAY_HAVE_MOVED: ReadonlySet<DeclineCode> = new Set([
  "held_for_review",
  "duplicate_transaction",
  "outcome_unknown",
  "webhook_gateway_error",
]);

const THANK_YOU = "Thank you. Your payment of";
const APPROVED = "was approved.";
const STORED = "Thank you. Your card was stored.";

/** The sentence of a payment that went through. */
export function successWords({ mode, amountMinor, currency }: Payment): readonly string[] {
  return mode === "charge" ? [THANK_YOU, moneyInWords(amountMinor, currency), APPROVED] : [STORED];
}

/** The sentence of a refusal that ends the call. */
export function declinedWords(mode: Mode, code: DeclineCode): readonly string[] {
  return [REASON[code], MAY_HAVE_MOVED.has(code) ? DO_NOT_REPEAT : NOTHING_HAPPENED[mode]];
}

/** The other last sentences. None claims more than is known; after "unknown" nobody may pay again at once. */
export const CLOSING: Readonly<Record<Exclude<ClosingName, "success" | "declined">, readonly string[]>> = {
  unknown_outcome: ["The payment is not completed.", DO_NOT_REPEAT, "You will be told how it ended."],
  too_many_tries: ["We could not take your card this time."],
  nobody_there: ["I did not hear anything. Goodbye."],
  goodbye: ["All right, we will stop here. Goodbye."],
  cancelled: ["This payment has been cancelled. Goodbye."],
};

/** Every fragment that never varies, so that the voice can render all of them once. What varies is the amount alone. */
export function fixedPrompts(): readonly string[] {
  const leaves = (value: unknown): string[] =>
    typeof value === "string" ? [value] : Object.values(value as Record<string, unknown>).flatMap(leaves);
  const openings = [GREETING, AMOUNT_IS, WILL_STORE, YOU_PAY, WITH_CARD, STORE_CARD];
  const endings = [THANK_YOU, APPROVED, STORED, DO_NOT_REPEAT, NOTHING_HAPPENED];
  return [...new Set(leaves([ASK, FAULT, NOTE, openings, endings, REASON, CLOSING, DIGIT_WORDS]))];
}

/** The fragments that end a prompt by asking something: what a scripted caller waits for. */
export function askingPrompts(): readonly string[] {
  return Object.values(ASK).flatMap(({ speech, keypad }) => [speech, keypad]);
}
