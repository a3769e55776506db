import { issuer, table, wordsBy } from "../kit/index.ts";
import type { Call, Transaction } from "../kit/index.ts";

/** What the vendor keeps, and what decides an outcome: the card, the holder's name, the security code, the postcode. */

export const HOST = "https://try.access.worldpay.com";
/** Refusal code, its words, and Mastercard's advice where there is one. */
export type No = readonly [code: string, words: string, advice?: string];
/** By card, or by the holder's name. Some codes' words are not in the vendor's list of names; those say REFUSED. */
export const ISSUER = issuer<No>(`
  card_declined 76|CARD BLOCKED, insufficient_funds/REFUSED51 51|LIMIT EXCEEDED, expired_card/REFUSED33 33|CARD EXPIRED
  incorrect_cvc/REFUSED55 55|INVALID SECURITY CODE, lost_or_stolen/REFUSED41 41|LOST CARD, processing_error 17|ERROR
  REFUSED4 4|REFUSED, REFUSED5 5|REFUSED, REFUSED8 8|REFUSED, REFUSED13 13|REFUSED, REFUSED15 15|REFUSED, REFUSED17 17|REFUSED
  REFUSED28 28|REFUSED, REFUSED29 29|REFUSED, REFUSED38 38|REFUSED, REFUSED76 76|REFUSED, REFUSED85 85|REFUSED
  REFUSED 5|REFUSED, REFUSED34 34|FRAUD SUSPICION, REFUSED43 43|STOLEN CARD, SOFT_DECLINED 65|AUTHENTICATION REQUESTED
  REFUSEDRC79MAC01 79|REFUSED|01, REFUSEDRC79MAC02 79|REFUSED|02, REFUSEDRC83MAC03 83|REFUSED|03
`);
/** Of names those in capitals alone decide. */
export const byHolder = (name: string): No | null => (/^[A-Z]/.test(name) ? ISSUER(name) : null);
/** A match has no risk factor at all. */
const CVC_RISKS = table("444 notMatched, 4444 notMatched, 111 notChecked, 222 notChecked, 333 notChecked");
export const cvcRisk = (code: string): string => (code === "" ? "notSupplied" : (CVC_RISKS.get(code) ?? ""));
/** Address and postcode, by the postcode. */
export const avsRisks = wordsBy<readonly [address: string, postcode: string]>(`
  CCCC notMatched|, FFFF |notMatched, JJJJ notMatched|notMatched, EEEE notChecked|notChecked, HHHH notSupplied|notSupplied
`);
export const NO_ADDRESS = ["notChecked", "notChecked"] as const;

export interface Details {
  /** As the queries name the last thing that happened. */
  lastEvent: string;
  linkData: string;
  refusal: No | null;
}

export type Card = { number: string; month: number; year: number };
/** A stored card, under its link. */
export type Token = Card & { tokenId: string; namespace: string };
/** Payments by the data in their links. */
export type State = { links: Map<string, string> };
export type WorldpayCall = Call<State, Details, Token>;
export type Payment = Transaction<Details>;
