import { brandNames, codeLength, isExpired, issuer, json, passesLuhn, Refusal, table } from "../kit/index.ts";
import type { Answer, Call, Transaction } from "../kit/index.ts";

/** What payments and the vault have in common: the codes and their form, references, cards. */

const NINETY_DAYS_MS = 90 * 24 * 60 * 60 * 1000;
/** One account has one currency; USD where no other is listed. The second of them checks addresses. */
export const CURRENCIES: ReadonlyMap<string, string> = new Map([["1002158491", "EUR"]]);
export const CHECKS_ADDRESSES = "1002158492";
export const FORBIDDEN_ACCOUNT = "1001076700";

/** What each code says; its status is 400 unless STATUSES has another. */
export const WORDS: Readonly<Record<string, string>> = {
  "1007": "An internal error occurred.",
  "3002": "You submitted an invalid card number or brand.",
  "3004": "The zip/postal code must be provided for an AVS check request.",
  "3005": "You submitted an incorrect CVV value.",
  "3006": "You submitted an expired credit card number.",
  "3406": "The settlement you are attempting to refund has not been batched yet.",
  "3415": "The settlement cannot be cancelled as it has been batched.",
  "3502": "The authorization is either fully settled or cancelled.",
  "5023": "The request is not parseable.",
  "5031": "The transaction you have submitted has already been processed.",
  "5068": "Field error(s)",
  "5269": "The ID(s) specified in the URL do not correspond to the values in the system.",
  "5270": "The credentials do not have permission to access the requested data.",
  "5271": "The requested response type is not supported.",
  "5273": "Could not find the URI.",
  "5279": "The authentication credentials are invalid.",
  "5281": "The method is not allowed.",
  "5501": "The payment token is not known.",
  "5502": "The payment token does not stand for a card.",
  "7503": "Card number already in use",
  "7505": "The merchantCustomerId provided for this profile has already been used for another profile",
  "7508": "The card number failed the Luhn check.",
};
const STATUSES = table(
  "1007 500, 3406 402, 3415 402, 3502 402, 5031 409, 5269 404, 5270 403, 5271 406, 5273 404, 5279 401, 5281 405, 7503 409, 7505 409",
);

export const INSUFFICIENT = "The card has been declined due to insufficient funds.";
export type No = readonly [code: string, words: string];
export const ISSUER = issuer<No>(`
  card_declined 3014|The bank has declined the transaction., insufficient_funds 3022|${INSUFFICIENT}
  expired_card 3049|The bank has declined the transaction because the card is expired.
  incorrect_cvc 3019|The card has been declined because the CVV did not match.
  processing_error 3020|The bank returned a processing error.
  lost_or_stolen 3016|The bank has requested that you retrieve the card; it may be lost or stolen.
`);
/** Amounts below 100 that decide: 1007 is the acquirer that did not answer, the others are the issuer's refusals. */
export const BY_AMOUNT = table("4 3015, 5 3009, 6 1007, 11 3022, 12 3023, 13 3024, 20 1007, 23 4002, 24 3007, 25 4001, 77 3060, 96 1007");
export const typeOf = brandNames("visa VI, mastercard MC, maestro MD, amex AM, discover DI, jcb JC, diners DC", "SO");

export type Kind = "auths" | "verifications";
export interface Details {
  kind: Kind;
  account: string;
  no: No | null;
  settlementId: string;
  /** Members that never change. */
  members: Record<string, unknown>;
}
export interface Profile {
  id: string;
  merchantCustomerId: string;
  members: Record<string, unknown>;
}
export interface StoredCard {
  profileId: string;
  paymentToken: string;
  number: string;
  zip: string;
  accountId: string;
  members: Record<string, unknown>;
}
export interface State {
  /** Account and reference -> when it was used. */
  used: Map<string, number>;
  profiles: Map<string, Profile>;
}
export type PaysafeCall = Call<State, Details, StoredCard>;
export type Made = Transaction<Details>;

/** The vendor's error form; the code also stands in a header. */
export function failed(
  status: number,
  code: string,
  message: string,
  { inside = {}, beside = {} }: { inside?: object; beside?: object } = {},
): Answer {
  const links = [
    { rel: "errorinfo", href: `https://developer.paysafe.com/en/rest-api/cards/test-and-go-live/card-errors/#ErrorCode${code}` },
  ];
  return json(status, { ...beside, error: { code, message, ...inside, links } }, { "x-application-status-code": code });
}

export function refusal(code: string, inside: object = {}, { words = WORDS[code] ?? "", beside = {}, isRecorded = true } = {}): Refusal {
  return new Refusal(failed(Number(STATUSES.get(code) ?? 400), code, words, { inside, beside }), code, { isRecorded });
}

export const fieldError = (field: string, error: string): Refusal => refusal("5068", { fieldErrors: [{ field, error }] });

export function missing(): never {
  throw refusal("5269", {}, { isRecorded: false });
}

/** In the form of a UUID, of letters alone. */
export const newId = ({ tools }: PaysafeCall): string => tools.id("", 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");

const referenceOf = (call: PaysafeCall): string => `${call.param("account")} ${call.text("merchantRefNum")}`;

/** Refuses a reference of the last 90 days, unless the sender waives the check. */
export function checkReference(call: PaysafeCall): void {
  const before = call.state.used.get(referenceOf(call));
  if (call.text("dupCheck") !== "false" && before !== undefined && call.tools.now() - before <= NINETY_DAYS_MS) throw refusal("5031");
}

/** A reference is used up by whatever was worked on under it, declines too. */
export function useReference(call: PaysafeCall): void {
  call.state.used.set(referenceOf(call), call.tools.now());
}

/** The card below `path`, with what its form alone has against it. */
export function checkCard(call: PaysafeCall, path: "card." | "", luhn: string): string {
  const [number, cvv] = [call.text(`${path}cardNum`), call.text(`${path}cvv`)];
  if (!passesLuhn(number)) throw refusal(luhn);
  if (isExpired(call.number(`${path}cardExpiry.month`), call.number(`${path}cardExpiry.year`), call.tools.now())) throw refusal("3006");
  if (cvv !== "" && cvv.length !== codeLength(number)) throw refusal("3005");
  return number;
}

export function storedCard(call: PaysafeCall): StoredCard {
  const token = call.text("card.paymentToken");
  const card = call.vault.find(({ paymentToken }) => paymentToken === token);
  if (card === undefined || ![call.param("account"), ""].includes(card.accountId)) throw refusal(token.startsWith("P") ? "5502" : "5501");
  return card;
}

export const shownCard = (call: PaysafeCall, number: string): object => ({
  type: typeOf(number),
  lastDigits: number.slice(-4),
  cardExpiry: { month: call.number("card.cardExpiry.month"), year: call.number("card.cardExpiry.year") },
});
