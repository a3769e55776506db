import { decimalsOf, nearestMinor, toMinor, type Decimal } from "#src/kernel/money.ts";

/** An amount as it was asked for, exact, before the project's currency is known. */
export interface Amount {
  decimal: Decimal;
  /** Distance from a whole minor unit that is forgiven, in major units: JSON numbers of JavaScript clients carry float noise. */
  noise: number;
}

/** The most that any session takes, 999,999.99, in units of two decimals. */
export const CEILING = 99_999_999;

/** The most that a session can be made for, in minor units of `currency`. */
export function ceilingOf(currency: string): number {
  const decimals = decimalsOf(currency);
  return decimals === 0 ? 999_999 : CEILING * 10 ** (decimals - 2);
}

/**
 * The amount in whole minor units of the project's currency, never past the ceiling. A fraction of a minor unit is
 * rounded where the operator chose so (table C2), but never one of a currency that has no decimals at all.
 */
export function amountInMinor({ decimal, noise }: Amount, currency: string, rounds: boolean): number | "fraction" | "too large" {
  let minor = toMinor(decimal, currency, noise);
  if (minor === "fraction" && rounds && decimalsOf(currency) > 0) minor = nearestMinor(decimal, currency);
  if (minor === "fraction") return minor;
  return minor === "range" || minor > ceilingOf(currency) ? "too large" : minor;
}
