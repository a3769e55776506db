import { type Amount, CEILING } from "#src/checkout/index.ts";
import { JsonNumber } from "#src/kernel/json.ts";
import { parseAmountText, parseNumberToken, toMinor } from "#src/kernel/money.ts";
import type { Mode } from "#src/kernel/payment.ts";
import { Fault, FAULTS } from "./faults.ts";
import { field } from "./validate.ts";

const FLOAT_NOISE = 1e-9;
const NOT_FINITE = /^[+-]?(?:nan|inf|infinity)$/i;

/** As the interface publishes it (docs/interface.md, SessionCreate). */
export const AMOUNT_PATTERN = String.raw`^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$`;
const SHOWN = {
  anyOf: [
    { type: "number", minimum: 0 },
    { type: "string", pattern: AMOUNT_PATTERN },
  ],
};

/** The `amount` field: everything about it that needs no currency (table C2). */
export const amountField = field<Amount>(SHOWN, (input) => {
  const amount = input instanceof JsonNumber ? fromNumber(input.text) : fromText(input);
  if (amount instanceof Fault) return amount;
  if (amount.decimal.negative && amount.decimal.digits > 0n) return FAULTS.atLeast(0);
  const cents = toMinor(amount.decimal, "USD", amount.noise);
  return cents === "range" || (cents !== "fraction" && cents > CEILING) ? FAULTS.atMostOfAny("999999.99") : amount;
});

function fromNumber(token: string): Amount | Fault {
  if (isOverflow(token)) return FAULTS.finite;
  const decimal = parseNumberToken(token);
  return decimal ? { decimal, noise: FLOAT_NOISE } : FAULTS.decimalParsing;
}

/** A number token whose exponent takes it past every double: Python reads it as infinity. Digits alone never do. */
export function isOverflow(token: string): boolean {
  return /[eE]/.test(token) && !Number.isFinite(Number(token));
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
