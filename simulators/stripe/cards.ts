import { UNIFORM_CARDS, brandOf, passesLuhn } from "../cards.ts";
import type { CardOutcome } from "../cards.ts";

/** A card as the vendor keeps it behind a PaymentMethod. */
export interface StripeCard {
  number: string;
  month: number;
  year: number;
  cvc: string | null;
  zip: string | null;
}

/** What the issuer says: `code` as Stripe's error code, with the decline code where the code is card_declined. */
export type Verdict =
  | { kind: "approved"; riskLevel: "normal" | "elevated"; answer: "sent" | "lost" }
  | { kind: "declined"; code: string; declineCode: string; blocked: boolean }
  | { kind: "authentication" }
  | { kind: "reset" };

const UNIFORM: Readonly<Record<CardOutcome, Verdict>> = {
  approved: approve(),
  "lost answer": { kind: "approved", riskLevel: "normal", answer: "lost" },
  reset: { kind: "reset" },
  card_declined: decline("generic_decline"),
  insufficient_funds: decline("insufficient_funds"),
  lost_or_stolen: decline("lost_card"),
  expired_card: decline("expired_card", "expired_card"),
  incorrect_cvc: decline("incorrect_cvc", "incorrect_cvc"),
  processing_error: decline("processing_error", "processing_error"),
};

/** Stripe's own test cards besides the uniform ones. Any other well-formed number is approved. */
const VENDOR: Readonly<Record<string, Verdict>> = {
  "4000000000009979": decline("stolen_card"),
  "4000000000006975": decline("card_velocity_exceeded"),
  "4100000000000019": { kind: "declined", code: "card_declined", declineCode: "fraudulent", blocked: true },
  "4000000000009235": { kind: "approved", riskLevel: "elevated", answer: "sent" },
  "4000002760003184": { kind: "authentication" },
};
const DECLINES_LATER = "4000000000000341";
const AUTHENTICATES_UNLESS_MOTO = "4000002500003155";

function approve(): Verdict {
  return { kind: "approved", riskLevel: "normal", answer: "sent" };
}

function decline(declineCode: string, code = "card_declined"): Verdict {
  return { kind: "declined", code, declineCode, blocked: false };
}

/** The issuer's word on a payment (`pay`) or on storing the card (`store`). */
export function verdictOn(card: StripeCard, use: "pay" | "store", moto: boolean): Verdict {
  if (card.number === DECLINES_LATER) return use === "pay" ? decline("generic_decline") : approve();
  if (card.number === AUTHENTICATES_UNLESS_MOTO) return moto ? approve() : { kind: "authentication" };
  const uniform = UNIFORM_CARDS.get(card.number);
  return uniform === undefined ? (VENDOR[card.number] ?? approve()) : UNIFORM[uniform];
}

/** What is wrong with the card as typed, which Stripe says when the PaymentMethod is made: code, param, words. */
export function faultOf(card: StripeCard, now: Date): readonly [string, string, string] | null {
  const number = ["incorrect_number", "number", "Your card number is incorrect."] as const;
  if (!/^[0-9]{12,19}$/.test(card.number)) return ["invalid_number", "number", "Your card number is not a valid credit card number."];
  if (!passesLuhn(card.number)) return number;
  if (card.month < 1 || card.month > 12) return ["invalid_expiry_month", "exp_month", "Your card's expiration month is invalid."];
  const year = now.getUTCFullYear();
  if (card.year < year || card.year > year + 50) return ["invalid_expiry_year", "exp_year", "Your card's expiration year is invalid."];
  if (card.year === year && card.month < now.getUTCMonth() + 1) {
    return ["invalid_expiry_month", "exp_month", "Your card's expiration month is invalid."];
  }
  const code = brandOf(card.number) === "amex" ? /^[0-9]{3,4}$/ : /^[0-9]{3}$/;
  return card.cvc !== null && !code.test(card.cvc) ? ["invalid_cvc", "cvc", "Your card's security code is invalid."] : null;
}

const ADDRESS_CHECKS: Readonly<Record<string, readonly [line: string, zip: string]>> = {
  "4000000000000010": ["fail", "fail"],
  "4000000000000028": ["fail", "pass"],
  "4000000000000036": ["pass", "fail"],
  "4000000000000044": ["unavailable", "unavailable"],
};

export function checksOf(card: StripeCard): object {
  const [, zip = "pass"] = ADDRESS_CHECKS[card.number] ?? [];
  return {
    address_line1_check: null,
    address_postal_code_check: card.zip === null ? null : zip,
    cvc_check: card.cvc === null ? null : card.number === "4000000000000101" ? "fail" : "pass",
  };
}
