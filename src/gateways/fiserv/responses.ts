import { currencyNumber } from "#src/kernel/money.ts";
import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, LookUpResult, Subject, Unknown, VoidResult } from "../contract.ts";
import * as kit from "../kit/index.ts";

/**
 * `processor.responseCode`, else the number in `approvalCode` or `error.code`, in our words. Of the others those of an issuer, which are
 * short, are plain declines, and the gateway's own are none.
 */
const codeOf = kit.codeTable({
  do_not_honor: "05",
  card_declined: "01 28 60",
  insufficient_funds: "51",
  expired_card: "54 2304",
  incorrect_number: "14 2303 50294 42741",
  incorrect_cvc: "C2 82 N7 12000",
  lost_or_stolen: "04 07 41 43",
  limit_exceeded: "61 65 75",
  card_not_supported: "57 58 63 5002 5996 13532",
  authentication_required: "1A 5101 5102 5103 5111 5112 42755 50716",
  duplicate_transaction: "94 5003 5998",
  fraud_suspected: "34 59 50656 50690",
  processing_error: "69 91 96 100",
  gateway_misconfigured: "03 12 13 25 89 5108 5433 10503 22812 22813 23032 30055 30157 31218 50653 50666 62086 63096",
});
const otherCode = (code = ""): DeclineCode => (/^\d{4,}$/.test(code) ? "processing_error" : "card_declined");
/** The network's time-outs, and an answer of its that the vendor could not read (30060): the issuer may have said yes. */
const NOT_KNOWN = new Set(["30050", "30051", "30052", "30053", "30054", "30060", "30062"]);
/** The store is not set up for the origin that telephone payments are marked with. */
const ORIGIN_REFUSED = new Set(["5108", "23032"]);
/** 5005 stands for two things; only its words tell which. */
const of5005 = kit.textTable([[/duplicate/i, "duplicate_transaction" as const]]);
/** A 400 names the fields it does not like. */
const ofField = kit.textTable<DeclineCode>([
  [/securityCode/i, "incorrect_cvc"],
  [/expiryDate/i, "invalid_expiry"],
  [/paymentCard\.number\b/i, "incorrect_number"],
  [/postalCode/i, "incorrect_zip"],
  // Ours, and in order: only a second delivery of the request can be refused for them.
  [/merchantTransactionId|orderId/i, "duplicate_transaction"],
]);
const ofStatus = kit.codeTable({ gateway_credentials_invalid: "401 403" });

const PAYMENT_ID = /^[A-Za-z0-9-]{1,64}$/;
const TEXT_ID = /^[\x21-\x7e]{1,255}$/;

/** What a payment's answer says; `partial` must be taken back, `waiting` is asked about again. */
export type PaymentState = Approved | Declined | Unknown | { outcome: "partial"; id: string } | { outcome: "waiting"; id: string };

/** Statuses below 500 carry the vendor's word on the payment, 409 too: refused by the gateway's own rules. */
export const readable = (status: number) => status < 500 && status !== 408 && status !== 425 && status !== 429;
/** Errors name themselves, or have their object with a code or the fields at fault. */
export const isVendors = (body: kit.JsonObject): boolean =>
  [kit.textAt(body, "responseType"), resultOf(body), kit.textAt(body, "error", "code"), kit.at(body, "error", "details")].some(
    (word) => word !== undefined,
  );

/** The answer to a sale, or to reading one that was ours. */
export function readSale(answer: GatewayAnswer, subject: Subject): PaymentState {
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, readable, isVendors, approves, flood: "unclear" });
  return "outcome" in read ? read : stateOf(read.status, read.body, subject);
}

const isHeldOrTaken = (body: kit.JsonObject) => ["AUTHORIZED", "CAPTURED", "SETTLED"].includes(kit.textAt(body, "transactionState") ?? "");

const approves = (body: kit.JsonObject): boolean => NOT_REFUSED.has(resultOf(body) ?? "") || isHeldOrTaken(body);

/** The result, the state and the first letter of the approval code (`Y` approved, `N` refused) say the same. */
function isContradiction(body: kit.JsonObject): boolean {
  const [result, letter] = [resultOf(body) ?? "", kit.textAt(body, "approvalCode")?.slice(0, 2)];
  if (NOT_REFUSED.has(result)) return letter === "N:";
  return REFUSED.has(result) && (letter === "Y:" || isHeldOrTaken(body));
}

