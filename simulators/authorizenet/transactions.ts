import { brandNames, brandOf, isCardNumber, isExpired, issuer, table } from "../kit/index.ts";
import type { Answer, Call, SimulatorTools, Transaction } from "../kit/index.ts";
import { answer, notFound, OK, refusal, UNSUCCESSFUL } from "./replies.ts";

/** createTransactionRequest: take, hold, capture, void, refund; the issuer and the gateway's own filters behind it. */

/** By the schema's names: firstName, zip and so on. */
export type Address = Readonly<Record<string, string>>;

export interface Card {
  number: string;
  expiry: string;
  code: string | null;
}

export interface Profile {
  id: string;
  merchantCustomerId: string;
  description: string;
  email: string;
  paymentProfiles: { id: string; card: Card; billTo: Address }[];
}

export interface State {
  profiles: Map<string, Profile>;
}

/** Response code and reason of the sheet's section 6, with the letters of the checks. */
export interface Judged {
  responseCode: "1" | "2" | "3" | "4";
  reason: string;
  text: string;
  /** The processor's own code; only some processors pass one on. */
  raw?: string;
  avs: string;
  cvv: string;
  /** Minor units, when only a part was approved. */
  partMinor?: number;
}

export interface Details {
  type: "authCaptureTransaction" | "authOnlyTransaction";
  judged: Judged;
  billTo: Address;
  authCode: string;
  cavv: string;
  networkTransId: string;
  marketType: string;
  /** What makes a second payment a duplicate. */
  content: string;
}

export type AuthnetCall = Call<State, Details>;
export type Payment = Transaction<Details>;

type Reason = readonly [responseCode: "2" | "3", reason: string, text: string, raw?: string];

const EXPIRED: Reason = ["3", "8", "The credit card has expired."];
const AMOUNT: Reason = ["3", "5", "A valid amount is required."];
const UNKNOWN: Reason = ["3", "16", "The transaction cannot be found."];
const CREDIT: Reason = ["3", "54", "The referenced transaction does not meet the criteria for issuing a credit."];
const CURRENCY: Reason = [
  "3",
  "39",
  "The supplied currency code is either invalid, not supported, not allowed for this merchant or doesn't have an exchange rate.",
];

const ISSUER = issuer<Reason>(`
  card_declined 2|2|This transaction has been declined., insufficient_funds 2|2|This transaction has been declined.|51
  lost_or_stolen 2|4|This transaction has been declined., incorrect_cvc 2|44|This transaction has been declined.
  expired_card ${EXPIRED.join("|")}, processing_error 3|19|An error occurred during processing. Please try again.
`);
const WRONG_CODE_CARD = "4000000000000127";

/** The vendor's sandbox triggers (Testing Guide): the billing ZIP and the card code. */
const AVS_BY_ZIP = table("46201 A, 46203 E, 46204 G, 46205 N, 46206 P, 46207 R, 46208 S, 46209 U, 46211 W, 46214 X, 46217 Z");
const CVV_BY_CODE = table("900 M, 901 N, 902 S, 903 U, 904 P");
const ZIP_DECLINED = "46282";
const ZIP_PARTIAL = /^4622[5-8]$/;
const PART_MINOR = 123;
/** The account's fraud filter holds payments of 50,000.00 to 99,999.99, authorized, for the merchant's review. */
const [HELD_FROM_MINOR, HELD_TO_MINOR] = [5_000_000, 9_999_999];
const ACCOUNT_CURRENCY = "USD";
const DUPLICATE_SECONDS = "120";
const HOUR_MS = 3_600_000;

/** What a verification of this address says. The issuer's record agrees with whatever is sent, as far as it is sent. */
function avsOf(number: string, { address = "", zip = "", country = "US" }: Address): string {
  const triggered = AVS_BY_ZIP.get(zip);
  if (triggered !== undefined) return triggered;
  if (address === "" && zip === "") return "B";
  if (["jcb", "diners"].includes(brandOf(number))) return "U";
  if (country !== "" && country !== "US") return "G";
  const isNine = /^\d{5}-?\d{4}$/.test(zip);
  if (address === "") return isNine ? "W" : "Z";
  return zip === "" ? "A" : isNine ? "X" : "Y";
}

