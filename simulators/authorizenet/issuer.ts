import { UNIFORM_CARDS, brandOf, passesLuhn } from "../kit/cards.ts";
import type { CardOutcome } from "../kit/cards.ts";

/** What stands behind the gateway: the card's issuer, its address and code checks, the gateway's own filters. */

export interface Address {
  firstName?: string;
  lastName?: string;
  address?: string;
  city?: string;
  state?: string;
  zip?: string;
  country?: string;
}

export interface Card {
  cardNumber: string;
  expirationDate: string;
  cardCode?: string;
}

/** `responseCode` and reason of the sheet's section 6, with the letters of the checks. */
export interface Verdict {
  responseCode: "1" | "2" | "3" | "4";
  reason: string;
  text: string;
  avs: string;
  cvv: string;
  /** The processor's own code; only some processors pass one on. */
  raw?: string;
  /** Acted on, but the answer is never sent. */
  lost?: boolean;
  /** Minor units, when only a part was approved. */
  partMinor?: number;
}

type Reason = readonly [responseCode: "2" | "3" | "4", reason: string, text: string, raw?: string];

const APPROVED = "This transaction has been approved.";
const DECLINED: Reason = ["2", "2", "This transaction has been declined."];
export const REASONS = {
  amount: ["3", "5", "A valid amount is required."],
  number: ["3", "6", "The credit card number is invalid."],
  expiry: ["3", "7", "Credit card expiration date is invalid."],
  expired: ["3", "8", "The credit card has expired."],
  duplicate: ["3", "11", "A duplicate transaction has been submitted."],
  notFound: ["3", "16", "The transaction cannot be found."],
  noCard: ["3", "33", "Credit card number is required."],
  currency: [
    "3",
    "39",
    "The supplied currency code is either invalid, not supported, not allowed for this merchant or doesn't have an exchange rate.",
  ],
  credit: ["3", "54", "The referenced transaction does not meet the criteria for issuing a credit."],
  marketType: ["3", "85", "The market type is invalid."],
  product: ["3", "87", "Transactions of this market type cannot be processed on this system."],
} as const satisfies Record<string, Reason>;

const UNIFORM: Readonly<Record<CardOutcome, Reason | null>> = {
  approved: null,
  "lost answer": null,
  reset: null,
  card_declined: DECLINED,
  insufficient_funds: ["2", "2", "This transaction has been declined.", "51"],
  lost_or_stolen: ["2", "4", "This transaction has been declined."],
  expired_card: REASONS.expired,
  incorrect_cvc: ["2", "44", "This transaction has been declined."],
  processing_error: ["3", "19", "An error occurred during processing. Please try again."],
};

/** The vendor's sandbox triggers (Testing Guide): the billing ZIP and the card code. */
const AVS_BY_ZIP: Readonly<Record<string, string>> = {
  "46201": "A",
  "46203": "E",
  "46204": "G",
  "46205": "N",
  "46206": "P",
  "46207": "R",
  "46208": "S",
  "46209": "U",
  "46211": "W",
  "46214": "X",
  "46217": "Z",
};
const CVV_BY_CODE: Readonly<Record<string, string>> = { "900": "M", "901": "N", "902": "S", "903": "U", "904": "P" };
const ZIP_DECLINED = "46282";
const ZIP_PARTIAL = /^4622[5-8]$/;
const PART_MINOR = 123;
/** The account's fraud filter holds payments from here up, authorized, for the merchant's review. */
const HELD_FROM_MINOR = 5_000_000;
/** Issuers that take no part in address verification. */
const WITHOUT_AVS = ["jcb", "diners"];

/** What a verification of this address says. The issuer's record agrees with whatever is sent, as far as it is sent. */
function avsOf(card: Card, { address = "", zip = "", country = "US" }: Address): string {
  const triggered = AVS_BY_ZIP[zip];
  if (triggered !== undefined) return triggered;
  if (address === "" && zip === "") return "B";
  if (WITHOUT_AVS.includes(brandOf(card.cardNumber))) return "U";
  if (country !== "" && country !== "US") return "G";
  const nine = /^\d{5}-?\d{4}$/.test(zip);
  if (address === "") return nine ? "W" : "Z";
  return zip === "" ? "A" : nine ? "X" : "Y";
}

function refused([responseCode, reason, text, raw]: Reason, avs = "P", cvv = ""): Verdict {
  return { responseCode, reason, text, avs, cvv, ...(raw && { raw }) };
}

/** The gateway's and the issuer's word on taking `amountMinor`, or on a card to be stored (0). Null: the connection is reset. */
export function verdictOn(card: Card, billTo: Address, amountMinor: number, partial: boolean, now: Date): Verdict | null {
  if (!/^[0-9]{13,16}$/.test(card.cardNumber) || !passesLuhn(card.cardNumber)) return refused(REASONS.number);
  const expiry = expiryOf(card.expirationDate);
  if (expiry === null) return refused(REASONS.expiry);
  if (expiry < now.getUTCFullYear() * 12 + now.getUTCMonth()) return refused(REASONS.expired);
  const outcome = UNIFORM_CARDS.get(card.cardNumber) ?? "approved";
  if (outcome === "reset") return null;
  const avs = avsOf(card, billTo);
  const wrongCode = outcome === "incorrect_cvc" || card.cardCode === "901";
  const cvv = wrongCode ? "N" : card.cardCode === undefined ? "P" : (CVV_BY_CODE[card.cardCode] ?? "M");
  // The account's card code filter declines a code that does not match.
  const reason = wrongCode ? UNIFORM.incorrect_cvc : UNIFORM[outcome];
  if (reason !== null) return refused(reason, avs, cvv);
  const part = ZIP_PARTIAL.test(billTo.zip ?? "");
  if (billTo.zip === ZIP_DECLINED || (part && !partial)) return refused(DECLINED, avs, cvv);
  if (part)
    return {
      responseCode: "1",
      reason: "295",
      text: "The amount of this request was only partially approved.",
      avs,
      cvv,
      partMinor: PART_MINOR,
    };
  if (amountMinor >= HELD_FROM_MINOR) {
    return refused(["4", "253", "Your order has been received. Thank you for your business!"], avs, cvv);
  }
  return { responseCode: "1", reason: "1", text: APPROVED, avs, cvv, lost: outcome === "lost answer" };
}

/** YYYY-MM, MM/YYYY, MM/YY, MM-YY or MMYY as months since year 0; null when it is none of them. */
function expiryOf(text: string): number | null {
  const match = /^(?<year>\d{4})-(?<month>\d\d)$/.exec(text) ?? /^(?<month>\d\d)[/-]?(?<year>\d\d|(?<=[/-])\d{4})$/.exec(text);
  const month = Number(match?.groups?.["month"] ?? 0);
  const year = Number(match?.groups?.["year"] ?? 0);
  return month < 1 || month > 12 ? null : (year < 100 ? 2000 + year : year) * 12 + month - 1;
}

const BRANDS: Readonly<Record<string, string>> = {
  visa: "Visa",
  mastercard: "MasterCard",
  amex: "AmericanExpress",
  discover: "Discover",
  jcb: "JCB",
  diners: "DinersClub",
};

export function accountTypeOf(card: Card): string {
  return BRANDS[brandOf(card.cardNumber)] ?? "Visa";
}
