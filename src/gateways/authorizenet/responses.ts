import type { JsonValue } from "#src/kernel/json.ts";
import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, AttemptTrace, Declined, GatewayAnswer, LookUpResult, ProcessorFields, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { PAGE, nameOf } from "./requests.ts";

/**
 * Length: three kinds of answers (payments, stored cards, reports) with field names of their own, and a long table of reasons.
 */

/** The vendor's reason codes (numbers, inside a transaction) and error codes (E..., of the whole answer) in our words. */
const codeOf = kit.codeTable({
  card_declined: "2",
  do_not_honor: "3",
  fraud_suspected: "41 250 251 254 E00118",
  lost_or_stolen: "4",
  incorrect_number: "6 37 315 200",
  invalid_expiry: "7 316 201",
  expired_card: "8 317",
  incorrect_cvc: "44 65 78 165",
  incorrect_zip: "27 127",
  card_not_supported: "17 28 155",
  // 11: the same card, amount and invoice number within the window; E00039: the customer exists already. Ours, arrived before?
  duplicate_transaction: "11 318 222 E00039",
  limit_exceeded: "49",
  gateway_unavailable: "901 E00053 E00104 E00133",
  gateway_credentials_invalid: "13 E00005 E00006 E00007 E00008 E00010 E00059 E00123 E00124",
  gateway_misconfigured: "24 29 30 31 32 34 35 38 39 43 56 66 84 85 87 123 128 130 205 206 207 208 289 2007 E00009 E00011 E00044",
  held_for_review: "193 252 253",
  // With these the processor, not the issuer, says no.
  processing_error: "5 19-23 25 26 33 42 57-63 120-122 170-173 180 181 192 209 214 220 223 224 261 290 325 326 328",
});

/** Approved, then something failed (36, 50, 52, 152), or broke down or timed out (E...): what became of the money must be looked up. */
const UNCLEAR = ["36", "50", "52", "152", "E00001", "E00049", "E00062", "E00063"];

/** The processor's own code, where it passes one on: ISO 8583 field 39. The gateway folds all of these into reason 2. */
const codeOfProcessor = kit.codeTable({ do_not_honor: "05", insufficient_funds: "51", limit_exceeded: "61 65" }, "card_declined");

/** What helps against a refusal for want of something that an option of the project does without, by the reason code. */
const helpOf = kit.textTable([
  [/^(85|87)$/, "the account takes no telephone payments (MOTO): have it boarded for them, or set moto to false"],
  [/^(289|2007)$/, "the processor checks no card for nothing: set validation to testMode"],
]);

/** Field named in the words of a schema or field error, which share one code. */
const FIELD_ERRORS = ["E00003", "E00013", "E00014", "E00015"];
const codeOfField = kit.textTable([
  [/card ?number/i, "incorrect_number"],
  [/expiration ?date/i, "invalid_expiry"],
  [/card ?code/i, "incorrect_cvc"],
]);

/** Words of a refused validation, when the line with its reason code is missing. */
const codeOfWords = kit.textTable([
  [/card number is invalid/i, "incorrect_number"],
  [/expiration date is invalid/i, "invalid_expiry"],
  [/card has expired/i, "expired_card"],
  [/AVS mismatch/i, "incorrect_zip"],
  [/does not accept this type/i, "card_not_supported"],
  [/card code is invalid/i, "incorrect_cvc"],
]);

/** What stands in a payment's answer and in a report, by our name for it. */
const FIELDS = Object.entries({
  transaction_id: ["transId", "transId"],
  auth_code: ["authCode", "authCode"],
  response_code: ["responseCode", "responseCode"],
  avs_result_code: ["avsResultCode", "AVSResponse"],
  cvv_result_code: ["cvvResultCode", "cardCodeResponse"],
  cavv_result_code: ["cavvResultCode", "CAVVResponse"],
  network_trans_id: ["networkTransId", "networkTransId"],
} as const);

