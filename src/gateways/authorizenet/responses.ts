import { JsonNumber } from "#src/kernel/json.ts";
import type { JsonValue } from "#src/kernel/json.ts";
import { parseAmountText, parseNumberToken, toMinor } from "#src/kernel/money.ts";
import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, ProcessorFields, Unknown } from "../contract.ts";
import { at, isObject, readJson, textAt, words } from "../kit/index.ts";
import type { Answered, JsonObject } from "../kit/index.ts";
import { codeOfAnswer, codeOfReason, isUnclear, reasonOfText } from "./codes.ts";
import { PAGE, nameOf } from "./requests.ts";
import type { Subject } from "./requests.ts";

/** What a transaction's answer says; `partial` took less than was asked for and must be given back. */
export type Reading = Approved | Declined | Unknown | { outcome: "partial"; transId: string };

/** Our field, its name in a payment's answer, its name in a report. */
const FIELDS: readonly (readonly [ours: string, answer: string, report: string])[] = [
  ["authnet_transaction_id", "transId", "transId"],
  ["authnet_auth_code", "authCode", "authCode"],
  ["authnet_response_code", "responseCode", "responseCode"],
  ["authnet_avs_result_code", "avsResultCode", "AVSResponse"],
  ["authnet_cvv_result_code", "cvvResultCode", "cardCodeResponse"],
  ["authnet_cavv_result_code", "cavvResultCode", "CAVVResponse"],
  ["authnet_network_trans_id", "networkTransId", "networkTransId"],
];

/** What a transaction's status in a report means. A status that is not here, such as `approvedReview`, is still moving. */
const STATUSES: Readonly<Record<string, "captured" | "authorized" | "held" | "refused">> = {
  capturedPendingSettlement: "captured",
  settledSuccessfully: "captured",
  authorizedPendingCapture: "authorized",
  FDSPendingReview: "held",
  FDSAuthorizedPendingReview: "held",
  underReview: "held",
  declined: "refused",
  voided: "refused",
  expired: "refused",
  generalError: "refused",
  failedReview: "refused",
  communicationError: "refused",
};

function unknown(reason: string): Unknown {
  return { outcome: "unknown", reason };
}

/** Vendor's words only where they can help the merchant; a held payment has ours, which say that funds may be held. */
function declined(code: DeclineCode, message: string | undefined, processor: ProcessorFields = {}, reason?: string): Declined {
  const silent = ["held_for_review", "gateway_credentials_invalid", "gateway_unavailable"].includes(code);
  return { outcome: "declined", code, message: silent ? null : words(message), processor, ...(reason && { reason }) };
}

/** A scalar as text: the vendor writes strings in answers and numbers in reports. */
function scalarAt(value: JsonValue | undefined, ...path: string[]): string | undefined {
  const found = at(value, ...path);
  if (found instanceof JsonNumber) return found.text;
  return typeof found === "string" ? found : undefined;
}

function idAt(value: JsonValue | undefined, ...path: string[]): string | undefined {
  const id = scalarAt(value, ...path);
  return id !== undefined && /^[1-9][0-9]{0,19}$/.test(id) ? id : undefined;
}

/** A blank result code is an answer ("not validated"), a blank or zero id is none. */
function processorOf(transaction: JsonObject, column: 1 | 2): ProcessorFields {
  const pairs = FIELDS.flatMap((names): (readonly [string, string])[] => {
    const [ours] = names;
    const value = scalarAt(transaction, names[column]);
    const blankMeans = ours.endsWith("_result_code");
    if (value === undefined || !/^[ -~]{0,64}$/.test(value)) return [];
    return blankMeans || !["", "0"].includes(value) ? [[ours, value]] : [];
  });
  return Object.fromEntries(pairs);
}

const ODD = "the answer is not one JSON object with status 200, or one to another request";

/** The body of an answer to this attempt; null when it is none. The byte order mark in front of it is dropped by the reader. */
function bodyOf(answer: Answered, subject: Subject): JsonObject | null {
  const body = answer.status === 200 ? readJson(answer.body) : null;
  const refId = at(body ?? undefined, "refId");
  return refId === undefined || refId === nameOf(subject) ? body : null;
}

function first(value: JsonValue | undefined): JsonObject | undefined {
  return Array.isArray(value) && isObject(value[0]) ? value[0] : undefined;
}

interface Verdict {
  ok: boolean;
  code: string;
  text: string | undefined;
}

/** `messages` of the whole answer; null when it says neither Ok nor Error. */
function verdictOf(body: JsonObject): Verdict | null {
  const result = textAt(body, "messages", "resultCode");
  const message = first(at(body, "messages", "message"));
  const code = textAt(message, "code") ?? "";
  if ((result !== "Ok" && result !== "Error") || !/^[EI][0-9]{5}$/.test(code)) return null;
  return { ok: result === "Ok", code, text: textAt(message, "text") };
}

