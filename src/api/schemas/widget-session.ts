import type { z } from "zod";
import { CEILING } from "#src/checkout/index.ts";
import { JsonNumber } from "#src/kernel/json.ts";
import { GATEWAYS, type GatewayName, MODES, type Mode } from "#src/kernel/payment.ts";
import { parseNumberToken, toMinor } from "#src/kernel/money.ts";
import type { CardFaultKind, CardFault } from "#src/widget/index.ts";
import { isOverflow } from "./amount.ts";
import { itemAt, type Fault, FAULTS, type Item } from "./faults.ts";
import { DESCRIBED_GATEWAYS } from "./gateway.ts";
import { STRIPE_ACCOUNT_ID } from "./session.ts";
import { field, model, text, textField } from "./validate.ts";

/** CreateWidgetSession (docs/interface.md, Widget sessions) and what is said of a charge's body. */

const MODE_PATTERN = /^(charge|tokenize)$/;

/** Whole numbers however they are written: 1.0 and 1e3 are, 1.5 is not; no text and no boolean. */
const amountCents = field({ type: "integer", minimum: 0, maximum: CEILING }, (input) => {
  if (!(input instanceof JsonNumber)) return FAULTS.intType;
  if (isOverflow(input.text)) return FAULTS.finite;
  const decimal = parseNumberToken(input.text);
  // A currency without decimals: its smallest unit is the one.
  const whole = decimal === null ? "range" : toMinor(decimal, "JPY");
  if (whole === "fraction") return FAULTS.intFromFloat;
  if (decimal?.negative && decimal.digits > 0n) return FAULTS.atLeast(0);
  return whole === "range" || whole > CEILING ? FAULTS.atMostOfAny(CEILING) : whole;
});

const gateway = textField<GatewayName>(
  { enum: DESCRIBED_GATEWAYS },
  (value) => GATEWAYS.find((name) => name === value) ?? FAULTS.choice(GATEWAYS),
);
const mode = textField<Mode>({ default: "charge" }, (value) => MODES.find((mode) => mode === value) ?? FAULTS.pattern(MODE_PATTERN), {
  pattern: MODE_PATTERN,
});

export const widgetSessionCreate = model({
  project: text({ min: 1 }),
  amount_cents: amountCents,
  gateway,
  mode: mode.optional(),
  description: text({ max: 500 }).nullish(),
  stripe_account: text({ max: 255, pattern: STRIPE_ACCOUNT_ID }).nullish(),
});
export type WidgetSessionCreate = z.output<typeof widgetSessionCreate>;

/** The header in which the frame shows its nonce. */
export const NONCE_HEADER = "x-widget-nonce";
export const nonceHeader = model({ [NONCE_HEADER]: text({ max: 255 }).optional() });

const WORDS: Readonly<Record<CardFaultKind, Fault>> = {
  missing: FAULTS.missing,
  "not JSON": FAULTS.jsonInvalid,
  "not an object": FAULTS.notAnObject,
  "not a string": FAULTS.stringType,
  "not a string or number": FAULTS.stringType,
  "not a card number": FAULTS.value("this is not a card number"),
  "not an accepted brand": FAULTS.value("cards of this brand are not accepted here"),
  "not a month": FAULTS.value("exp_month must be 1 to 12"),
  "not a year": FAULTS.value("exp_year must be a year of two or four digits"),
  expired: FAULTS.value("the card has expired"),
  "not a security code": FAULTS.value("this is not the card's security code"),
  "not a postal code": FAULTS.value("postal_code must be at most 10 letters, digits, spaces and hyphens"),
  "not a name": FAULTS.value("cardholder_name must be a name"),
};

/** What is wrong with a card, in the words of a 422: where, never what. */
export function cardItems(faults: readonly CardFault[]): Item[] {
  return faults.map(({ loc, kind }) => itemAt(["body", ...loc], WORDS[kind]));
}
