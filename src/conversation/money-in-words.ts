import { decimalsOf } from "#src/kernel/money.ts";
import { DIGIT_WORDS, tensInWords } from "#src/kernel/number-words.ts";

const SCALES = [
  [1_000_000, "million"],
  [1000, "thousand"],
  [100, "hundred"],
] as const;

/** A whole number from 0 to 999,999,999, in American English words without "and". */
export function numberInWords(value: number): string {
  const scale = SCALES.find(([size]) => value >= size);
  if (scale) {
    const [size, name] = scale;
    const rest = value % size;
    return `${numberInWords(Math.floor(value / size))} ${name}${rest > 0 ? ` ${numberInWords(rest)}` : ""}`;
  }
  return tensInWords(value);
}

/** Singular and plural of the smaller coin, for currencies whose coin callers name. */
const COINS: Readonly<Record<string, readonly [string, string]>> = {
  USD: ["cent", "cents"],
  CAD: ["cent", "cents"],
  AUD: ["cent", "cents"],
  NZD: ["cent", "cents"],
  EUR: ["cent", "cents"],
  GBP: ["penny", "pence"],
  MXN: ["centavo", "centavos"],
  INR: ["paisa", "paise"],
};

/** Spoken on a line in the country, the country's name is left out. */
const SHORT_NAMES: Readonly<Record<string, readonly [string, string]>> = {
  USD: ["dollar", "dollars"],
  GBP: ["pound", "pounds"],
};

function currencyName(currency: string, count: number): string {
  const short = SHORT_NAMES[currency];
  if (short) return count === 1 ? short[0] : short[1];
  const format = new Intl.NumberFormat("en-US", { style: "currency", currency, currencyDisplay: "name", maximumFractionDigits: 0 });
  return format.formatToParts(count).find((part) => part.type === "currency")?.value ?? currency;
}

/**
 * An amount as it is said on the telephone: "forty nine dollars and ninety five cents". Currencies without a familiar coin
 * are said with a decimal point ("twelve point five zero Swiss francs"), those without a fraction as they are.
 */
export function moneyInWords(amountMinor: number, currency: string): string {
  const decimals = decimalsOf(currency);
  const whole = Math.floor(amountMinor / 10 ** decimals);
  const fraction = amountMinor % 10 ** decimals;
  const wholeInWords = `${numberInWords(whole)} ${currencyName(currency, whole)}`;
  if (fraction === 0) return wholeInWords;
  const coin = COINS[currency];
  if (!coin) {
    const places = Array.from(String(fraction).padStart(decimals, "0"), (digit) => DIGIT_WORDS[Number(digit)]);
    return `${numberInWords(whole)} point ${places.join(" ")} ${currencyName(currency, 2)}`;
  }
  const fractionInWords = `${numberInWords(fraction)} ${fraction === 1 ? coin[0] : coin[1]}`;
  return whole === 0 ? fractionInWords : `${wholeInWords} and ${fractionInWords}`;
}