/** The gateway's and the issuer's word on taking `amountMinor`, or on a card to be stored (0). */
export function judge(call: AuthnetCall, { number, expiry, code }: Card, billTo: Address, amountMinor: number, mayBePart: boolean): Judged {
  const judged = ([responseCode, reason, text, raw]: Reason, avs = "P", cvv = ""): Judged => ({
    responseCode,
    reason,
    text,
    avs,
    cvv,
    ...(raw && { raw }),
  });
  if (!isCardNumber(number) || number.length > 16) return judged(["3", "6", "The credit card number is invalid."]);
  const [, month, year] = /^(\d\d)[/-]?(\d\d|(?<=[/-])\d{4})$/.exec(expiry.replace(/^(\d{4})-(\d\d)$/, "$2/$1")) ?? [];
  if (!(Number(month) >= 1 && Number(month) <= 12)) return judged(["3", "7", "Credit card expiration date is invalid."]);
  if (isExpired(Number(month), Number(year), call.tools.now())) return judged(EXPIRED);
  const isWrongCode = code === "901" || number === WRONG_CODE_CARD;
  const avs = avsOf(number, billTo);
  const cvv = isWrongCode ? "N" : code === null ? "P" : (CVV_BY_CODE.get(code) ?? "M");
  const zip = billTo["zip"] ?? "";
  const isPart = ZIP_PARTIAL.test(zip);
  const isDeclined = zip === ZIP_DECLINED || (isPart && !mayBePart);
  const no = call.decide(ISSUER, number) ?? (isWrongCode ? ISSUER("incorrect_cvc") : isDeclined ? ISSUER("card_declined") : null);
  if (no !== null) return judged(no, avs, cvv);
  if (isPart)
    return {
      // Held for the rest of the sum, which another card would pay.
      responseCode: "4",
      reason: "295",
      text: "The amount of this request was only partially approved.",
      avs,
      cvv,
      partMinor: PART_MINOR,
    };
  if (amountMinor >= HELD_FROM_MINOR && amountMinor <= HELD_TO_MINOR)
    return { responseCode: "4", reason: "253", text: "Your order has been received. Thank you for your business!", avs, cvv };
  return { responseCode: "1", reason: "1", text: "This transaction has been approved.", avs, cvv };
}

export const accountTypeOf = brandNames(
  "mastercard MasterCard, amex AmericanExpress, discover Discover, jcb JCB, diners DinersClub",
  "Visa",
);
export const shownNumber = (number: string): string => `XXXX${number.slice(-4)}`;
export const newLetters = (tools: SimulatorTools, length: number): string => tools.id("", length).toUpperCase();

/** The card of a field `...creditCard`. */
export function cardIn(call: AuthnetCall, path: string): Card {
  const field = (name: string) => call.text(`${path}.creditCard.${name}`);
  return { number: field("cardNumber"), expiry: field("expirationDate"), code: field("cardCode") || null };
}

/** Who and where the vendor thinks the card holder is, for the ledger. */
export function holderOf({ firstName, lastName, address, zip, country }: Address): Record<string, string | null> {
  return {
    first_name: firstName ?? null,
    last_name: lastName ?? null,
    street: address ?? null,
    zip: zip ?? null,
    country: country ?? null,
  };
}

const REQUEST = "transactionRequest.";

export function createTransaction(call: AuthnetCall): Answer {
  settleDue(call);
  const type = call.text(`${REQUEST}transactionType`);
  if (type === "authCaptureTransaction" || type === "authOnlyTransaction") return pay(call, type);
  return type === "voidTransaction" ? voidIt(call) : type === "refundTransaction" ? refund(call) : capture(call);
}

/** Captured payments settle a day later, all those of an hour in one batch. */
export function settleDue(call: AuthnetCall): void {
  const now = call.tools.now();
  call.transactions.settle(({ at }) => {
    const dueAt = (Math.floor(at / HOUR_MS) + 25) * HOUR_MS;
    return dueAt <= now ? dueAt : null;
  });
}

/** The batch of a settled payment: its hour. */
export const batchIdOf = ({ at }: Payment): string => String(Math.floor(at / HOUR_MS));

/** Minor units of a decimal in major units; NaN when it has more than two decimals. */
function minorOf(amount: string): number {
  const [, whole = "", fraction = ""] = /^(\d+)(?:\.(\d{1,2})0*)?$/.exec(amount) ?? [];
  return whole === "" ? Number.NaN : Number(whole + fraction.padEnd(2, "0"));
}