const ANOTHERS = kit.unknown("the answer is another payment's");
const isAnothers = (body: kit.JsonObject, { reference }: Subject) => kit.saysOther(body, reference, "merchantTransactionId");

function stateOf(status: number, body: kit.JsonObject, subject: Subject): PaymentState {
  const id = kit.idAt(body, PAYMENT_ID, "ipgTransactionId");
  const result = kit.textAt(body, "transactionResult") ?? kit.textAt(body, "transactionStatus");
  if (isAnothers(body, subject)) return ANOTHERS;
  if (isContradiction(body)) return kit.unknown("approved and declined at once");
  if (status !== 200) return refusal(status, body);
  if (REFUSED.has(result ?? "")) return refusal(status, body);
  if (id === undefined) return kit.unknown("200 without the payment's id");
  if (result === "PARTIAL") return { outcome: "partial", id };
  if (result === "WAITING") return { outcome: "waiting", id };
  return result === "APPROVED" ? paid(body, id, subject) : kit.unknown("a result that Fiserv does not document");
}

function paid(body: kit.JsonObject, id: string, subject: Subject): Approved | Unknown {
  const amount = kit.at(body, "approvedAmount") ?? kit.at(body, "transactionAmount");
  const isAsked = kit.minorOfDecimal(kit.at(amount, "total"), subject.currency) === subject.amountMinor;
  // By its letters or by its number: the schema has both.
  const isCurrency = [subject.currency, currencyNumber(subject.currency)].includes(kit.scalarAt(amount, "currency"));
  if (!isAsked || !isCurrency) return kit.unknown("another amount or currency than asked for");
  // Not every answer to a sale has a state, and a sale is captured at once.
  const state = kit.textAt(body, "transactionState") ?? (kit.textAt(body, "transactionType") === "SALE" ? "CAPTURED" : undefined);
  if (state !== "CAPTURED" && state !== "SETTLED" && state !== "AUTHORIZED") return kit.unknown("approved, but neither captured nor held");
  return kit.approved(
    {
      fiserv_transaction_id: id,
      fiserv_order_id: kit.idAt(body, TEXT_ID, "orderId"),
      fiserv_state: state === "AUTHORIZED" ? "AUTHORIZED" : "CAPTURED",
    },
    { capture: state === "AUTHORIZED" ? "authorized" : "captured", webhook: details(body) },
  );
}

/** Further keys of the status webhook. */
const details = (body: kit.JsonObject): Readonly<Record<string, string | undefined>> => ({
  fiserv_status: resultOf(body),
  approval_code: kit.textAt(body, "processor", "authorizationCode") ?? kit.textAt(body, "approvalCode"),
  response_code: kit.scalarAt(body, "processor", "responseCode"),
  response_message: kit.textAt(body, "processor", "responseMessage") ?? kit.textAt(body, "error", "message"),
});

/** Statuses that refuse a payment by issuer or rules; a 200 may be read so where the result in its body says it. */
const REFUSING = new Set([200, 409, 422]);
const REFUSED = new Set(["DECLINED", "FAILED", "FRAUD", "VALIDATION_FAILED", "PROCESSING_FAILED"]);
/** With these a used request id may be refused: how was not to be learnt. */
const OF_READER = new Set([400, 401, 403, 409]);
/** Results that are no refusal, whatever the status. */
const NOT_REFUSED = new Set(["APPROVED", "PARTIAL", "WAITING"]);

const resultOf = (body: kit.JsonObject) =>
  kit.textAt(body, "transactionResult") ?? kit.textAt(body, "transactionStatus") ?? kit.textAt(body, "requestStatus");

