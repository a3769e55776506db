import {
  cvvLengthOf,
  isCompleteNumber,
  isUnexpired,
  lengthsOf,
  LONGEST_NAME,
  passesLuhn,
  brandOf,
  type CardBrand,
  type CardCells,
  type Cell,
} from "#src/kernel/card.ts";
import type { ListenFor } from "#src/kernel/recognition.ts";
import type { ConversationSetup, PromptName, Question, Sentence } from "./contract.ts";
import type { FaultName, SentenceId } from "./languages/language.ts";
import { spelledText } from "./multi-tap.ts";
import { ASK, readBack } from "./sentences.ts";

/** What the questions read and write. Card and entry are memory of their own, see kernel/card.ts. */
export interface Draft {
  readonly setup: ConversationSetup;
  /** The answers that passed their checks. */
  card: CardCells;
  /** The answer being given: every digit of the current question lands here, spoken or keyed. */
  entry: Cell;
  /** What is to be paid or stored was heard to its end. */
  informed: boolean;
  /** The last four were read back and found right. */
  confirmed: boolean;
}

interface Rules {
  prompt: PromptName;
  listenFor: ListenFor;
  /** Digits that a whole spoken answer may have, where that depends on the card or the country. */
  lengths?(draft: Draft): readonly number[];
  /** What the caller must hear before the question makes sense. */
  preface?(draft: Draft): readonly Sentence[];
  ask(draft: Draft): Asking;
  /** No further digit can belong to the answer: it ends by itself. */
  isWhole(draft: Draft): boolean;
  /** Digits from which on an utterance may be taken for the whole answer. */
  minimum: number;
  /** A pause of two seconds is enough to end the answer; left out: never. */
  mayEnd?(draft: Draft): boolean;
  /** What is said after a pause of an answer that only its pound key ends. */
  reminder?: SentenceId & PromptName;
  /** What is wrong with the answer; null when nothing is. */
  check(draft: Draft): FaultName | null;
  /** Takes the checked answer over. */
  keep(draft: Draft): void;
  isAnswered(draft: Draft): boolean;
  forget(draft: Draft): void;
}

type Asking = Readonly<Record<"speech" | "keypad", SentenceId>>;

/** ISO 3166-1 country to what is asked of its postal code, and how many digits that has; three to ten where we know no better. */
interface PostalCode {
  lengths: readonly number[];
  ask: Asking;
}

const POSTAL_CODES: Readonly<Record<string, PostalCode>> = {
  US: { lengths: [5], ask: ASK.zip },
  // K1A 0B1 is 101, SW1A 2AA is 12: address verification there compares the digits alone, and a keypad has no letters.
  CA: { lengths: [3], ask: ASK.postalDigits },
  GB: { lengths: [2, 3], ask: ASK.postalDigits },
};
const OTHER_POSTAL_CODE: PostalCode = { lengths: [3, 4, 5, 6, 7, 8, 9, 10], ask: ASK.postalCode };
const postalCode = ({ setup }: Draft) => POSTAL_CODES[setup.country] ?? OTHER_POSTAL_CODE;

/**
 * ISO/IEC 7812-1 major industry identifiers of payment cards. Some networks' ranges are not in our table, so an unknown
 * brand is left to the gateway; what no network issues is refused here.
 */
const PAYMENT_CARDS: ReadonlySet<number> = new Set([2, 3, 4, 5, 6, 8]);

/**
 * Brands that may issue longer numbers, yet hardly anybody holds one: waiting two seconds after every card for the sake of
 * those would cost every other caller two seconds. Their holders press the pound key, or are asked again.
 */
const USUAL_LENGTH: Readonly<Partial<Record<CardBrand, number>>> = { visa: 16, discover: 16, jcb: 16 };

/** DTMF digits of the yes-or-no question; the spoken words stand for the first two. The third is offered where a name was given. */
export const ANSWER_DIGITS = { yes: 1, no: 2, otherName: 3 } as const;

