import { JsonNumber } from "#src/kernel/json.ts";
import { decimalsOf, formatAmount, parseAmountText, parseNumberToken, toMinor, type Decimal } from "#src/kernel/money.ts";
import type { Mode } from "#src/kernel/payment.ts";
import { Fault, FAULTS } from "./faults.ts";
import { field } from "./validate.ts";

/** What was sent as an amount, exact, before the project's currency is known. */
export interface Amount {
  decimal: Decimal;
  /** Distance from a whole minor unit that is forgiven, in major units: JSON numbers of JavaScript clients carry float noise. */
  noise: number;
}

const FLOAT_NOISE = 1e-9;
const NOT_FINITE = /^[+-]?(?:nan|inf|infinity)$/i;
/** Stripe's ceiling, 999,999.99, in units of two decimals. */
export const CEILING = 99_999_999;

/** As the interface publishes it (SPEC, SessionCreate). */
export const AMOUNT_PATTERN = String.raw`^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$`;
const SHOWN = {
  anyOf: [
    { type: "number", minimum: 0 },
    { type: "string", pattern: AMOUNT_PATTERN },
  ],
};

/** The `amount` field: everything about it that needs no currency (REQUIREMENTS, table C2). */
export const amountField = field<Amount>(SHOWN, (input) => {
  const amount = input instanceof JsonNumber ? fromNumber(input.text) : fromText(input);
  if (amount instanceof Fault) return amount;
  if (amount.decimal.negative && amount.decimal.digits > 0n) return FAULTS.atLeast(0);
  const cents = toMinor(amount.decimal, "USD", amount.noise);
  return cents === "range" || (cents !== "fraction" && cents > CEILING) ? FAULTS.atMost("999999.99") : amount;
});

function fromNumber(token: string): Amount | Fault {
  if (!Number.isFinite(Number(token))) return FAULTS.finite;
  const decimal = parseNumberToken(token);
  return decimal ? { decimal, noise: FLOAT_NOISE } : FAULTS.decimalParsing;
}

function fromText(input: unknown): Amount | Fault {
  if (typeof input !== "string") return FAULTS.decimalType;
  if (NOT_FINITE.test(input)) return FAULTS.finite;
  const decimal = parseAmountText(input);
  return decimal ? { decimal, noise: 0 } : FAULTS.decimalParsing;
}

/** Nothing is charged for nothing; storing a card may cost 0. Null when the amount fits the mode. */
export function zeroFault(amount: Amount, mode: Mode): Fault | null {
  return mode === "charge" && amount.decimal.digits === 0n ? FAULTS.moreThan(0) : null;
}

/** The most that a session can be made for, in minor units. */
export function ceilingOf(currency: string): number {
  const decimals = decimalsOf(currency);
  return decimals === 0 ? 999_999 : CEILING * 10 ** (decimals - 2);
}

/** The amount in whole minor units of the project's currency: never rounded, never past the ceiling. */
export function amountInMinor(amount: Amount, currency: string): number | Fault {
  const decimals = decimalsOf(currency);
  const ceiling = ceilingOf(currency);
  const minor = toMinor(amount.decimal, currency, amount.noise);
  if (minor === "fraction") return FAULTS.decimalPlaces(decimals);
  return minor === "range" || minor > ceiling ? FAULTS.atMost(formatAmount(ceiling, currency)) : minor;
}
