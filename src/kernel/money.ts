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

/** The currencies that are money today (ISO 4217 without funds, metals and test codes), each with its number. */
const NUMBERS: ReadonlyMap<string, string> = new Map(
  `
AED784 AFN971 ALL008 AMD051 AOA973 ARS032 AUD036 AWG533 AZN944 BAM977 BBD052 BDT050 BHD048 BIF108 BMD060 BND096 BOB068 BRL986 BSD044 BTN064
BWP072 BYN933 BZD084 CAD124 CDF976 CHF756 CLP152 CNY156 COP170 CRC188 CUP192 CVE132 CZK203 DJF262 DKK208 DOP214 DZD012 EGP818 ERN232 ETB230
EUR978 FJD242 FKP238 GBP826 GEL981 GHS936 GIP292 GMD270 GNF324 GTQ320 GYD328 HKD344 HNL340 HTG332 HUF348 IDR360 ILS376 INR356 IQD368 IRR364
ISK352 JMD388 JOD400 JPY392 KES404 KGS417 KHR116 KMF174 KPW408 KRW410 KWD414 KYD136 KZT398 LAK418 LBP422 LKR144 LRD430 LSL426 LYD434 MAD504
MDL498 MGA969 MKD807 MMK104 MNT496 MOP446 MRU929 MUR480 MVR462 MWK454 MXN484 MYR458 MZN943 NAD516 NGN566 NIO558 NOK578 NPR524 NZD554 OMR512
PAB590 PEN604 PGK598 PHP608 PKR586 PLN985 PYG600 QAR634 RON946 RSD941 RUB643 RWF646 SAR682 SBD090 SCR690 SDG938 SEK752 SGD702 SHP654 SLE925
SOS706 SRD968 SSP728 STN930 SVC222 SYP760 SZL748 THB764 TJS972 TMT934 TND788 TOP776 TRY949 TTD780 TWD901 TZS834 UAH980 UGX800 USD840 UYU858
UZS860 VES928 VND704 VUV548 WST882 XAF950 XCD951 XCG532 XOF952 XPF953 YER886 ZAR710 ZMW967 ZWG924
`
    .trim()
    .split(/\s+/)
    .map((pair) => [pair.slice(0, 3), pair.slice(3)]),
);

/** Others no gateway charges in. */
export const CURRENCIES: readonly string[] = [...NUMBERS.keys()];

/** Three digits; undefined for what is no currency. */
export const currencyNumber = (currency: string): string | undefined => NUMBERS.get(currency);

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
