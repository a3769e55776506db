import { table } from "./answers.ts";

/** What the issuer says besides yes, in words that all simulators share (docs/operations.md, Simulators). */
export type Decline = "card_declined" | "insufficient_funds" | "expired_card" | "incorrect_cvc" | "processing_error" | "lost_or_stolen";

/** What a card does in every simulator, whatever its vendor's own list says. `lost answer`: recorded, never answered. */
export type CardOutcome = "approved" | Decline | "lost answer" | "reset";

export const UNIFORM_CARDS: ReadonlyMap<string, CardOutcome> = new Map([
  ["4242424242424242", "approved"],
  ["4000000000000002", "card_declined"],
  ["4000000000009995", "insufficient_funds"],
  ["4000000000000069", "expired_card"],
  ["4000000000000127", "incorrect_cvc"],
  ["4000000000000119", "processing_error"],
  ["4000000000009987", "lost_or_stolen"],
  ["4000000000000259", "lost answer"],
  ["4000000000000333", "reset"],
]);
const FINE: ReadonlySet<CardOutcome> = new Set(["approved", "lost answer", "reset"]);

/**
 * What an issuer says in one vendor's words, by what brings it about: a decline of the uniform cards, a card of the vendor's own, or
 * another trigger of its (an amount, the holder's name); null for yes.
 */
export type Issuer<Words> = (trigger: string) => Words | null;

/**
 * Rows parted by commas and line ends: triggers parted by `/`, with a digit, `_` or `=` in them, then the words, parted by `|`, of which
 * `make` makes something else where a list of texts is not meant: `issuer<No>("card_declined 93|Declined, 4557012345678902 05|Declined")`.
 */
export function issuer<Words>(rows: string, make: (...words: string[]) => Words = (...words) => words as Words): Issuer<Words> {
  const found = new Map<string, Words>();
  for (const [, triggers = "", words = ""] of rows.matchAll(/(\S+) (.+?)(?:, (?=\S*[\d_=])|,?\n|$)/g)) {
    const made = make(...words.split("|"));
    for (const trigger of triggers.split("/")) found.set(trigger, made);
  }
  const missing = [...UNIFORM_CARDS.values()].find((outcome) => !FINE.has(outcome) && !found.has(outcome));
  if (missing !== undefined) throw new Error(`an issuer has no words for ${missing}`);
  return (trigger) => found.get(trigger) ?? null;
}

/** Words by keys, rows as a `table` has them: keys parted by `/`, words by `|`, of which `make` makes something else. */
export function wordsBy<Words>(rows: string, make: (...words: string[]) => Words = (...words) => words as Words): Issuer<Words> {
  const found = new Map(
    [...table(rows)].flatMap(([keys, words]) => keys.split("/").map((key) => [key, make(...words.split("|"))] as const)),
  );
  return (key) => found.get(key) ?? null;
}

/** The words for each thing that the form alone can have against a card: `cardFaults("number 11, expiry 16, code 14")`. */
export function cardFaults<Words>(
  rows: string,
  make: (...words: string[]) => Words = (...words) => words as Words,
): (fault: CardFault) => Words {
  const wordsOf = wordsBy(rows, make);
  const all: Record<CardFault, Words | null> = { number: wordsOf("number"), expiry: wordsOf("expiry"), code: wordsOf("code") };
  if (Object.values(all).includes(null)) throw new Error(`"${rows}" has not words for each fault of a card`);
  return (fault) => all[fault] as Words;
}

/** A card; month and year as the request has them. */
export interface Card {
  readonly number: string;
  readonly month: string;
  readonly year: string;
}

/** The fields that hold a card: month and year alone, or both in `expiry` (`MMYY`, `MM/YYYY`). */
export interface CardPlaces {
  readonly number: string;
  readonly expiry?: string;
  readonly month?: string;
  readonly year?: string;
  readonly code?: string;
}

/** What the form alone can have against a card: no such number, a month that is over, a security code of another brand's length. */
export type CardFault = "number" | "expiry" | "code";

/** The last four digits behind asterisks, or behind what else a vendor writes for those that it hides; `mask(number, "x", 6)` shows six more. */
export function mask(number: string, filler = "*", shown = 0): string {
  return number.slice(0, shown) + number.slice(-4).padStart(Math.max(number.length - shown, 4), filler);
}

/** Luhn check (ISO/IEC 7812-1 annex B). */
export function passesLuhn(number: string): boolean {
  const sum = Array.from(number)
    .toReversed()
    .map((digit, index) => (index % 2 === 0 ? Number(digit) : Number(digit) * 2))
    .reduce((total, value) => total + (value > 9 ? value - 9 : value), 0);
  return number.length > 0 && sum % 10 === 0;
}

/** 12 to 19 digits that pass the Luhn check. */
export function isCardNumber(number: string): boolean {
  return /^[0-9]{12,19}$/.test(number) && passesLuhn(number);
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

/**
 * Runs of digits that could be the number of a payment card, which begins with 2 to 6 (ISO/IEC 7812-1 annex A). The digits of a UUID and
 * a time in ms, which may look like one by chance, are none.
 */
export function cardNumbersIn(text: string): string[] {
  return (text.replaceAll(UUID, "").match(/\d{12,}/g) ?? []).filter((digits) => /^[2-6]/.test(digits) && isCardNumber(digits));
}

const BRANDS: readonly (readonly [RegExp, string])[] = [
  [/^3[47]/, "amex"],
  [/^(36|38|39|30[0-5])/, "diners"],
  [/^35/, "jcb"],
  [/^(6011|64[4-9]|65)/, "discover"],
  [/^62/, "unionpay"],
  [/^(5[1-5]|2[2-7])/, "mastercard"],
  [/^(50|5[6-9]|6[37])/, "maestro"],
  [/^4/, "visa"],
];

/** Brand by the leading digits, as most vendors spell it. */
export function brandOf(number: string): string {
  return BRANDS.find(([pattern]) => pattern.test(number))?.[1] ?? "unknown";
}

/** A vendor's names of the brands, `brandNames("visa VISA, mastercard MC", "VISA")`: what it says of any other stands behind them. */
export const brandNames = (rows: string, otherwise: string): ((number: string) => string) => {
  const names = table(rows);
  return (number) => names.get(brandOf(number)) ?? otherwise;
};

/** Digits of the security code: 4 on American Express, else 3. */
export function codeLength(number: string): number {
  return brandOf(number) === "amex" ? 4 : 3;
}

/** True when the month is over; a year of two digits is at most 50 years away. */
export function isExpired(month: number, year: number, nowMs: number): boolean {
  const now = new Date(nowMs);
  const thisYear = now.getUTCFullYear();
  const full = year >= 100 ? year : year + (2000 + year > thisYear + 50 ? 1900 : 2000);
  return full * 12 + month - 1 < thisYear * 12 + now.getUTCMonth();
}

const WHOLE = new Set("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split(" "));
const THOUSANDTHS = new Set("BHD IQD JOD KWD LYD OMR TND".split(" "));

/** ISO 4217: how many decimals the currency has. `Intl` knows those that are in use, which for HUF and IDR are none. */
export const decimalsOf = (currency: string): number => (WHOLE.has(currency) ? 0 : THOUSANDTHS.has(currency) ? 3 : 2);

/** "12.34" in minor units of the currency. */
export function minorOf(amount: string, currency: string): number {
  return Math.round(Number(amount) * 10 ** decimalsOf(currency));
}

/** Minor units as "12.34". */
export function majorOf(minor: number, currency: string): string {
  const decimals = decimalsOf(currency);
  return (minor / 10 ** decimals).toFixed(decimals);
}