/** The call as a whole was refused: nothing was processed. */
function refusal(body: JsonObject): Declined | Unknown {
  const verdict = verdictOf(body);
  if (verdict === null || verdict.ok) return unknown("an answer without a transaction or an error");
  if (isUnclear(verdict.code)) return unknown("the gateway broke down while it processed the request");
  return declined(codeOfAnswer(verdict.code, verdict.text), verdict.text);
}

/**
 * The answer to a payment. The transaction decides, not the answer's `resultCode`, which is Ok for some declines and Error
 * for others. Anything odd is unknown.
 */
export function readTransaction(answer: Answered, subject: Subject, capture: Approved["capture"]): Reading {
  const body = bodyOf(answer, subject);
  if (body === null) return unknown(ODD);
  const transaction = at(body, "transactionResponse");
  if (transaction === undefined) return refusal(body);
  if (!isObject(transaction)) return unknown("a transaction that is no object");
  if (transaction["responseCode"] === undefined && transaction["transId"] === undefined) return refusal(body);
  return textAt(transaction, "responseCode") === "1" ? readApproval(transaction, subject, capture) : readDecline(transaction);
}

function readApproval(transaction: JsonObject, subject: Subject, capture: Approved["capture"]): Reading {
  if (transaction["errors"] !== undefined) return unknown("an approval with errors");
  const transId = idAt(transaction, "transId");
  if (transId === undefined) {
    const mocked = textAt(transaction, "transId") === "0" && textAt(transaction, "testRequest") === "1";
    return mocked
      ? declined("gateway_misconfigured", undefined, {}, "the account is in Test Mode: nothing is charged there")
      : unknown("an approval without a transaction id");
  }
  const reason = textAt(first(transaction["messages"]), "code");
  const amount = textAt(transaction, "prePaidCard", "approvedAmount");
  if (reason === "295" || (amount && minorOf(amount, subject) !== subject.amountMinor)) return { outcome: "partial", transId };
  return { outcome: "approved", capture, processor: { ...processorOf(transaction, 1), authnet_capture_status: capture } };
}

function readDecline(transaction: JsonObject): Declined | Unknown {
  const responseCode = textAt(transaction, "responseCode") ?? "";
  if (!["2", "3", "4"].includes(responseCode)) return unknown("a response code that is not documented");
  const error = first(transaction["errors"]);
  const message = first(transaction["messages"]);
  const reason = textAt(error, "errorCode") ?? (responseCode === "3" ? textAt(message, "code") : undefined);
  if (responseCode !== "4" && isUnclear(reason)) return unknown("an answer that must be looked up: a duplicate, or failed after approval");
  const code = codeOfReason({
    responseCode,
    reason,
    raw: textAt(transaction, "rawResponseCode"),
    avs: textAt(transaction, "avsResultCode"),
    cvv: textAt(transaction, "cvvResultCode"),
  });
  return declined(code, textAt(error, "errorText") ?? textAt(message, "description"), processorOf(transaction, 1));
}

function minorOf(value: JsonValue | undefined, { currency }: Subject): number | null {
  const decimal = value instanceof JsonNumber ? parseNumberToken(value.text) : typeof value === "string" ? parseAmountText(value) : null;
  const minor = decimal && !decimal.negative ? toMinor(decimal, currency) : null;
  return typeof minor === "number" ? minor : null;
}

/** The answer to creating a customer profile. */
export function readStored(answer: Answered, subject: Subject): Approved | Declined | Unknown {
  const body = bodyOf(answer, subject);
  if (body === null) return unknown(ODD);
  const verdict = verdictOf(body);
  if (verdict?.ok) {
    const ids = at(body, "customerPaymentProfileIdList");
    const paymentProfileId = Array.isArray(ids) && ids.length === 1 ? idAt({ id: ids[0] ?? null }, "id") : undefined;
    return stored(idAt(body, "customerProfileId"), paymentProfileId);
  }
  if (verdict === null || idAt(body, "customerProfileId") !== undefined) return unknown("neither stored nor refused");
  const validation = at(body, "validationDirectResponseList");
  return verdict.code === "E00027" ? readValidation(Array.isArray(validation) ? validation[0] : undefined, verdict.text) : refusal(body);
}

function stored(customerProfileId: string | undefined, paymentProfileId: string | undefined): Approved | Unknown {
  if (customerProfileId === undefined || paymentProfileId === undefined) return unknown("a stored card without its ids");
  const processor = { authnet_customer_profile_id: customerProfileId, authnet_payment_profile_id: paymentProfileId };
  return { outcome: "approved", capture: "captured", processor };
}

/**
 * Why the issuer refused the card, from one line of fields: 0 response code, 2 reason code, 5 AVS, 38 security code. The
 * merchant may have changed the delimiter and added quotes, and the line may be missing: then the words must do.
 */