function settingOf(call: AuthnetCall, name: string): string | undefined {
  const path = `${REQUEST}transactionSettings.setting[`;
  const index = [0, 1, 2, 3, 4, 5, 6, 7].find((index) => call.text(`${path}${index}].settingName`) === name);
  return index === undefined ? undefined : call.text(`${path}${index}].settingValue`);
}

/** The card that is charged: the request's own, or a stored one with its address. */
function sourceOf(call: AuthnetCall): { card: Card; billTo: Address } | null {
  const billTo = call.under(`${REQUEST}billTo.`);
  const profileId = call.maybe(`${REQUEST}profile.customerProfileId`);
  const hasPayment = call.has(`${REQUEST}payment.creditCard.cardNumber`);
  if (profileId === undefined) return hasPayment ? { card: cardIn(call, `${REQUEST}payment`), billTo } : null;
  if (hasPayment) throw refusal("E00091", "PaymentProfileId cannot be sent with payment data.");
  if (Object.keys(billTo).length > 0) throw refusal("E00093", "PaymentProfile cannot be sent with billing data.");
  const wanted = call.text(`${REQUEST}profile.paymentProfile.paymentProfileId`);
  const stored = call.state.profiles.get(profileId)?.paymentProfiles.find(({ id }) => id === wanted);
  if (stored === undefined) throw notFound("Customer Profile ID or Customer Payment Profile ID not found.");
  return stored;
}

function pay(call: AuthnetCall, type: Details["type"]): Answer {
  const { tools } = call;
  const source = sourceOf(call);
  if (source === null) return failed(call, ["3", "33", "Credit card number is required."]);
  const { card, billTo } = source;
  const amountMinor = minorOf(call.text(`${REQUEST}amount`));
  const fault = faultOf(call, amountMinor);
  if (fault !== null) return failed(call, fault, card);
  const invoice = call.maybe(`${REQUEST}order.invoiceNumber`);
  const content = JSON.stringify([card.number, amountMinor, invoice, type, billTo]);
  const since = tools.now() - Number(settingOf(call, "duplicateWindow") ?? DUPLICATE_SECONDS) * 1000;
  const isTwin = ({ at, details: { content: other, judged } }: Payment) => other === content && at > since && judged.responseCode !== "2";
  if (call.transactions.all().some(isTwin)) return failed(call, ["3", "11", "A duplicate transaction has been submitted."], card);
  const judged = judge(call, card, billTo, amountMinor, settingOf(call, "allowPartialAuth") === "true");
  const { responseCode, reason, partMinor } = judged;
  if (responseCode === "3") return failed(call, ["3", reason, judged.text], card);
  const isDeclined = responseCode === "2";
  const marketType = call.maybe(`${REQUEST}retail.marketType`) ?? "0";
  const profileId = call.maybe(`${REQUEST}profile.customerProfileId`) ?? null;
  const transaction = call.transactions.add({
    id: tools.digits(11),
    reference: invoice,
    kind: type === "authOnlyTransaction" || responseCode === "4" ? "authorization" : "charge",
    isApproved: !isDeclined,
    amountMinor: partMinor ?? amountMinor,
    currency: ACCOUNT_CURRENCY,
    card: card.number,
    details: {
      type,
      judged,
      billTo,
      authCode: isDeclined ? "" : newLetters(tools, 6),
      cavv: responseCode === "1" && brandOf(card.number) === "visa" && !call.has(`${REQUEST}retail.marketType`) ? "2" : "",
      networkTransId: isDeclined ? "" : newLetters(tools, 15),
      marketType,
      content,
    },
    ledger: { response_code: responseCode, reason, market_type: marketType, customer_profile_id: profileId, ...holderOf(billTo) },
  });
  return paid(transaction, amountMinor);
}

function faultOf(call: AuthnetCall, amountMinor: number): Reason | null {
  const marketType = call.maybe(`${REQUEST}retail.marketType`) ?? "0";
  const seconds = settingOf(call, "duplicateWindow") ?? DUPLICATE_SECONDS;
  if (!(amountMinor > 0)) return AMOUNT;
  if ((call.maybe(`${REQUEST}currencyCode`) ?? ACCOUNT_CURRENCY) !== ACCOUNT_CURRENCY) return CURRENCY;
  if (!["0", "1", "2"].includes(marketType)) return ["3", "85", "The market type is invalid."];
  // The account is boarded for card-not-present payments.
  if (marketType === "2") return ["3", "87", "Transactions of this market type cannot be processed on this system."];
  return /^\d{1,5}$/.test(seconds) && Number(seconds) <= 28_800 ? null : ["3", "33", "duplicateWindow is invalid."];
}