export const PROCESSOR_FIELDS = {
  charge: [...FIELDS.map(([ours]) => `authnet_${ours}`), "authnet_capture_status"].join(" "),
  tokenize: "authnet_customer_profile_id authnet_payment_profile_id",
  authCode: "authnet_auth_code",
  inWebhook: {
    ...Object.fromEntries(FIELDS.map(([ours]) => [`authnet_${ours}`, [ours]])),
    // `auth_only` says it there.
    authnet_capture_status: [],
    authnet_customer_profile_id: ["authnet_customer_profile_id"],
    authnet_payment_profile_id: ["authnet_payment_profile_id"],
  },
};

/** What a transaction's status in a report means. A status that is not here, such as `approvedReview`, is still moving. */
const statusOf = kit.meanings({
  captured: "capturedPendingSettlement settledSuccessfully",
  authorized: "authorizedPendingCapture",
  held: "FDSPendingReview FDSAuthorizedPendingReview underReview",
  refused: "declined voided expired generalError failedReview communicationError",
});

/** Code of a transaction that was not approved. 2 is the issuer's no, 3 an error, 4 held for review. */
function codeOfReason(
  responseCode: string,
  reason = "",
  checks: { avs?: string | undefined; cvv?: string | undefined } = {},
  raw?: string,
): DeclineCode {
  if (responseCode === "4") return "held_for_review";
  if (reason === "45" || reason === "145") return checks.cvv === "N" ? "incorrect_cvc" : "incorrect_zip";
  if (reason === "2") return codeOfProcessor(raw);
  const byChecks = reason === "" && responseCode !== "3" ? kit.codeOfChecks(checks) : undefined;
  return codeOf(reason) ?? byChecks ?? (responseCode === "3" ? "processing_error" : "card_declined");
}

const idAt = (value: JsonValue | undefined, ...path: (string | number)[]) => kit.idAt(value, /^[1-9][0-9]{0,19}$/, ...path);

/** A blank result code is an answer ("not validated"), a blank or zero id is none. */
function processorOf(transaction: kit.JsonObject, column: 0 | 1): ProcessorFields {
  const values = FIELDS.map(([ours, theirs]) => [`authnet_${ours}`, kit.idAt(transaction, /^[ -~]{0,64}$/, theirs[column])] as const);
  const kept = values.filter(([ours, value]) => value !== undefined && (ours.endsWith("_result_code") || !["", "0"].includes(value)));
  return Object.fromEntries(kept) as ProcessorFields;
}

const isOfThisAttempt = (body: kit.JsonObject, subject: Subject) => body["refId"] === undefined || body["refId"] === nameOf(subject);

/** The body of an answer to a payment or a card to store. The byte order mark in front of it is dropped by the reader. */
function bodyOf(answer: GatewayAnswer, subject: Subject): kit.JsonObject | Declined | Unknown {
  const approves = (body: kit.JsonObject) => kit.textAt(body, "transactionResponse", "responseCode") === "1";
  const readable = (status: number) => status === 200;
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, readable, approves, flood: "unclear" });
  if (kit.isOutcome(read)) return read;
  return isOfThisAttempt(read.body, subject) ? read.body : kit.unknown("the answer belongs to another request");
}

/** The body of a report; null when there is none. */
function reportOf(answer: GatewayAnswer, subject: Subject): kit.JsonObject | null {
  const body = kit.lookUpBody(answer, kit.readJson);
  return body && isOfThisAttempt(body, subject) ? body : null;
}

const transactionIn = (answer: GatewayAnswer, subject: Subject) => kit.at(reportOf(answer, subject), "transactionResponse");

/** `messages` of the whole answer; null when it says neither Ok nor Error. */
function messagesOf(body: kit.JsonObject): { ok: boolean; code: string; text: string | undefined } | null {
  const result = kit.textAt(body, "messages", "resultCode");
  const code = kit.textAt(body, "messages", "message", 0, "code") ?? "";
  if ((result !== "Ok" && result !== "Error") || !/^[EI][0-9]{5}$/.test(code)) return null;
  return { ok: result === "Ok", code, text: kit.textAt(body, "messages", "message", 0, "text") };
}

