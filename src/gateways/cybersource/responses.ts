import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { codeOf } from "./requests.ts";

/** `errorInformation.reason` of a refusal, or `reason` of an invalid request; names that end in _WATCHLIST_MATCH stand apart. */
const ofReason = kit.codeTable({
  card_declined: "GENERAL_DECLINE PROCESSOR_DECLINED PAYMENT_REFUSED CONTACT_PROCESSOR BLOCKED_BY_CARDHOLDER DECLINED_CHECK",
  insufficient_funds: "INSUFFICIENT_FUND",
  limit_exceeded: "EXCEEDS_CREDIT_LIMIT ALLOWABLE_PIN_RETRIES_EXCEEDED",
  expired_card: "EXPIRED_CARD",
  incorrect_number: "INVALID_ACCOUNT INVALID_CARD",
  incorrect_cvc: "INVALID_CVN CVN_NOT_MATCH CV_FAILED",
  incorrect_zip: "AVS_FAILED",
  card_not_supported: "CARD_TYPE_NOT_ACCEPTED INVALID_CARD_TYPE UNAUTHORIZED_CARD NOT_SUPPORTED",
  lost_or_stolen: "STOLEN_LOST_CARD",
  fraud_suspected:
    "DECISION_PROFILE_REJECT DECISION_PROFILE_REVIEW SCORE_EXCEEDS_THRESHOLD BLACKLISTED_CUSTOMER SUSPENDED_ACCOUNT DAGGREJECTED DAGGDENIED DSYSREJECTED",
  authentication_required: "CONSUMER_AUTHENTICATION_REQUIRED CONSUMER_AUTHENTICATION_FAILED PENDING_AUTHENTICATION",
  duplicate_transaction: "DUPLICATE_REQUEST",
  processing_error: "ISSUER_UNAVAILABLE PROCESSOR_ERROR",
  gateway_unavailable: "PROCESSOR_UNAVAILABLE",
  gateway_misconfigured: "INVALID_MERCHANT_CONFIGURATION INVALID_PAYMENT_ID INVALID_AMOUNT",
});
/** The field that an invalid request has wrong. */
const ofField = kit.textTable<DeclineCode>([
  [/card\.number$/, "incorrect_number"],
  [/card\.securityCode$/, "incorrect_cvc"],
  [/card\.expiration(Month|Year)$/, "invalid_expiry"],
  [/billTo\.postalCode$/, "incorrect_zip"],
]);
/** `reasonCode` of a transaction that a search has found; 480 is held for review. */
const ofReasonCode = kit.codeTable({
  insufficient_funds: "204",
  limit_exceeded: "210",
  expired_card: "202",
  incorrect_number: "231",
  incorrect_cvc: "209 211 230",
  incorrect_zip: "200",
  card_not_supported: "232 240",
  lost_or_stolen: "205",
  fraud_suspected: "221 400 481",
  authentication_required: "475 476 478",
  held_for_review: "480",
  duplicate_transaction: "104",
  processing_error: "207 236",
  gateway_misconfigured: "101 102 234",
  card_declined: "201 203 208 222 233",
});

const ID = /^[0-9A-Za-z]{1,64}$/;
const ADDRESS_WANTED =
  "Cybersource wants more of the payer's address: have it set relaxed address requirements for the account, or give the billing_... settings";
const NO_TOKENS = "the account has no Token Management Service, so that a card cannot be stored: have Cybersource switch it on";
const APPROVING = /^(PARTIAL_)?AUTHORIZED/;
/** Reasons that leave open what became of the request. */
const OPEN = new Set(["SYSTEM_ERROR", "SERVER_TIMEOUT", "SERVICE_TIMEOUT"]);
/** The reason of a verification that the processor has no way to make. */
const NO_ZERO = "the account's processor takes no amount of zero, so that a card cannot be stored";

/** What an answer says; `partial` and `refused` left a hold of so many minor units behind, which must go. */
export type State =
  | Approved
  | Declined
  | Unknown
  | { outcome: "partial"; id: string; amountMinor: number }
  | { outcome: "refused"; id: string; refusal: Declined };

const isVendors = (body: kit.JsonObject): boolean =>
  [reasonIn(body), kit.textAt(body, "submitTimeUtc"), kit.textAt(body, "response", "rmsg")].some((word) => word !== undefined);

/** The answer to a payment: approved and declined alike have status 201, an invalid request 400, and each tells what it is by words. */
export function readPayment(answer: GatewayAnswer, subject: Subject): State {
  const approves = (body: kit.JsonObject) => APPROVING.test(kit.textAt(body, "status") ?? "");
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, isVendors, approves, refused: kit.shutOut });
  if ("outcome" in read) return read;
  const { status, body } = read;
  if (kit.at(body, "encryptedResponse") !== undefined) return kit.unknown("the answer is encrypted: switch message-level encryption off");
  if (kit.saysOther(body, codeOf(subject), "clientReferenceInformation", "code")) return kit.unknown("the answer is another payment's");
  if (status === 201) return readMade(body, subject);
  if (status === 400) return readInvalid(body, subject);
  return [404, 405, 406, 415].includes(status)
    ? kit.declined("gateway_misconfigured", { message: kit.textAt(body, "message") })
    : kit.unknown(`status ${status}`);
}