/** Whoever said no: the issuer (422), the gateway's rules (409), or the gateway's reader (400, 401, 403, 404, 415). */
function refusal(status: number, body: kit.JsonObject): Declined | Unknown {
  const message = kit.textAt(body, "processor", "responseMessage") ?? kit.textAt(body, "error", "message");
  const id = kit.idAt(body, PAYMENT_ID, "ipgTransactionId");
  const processor = { fiserv_transaction_id: id, fiserv_order_id: id && kit.idAt(body, TEXT_ID, "orderId") };
  // A request id counts once: the first one may be ours, and have taken the money.
  const isSecond = OF_READER.has(status) && /request-?id/i.test(message ?? "");
  const byStatus = isSecond ? "duplicate_transaction" : ofStatus(String(status));
  if (byStatus !== undefined) return kit.declined(byStatus, { message });
  if (status === 400) return kit.declined(ofField(faultyFields(body)) ?? "gateway_misconfigured", { message });
  if (status === 404 || status === 415) return kit.declined("gateway_misconfigured", { message });
  const result = resultOf(body);
  if (!REFUSING.has(status) || NOT_REFUSED.has(result ?? ""))
    return kit.unknown("a status that refuses nothing, or a refusal of what is approved");
  if (result === undefined && !kit.isObject(kit.at(body, "error"))) return kit.unknown("a refusal without a result or an error");
  const code = refusalCode(body);
  if (code !== undefined && NOT_KNOWN.has(code)) return kit.unknown("the processor's answer to the vendor was lost", "processing_error");
  if (code !== undefined && ORIGIN_REFUSED.has(code)) {
    const reason = "the store is not set up for this transactionOrigin: ask Fiserv, or set telephone_origin";
    return kit.declined("gateway_misconfigured", { message, processor, reason });
  }
  return kit.declined(ourCode(body, code), { message, processor });
}

function ourCode(body: kit.JsonObject, code: string | undefined): DeclineCode {
  if (kit.textAt(body, "transactionResult") === "FRAUD") return "fraud_suspected";
  if (kit.textAt(body, "processor", "securityCodeResponse") === "NOT_MATCHED") return "incorrect_cvc";
  if (code === "5005") return of5005(kit.textAt(body, "approvalCode") ?? kit.textAt(body, "error", "message")) ?? "fraud_suspected";
  const known = codeOf(code);
  if (known !== undefined && known !== "card_declined") return known;
  const isZip = kit.textAt(body, "processor", "avsResponse", "postalCodeMatch") === "N";
  return isZip && /avs|postal|zip/i.test(kit.textAt(body, "approvalCode") ?? "") ? "incorrect_zip" : (known ?? otherCode(code));
}

/** The issuer's code (00 is none: the gateway's rules refused after it), else the gateway's: `N:-5005:FRAUD ...` has it between the colons, a minus marks it as the gateway's own. */
function refusalCode(body: kit.JsonObject): string | undefined {
  const inApproval = /^[YN?]:-?([0-9A-Za-z]{1,6}):/.exec(kit.textAt(body, "approvalCode") ?? "")?.[1];
  const byIssuer = kit.scalarAt(body, "processor", "responseCode");
  return (byIssuer === "00" ? undefined : byIssuer) ?? inApproval ?? kit.scalarAt(body, "error", "code");
}

const faultyFields = (body: kit.JsonObject): string =>
  (kit.objectsAt(body, "error", "details") ?? []).map((detail) => kit.textAt(detail, "field") ?? "").join(" ");

/** `requestStatus` of a card that is stored. */
const STORED = new Set(["SUCCESS", "APPROVED"]);

/** The answer to storing a card. No money moves, so whatever is unclear is sent again. */
export function readToken(status: number, body: kit.JsonObject): Approved | Declined | Unknown {
  if (status !== 200) return refusal(status, body);
  const result = kit.textAt(body, "requestStatus");
  if (result === "DECLINED" || result === "FAILED" || result === "VALIDATION_FAILED") return refusal(status, body);
  const token = kit.idAt(body, TEXT_ID, "paymentToken", "value");
  if (!STORED.has(result ?? "") || token === undefined) return kit.unknown("200 without a token");
  const id = kit.idAt(body, PAYMENT_ID, "ipgTransactionId");
  return kit.approved(
    { fiserv_payment_token: token, fiserv_order_id: kit.idAt(body, TEXT_ID, "orderId") },
    // The interface has one word for success; a stored card's own is another (`requestStatus`).
    { webhook: { ...details(body), fiserv_status: "APPROVED", ipg_transaction_id: id } },
  );
}

/** The vendor's own 404, not that of a page before it. */
const isVendors404 = (status: number, body: kit.JsonObject): boolean =>
  status === 404 && (kit.textAt(body, "responseType") === "NotFound" || kit.isObject(kit.at(body, "error")));