const isOk = (body: kit.JsonObject | null) => body !== null && (messagesOf(body)?.ok ?? false);

/** The call as a whole was refused: nothing was processed. */
function refusal(body: kit.JsonObject): Declined | Unknown {
  const messages = messagesOf(body);
  if (messages === null || messages.ok) return kit.unknown("an answer without a transaction or an error");
  const { code, text: message } = messages;
  if (UNCLEAR.includes(code)) return kit.unknown("the gateway broke down while it processed the request");
  const byField = FIELD_ERRORS.includes(code) ? codeOfField(message) : undefined;
  return kit.declined(byField ?? codeOf(code) ?? "processing_error", { message });
}

/** What a transaction's answer says; `partial` took less than was asked for and must be sent back. */
type TransactionResponse = Approved | Declined | Unknown | { outcome: "partial"; transId: string };

/**
 * The answer to a payment. The transaction decides, not the answer's `resultCode`, which is Ok for some declines and Error
 * for others. Anything odd is unknown.
 */
export function readTransaction(answer: GatewayAnswer, subject: Subject, capture: Approved["capture"]): TransactionResponse {
  const body = bodyOf(answer, subject);
  if (kit.isOutcome(body)) return body;
  const transaction = body["transactionResponse"];
  // An error may come with an empty transaction.
  if (transaction === undefined || transaction === null || transaction === "") return refusal(body);
  if (!kit.isObject(transaction)) return kit.unknown("a transaction that is no object");
  if (transaction["responseCode"] === undefined && transaction["transId"] === undefined) return refusal(body);
  if (isPart(transaction, subject)) {
    const transId = idAt(transaction, "transId");
    return transId === undefined ? kit.unknown("a partial approval without a transaction id") : { outcome: "partial", transId };
  }
  return transaction["responseCode"] === "1" ? readApproval(transaction, capture) : readDecline(transaction);
}

/** Whether a part of the sum was approved, which the vendor says with response code 4 as well: it holds it for the rest. */
function isPart(transaction: kit.JsonObject, subject: Subject): boolean {
  if (!["1", "4"].includes(kit.textAt(transaction, "responseCode") ?? "")) return false;
  const amount = kit.textAt(transaction, "prePaidCard", "approvedAmount");
  const isLess = Boolean(amount) && kit.minorOfDecimal(amount, subject.currency) !== subject.amountMinor;
  return isLess || kit.textAt(transaction, "messages", 0, "code") === "295";
}

function readApproval(transaction: kit.JsonObject, capture: Approved["capture"]): TransactionResponse {
  if (transaction["errors"] !== undefined) return kit.unknown("an approval with errors");
  const transId = idAt(transaction, "transId");
  if (transId === undefined) {
    const mocked = transaction["transId"] === "0" && transaction["testRequest"] === "1";
    return mocked
      ? kit.declined("gateway_misconfigured", { reason: "the account is in Test Mode: nothing is charged there" })
      : kit.unknown("an approval without a transaction id");
  }
  return { outcome: "approved", capture, processor: { ...processorOf(transaction, 0), authnet_capture_status: capture } };
}

function readDecline(transaction: kit.JsonObject): Declined | Unknown {
  const responseCode = kit.textAt(transaction, "responseCode") ?? "";
  if (!["2", "3", "4"].includes(responseCode)) return kit.unknown("a response code that is not documented");
  const given = kit.textAt(transaction, "errors", 0, "errorCode");
  const reason = given ?? (responseCode === "3" ? kit.textAt(transaction, "messages", 0, "code") : undefined);
  if (responseCode !== "4" && UNCLEAR.includes(reason ?? ""))
    return kit.unknown("failed after it was approved: it must be looked up", "processing_error");
  const checks = { avs: kit.textAt(transaction, "avsResultCode"), cvv: kit.textAt(transaction, "cvvResultCode") };
  const message = kit.textAt(transaction, "errors", 0, "errorText") ?? kit.textAt(transaction, "messages", 0, "description");
  const code = codeOfReason(responseCode, reason, checks, kit.textAt(transaction, "rawResponseCode"));
  return { ...kit.declined(code, { message, reason: helpOf(reason) }), processor: processorOf(transaction, 0) };
}