function readMade(body: kit.JsonObject, subject: Subject): State {
  const id = kit.idAt(body, ID, "id");
  const [status, reason] = [kit.textAt(body, "status"), kit.textAt(body, "errorInformation", "reason")];
  if (OPEN.has(reason ?? "")) return kit.unknown("a fault of Cybersource's own");
  if (status === "INVALID_REQUEST") return readInvalid(body, subject);
  if (status === "DECLINED") {
    const refusal = refusalOf(body, "card_declined");
    // The issuer had approved: what he holds is given up.
    const isHeld = reason === "AVS_FAILED" || reason === "CV_FAILED";
    return isHeld && id !== undefined ? { outcome: "refused", id, refusal } : refusal;
  }
  if (id === undefined) return kit.unknown("201 without the payment's id");
  if (status === "AUTHORIZED") return readAuthorized(body, id, subject);
  if (status === "PARTIAL_AUTHORIZED") return { outcome: "partial", id, amountMinor: authorizedOf(body, subject) ?? subject.amountMinor };
  if (status === "AUTHORIZED_RISK_DECLINED") return { outcome: "refused", id, refusal: refusalOf(body, "fraud_suspected") };
  const refused = ofPending(status);
  return refused === undefined
    ? kit.unknown("a status that Cybersource does not document")
    : kit.declined(refused, { processor: { cybersource_payment_id: id } });
}

/** Statuses of what waits for somebody who will not come. */
const ofPending = kit.codeTable({
  held_for_review: "AUTHORIZED_PENDING_REVIEW PENDING_REVIEW",
  authentication_required: "PENDING_AUTHENTICATION",
});

const authorizedOf = (body: kit.JsonObject, { currency }: Subject): number | null =>
  kit.minorOfDecimal(kit.at(body, "orderInformation", "amountDetails", "authorizedAmount"), currency);

function readAuthorized(body: kit.JsonObject, id: string, subject: Subject): Approved | Declined | Unknown {
  const details = kit.at(body, "orderInformation", "amountDetails");
  const asked = subject.mode === "charge" ? subject.amountMinor : 0;
  const isOther = kit.at(details, "authorizedAmount") !== undefined && authorizedOf(body, subject) !== asked;
  if (isOther || (kit.textAt(details, "currency") ?? subject.currency) !== subject.currency)
    return kit.unknown("another amount or currency than asked for");
  if (subject.mode === "charge") return kit.approved({ cybersource_payment_id: id });
  if (kit.at(body, "tokenInformation", "instrumentIdentifier") === undefined)
    return kit.declined("gateway_misconfigured", { message: NO_TOKENS, processor: { cybersource_payment_id: id } });
  const identifier = kit.idAt(body, ID, "tokenInformation", "instrumentIdentifier", "id");
  if (identifier === undefined) return kit.unknown("authorized without an instrument identifier");
  return kit.approved({ cybersource_payment_id: id, cybersource_instrument_identifier_id: identifier });
}

const codeOfReason = (reason: string | undefined, otherwise: DeclineCode): DeclineCode =>
  reason?.endsWith("_WATCHLIST_MATCH") ? "fraud_suspected" : (ofReason(reason) ?? otherwise);

function refusalOf(body: kit.JsonObject, otherwise: DeclineCode): Declined {
  const code = codeOfReason(kit.textAt(body, "errorInformation", "reason"), otherwise);
  const isPlain = code === "card_declined" && kit.scalarAt(body, "processorInformation", "responseCode") === "05";
  return kit.declined(isPlain ? "do_not_honor" : code, {
    message: kit.textAt(body, "errorInformation", "message"),
    processor: { cybersource_payment_id: kit.idAt(body, ID, "id") },
  });
}

const reasonIn = (body: kit.JsonObject | null) => kit.textAt(body, "reason") ?? kit.textAt(body, "errorInformation", "reason");

