import type { Call, Issuer, Transaction } from "../kit/index.ts";

/** What the vendor keeps, and what decides an outcome: the card, the holder's name, the security code, the postcode. */

export const HOST = "https://try.access.worldpay.com";
/** Refusal code, its words, and Mastercard's advice where there is one. */
export type No = readonly [code: string, words: string, advice?: string];
const no = (code: string, words = "REFUSED", advice?: string): No => (advice === undefined ? [code, words] : [code, words, advice]);
export const EXPIRED = no("33", "CARD EXPIRED");
const LOST = no("41", "LOST CARD");
const NO_CODE = no("55", "INVALID SECURITY CODE");
const LIMIT = no("51", "LIMIT EXCEEDED");
export const ISSUER: Issuer<No> = {
  declines: {
    card_declined: no("76", "CARD BLOCKED"),
    insufficient_funds: LIMIT,
    expired_card: EXPIRED,
    incorrect_cvc: NO_CODE,
    lost_or_stolen: LOST,
    processing_error: no("17", "ERROR"),
  },
};
/** What the holder's name decides. Some codes' words are not in the vendor's list of names; those say REFUSED. */
export const BY_HOLDER: ReadonlyMap<string, No> = new Map([
  ...[4, 5, 8, 13, 15, 17, 28, 29, 38, 76, 85].map((code) => [`REFUSED${code}`, no(String(code))] as const),
  ["REFUSED", no("5")],
  ["REFUSED33", EXPIRED],
  ["REFUSED34", no("34", "FRAUD SUSPICION")],
  ["REFUSED41", LOST],
  ["REFUSED43", no("43", "STOLEN CARD")],
  ["REFUSED51", LIMIT],
  ["REFUSED55", NO_CODE],
  ["SOFT_DECLINED", no("65", "AUTHENTICATION REQUESTED")],
  ["REFUSEDRC79MAC01", no("79", "REFUSED", "01")],
  ["REFUSEDRC79MAC02", no("79", "REFUSED", "02")],
  ["REFUSEDRC83MAC03", no("83", "REFUSED", "03")],
]);
/** A match has no risk factor at all. */
export const CVC_RISKS: ReadonlyMap<string, string> = new Map([
  ["444", "notMatched"],
  ["4444", "notMatched"],
  ["111", "notChecked"],
  ["222", "notChecked"],
  ["333", "notChecked"],
  ["", "notSupplied"],
]);
/** Address and postcode, by the postcode. */
export const AVS_RISKS: ReadonlyMap<string, readonly [address: string, postcode: string]> = new Map([
  ["CCCC", ["notMatched", ""]],
  ["FFFF", ["", "notMatched"]],
  ["JJJJ", ["notMatched", "notMatched"]],
  ["EEEE", ["notChecked", "notChecked"]],
  ["HHHH", ["notSupplied", "notSupplied"]],
]);
export const NO_ADDRESS = ["notChecked", "notChecked"] as const;

export interface Details {
  /** As the queries name the last thing that happened. */
  lastEvent: string;
  linkData: string;
}

export interface Token {
  href: string;
  tokenId: string;
  namespace: string;
  number: string;
  expiry: { month: number; year: number };
}

/** Payments by the data in their links, and the tokens. */
export type State = { links: Map<string, string>; tokens: Token[] };
export type WorldpayCall = Call<State, Details>;
export type Payment = Transaction<Details>;