const FIXED = { transHash: "", testRequest: "0", transHashSha2: "", SupplementalDataQualificationIndicator: 0 };

/** Members that all payment answers share; `given` overrides them. */
function response(responseCode: string, number: string, given: object): { transactionResponse: object } {
  const shown = { accountNumber: number && shownNumber(number), accountType: number && accountTypeOf(number) };
  const letters = { authCode: "", avsResultCode: "P", cvvResultCode: "", cavvResultCode: "" };
  return { transactionResponse: { responseCode, ...letters, transId: "0", refTransID: "", ...FIXED, ...shown, ...given } };
}

/** The answer about a payment. A plain decline is Ok as a whole, one by a filter an Error: both are on record. */
function paid({ id, card, details }: Payment, requestedMinor: number): Answer {
  const { judged, authCode, cavv, networkTransId } = details;
  const { responseCode, reason, text, raw, partMinor, avs, cvv } = judged;
  const isDeclined = responseCode === "2";
  const money = (minor: number) => (minor / 100).toFixed(2);
  const members = {
    ...(raw !== undefined && { rawResponseCode: raw }),
    authCode,
    avsResultCode: avs,
    cvvResultCode: cvv,
    cavvResultCode: cavv,
    transId: id,
    ...(partMinor !== undefined && {
      prePaidCard: { requestedAmount: money(requestedMinor), approvedAmount: money(partMinor), balanceOnCard: "0.00" },
    }),
    ...(isDeclined ? { errors: [{ errorCode: reason, errorText: text }] } : { messages: [{ code: reason, description: text }] }),
    networkTransId,
  };
  return answer(isDeclined && reason !== "2" ? UNSUCCESSFUL : OK, response(responseCode, card, members));
}

/** Response code 3: nothing was processed, there is no transaction. */
function failed(call: AuthnetCall, [responseCode, reason, text]: Reason, card?: Card): Answer {
  const reference = call.maybe(`${REQUEST}order.invoiceNumber`) ?? null;
  call.tools.record({ kind: "refused", id: null, reference, outcome: null, details: { reason } });
  return answer(UNSUCCESSFUL, response(responseCode, card?.number ?? "", { errors: [{ errorCode: reason, errorText: text }] }));
}

function done({ id, card, details }: Payment, code: string, description: string): Answer {
  const members = { authCode: details.authCode, transId: id, refTransID: id, messages: [{ code, description }] };
  return answer(OK, response("1", card, members));
}

const APPROVED = "This transaction has been approved.";
const referenced = (call: AuthnetCall): Payment | undefined => call.transactions.get(call.text(`${REQUEST}refTransId`));

/** The merchant's later capture of a held payment: at most the amount that is held. */
function capture(call: AuthnetCall): Answer {
  const held = referenced(call);
  if (held?.state === "captured") return done(held, "311", "This transaction has already been captured.");
  if (held?.state !== "authorized" || held.details.judged.responseCode === "4") return failed(call, UNKNOWN);
  const asked = call.maybe(`${REQUEST}amount`);
  return call.transactions.capture(held, asked === undefined ? held.amountMinor : minorOf(asked))
    ? done(held, "1", APPROVED)
    : failed(call, AMOUNT);
}

function voidIt(call: AuthnetCall): Answer {
  const standing = referenced(call);
  if (standing?.state === "voided") return done(standing, "310", "This transaction has already been voided.");
  return standing && call.transactions.void(standing) ? done(standing, "1", APPROVED) : failed(call, UNKNOWN);
}

/** After settlement, with the last four of the card or all of it. */
function refund(call: AuthnetCall): Answer {
  const settled = referenced(call);
  const number = call.text(`${REQUEST}payment.creditCard.cardNumber`);
  if (settled === undefined || !number.endsWith(settled.card.slice(-4)) || number === "") return failed(call, CREDIT);
  const against = call.transactions.refund(settled, {
    id: call.tools.digits(11),
    amountMinor: minorOf(call.text(`${REQUEST}amount`)) || 0,
  });
  return against === null ? done(settled, "1", APPROVED) : failed(call, against === "state" ? CREDIT : AMOUNT);
}
