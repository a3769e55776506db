import { decimalsOf } from "#src/kernel/money.ts";

/** How one language says money. */
export interface MoneyGrammar {
  /** BCP 47, for the names of currencies that callers seldom hear (Unicode CLDR). */
  tag: string;
  /** A whole number from 0 to 999,999,999 before a noun of this name: some languages have it agree in gender. */
  number: (value: number, noun: string) => string;
  digits: readonly string[];
  /** The decimal point, where the fraction has no coin of its own. */
  point: string;
  /** `{whole}` and `{coins}` in the language's own order. */
  wholeAndCoins: string;
  /** One of the currency; some languages say the singular for none, too. */
  isSingular: (count: number) => boolean;
  /** Between a number and the currency: "un millón de dólares". */
  link: (value: number, noun: string) => string;
  /** Singular and plural, where callers use another name than CLDR: on a line in the country, its own name is left out. */
  currencies: Readonly<Record<string, readonly [string, string]>>;
  /** Singular and plural of the smaller coin, for currencies whose coin callers name. */
  coins: Readonly<Record<string, readonly [string, string]>>;
}

/**
 * An amount as it is said on the telephone: "forty nine dollars and ninety five cents". Currencies without a familiar coin
 * are said with a decimal point ("twelve point five zero Swiss francs"), those without a fraction as they are.
 */
export function moneyInWords(grammar: MoneyGrammar, amountMinor: number, currency: string): string {
  const decimals = decimalsOf(currency);
  const whole = Math.floor(amountMinor / 10 ** decimals);
  const fraction = amountMinor % 10 ** decimals;
  if (fraction === 0) return counted(grammar, whole, currencyName(grammar, currency, whole));
  const coin = grammar.coins[currency];
  if (!coin) {
    const places = Array.from(String(fraction).padStart(decimals, "0"), (digit) => grammar.digits[Number(digit)]);
    const noun = currencyName(grammar, currency, 2);
    return `${grammar.number(whole, "")} ${grammar.point} ${places.join(" ")} ${noun}`;
  }
  const coins = counted(grammar, fraction, grammar.isSingular(fraction) ? coin[0] : coin[1]);
  if (whole === 0) return coins;
  const wholeInWords = counted(grammar, whole, currencyName(grammar, currency, whole));
  return grammar.wholeAndCoins.replace("{whole}", wholeInWords).replace("{coins}", coins);
}

const counted = (grammar: MoneyGrammar, value: number, noun: string) =>
  `${grammar.number(value, noun)} ${grammar.link(value, noun)}${noun}`;

function currencyName({ tag, currencies, isSingular }: MoneyGrammar, currency: string, count: number): string {
  const own = currencies[currency];
  if (own) return isSingular(count) ? own[0] : own[1];
  const format = new Intl.NumberFormat(tag, { style: "currency", currency, currencyDisplay: "name", maximumFractionDigits: 0 });
  return format.formatToParts(count).find((part) => part.type === "currency")?.value ?? currency;
}
