import { JsonNumber } from "#src/kernel/json.ts";
import type { JsonValue } from "#src/kernel/json.ts";
import type { Mode } from "#src/kernel/payment.ts";
import { decimalsOf, formatAmount, parseAmountText, parseNumberToken, toMinor } from "#src/kernel/money.ts";

/** Amounts as vendors write them. Ours are whole minor units; none ever becomes a double with a fraction. */

interface Sum {
  amountMinor: number;
  currency: string;
}

/**
 * A decimal with the currency's own places ("49.95", "500", "1.250"), or with exactly `places`; null when a place that is in
 * use has no room: such an amount is refused, never rounded.
 */
export function decimalAmount({ amountMinor, currency }: Sum, places?: number): string | null {
  const text = formatAmount(amountMinor, currency);
  if (places === undefined) return text;
  const [whole = "", fraction = ""] = text.split(".");
  if (/[1-9]/.test(fraction.slice(places))) return null;
  return places === 0 ? whole : `${whole}.${fraction.slice(0, places).padEnd(places, "0")}`;
}

/** The same for vendors that want two places in every currency. */
export const twoPlaces = (sum: Sum): string | null => decimalAmount(sum, 2);

/** Whole units of `10^-places`, for vendors that count other than ISO 4217 does; null when there is no room. */
export function scaledAmount({ amountMinor, currency }: Sum, places: number): number | null {
  const shift = places - decimalsOf(currency);
  if (shift >= 0) return amountMinor * 10 ** shift;
  return amountMinor % 10 ** -shift === 0 ? amountMinor / 10 ** -shift : null;
}

/** Minor units of a decimal in an answer, text or JSON number, never negative; null when it is none. */
export function minorOfDecimal(value: JsonValue | undefined, currency: string): number | null {
  const decimal = value instanceof JsonNumber ? parseNumberToken(value.text) : typeof value === "string" ? parseAmountText(value) : null;
  const minor = decimal && !decimal.negative && value !== "" ? toMinor(decimal, currency) : null;
  return typeof minor === "number" ? minor : null;
}

/** A whole number of minor units in an answer, text or JSON number; null when it is none. */
export function minorOf(value: JsonValue | undefined): number | null {
  const text = value instanceof JsonNumber ? value.text : value;
  return typeof text === "string" && /^[0-9]{1,15}$/.test(text) ? Number(text) : null;
}

/** Vendors whose table is known, and others by what is known of them, count these otherwise than ISO 4217 does. */
export const DISPUTED = "BIF CLP CVE DJF HUF IDR ISK MGA UGX VUV";

/** For a vendor that does not say in which decimals it counts some currencies: a wrong guess charges a hundred times too much or too little. */
export function uncertainDecimals(currencies: string) {
  const all = currencies.split(" ");
  return {
    refusalOf: ({ mode, currency }: { mode: Mode; currency: string }): string | null =>
      mode === "charge" && all.includes(currency) ? `nobody says in which decimals the vendor counts ${currency}` : null,
    note: `Refused, because vendors count them otherwise than ISO 4217 does, and how this one does is not known: ${all.join(", ")}. `,
  };
}
