import { Secret } from "#src/kernel/secret.ts";
import type { Approved, AttemptTrace, Declined, GatewayAnswer, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { externalReference, PAGE, VERIFICATION_MINOR } from "./requests.ts";

/** `error.code`, else `error.type`; `failure_code` of a failed charge. */
const codeOf = kit.codeTable({
  card_declined: "card_declined card_error",
  expired_card: "expired_card",
  incorrect_number: "incorrect_number invalid_number",
  incorrect_cvc: "incorrect_cvc invalid_cvc",
  invalid_expiry: "invalid_expiry_month invalid_expiry_year",
  incorrect_zip: "incorrect_zip postal_code_invalid",
  card_not_supported: "invalid_card_type",
  limit_exceeded: "amount_too_large invalid_charge_amount",
  processing_error: "processing_error missing resource_missing card_on_file_missing order_already_paid",
  gateway_misconfigured: "email_invalid",
  gateway_credentials_invalid: "api_key_expired authentication_error",
  duplicate_transaction: "idempotency_error",
  gateway_unavailable: "rate_limit rate_limit_error api_connection_error api_error",
});
/** One code stands for every refusal of an issuer; its words say more. */
const codeOfWords = kit.textTable([
  [/insufficient/i, "insufficient_funds"],
  [/do not honou?r/i, "do_not_honor"],
  [/\blost\b|stolen|pick.?up/i, "lost_or_stolen"],
  [/limit/i, "limit_exceeded"],
  [/\bcvv/i, "incorrect_cvc"],
  [/\bavs\b|\bzip\b/i, "incorrect_zip"],
]);

const ID = /^[A-Za-z0-9]{5,64}$/;
const TOKEN = /^clv_[A-Za-z0-9]{5,64}$/;

/** What a charge says. `pending` is read again; a part of the amount must not stay. */
export type ChargeState = Approved | Declined | Unknown | { outcome: "pending"; id: string } | { outcome: "partial"; id: string };

/** The token of this very attempt was charged or stored before. */
const SPENT = "token_already_used";

const errorOf = (body: kit.JsonObject | null) => kit.at(body, "error") ?? undefined;

/** `reason` is the issuer's own, in words or as one of the codes. */
function declineOf(code: string | undefined, message: string | undefined, reason?: string) {
  const known = codeOf(code);
  return known === "card_declined" ? (codeOfWords(message) ?? codeOf(reason) ?? known) : known;
}

/** An error in the vendor's envelope that names itself. */
const isVendors = (body: kit.JsonObject): boolean => ["code", "type"].some((name) => kit.textAt(errorOf(body), name) !== undefined);

/** An error in the vendor's envelope, which may have no more than a status. */
function refusal(status: number, body: kit.JsonObject, processor: Record<string, string | undefined> = {}): Declined {
  const error = errorOf(body);
  const message = kit.textAt(error, "message");
  const reason = kit.textAt(error, "decline_code") ?? kit.textAt(error, "declineCode");
  const words = [reason?.replaceAll("_", " "), message].join(" ");
  if (kit.textAt(error, "code") === SPENT) return kit.usedUp({ message, processor });
  const byStatus = status === 402 ? "card_declined" : kit.codeOfStatus(status);
  const byName = (name: string) => declineOf(kit.textAt(error, name), words, reason);
  const code = status === 401 || status === 403 ? byStatus : (byName("code") ?? byName("type"));
  return kit.declined(code ?? byStatus ?? "processing_error", { message, processor });
}

/** Answers that the vendor keeps under the key, and that tell what became of a first try. */
export const isRecorded = ({ status, body }: kit.Answered): boolean =>
  status === 200 || status === 402 || kit.textAt(errorOf(kit.readJson(body)), "code") === "card_declined";

/** Faults of the vendor's own, which say nothing of the charge. */
const FAULTS: ReadonlySet<string | undefined> = new Set(["api_error", "api_connection_error"]);
const isFault = (body: kit.JsonObject | null): boolean => ["code", "type"].some((name) => FAULTS.has(kit.textAt(errorOf(body), name)));

/** What cannot be read, or is a fault, is asked for again under its key. */
export function judge(answer: kit.Answered): kit.Repeat {
  const byStatus = kit.repeatByStatus(answer);
  if (byStatus !== "final") return byStatus;
  const body = kit.readJson(answer.body);
  return isFault(body) || (body === null && answer.status < 400) ? "perhaps done" : "final";
}

/** Why a request that moves no money was not fulfilled. */
const harmless = (status: number, body: kit.JsonObject | null): Declined =>
  body === null || status < 400 ? kit.declined(kit.codeOfStatus(status) ?? "gateway_unavailable") : refusal(status, body);

/** The token of a card for one use, or why there is none. */
export function readToken({ status, body }: kit.Answered): Secret | Declined {
  const read = kit.readJson(body);
  const id = kit.idAt(read, TOKEN, "id");
  if (status === 200 && id !== undefined) return new Secret(id);
  // Without a code of its own the number was no number.
  const isNumber = ["invalid_request", "invalid_request_error"].includes(kit.textAt(errorOf(read), "code") ?? "");
  return isNumber ? kit.declined("incorrect_number", { message: "invalid_request" }) : harmless(status, read);
}

const approves = (body: kit.JsonObject): boolean => body["paid"] === true || kit.textAt(body, "status") === "succeeded";

/** The final answer to a charge. */
export function readCharge(answer: GatewayAnswer, subject: Subject): ChargeState {
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, isVendors, approves });
  if ("outcome" in read) return read;
  const { status, body } = read;
  if (status === 200) return errorOf(body) === undefined ? chargeState(body, subject) : kit.unknown("200 with an error");
  if (status < 400) return kit.unknown(`status ${status} without a charge`);
  // A declined card names its charge, which may stand (`confirmed`).
  if (status === 402 && errorOf(body) === undefined) return kit.unknown("402 without an error");
  return refusal(status, body, { clover_charge_id: kit.idAt(errorOf(body), ID, "charge") });
}

