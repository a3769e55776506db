import type { JsonValue } from "#src/kernel/json.ts";
import type { Approved, Declined, GatewayAnswer, LookUpResult, ProcessorFields, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import type { Settings } from "./requests.ts";
import { isSigned } from "./signature.ts";

/**
 * Length: every outcome is a polled state, whose states and codes stand here; signature.ts is beside it.
 */

/** The vendor's codes in our words. 3041, our own id used before, and 3061, no such payment, are told apart below. */
const codeOf = kit.codeTable({
  insufficient_funds: "10105 10112 10113",
  expired_card: "3021 3029 10106",
  invalid_expiry: "3020",
  incorrect_number: "10102 10805",
  incorrect_cvc: "10103 3141",
  incorrect_zip: "109 2061",
  card_not_supported: "3105 3356 3360 10108 10204 1461 1462",
  do_not_honor: "10201 10806 10811",
  lost_or_stolen: "10203 1408",
  fraud_suspected: "402 1401-1407 1409-1415 1431 1432 1435-1460 1463 1499 10401 10402 10404 10405 10807 3199",
  limit_exceeded: "309 1421 1422 1433 10101 10107 2642 3297 3298 3355 3357 3358",
  authentication_required: "104 108 10104 10114 10205 10403 10709 10722",
  duplicate_transaction: "3041 1434 3613",
  card_declined: "100 603 10000 10100 10206 10704 10810 10812 301 10301",
  processing_error: "10202 10502 10602 10603 601 602 10501 10601 501 2147 3062 3081 3201 10801 3027 3101 3221 3241 3181 3183 3184",
  gateway_unavailable: "314 10505",
  gateway_credentials_invalid: "3261 3262 2442 3123 3124",
  gateway_misconfigured:
    "303 310 318 319 502 702 2003 2004 2123 2124 2154 2426 2541 2610 2611 3022 3023 3024 3026 3060 3119 3121 3161 3162 3191 3291 3299 10503 10701-10703 10705-10708",
});

const USED_PAYMENT_ID = "3041";
/** No results: the first request is at work, or has arrived. */
const NO_RESULTS: readonly string[] = [USED_PAYMENT_ID, "9999", "19999", "29999"];
const NO_SUCH_PAYMENT = "3061";
/** An internal error, beside whatever status: the request may have been taken in before it. */
const FAULT = "501";
/**
 * The issuer approved and the vendor did not process, or the payment failed on the way there: it may still come right, so it is no decline
 * before `FINAL_AFTER_MS`.
 */
const [NOT_PROCESSED, FAILED] = ["10801", ["expired", "internal error", "external error"]];
/** How long after sending an absence, or a decline that may come right, is final. */
export const FINAL_AFTER_MS = 120_000;

/** States that wait for what a call cannot give: no money moves until it is given. */
const waitsFor = kit.wordTable({
  "awaiting 3ds result": "authentication_required",
  "awaiting redirect result": "authentication_required",
  "awaiting clarification": "gateway_misconfigured",
});
/** States in which the vendor or the issuer is at work, and those of money that was sent back. */
const AT_WORK = ["processing", "external processing", "awaiting customer", "awaiting customer action", "awaiting merchant auth"];
const RETURNED = ["cancelled", "canceled", "reversed", "refunded"];

/** The code and the words of a refused request: at the top, or in the first of its `errors`. */
function errorIn(body: kit.JsonObject): { code: string | undefined; message: string | undefined } {
  const code = kit.scalarAt(body, "code") ?? kit.scalarAt(body, "errors", 0, "code");
  return { code, message: kit.textAt(body, "message") ?? kit.textAt(body, "errors", 0, "message") };
}

/**
 * What the answer to a request says: in the vendor's queue (perhaps since before), refused, or nothing certain: a payment that was turned
 * away is asked for by its id like a lost one, and sent again under it.
 */
export function readQueued(answer: GatewayAnswer): Declined | Unknown | { outcome: "queued" } {
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, flood: "unclear" });
  if (kit.isOutcome(read)) return read;
  const { status, body } = read;
  const { code, message } = errorIn(body);
  if (code === USED_PAYMENT_ID || (status === 200 && body["status"] === "success")) return { outcome: "queued" };
  if (code === FAULT) return kit.unknown("an internal error of the vendor");
  const refused = body["status"] === "error" || (status >= 400 && code !== undefined);
  if (!refused) return kit.unknown("an answer that neither takes the payment nor refuses it");
  return kit.declined(codeOf(code) ?? "processing_error", { message });
}