/** A name as cards bear it, of two letters at least. */
export const isName = (text: string): boolean => text.length <= LONGEST_NAME && /^[A-Z][A-Z' ]*[A-Z]$/.test(text);

const spelledName = (entry: Cell): string | null => spelledText(entry)?.replaceAll(/ +/g, " ").trim() ?? null;

/** Month and year 20YY of a four- or six-digit answer, MMYY or MMYYYY; null for any other length. */
export function monthAndYear(entry: Cell): { month: number; year: number } | null {
  if (entry.length !== 4 && entry.length !== 6) return null;
  const pair = (at: number) => entry.digit(at) * 10 + entry.digit(at + 1);
  return { month: pair(0), year: entry.length === 4 ? 2000 + pair(2) : pair(2) * 100 + pair(4) };
}

/** All questions, in no order: each project chooses its own. The conversation knows nothing of them but this table. */
export const QUESTIONS: Readonly<Record<Question, Rules>> = {
  number: {
    prompt: "ask_number",
    listenFor: "number",
    ask: () => ASK.number,
    isWhole: ({ entry }) => {
      const longest = Math.max(...lengthsOf(entry));
      return entry.length >= longest || (isCompleteNumber(entry) && entry.length === USUAL_LENGTH[brandOf(entry)]);
    },
    minimum: 12,
    mayEnd: ({ entry }) => isCompleteNumber(entry),
    check: ({ entry, setup: { acceptedBrands } }) => {
      if (!lengthsOf(entry).includes(entry.length)) return "number_length";
      if (!passesLuhn(entry)) return "number_invalid";
      if (acceptedBrands.length > 0 && !acceptedBrands.includes(brandOf(entry))) return "brand_not_accepted";
      return brandOf(entry) === "unknown" && !PAYMENT_CARDS.has(entry.digit(0)) ? "number_not_accepted" : null;
    },
    keep: ({ card, entry }) => pour(entry, card.number),
    isAnswered: ({ card }) => card.number.length > 0,
    forget: (draft) => {
      draft.card.number.wipe();
      draft.confirmed = false;
    },
  },

  expiry: {
    prompt: "ask_expiry",
    listenFor: "expiry",
    ask: () => ASK.expiry,
    // 0320 may be the start of 032030; the year 2020 is past, so no valid MMYY ends in 20.
    isWhole: ({ entry }) => entry.length >= 6 || (entry.length === 4 && monthAndYear(entry)?.year !== 2020),
    minimum: 4,
    check: ({ entry, setup }) => {
      const date = monthAndYear(entry);
      if (!date || date.month < 1 || date.month > 12 || date.year >= 2100) return "expiry_invalid";
      return isUnexpired(date.month, date.year, setup.nowMs) ? null : "expiry_past";
    },
    keep: ({ card, entry }) => {
      const century = entry.length === 4 ? [2, 0] : [];
      pour([entry.digit(0), entry.digit(1)], card.expMonth);
      pour([...century, ...entry.bytes(2)], card.expYear);
    },
    isAnswered: ({ card }) => card.expMonth.length > 0,
    forget: ({ card }) => {
      card.expMonth.wipe();
      card.expYear.wipe();
    },
  },

  cvv: {
    prompt: "ask_cvv",
    listenFor: "cvv",
    lengths: ({ card }) => [cvvLengthOf(card.number)],
    ask: ({ card }) => (cvvLengthOf(card.number) === 4 ? ASK.cvv4 : ASK.cvv3),
    isWhole: ({ card, entry }) => entry.length >= cvvLengthOf(card.number),
    minimum: 3,
    check: ({ card, entry }) => (entry.length === cvvLengthOf(card.number) ? null : "cvv_length"),
    keep: ({ card, entry }) => pour(entry, card.cvv),
    // A new card number of another brand may want a code of another length: then it is asked again.
    isAnswered: ({ card }) => card.cvv.length === cvvLengthOf(card.number),
    forget: ({ card }) => card.cvv.wipe(),
  },

  zip: {
    prompt: "ask_zip",
    listenFor: "zip",
    lengths: (draft) => postalCode(draft).lengths,
    ask: (draft) => postalCode(draft).ask,
    isWhole: (draft) => draft.entry.length >= Math.max(...postalCode(draft).lengths),
    minimum: 2,
    check: (draft) => (postalCode(draft).lengths.includes(draft.entry.length) ? null : "zip_length"),
    keep: ({ card, entry }) => {
      card.postalCode = String.fromCharCode(...entry.bytes());
    },
    isAnswered: ({ card }) => card.postalCode !== null,
    forget: ({ card }) => {
      card.postalCode = null;
    },
  },

  name: {
    prompt: "ask_name",
    listenFor: "name",
    ask: ({ setup }) => ({ ...ASK.name, ...(!setup.spokenNames && { speech: ASK.name.keypad }) }),
    isWhole: () => false,
    minimum: 1,
    // A pause cannot end it: the 1 of a caller who goes on spelling would confirm the card that is read back by then.
    reminder: "name_unended",
    check: ({ card, entry }) => {
      const name = spelledName(entry);
      if (name !== null && !isName(name)) return "name_length";
      // The card's number once more, by mistake, may spell something, which would tell the number.
      return name === null || entry.equals(card.number) ? "name_invalid" : null;
    },
    keep: ({ card, entry }) => {
      card.cardholderName = spelledName(entry);
    },
    isAnswered: ({ card }) => card.cardholderName !== null,
    forget: ({ card }) => {
      card.cardholderName = null;
    },
  },

  confirm: {
    prompt: "confirm_last4",
    listenFor: "yes_no",
    preface: ({ card, setup, informed }) =>
      readBack(
        setup,
        informed,
        card.brand,
        [-4, -3, -2, -1].map((at) => card.number.digit(at)),
        card.cardholderName,
      ),
    ask: ({ card }) => (card.cardholderName === null ? ASK.confirm : ASK.confirmName),
    isWhole: ({ entry }) => entry.length > 0,
    minimum: 1,
    check: ({ card, entry }) => {
      const digit = entry.length === 1 ? entry.digit(0) : null;
      const { yes, no, otherName } = ANSWER_DIGITS;
      return digit === yes || digit === no || (digit === otherName && card.cardholderName !== null) ? null : "confirm_unclear";
    },
    // A no is an answer, too: the number is asked again, or the name.
    keep: (draft) => {
      const answer = draft.entry.digit(0);
      draft.confirmed = answer === ANSWER_DIGITS.yes;
      if (answer === ANSWER_DIGITS.no) draft.card.number.wipe();
      if (answer === ANSWER_DIGITS.otherName) draft.card.cardholderName = null;
    },
    isAnswered: ({ confirmed }) => confirmed,
    forget: (draft) => {
      draft.confirmed = false;
    },
  },
};

function pour(digits: Iterable<number> | Cell, target: Cell): void {
  target.wipe();
  for (const digit of "bytes" in digits ? digits.bytes() : digits) target.push(digit);
}