/** Nothing ran. The reasons stand at the top, or with status 201 in errorInformation; the details name the fields. */
function readInvalid(body: kit.JsonObject, { mode }: Subject): Declined | Unknown {
  const inner = kit.at(body, "errorInformation");
  const reason = reasonIn(body);
  const isSaid = reason !== undefined || kit.textAt(body, "status") === "INVALID_REQUEST";
  if (!isSaid || OPEN.has(reason ?? "")) return kit.unknown("a refusal that does not say why");
  const message = kit.textAt(body, "message") ?? kit.textAt(inner, "message");
  const details = kit.objectsAt(body, "details") ?? kit.objectsAt(inner, "details") ?? [];
  const fields = details.map((detail) => kit.textAt(detail, "field") ?? "");
  const isZero = mode === "tokenize" && (reason === "INVALID_AMOUNT" || fields.some((field) => field.endsWith("totalAmount")));
  if (isZero) return kit.declined("gateway_misconfigured", { message: NO_ZERO });
  const ofFields = fields.map((field) => ofField(field)).find((code) => code !== undefined);
  // A caller can mend a postal code, and no other part of an address that is wanted with it.
  const isAddress = fields.some((field) => field.includes("billTo.") && ofField(field) === undefined);
  if (ofFields !== undefined && !(isAddress && ofFields === "incorrect_zip")) return kit.declined(ofFields, { message });
  return kit.declined(codeOfReason(reason, "gateway_misconfigured"), { message: isAddress ? ADDRESS_WANTED : message });
}

/** Reason codes of the vendor's own rules: the issuer had approved, and his hold stands. */
const HELD: ReadonlySet<string | undefined> = new Set(["200", "230", "481"]);

/** What a search found; nothing found may have no list at all. */
export function readSearch(answer: GatewayAnswer, subject: Subject): State[] | Unknown {
  const body = kit.lookUpBody(answer, kit.readJson, [200, 201]);
  const all = kit.objectsAt(body, "_embedded", "transactionSummaries");
  const total = kit.minorOf(kit.at(body, "totalCount"));
  if (all === null) return total === 0 ? [] : kit.unknown("Cybersource did not answer the look-up");
  if (total !== null && total > all.length) return kit.unknown("the search found more than it shows");
  if (all.some((item) => kit.textAt(item, "clientReferenceInformation", "code") !== codeOf(subject)))
    return kit.unknown("the search shows other payments than it was asked for");
  return all.map((item) => readFound(item, subject));
}

/** A summary: each application that ran (`ics_auth`, `ics_bill` for the capture) has a reason code, 100 for success. */
function readFound(item: kit.JsonObject, subject: Subject): State {
  const id = kit.idAt(item, ID, "id");
  const applications = kit.objectsAt(item, "applicationInformation", "applications") ?? [];
  const codes = applications.map((ran) => kit.scalarAt(ran, "reasonCode"));
  const did = (...names: string[]) =>
    applications.some((ran, index) => codes[index] === "100" && names.includes(kit.textAt(ran, "name") ?? ""));
  const refused = codes.find((code) => code !== "100");
  if (codes.length === 0 || id === undefined) return kit.unknown("a transaction of our code that does not say what became of it");
  const processor = { cybersource_payment_id: id };
  if (did("ics_void", "ics_auth_reversal")) return kit.takenBack(processor);
  if (refused !== undefined && did("ics_bill")) return kit.unknown("captured, but refused by another application");
  if (refused !== undefined || codes.includes(undefined)) {
    const code = ofReasonCode(refused);
    if (code === undefined) return kit.unknown("a reason code that decides nothing");
    const refusal = kit.declined(code, { processor });
    const isHeld = HELD.has(refused) || (did("ics_auth") && code !== "held_for_review");
    return isHeld ? { outcome: "refused", id, refusal } : refusal;
  }
  const details = kit.at(item, "orderInformation", "amountDetails");
  const isAsked = kit.minorOfDecimal(kit.at(details, "totalAmount"), subject.currency) === subject.amountMinor;
  if (!isAsked || kit.textAt(details, "currency") !== subject.currency) return kit.unknown("another amount or currency than asked for");
  return kit.approved(processor, { capture: did("ics_bill") ? "captured" : "authorized" });
}

/** Outcomes of a void, release or refund that is accepted; a refund is settled later. */
const isReversed = kit.wordTable({ VOIDED: true, CANCELLED: true, REVERSED: true, PENDING: true, TRANSMITTED: true });

/** Why a refund is refused of a payment that was voided before, and the release of a hold that is gone. */
const GONE_BEFORE: ReadonlySet<string | undefined> = new Set(["CAPTURE_ALREADY_VOIDED", "AUTH_ALREADY_REVERSED"]);

/** A void is refused with 400 once the payment is settled. Without a reason, or as a duplicate, it may have been taken. */
export function readReversal({ status, body }: kit.Answered): kit.ReversalStep {
  const read = kit.readJson(body);
  const reason = reasonIn(read);
  if (status === 400 && GONE_BEFORE.has(reason)) return "none left";
  if (status === 400)
    return reason === undefined || OPEN.has(reason) || ofReason(reason) === "duplicate_transaction" ? "unclear" : "settled already";
  return status === 201 && isReversed(kit.textAt(read, "status")) ? "done" : "unclear";
}