/** A charge object, from an answer or a list. Of a verification `authorized` says that it is not sent back yet. */
export function chargeState(charge: kit.JsonObject, subject: Subject): ChargeState {
  const { mode, amountMinor, currency } = subject;
  const id = kit.idAt(charge, ID, "id");
  const [status, paid] = [kit.textAt(charge, "status"), charge["paid"]];
  if (id === undefined) return kit.unknown("a charge without its id");
  if (kit.saysOther(charge, externalReference(subject), "external_reference_id")) return kit.unknown("the charge of another attempt");
  const processor = { clover_charge_id: id };
  if (status === "pending") return { outcome: "pending", id };
  if ((status === "failed" && paid === true) || (status === "succeeded" && paid === false))
    return kit.unknown("failed and paid at once, or neither");
  if (status === "failed" || paid === false) {
    const [code, message] = [kit.textAt(charge, "failure_code"), kit.textAt(charge, "failure_message")];
    return kit.declined(declineOf(code, message) ?? codeOfWords(message) ?? "card_declined", { message, processor });
  }
  if (status !== "succeeded" || paid !== true) return kit.unknown("a status that Clover does not document");
  const asked = mode === "charge" ? amountMinor : VERIFICATION_MINOR;
  const [amount, refunded] = [kit.minorOf(charge["amount"]), refundedOf(charge)];
  if (refunded === null) return kit.unknown("a refund of the charge is at work, or its refunds do not add up");
  if (refunded > 0 && refunded >= Math.min(asked, amount ?? asked))
    return mode === "charge" ? kit.takenBack(processor) : kit.approved(processor);
  if (refunded > 0) return kit.unknown("a part of the charge was refunded");
  if (charge["partial_auth"] === true) return { outcome: "partial", id };
  if (amount !== asked || kit.textAt(charge, "currency")?.toUpperCase() !== currency)
    return kit.unknown("another amount or currency than asked for");
  if (typeof charge["captured"] !== "boolean") return kit.unknown("a charge that does not say whether it was captured");
  return kit.approved(processor, {
    // A verification that was captured at once is money of the payer's, to be sent back like a hold.
    capture: charge["captured"] && mode === "charge" ? "captured" : "authorized",
    webhook: {
      auth_code: kit.scalarAt(charge, "auth_code"),
      ref_num: kit.scalarAt(charge, "ref_num"),
      avs_result_code: kit.textAt(charge, "source", "address_zip_check") ?? kit.textAt(charge, "source", "address_line1_check"),
      cvv_result_code: kit.textAt(charge, "source", "cvc_check"),
    },
  });
}

