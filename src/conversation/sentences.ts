import type { CardBrand } from "#src/kernel/card.ts";
import { EMBEDDED_LANGUAGE, type LanguageTag } from "#src/kernel/language.ts";
import { type DeclineCode, mayHaveMoved, type Mode } from "#src/kernel/payment.ts";
import type { ClosingName, ConversationSetup, Piece, Sentence } from "./contract.ts";
import { LANGUAGES } from "./languages/index.ts";
import { BRAND_NAMES, type Language, type SentenceId, type Values } from "./languages/language.ts";

/** Which sentences are said when, and how one is filled in. The words are in `languages/`. */

/** A sentence is spoken as one piece; digits and letters are pieces of their own, so that they are rendered once and never kept in a row. */
const ONE_BY_ONE = /\{(?:last4|cardholder)\}/;

/** One sentence in the language's own words and order. Values that it does not hold are passed over. */
export function sentence(language: LanguageTag, id: SentenceId, values: Partial<Values> = {}): Sentence {
  return filledIn(language, id, LANGUAGES[language].sentences[id], values);
}

/** The sentence for the embedded voice: what is in another language, in English and its usual words. */
export function inEnglish(said: Sentence): Sentence {
  return said.language === EMBEDDED_LANGUAGE ? said : sentence(EMBEDDED_LANGUAGE, said.id, said.values);
}

/** The sentence in other words: `template` has its places. */
export const inOwnWords = ({ id, language, values }: Sentence, template: string): Sentence => filledIn(language, id, template, values);

function filledIn(language: LanguageTag, id: SentenceId, template: string, values: Partial<Values>): Sentence {
  const [before = "", after] = template.split(ONE_BY_ONE);
  const single = after === undefined ? [] : template.includes("{last4}") ? digitsOf(language, values) : lettersOf(language, values);
  const words = inWordsOf(language, values);
  const pieces = [piece(before, words), ...single.map((text) => ({ text, isFixed: true })), piece(after ?? "", words)];
  return { id, language, pieces: pieces.filter(({ text }) => /[\p{L}]/u.test(text)), values };
}

const digitsOf = (language: LanguageTag, { last4 = [] }: Partial<Values>) => last4.map((digit) => LANGUAGES[language].digits[digit] ?? "");

const lettersOf = (language: LanguageTag, { cardholder = "" }: Partial<Values>) =>
  Array.from(cardholder, (letter) => LANGUAGES[language].spelled[letter] ?? letter);

/** All that is spoken but single digits and letters, in the language's words. */
function inWordsOf(language: LanguageTag, { amount, brand, brands, merchant, date }: Partial<Values>): Partial<Record<string, string>> {
  const spoken = LANGUAGES[language];
  return {
    ...(amount && { amount: spoken.amountInWords(amount.minor, amount.currency) }),
    ...(brand && { brand: BRAND_NAMES[brand] }),
    ...(brands && { brands: brandsInWords(language, brands) }),
    ...(merchant !== undefined && { merchant }),
    ...(date && { date: spoken.dateInWords(date.month, date.year) }),
  };
}

function piece(template: string, words: Partial<Record<string, string>>): Piece {
  const filled = template.replaceAll(/\{(amount|brand|brands|merchant|date)\}/g, (_, name: string) => words[name] ?? "");
  const text = filled.replaceAll(/ +/g, " ").trim();
  return { text, isFixed: !/\{(amount|date)\}/.test(template) };
}

/** How each question is put: for voice and keypad, and for the keypad alone. */
export const ASK = {
  number: { speech: "ask_number", keypad: "ask_number_keypad" },
  expiry: { speech: "ask_expiry", keypad: "ask_expiry_keypad" },
  cvv3: { speech: "ask_cvv3", keypad: "ask_cvv3_keypad" },
  cvv4: { speech: "ask_cvv4", keypad: "ask_cvv4_keypad" },
  zip: { speech: "ask_zip", keypad: "ask_zip_keypad" },
  postalCode: { speech: "ask_postal_code", keypad: "ask_postal_code_keypad" },
  name: { speech: "ask_name", keypad: "ask_name_keypad" },
  postalDigits: { speech: "ask_postal_digits", keypad: "ask_postal_digits_keypad" },
  confirm: { speech: "ask_confirm", keypad: "ask_confirm_keypad" },
  confirmName: { speech: "ask_confirm_name", keypad: "ask_confirm_name_keypad" },
} as const satisfies Record<string, Readonly<Record<"speech" | "keypad", SentenceId>>>;

/** What the caller is about to pay or store: said first, and before the card is read back to whoever cut it short. */
export function purpose({
  language,
  mode,
  amountMinor,
  currency,
}: Pick<ConversationSetup, "language" | "mode" | "amountMinor" | "currency">): Sentence {
  if (mode === "tokenize") return sentence(language, "will_store");
  return sentence(language, "you_pay", { amount: { minor: amountMinor, currency } });
}

