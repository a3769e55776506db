/** What a card does in every simulator, whatever its vendor's own list says (docs/operations.md, Simulators). */
export type CardOutcome =
  | "approved"
  | "card_declined"
  | "insufficient_funds"
  | "expired_card"
  | "incorrect_cvc"
  | "processing_error"
  | "lost_or_stolen"
  /** Recorded, but the answer is never sent. */
  | "lost answer"
  /** Not recorded, the connection is reset. */
  | "reset";

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

/** The last four digits behind asterisks. */
export function mask(number: string): string {
  return number.slice(-4).padStart(Math.max(number.length, 4), "*");
}

/** Luhn check (ISO/IEC 7812-1 annex B). */
export function passesLuhn(number: string): boolean {
  const sum = Array.from(number)
    .toReversed()
    .map((digit, index) => (index % 2 === 0 ? Number(digit) : Number(digit) * 2))
    .reduce((total, value) => total + (value > 9 ? value - 9 : value), 0);
  return number.length > 0 && sum % 10 === 0;
}

const BRANDS: readonly (readonly [RegExp, string])[] = [
  [/^3[47]/, "amex"],
  [/^(36|38|39|30[0-5])/, "diners"],
  [/^35/, "jcb"],
  [/^(6011|64[4-9]|65)/, "discover"],
  [/^62/, "unionpay"],
  [/^(5[1-5]|2[2-7])/, "mastercard"],
  [/^4/, "visa"],
];

/** Brand by the leading digits, as most vendors spell it. */
export function brandOf(number: string): string {
  return BRANDS.find(([pattern]) => pattern.test(number))?.[1] ?? "unknown";
}