/** Whether a stored card was taken out; absent: the store keeps no such card. */
export function readRemoval(answer: GatewayAnswer): VoidResult {
  const body = kit.lookUpBody(answer, kit.readJson, [200, 404]);
  if (body === null || answer.kind !== "answered") return kit.unknown("the stored card could not be removed");
  if (isVendors404(answer.status, body)) return kit.absent;
  const isDone = answer.status === 200 && !REFUSED.has(kit.textAt(body, "requestStatus") ?? "");
  return isDone ? { outcome: "voided" } : kit.unknown("the stored card could not be removed");
}

const LOOK_UP = [200, 404, 409, 422];

/** Whether a look-up was answered, whatever it found: with wrong keys it is not. */
export const isAnswered = (answer: GatewayAnswer): boolean => kit.lookUpBody(answer, kit.readJson, LOOK_UP) !== null;

/** What reading a payment by our reference says. */
export function readLookUp(answer: GatewayAnswer, subject: Subject): PaymentState | Extract<LookUpResult, { outcome: "absent" }> {
  const body = kit.lookUpBody(answer, kit.readJson, LOOK_UP);
  if (body === null || answer.kind !== "answered") return kit.unknown("Fiserv did not answer the look-up");
  const { status } = answer;
  if (status === 404) return isVendors404(status, body) ? kit.absent : kit.unknown("a 404 that is not the vendor's");
  return foundState(status, body, subject);
}

const ofState = kit.meanings({ APPROVED: "AUTHORIZED CAPTURED SETTLED", DECLINED: "DECLINED", WAITING: "WAITING" });
/** What a look-up shows: the vendor keeps a payment's state, but not in every version the result of its first answer. */
function shown(body: kit.JsonObject): kit.JsonObject {
  const result = resultOf(body) ?? ofState(kit.textAt(body, "transactionState"));
  return result === undefined ? body : { ...body, transactionResult: result };
}

/** A payment that was read, or stands in a list. */
function foundState(status: number, read: kit.JsonObject, subject: Subject): PaymentState {
  const body = shown(read);
  if (isAnothers(body, subject)) return ANOTHERS;
  const state = kit.textAt(body, "transactionState");
  if (status === 200 && state === "VOIDED") return kit.takenBack();
  // A reader's answer to a refused payment is 200 as well.
  if (status === 200 && state === "DECLINED") return refusal(status, body);
  return stateOf(status, body, subject);
}

/** The sales of the attempt's order; null where the order was not shown. */
export function readSales(answer: GatewayAnswer, subject: Subject): PaymentState[] | null {
  const all = kit.objectsAt(kit.lookUpBody(answer, kit.readJson), "transactions");
  return all?.filter((one) => kit.textAt(one, "transactionType") === "SALE").map((one) => foundState(200, one, subject)) ?? null;
}

/** What an order says of returns; `unclear` where it was not shown, or one is neither whole nor refused. */
export function readOrder(answer: GatewayAnswer, subject: Subject): "none" | "whole" | "unclear" {
  const all = kit.objectsAt(kit.lookUpBody(answer, kit.readJson), "transactions");
  if (all === null) return "unclear";
  const returns = all
    .filter((one) => kit.textAt(one, "transactionType") === "RETURN")
    .map(shown)
    .filter((one) => !isPlainlyRefused(one));
  const isWhole = (one: kit.JsonObject) =>
    kit.textAt(one, "transactionResult") === "APPROVED" &&
    kit.minorOfDecimal(kit.at(one, "approvedAmount", "total"), subject.currency) === subject.amountMinor;
  return returns.length === 0 ? "none" : returns.every(isWhole) ? "whole" : "unclear";
}

const isPlainlyRefused = (one: kit.JsonObject) => REFUSED.has(kit.textAt(one, "transactionResult") ?? "") && !leavesOpen(one);

/** A refusal that says that the processor did not answer, or that there was one like it before: it may have been made. */
function leavesOpen(body: kit.JsonObject): boolean {
  const code = refusalCode(body);
  return NOT_KNOWN.has(code ?? "") || ourCode(body, code) === "duplicate_transaction";
}

/** A void that comes after the settlement is refused by the gateway's rules. */
export function readReversal({ status, body }: Extract<GatewayAnswer, { kind: "answered" }>): kit.ReversalStep {
  const read = kit.readJson(body);
  if (status === 200 && read && resultOf(read) === "APPROVED") return "done";
  return (status === 409 || status === 422) && !(read && leavesOpen(read)) ? "settled already" : "unclear";
}