/** An internal error of the vendor: it counts where the payment never appears. */
export function isFault(answer: GatewayAnswer): boolean {
  const body = answer.kind === "answered" ? kit.readJson(answer.body) : null;
  return body !== null && errorIn(body).code === FAULT;
}

/** What the answer to a refund says: it is in the queue, refused, or nothing certain, as a duplicate. */
export function readReversal(answer: kit.Answered): kit.ReversalStep {
  const said = readQueued(answer);
  if (said.outcome === "queued") return "done";
  return said.outcome === "declined" && !kit.isDuplicate(said) ? "settled already" : "unclear";
}

/** What a status answer says of a payment. */
export type PaymentState =
  | LookUpResult
  /** The issuer said yes to a card that the project did not keep. */
  | { outcome: "not kept"; approved: Approved }
  /** Money moved that must not stay: a part of the amount, or a hold. */
  | { outcome: "excess"; amount: number | "hold"; refusal: Declined };

/** The payment of a status answer, or why there is none. Only a message with the vendor's signature says anything about one. */
function paymentIn(answer: GatewayAnswer, subject: Subject, settings: Settings): kit.JsonObject | typeof kit.absent | Unknown {
  const body = answer.kind === "answered" ? kit.readJson(answer.body) : null;
  if (answer.kind !== "answered" || body === null) return kit.unknown("the vendor did not answer the look-up");
  const payment = body["payment"];
  if (errorIn(body).code === NO_SUCH_PAYMENT && payment === undefined) return kit.absent;
  if (answer.status !== 200 || !kit.isObject(payment)) return kit.unknown("the vendor refused the look-up");
  if (!isSigned(body, settings.credentials.secret_key)) return kit.unknown("the signature of the vendor's answer is wrong");
  return payment["id"] === subject.reference ? body : kit.unknown("the answer belongs to another payment");
}

/** Whether the payment's money was sent back. */
export function isReturned(answer: GatewayAnswer, subject: Subject, settings: Settings): boolean {
  const body = paymentIn(answer, subject, settings);
  return !kit.isOutcome(body) && RETURNED.includes(kit.textAt(body, "payment", "status") ?? "");
}

const REFUNDS = ["refund", "reversal"];

/** How many refunds of the payment were declined; none where another one was made or is at work, or nobody says. */
export function declinedRefunds(answer: GatewayAnswer, subject: Subject, settings: Settings): number {
  const body = paymentIn(answer, subject, settings);
  const refunds = kit.isOutcome(body) ? [] : operationsIn(body).filter((one) => REFUNDS.includes(kit.textAt(one, "type") ?? ""));
  return refunds.every((one) => ["decline", "error"].includes(kit.textAt(one, "status") ?? "")) ? refunds.length : 0;
}