/** The answer to creating a customer profile. */
export function readStored(answer: GatewayAnswer, subject: Subject): Approved | Declined | Unknown {
  const body = bodyOf(answer, subject);
  if (kit.isOutcome(body)) return body;
  const messages = messagesOf(body);
  const ids = kit.at(body, "customerPaymentProfileIdList");
  if (messages?.ok) return stored(idAt(body, "customerProfileId"), Array.isArray(ids) && ids.length === 1 ? idAt(ids, 0) : undefined);
  if (messages === null || idAt(body, "customerProfileId") !== undefined) return kit.unknown("neither stored nor refused");
  return messages.code === "E00027" ? readValidation(kit.textAt(body, "validationDirectResponseList", 0), messages.text) : refusal(body);
}

function stored(customerProfileId: string | undefined, paymentProfileId: string | undefined): Approved | Unknown {
  if (customerProfileId === undefined || paymentProfileId === undefined) return kit.unknown("a stored card without its ids");
  return kit.approved({ authnet_customer_profile_id: customerProfileId, authnet_payment_profile_id: paymentProfileId });
}

/**
 * Why the issuer refused the card, from one line of fields: 0 response code, 2 reason code, 5 AVS, 38 security code. The
 * merchant may have changed the delimiter and added quotes, and the line may be missing: then the words must do.
 */