/** Statuses of a refund that sends nothing back. */
const SENT_NOTHING: readonly (string | undefined)[] = ["failed", "canceled"];

const refundsOf = (charge: kit.JsonObject) => kit.objectsAt(charge, "refunds", "data") ?? [];
const isFallen = (refund: kit.JsonObject): boolean => refund["voided"] === true || SENT_NOTHING.includes(kit.textAt(refund, "status"));

/** How many refunds of a charge sent nothing back. */
export const fallenRefunds = (charge: kit.JsonObject): number => refundsOf(charge).filter(isFallen).length;

/** What was sent back of a charge, told as a sum, one by one, or both; null where that does not fit together, or a refund is at work. */
function refundedOf(charge: kit.JsonObject): number | null {
  const listed = refundsOf(charge);
  const standing = listed.filter((one) => !isFallen(one));
  if (!standing.every(isMade)) return null;
  const sum = standing.reduce((total, one) => total + (kit.minorOf(one["amount"]) ?? Number.NaN), 0);
  const told = kit.minorOf(charge["amount_refunded"]) ?? sum;
  const fits = listed.length === 0 || told === sum;
  return fits && (told > 0 || charge["refunded"] !== true) ? told : null;
}

const isMade = (refund: kit.JsonObject): boolean => kit.at(refund, "status") === undefined || refund["status"] === "succeeded";

/** Whether the charge was sent back: a refund may be at work, or fail. */
export function isSentBack(answer: kit.Answered | null, id: string): boolean {
  const refund = answer?.status === 200 ? kit.readJson(answer.body) : null;
  return refund !== null && isMade(refund) && !kit.saysOther(refund, id, "charge");
}

/** Whether a refund has failed, and sent nothing back. */
export const hasFailed = (answer: kit.Answered | null): boolean =>
  answer?.status === 200 && SENT_NOTHING.includes(kit.textAt(kit.readJson(answer.body), "status") ?? "");

/** A customer and its one card. */
export type Stored = { customer: string; source?: string };

/** What was stored, or why there is none. No money moves, so nothing is unknown; a success without an id may have stored it. */
export function readCustomer({ status, body }: kit.Answered): Stored | Declined {
  const read = kit.readJson(body);
  const [customer, source] = [kit.idAt(read, ID, "id"), kit.idAt(read, ID, "sources", "data", 0)];
  if (status !== 200) return harmless(status, read);
  return customer === undefined ? kit.LOST_STORE : { customer, ...(source !== undefined && { source }) };
}

/** By our reference, or by what the charge was given besides, should the list leave that out. */
const isOf = ({ sessionId, attempt, reference }: Subject, item: kit.JsonObject): boolean =>
  kit.textAt(item, "external_reference_id") === externalReference({ reference }) ||
  (kit.textAt(item, "metadata", "session") === sessionId && kit.scalarAt(item, "metadata", "attempt") === String(attempt));

/**
 * One page of the list: the attempt's own charges, and where the next page starts. None does behind a charge that is older than
 * the attempt, where the newest come first: the vendor does not say so, so the page must show it. Null when it is no list.
 */
export function readPage(answer: GatewayAnswer, attempt: AttemptTrace): { items: kit.JsonObject[]; next: string | null } | null {
  const body = kit.lookUpBody(answer, kit.readJson);
  const [all, told] = [kit.objectsAt(body, "data"), kit.at(body, "has_more")];
  // The vendor's own example of a short list does not say so.
  const more = told === undefined ? (all?.length ?? 0) >= PAGE : told;
  if (all === null || typeof more !== "boolean") return null;
  const items = all.filter((item) => isOf(attempt, item));
  const times = all.map((item) => kit.minorOf(item["created"]) ?? Number.NaN);
  const isNewestFirst = times.every((time, index) => time <= (times[index - 1] ?? time));
  if (!more || (isNewestFirst && (times.at(-1) ?? Number.NaN) < attempt.startedAtMs - kit.CLOCKS_APART_MS)) return { items, next: null };
  const after = kit.idAt(all.at(-1), ID, "id");
  return after === undefined ? null : { items, next: after };
}