/** `ageMs`: how long ago the attempt began. */
export function readStatus(answer: GatewayAnswer, subject: Subject, settings: Settings, ageMs: number): PaymentState {
  const body = paymentIn(answer, subject, settings);
  if (kit.isOutcome(body)) return body;
  const operation = operationOf(body, subject);
  const succeeded = operation?.["status"] === "success";
  const code = kit.scalarAt(operation, "code") ?? "";
  const id = kit.scalarAt(operation, "id");
  const processor = kit.present({ ecommpay_payment_id: subject.reference, ecommpay_operation_id: id });
  const state = kit.textAt(body, "payment", "status") ?? "";
  const failed = FAILED.includes(state) && !succeeded;
  const error = state === "error" || failed ? errorIn(body) : undefined;
  const waiting = waitsFor(state);
  if (NO_RESULTS.includes(error?.code ?? code)) return kit.pending;
  if (AT_WORK.includes(state) || ((code === NOT_PROCESSED || failed) && ageMs < FINAL_AFTER_MS)) return kit.pending;
  if (waiting !== undefined) return kit.declined(waiting, { processor });
  if (RETURNED.includes(state)) return kit.declined("processing_error", { processor, reason: "the money was sent back" });
  if (state === "awaiting capture") {
    const refusal = kit.declined("gateway_misconfigured", { processor, reason: "the project holds money instead of taking it" });
    return { outcome: "excess", amount: "hold", refusal };
  }
  if (state === "decline" && !succeeded)
    return kit.declined(codeOf(code) ?? "card_declined", { message: kit.textAt(operation, "message"), processor });
  if (error && !succeeded) {
    const message = error.message ?? kit.textAt(operation, "message");
    return kit.declined(codeOf(error.code ?? code) ?? "processing_error", { message, processor });
  }
  if (state !== "success" || !succeeded || code !== "0" || id === undefined) return kit.unknown("a state that says nothing");
  return readApproval(body, operation, processor, subject);
}

const operationsIn = (body: kit.JsonObject): kit.JsonObject[] => kit.objectsAt(body, "operations") ?? [];

/** The newest operation of the attempt. Its type is documented for sales alone: a verification's is any that moves no money. */
function operationOf(body: kit.JsonObject, { mode }: Subject): kit.JsonObject | undefined {
  const isMine = (type: string) => (mode === "charge" ? type === "sale" : !/sale|capture|refund|revers|cancel|chargeback/.test(type));
  const madeAt = (operation: kit.JsonObject) => kit.textAt(operation, "created_date") ?? kit.textAt(operation, "date") ?? "";
  const mine = operationsIn(body).filter((operation) => isMine(kit.textAt(operation, "type") ?? ""));
  // A second delivery that was refused for the first one's sake says nothing of the first.
  const own = mine.filter((operation) => kit.scalarAt(operation, "code") !== USED_PAYMENT_ID);
  return (own.length > 0 ? own : mine)
    .toSorted((one, other) => Number(madeAt(one) > madeAt(other)) - Number(madeAt(one) < madeAt(other)))
    .at(-1);
}

function readApproval(body: kit.JsonObject, operation: kit.JsonObject, processor: ProcessorFields, subject: Subject): PaymentState {
  const approved = kit.approved(processor, { webhook: { auth_code: kit.textAt(operation, "provider", "auth_code") } });
  const sums = [kit.at(body, "payment", "sum"), operation["sum_initial"]].filter((sum): sum is JsonValue => sum !== undefined);
  const amounts = sums.map((sum) => kit.minorOf(kit.at(sum, "amount")));
  if (sums.length === 0 || !sums.every((sum) => kit.textAt(sum, "currency") === subject.currency) || amounts.includes(null))
    return kit.unknown("an approval without its amount, or in another currency");
  if (subject.mode === "tokenize") {
    // Some projects verify with a small amount, which the vendor releases by itself.
    const kept = kit.textAt(body, "account", "token") ?? kit.scalarAt(body, "account", "id");
    return kept ? approved : { outcome: "not kept", approved };
  }
  const least = Math.min(...amounts.map(Number));
  if (amounts.every((amount) => amount === subject.amountMinor)) return approved;
  if (least <= 0 || amounts.some((amount) => Number(amount) > subject.amountMinor)) return kit.unknown("another amount than asked for");
  const refusal = kit.declined("insufficient_funds", { processor, reason: "only a part was authorized" });
  return { outcome: "excess", amount: least, refusal };
}

/** The token of a card that was kept by a request of its own. */
export const readToken = (answer: GatewayAnswer): string | undefined =>
  kit.idAt(kit.lookUpBody(answer, kit.readJson), /^[\x21-\x7e]{16,255}$/, "token");