function readValidation(line: JsonValue | undefined, text: string | undefined): Declined {
  const parts = typeof line === "string" ? /^(["']?)([234])\1(.)/u.exec(line) : null;
  const [, quote = "", responseCode = "2", delimiter = ","] = parts ?? [];
  const fields = parts && typeof line === "string" ? line.split(delimiter).map((field) => field.replaceAll(quote || "\0", "")) : [];
  const reason = fields[2] || reasonOfText(text);
  return declined(codeOfReason({ responseCode, reason, raw: undefined, avs: fields[5], cvv: fields[38] }), text);
}

/** The stored card that carries this attempt. */
export function readCustomerProfile(answer: Answered, subject: Subject): Approved | Unknown | { outcome: "absent" } {
  const body = bodyOf(answer, subject);
  if (body === null) return unknown(ODD);
  const verdict = verdictOf(body);
  if (verdict?.code === "E00040") return { outcome: "absent" };
  const profile = at(body, "profile");
  if (!verdict?.ok || textAt(profile, "merchantCustomerId") !== nameOf(subject)) return unknown("the profile could not be read");
  return stored(idAt(profile, "customerProfileId"), idAt(first(at(profile, "paymentProfiles")), "customerPaymentProfileId"));
}

/** One transaction of a list. */
export interface Listed {
  transId: string;
  /** Refused, and not worth a second look while another one carries the attempt. */
  refused: boolean;
}

/** A page of a transaction list: the attempt's own ones, and whether older ones that could be its own follow. Null when it is no list. */
export function readList(answer: Answered, subject: Subject, sinceMs: number): { mine: Listed[]; more: boolean } | null {
  const items = itemsOf(answer, subject, "transactions");
  const mine: Listed[] = [];
  for (const item of items ?? []) {
    if (textAt(item, "invoiceNumber") !== nameOf(subject)) continue;
    const transId = idAt(item, "transId");
    if (transId === undefined) return null;
    mine.push({ transId, refused: STATUSES[textAt(item, "transactionStatus") ?? ""] === "refused" });
  }
  const oldest = Date.parse(textAt(items?.at(-1), "submitTimeUTC") ?? "");
  return items && { mine, more: items.length >= PAGE && !(oldest < sinceMs) };
}

/** Ids of the settled batches of a list; null when it is no list. */
export function readBatches(answer: Answered, subject: Subject): string[] | null {
  const items = itemsOf(answer, subject, "batchList");
  const ids = items?.flatMap((item) => idAt(item, "batchId") ?? []);
  return ids && ids.length === items?.length ? ids : null;
}

/** A report without results has no list at all. */
function itemsOf(answer: Answered, subject: Subject, member: string): JsonObject[] | null {
  const body = bodyOf(answer, subject);
  if (body === null || !verdictOf(body)?.ok) return null;
  const list = at(body, member) ?? [];
  return Array.isArray(list) && list.every(isObject) ? list : null;
}

/** A transaction as its details report it: what the lost answer would have said. */
export function readDetails(answer: Answered, subject: Subject): Approved | Declined | Unknown | { outcome: "pending" } {
  const body = bodyOf(answer, subject);
  if (body === null) return unknown(ODD);
  const transaction = at(body, "transaction");
  const transId = idAt(transaction, "transId");
  if (!verdictOf(body)?.ok || !isObject(transaction) || transId === undefined) return unknown("the transaction could not be read");
  if (textAt(transaction, "order", "invoiceNumber") !== nameOf(subject)) return unknown("the transaction of another attempt");
  const processor = processorOf(transaction, 2);
  const status = STATUSES[textAt(transaction, "transactionStatus") ?? ""];
  if (status === undefined) return { outcome: "pending" };
  if (status === "held") return declined("held_for_review", undefined, processor);
  if (status === "refused") return declined(refusedCode(transaction), undefined, processor);
  if (minorOf(transaction["authAmount"], subject) !== subject.amountMinor) return unknown("another amount than asked for");
  return { outcome: "approved", capture: status, processor: { ...processor, authnet_capture_status: status } };
}

/** Approved once and voided or expired since: nothing was taken, and no reason code tells why. */
function refusedCode(transaction: JsonObject): DeclineCode {
  const responseCode = scalarAt(transaction, "responseCode") ?? "";
  if (responseCode !== "2" && responseCode !== "3") return "processing_error";
  return codeOfReason({
    responseCode,
    reason: scalarAt(transaction, "responseReasonCode"),
    raw: undefined,
    avs: textAt(transaction, "AVSResponse"),
    cvv: textAt(transaction, "cardCodeResponse"),
  });
}

/** True when a transaction was voided, by this request or an earlier one. */
export function isVoided(answer: Answered, subject: Subject): boolean {
  const body = bodyOf(answer, subject);
  const transaction = at(body ?? undefined, "transactionResponse");
  return textAt(transaction, "responseCode") === "1" && at(transaction, "errors") === undefined;
}

/** True when a customer profile is gone, by this request or an earlier one. */
export function isDeleted(answer: Answered, subject: Subject): boolean {
  const body = bodyOf(answer, subject);
  const verdict = body && verdictOf(body);
  return verdict !== null && (verdict.ok || verdict.code === "E00040");
}