/** The first words of a call, before the first question. The description is not spoken: it may hold anything. */
export function greeting(setup: ConversationSetup): readonly Sentence[] {
  const { language, merchant } = setup;
  return [merchant === null ? sentence(language, "greeting") : sentence(language, "greeting_of", { merchant }), purpose(setup)];
}

/** What the caller is about to agree to: the card, its digits one by one, the name on it, and the amount unless it was heard before. */
export function readBack(
  setup: ConversationSetup,
  informed: boolean,
  brand: CardBrand,
  last4: readonly number[],
  cardholder: string | null,
): readonly Sentence[] {
  const card = sentence(setup.language, "card_ends_in", { brand, last4 });
  const name = cardholder === null ? [] : [sentence(setup.language, "name_is", { cardholder })];
  return [...(informed ? [] : [purpose(setup)]), card, ...name];
}

/** Why the payment did not happen, for the caller: nothing that would help a thief, nothing about the merchant's settings. */
export const REASON = {
  card_declined: "card_declined",
  insufficient_funds: "insufficient_funds",
  expired_card: "expired_card",
  incorrect_number: "incorrect_number",
  incorrect_cvc: "incorrect_cvc",
  incorrect_zip: "incorrect_zip",
  invalid_expiry: "invalid_expiry",
  card_not_supported: "card_not_supported",
  do_not_honor: "card_declined",
  lost_or_stolen: "card_declined",
  fraud_suspected: "card_declined",
  held_for_review: "held_for_review",
  limit_exceeded: "limit_exceeded",
  authentication_required: "authentication_required",
  duplicate_transaction: "duplicate_transaction",
  processing_error: "not_processed",
  gateway_unavailable: "not_processed",
  gateway_credentials_invalid: "not_processed",
  gateway_misconfigured: "not_processed",
  outcome_unknown: "not_processed",
  webhook_gateway_error: "not_processed",
  attempts_exhausted: "not_processed",
} as const satisfies Record<DeclineCode, SentenceId>;

export const NOTHING_HAPPENED = { charge: "not_charged", tokenize: "not_stored" } as const satisfies Record<Mode, SentenceId>;

/** The sentence of a payment that went through. */
export const SUCCESS = { charge: "paid", tokenize: "stored" } as const satisfies Record<Mode, SentenceId>;

/** The sentences of a refusal that ends the call. */
export const declined = (mode: Mode, code: DeclineCode): readonly SentenceId[] => [
  REASON[code],
  mayHaveMoved(code) ? "do_not_repeat" : NOTHING_HAPPENED[mode],
];

/** The other last sentences. None claims more than is known; after "unknown" nobody may pay again at once. */
export const CLOSING: Readonly<Record<Exclude<ClosingName, "success" | "declined">, readonly SentenceId[]>> = {
  unknown_outcome: ["not_completed", "do_not_repeat", "will_be_told"],
  too_many_tries: ["too_many_tries"],
  nobody_there: ["nobody_there"],
  goodbye: ["goodbye"],
  cancelled: ["cancelled"],
};

/** The brands as a list in words: "Visa, Mastercard, and American Express". */
function brandsInWords(language: LanguageTag, brands: readonly CardBrand[]): string {
  const words = brands.map((brand) => BRAND_NAMES[brand]).filter((word) => word !== "");
  return new Intl.ListFormat(language, { type: "conjunction" }).format(words);
}

/** Sentences that say something of one project. */
const OF_A_PROJECT = /\{(merchant|brands)\}/;

/** Everything of a language, so that the voice can render once what never varies. What varies are amounts, dates and projects. */
export function allSentences(language: LanguageTag): readonly Sentence[] {
  const { sentences, digits, spelled }: Language = LANGUAGES[language];
  const last4 = [...digits.keys()];
  const cardholder = `ABCDEFGHIJKLMNOPQRSTUVWXYZ${Object.keys(spelled).join("")}`;
  const ofAll = (Object.keys(sentences) as SentenceId[]).filter((id) => !OF_A_PROJECT.test(sentences[id]));
  return ofAll.flatMap((id) =>
    (Object.keys(BRAND_NAMES) as CardBrand[])
      .filter((brand) => BRAND_NAMES[brand] === "" || sentences[id].includes("{brand}"))
      .map((brand) => sentence(language, id, { brand, last4, cardholder })),
  );
}

/** The pieces of them that never vary, each once. */
export function fixedPrompts(language: LanguageTag): readonly string[] {
  const pieces = allSentences(language).flatMap(({ pieces }) => pieces);
  return [...new Set(pieces.filter(({ isFixed }) => isFixed).map(({ text }) => text))];
}

/** The sentences that end a prompt by asking something: what a scripted caller waits for. */
export function askingPrompts(language: LanguageTag): readonly string[] {
  const ids: SentenceId[] = [...Object.values(ASK).flatMap(({ speech, keypad }) => [speech, keypad]), "ask_code"];
  return ids.map((id) => LANGUAGES[language].sentences[id]);
}

/** Sentences as a page or a log shows them. */
export const inWords = (sentences: readonly Sentence[]): string =>
  sentences.flatMap(({ pieces }) => pieces.map(({ text }) => text)).join(" ");