function readValidation(line: string | undefined, message: string | undefined): Declined {
  const [, quote = "", responseCode = "2", delimiter = ","] = /^(["']?)([234])\1(.)/u.exec(line ?? "") ?? [];
  const fields = (line ?? "").split(delimiter).map((field) => field.replaceAll(quote || "\0", ""));
  const byWords = fields[2] ? undefined : codeOfWords(message);
  const code = byWords ?? codeOfReason(responseCode, fields[2], { avs: fields[5], cvv: fields[38] });
  return kit.declined(code, { message, reason: helpOf(fields[2]) });
}

/** The stored card that carries this attempt. */
export function readCustomerProfile(answer: GatewayAnswer, subject: Subject): LookUpResult {
  const body = reportOf(answer, subject);
  if (body && messagesOf(body)?.code === "E00040") return kit.absent;
  const profile = kit.at(body, "profile");
  if (!isOk(body) || kit.textAt(profile, "merchantCustomerId") !== nameOf(subject)) return kit.unknown("the profile could not be read");
  return stored(idAt(profile, "customerProfileId"), idAt(profile, "paymentProfiles", 0, "customerPaymentProfileId"));
}

/** One transaction of a list. */
export interface Listed {
  transId: string;
  /** Refused, and not worth a second look while another one carries the attempt. */
  refused: boolean;
}

/** A page of a transaction list: the attempt's own ones, and the next page if older ones that could be its own follow. Null when it is no list. */
export function readList(answer: GatewayAnswer, attempt: AttemptTrace, page: number): { items: Listed[]; next: number | null } | null {
  const all = itemsOf(answer, attempt, "transactions");
  const mine = all?.filter((item) => kit.textAt(item, "invoiceNumber") === nameOf(attempt)) ?? [];
  const items = mine.map((item) => ({
    transId: idAt(item, "transId") ?? "",
    refused: statusOf(kit.textAt(item, "transactionStatus")) === "refused",
  }));
  if (all === null || items.some(({ transId }) => transId === "")) return null;
  const oldest = Date.parse(kit.textAt(all.at(-1), "submitTimeUTC") ?? "");
  return { items, next: all.length >= PAGE && !(oldest < attempt.startedAtMs - kit.CLOCKS_APART_MS) ? page + 1 : null };
}

/** Ids of the settled batches of a list; null when it is no list. */
export function readBatches(answer: GatewayAnswer, subject: Subject): string[] | null {
  const items = itemsOf(answer, subject, "batchList");
  const ids = items?.flatMap((item) => idAt(item, "batchId") ?? []);
  return ids && ids.length === items?.length ? ids : null;
}

/** A report without results has no list at all. */
function itemsOf(answer: GatewayAnswer, subject: Subject, member: string): kit.JsonObject[] | null {
  const body = reportOf(answer, subject);
  if (body === null || !isOk(body)) return null;
  return body[member] === undefined ? [] : kit.objectsAt(body, member);
}

/** A transaction as its details report it: what the lost answer would have said. */
export function readDetails(answer: GatewayAnswer, subject: Subject): LookUpResult {
  const body = reportOf(answer, subject);
  const transaction = kit.at(body, "transaction");
  if (!isOk(body) || !kit.isObject(transaction) || idAt(transaction, "transId") === undefined)
    return kit.unknown("the transaction could not be read");
  if (kit.textAt(transaction, "order", "invoiceNumber") !== nameOf(subject)) return kit.unknown("the transaction of another attempt");
  const processor = processorOf(transaction, 1);
  const capture = statusOf(kit.textAt(transaction, "transactionStatus"));
  if (capture === undefined) return kit.pending;
  if (capture === "held" || capture === "refused")
    return { ...kit.declined(capture === "held" ? "held_for_review" : refusedCode(transaction)), processor };
  if (kit.minorOfDecimal(transaction["authAmount"], subject.currency) !== subject.amountMinor)
    return kit.unknown("another amount than asked for");
  return { outcome: "approved", capture, processor: { ...processor, authnet_capture_status: capture } };
}

/** Approved once and voided or expired since: nothing was taken, and no reason code tells why. */
function refusedCode(transaction: kit.JsonObject): DeclineCode {
  const responseCode = kit.scalarAt(transaction, "responseCode") ?? "";
  if (responseCode !== "2" && responseCode !== "3") return "processing_error";
  const checks = { avs: kit.textAt(transaction, "AVSResponse"), cvv: kit.textAt(transaction, "cardCodeResponse") };
  return codeOfReason(responseCode, kit.scalarAt(transaction, "responseReasonCode"), checks);
}

/** True when a transaction was voided, by this request or an earlier one, or refunded by this one. */
export function isReversed(answer: GatewayAnswer, subject: Subject): boolean {
  const transaction = transactionIn(answer, subject);
  return kit.textAt(transaction, "responseCode") === "1" && kit.at(transaction, "errors") === undefined;
}

/** Reasons of a refused refund that may have been made: a duplicate, whose first may have been, and what failed after an approval. */
const LEFT_OPEN: readonly (string | undefined)[] = ["11", ...UNCLEAR];

/** What became of a refund. */
export function readRefund(answer: GatewayAnswer, subject: Subject): kit.ReversalStep {
  if (isReversed(answer, subject)) return "done";
  const transaction = transactionIn(answer, subject);
  const reasons = kit.objectsAt(transaction, "errors")?.map((error) => kit.textAt(error, "errorCode")) ?? LEFT_OPEN;
  const isRefused = /^[23]$/.test(kit.textAt(transaction, "responseCode") ?? "") && !reasons.some((reason) => LEFT_OPEN.includes(reason));
  return isRefused ? "settled already" : "unclear";
}

/** The last four digits of the card of a settled payment; null when it is not settled, or the vendor did not say. */
export function readSettledCard(answer: GatewayAnswer, subject: Subject): string | null {
  const transaction = kit.at(reportOf(answer, subject), "transaction");
  if (kit.textAt(transaction, "transactionStatus") !== "settledSuccessfully") return null;
  return /[0-9]{4}$/.exec(kit.textAt(transaction, "payment", "creditCard", "cardNumber") ?? "")?.[0] ?? null;
}

/** True when a customer profile is gone, by this request or an earlier one. */
export function isDeleted(answer: GatewayAnswer, subject: Subject): boolean {
  const body = reportOf(answer, subject);
  return isOk(body) || (body !== null && messagesOf(body)?.code === "E00040");
}
