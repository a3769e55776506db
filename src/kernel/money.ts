/** Money is a whole number of the currency's smallest unit, never a fraction in a double. */

/** Currencies whose smallest unit is the whole (ISO 4217 exponent 0). */
const ZERO_DECIMAL = new Set([
  "BIF",
  "CLP",
  "DJF",
  "GNF",
  "JPY",
  "KMF",
  "KRW",
  "PYG",
  "RWF",
  "UGX",
  "VND",
  "VUV",
  "XAF",
  "XOF",
  "XPF",
  "ISK",
]);
const THREE_DECIMAL = new Set(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"]);

/** The currencies that are money today (ISO 4217 without funds, metals and test codes): others no gateway charges in. */
export const CURRENCIES: readonly string[] = `
AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP
DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD
KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR
RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV
WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
`
  .trim()
  .split(/\s+/);

/** Digits after the decimal point: 2, or 0 or 3 for the currencies above. */
export function decimalsOf(currency: string): 0 | 2 | 3 {
  if (ZERO_DECIMAL.has(currency)) return 0;
  return THREE_DECIMAL.has(currency) ? 3 : 2;
}

/** Minor units as the API writes an amount: no sign, no exponent, exactly the currency's decimals ("10.00"; R-112). */
export function formatAmount(minor: number, currency: string): string {
  const decimals = decimalsOf(currency);
  const digits = String(minor).padStart(decimals + 1, "0");
  if (decimals === 0) return digits;
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** An exact decimal: `digits` times ten to the power of `exponent`. */
export interface Decimal {
  negative: boolean;
  digits: bigint;
  exponent: number;
}

/**
 * The published pattern of a textual amount: ASCII digits, one optional point, one optional sign. Written so that each character
 * is looked at a bounded number of times, however long the text.
 */
const AMOUNT_TEXT = /^([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))$/;
const NUMBER_TOKEN = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;
/** Significant digits that are kept: more than any amount has, and than a double. */
const MOST_DIGITS = 40;

/** Reads a textual amount of any length by the published pattern; null when it does not fit ("1e3", " 10", "10\n"). */
export function parseAmountText(text: string): Decimal | null {
  const match = AMOUNT_TEXT.exec(text);
  if (!match) return null;
  const [, sign, whole = "", fraction = match[4] ?? ""] = match;
  return decimalOf(sign === "-", whole + fraction, -fraction.length);
}

/** Reads the text of a JSON number token of any length (RFC 8259 section 6). */
export function parseNumberToken(text: string): Decimal | null {
  const match = NUMBER_TOKEN.exec(text);
  if (!match) return null;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  return decimalOf(sign === "-", whole + fraction, Number(exponent) - fraction.length);
}

/**
 * Without zeros at either end. Of more digits than MOST_DIGITS the rest becomes one: such a value is out of every range or has a
 * fraction of a minor unit, and stays what it was.
 */
function decimalOf(negative: boolean, digits: string, exponent: number): Decimal {
  let [start, end] = [0, digits.length];
  while (start < end && digits[start] === "0") start++;
  while (end > start && digits[end - 1] === "0") end--;
  const kept = end - start > MOST_DIGITS ? `${digits.slice(start, start + MOST_DIGITS)}1` : digits.slice(start, end);
  return { negative, digits: BigInt(kept), exponent: kept === "" ? 0 : exponent + digits.length - start - kept.length };
}

/**
 * The whole number of minor units that `value` is, or "fraction" when it is none (a sub-cent amount, R-114 and table C2),
 * or "range" when it is past what a double can hold exactly. `noise` is the distance from a whole minor unit, in major
 * units, that is forgiven: JSON numbers of JavaScript clients carry it (0.1 + 0.2); text never does.
 */
export function toMinor(value: Decimal, currency: string, noise = 0): number | "fraction" | "range" {
  if (value.digits === 0n) return 0;
  const shift = value.exponent + decimalsOf(currency);
  if (shift > 20 || String(value.digits).length + shift > 16) return "range";
  if (shift >= 0) return Number(value.digits * 10n ** BigInt(shift));
  if (shift < -400) return "fraction";
  const scale = 10n ** BigInt(-shift);
  const nearest = halfUp(value.digits, scale);
  const remainder = value.digits - nearest * scale;
  if (remainder === 0n) return Number(nearest);
  const distance = Number(remainder < 0n ? -remainder : remainder) / Number(scale) / 10 ** decimalsOf(currency);
  return nearest > 0n && distance < noise ? Number(nearest) : "fraction";
}

/** The nearest whole number of minor units to a value that `toMinor` calls a fraction, a half upwards. */
export function nearestMinor({ digits, exponent }: Decimal, currency: string): number {
  const shift = exponent + decimalsOf(currency);
  return shift < -400 ? 0 : Number(halfUp(digits, 10n ** BigInt(-shift)));
}

/** `scale` is even. */
function halfUp(digits: bigint, scale: bigint): bigint {
  return (digits + scale / 2n) / scale;
}
