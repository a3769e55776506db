import type { JsonValue } from "#src/kernel/json.ts";
import type { Approved, Declined, GatewayAnswer, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { stripeAmount } from "./requests.ts";
import type { Intent } from "./requests.ts";

/**
 * Length: two kinds of intents, read from answers, lists and errors alike, and a long table of codes.
 */

/** Stripe's `decline_code` and `code` in our words. A refusal that is not named here is a plain `card_declined`. */
const codeOf = kit.codeTable({
  do_not_honor:
    "do_not_honor call_issuer no_action_taken do_not_try_again try_again_later not_permitted service_not_allowed approve_with_id",
  insufficient_funds: "insufficient_funds",
  limit_exceeded:
    "withdrawal_count_limit_exceeded card_velocity_exceeded card_decline_rate_limit_exceeded payment_intent_rate_limit_exceeded",
  expired_card: "expired_card expired_payment_method",
  incorrect_number: "incorrect_number invalid_number invalid_account testmode_decline live_mode_test_card test_mode_live_card",
  incorrect_cvc: "incorrect_cvc invalid_cvc",
  incorrect_zip: "incorrect_zip incorrect_postal_code incorrect_address postal_code_invalid",
  invalid_expiry: "invalid_expiry_month invalid_expiry_year",
  card_not_supported: "card_not_supported currency_not_supported transaction_not_allowed invalid_card_type payment_method_restricted",
  lost_or_stolen: "lost_card stolen_card pickup_card restricted_card",
  fraud_suspected: "fraudulent merchant_blacklist security_violation request_blocked",
  authentication_required:
    "authentication_required authentication_failure authentication_not_handled payment_intent_authentication_failure setup_intent_authentication_failure",
  duplicate_transaction: "duplicate_transaction",
  processing_error: "processing_error issuer_not_available reenter_transaction invalid_amount",
  gateway_credentials_invalid: "api_key_expired platform_api_key_expired secret_key_required",
  gateway_misconfigured:
    "account_invalid resource_missing amount_too_small amount_too_large testmode_charges_only platform_account_required idempotency_error parameter_*",
});

const RAW_CARD_REFUSED = "Sending credit card numbers directly to the Stripe API is generally unsafe";
/** The two switches that only Stripe's support can turn on, by the words of a refusal for want of one, and what helps. */
const SWITCH_MISSING = kit.textTable([
  [new RegExp(`^${RAW_CARD_REFUSED}`), "Stripe's support must turn on raw card data for this account"],
  [/moto\b/i, "Stripe's support must turn on MOTO for this account, or set moto to false"],
]);
/** Statuses of a refusal after which nothing was done, or the card was declined; any other one leaves it open. */
const REFUSALS: readonly number[] = [400, 401, 402, 403, 404, 429];
const AUTHENTICATION_DEMANDED = "error_on_requires_action";

/** Errors of Stripe's have a type; a refusal without one was said by something on the way. */
const isVendors = (body: kit.JsonObject): boolean => kit.textAt(body, "error", "type") !== undefined;

/** Whether the same request with the same key should be sent again; Stripe's own word on it comes first. */
export function judge(answer: kit.Answered): kit.Repeat {
  const advice = answer.headers["stripe-should-retry"];
  const byStatus = kit.repeatByStatus(answer);
  const again = advice === "true" || (byStatus !== "final" && advice !== "false") || kit.isUnclear(answer, isVendors);
  if (!again) return "final";
  return byStatus === "nothing done" ? byStatus : "perhaps done";
}

/** An id in Stripe's form, whether it stands there alone or with the object it names. */
function stripeId(value: JsonValue | undefined | null, prefix: string, ...path: string[]): string | undefined {
  const found = kit.at(value, ...path);
  return kit.idAt(kit.isObject(found) ? found["id"] : found, new RegExp(`^${prefix}[A-Za-z0-9_]{1,250}$`));
}

/** The id of the object that a harmless step made, or why there is none. */
export function readCreated(answer: kit.Answered, kind: "payment_method" | "customer"): string | Declined {
  const body = kit.readJson(answer.body);
  const id = stripeId(body, kind === "customer" ? "cus_" : "pm_", "id");
  if (answer.status === 200 && kit.textAt(body, "object") === kind && id !== undefined) return id;
  return (
    (body && readRefusal(answer.status, body, "tokenize")) ??
    kit.declined(answer.status >= 400 ? "gateway_unavailable" : "processing_error")
  );
}

/** What an error object says: `decline_code` first when the code is card_declined, else the code. */
function codeOfError(error: kit.JsonObject) {
  const code = kit.textAt(error, "code");
  const message = kit.textAt(error, "message") ?? "";
  if (message.startsWith(RAW_CARD_REFUSED)) return "gateway_misconfigured";
  if (code === "card_declined") return codeOf(kit.textAt(error, "decline_code")) ?? "card_declined";
  const known = codeOf(code);
  if (known !== undefined || kit.textAt(error, "type") !== "card_error") return known;
  return message.includes(AUTHENTICATION_DEMANDED) ? "authentication_required" : "card_declined";
}

/** A refusal with Stripe's error object; null when the answer is none. */
function readRefusal(status: number, body: kit.JsonObject, mode: Subject["mode"]): Declined | null {
  const error = kit.at(body, "error");
  if (!kit.isObject(error) || kit.isForeign(status, body, isVendors) || !REFUSALS.includes(status)) return null;
  const byStatus = status === 402 ? undefined : kit.codeOfStatus(status);
  const code = (status === 401 ? undefined : codeOfError(error)) ?? byStatus;
  const isOurs = kit.textAt(error, "type") === "invalid_request_error";
  const reason = isOurs ? SWITCH_MISSING(`${kit.textAt(error, "message") ?? ""} ${kit.textAt(error, "param") ?? ""}`) : undefined;
  const processor = mode === "charge" ? paymentIds(error["payment_intent"], stripeId(error, "ch_", "charge")) : {};
  return code ? kit.declined(code, { message: kit.textAt(error, "message"), processor, reason }) : null;
}

function paymentIds(intent: JsonValue | undefined, knownCharge?: string) {
  const charge = knownCharge ?? stripeId(intent, "ch_", "latest_charge") ?? stripeId(intent, "py_", "latest_charge");
  return kit.present({ stripe_payment_intent_id: stripeId(intent, "pi_", "id"), stripe_charge_id: charge });
}

/** What an intent says: its outcome, still at work, or waiting for something that cannot come and must be cancelled. */
export type IntentState =
  | Approved
  | Declined
  | Unknown
  | { outcome: "processing"; id: string }
  /** `mayMove`: it could still take money, so the refusal counts once it is cancelled. */
  | { outcome: "waiting"; id: string; refusal: Declined; mayMove: boolean };

const ANOTHERS = kit.unknown("the intent of another attempt");
const isAnothers = (intent: JsonValue | undefined, { sessionId, attempt }: Subject): boolean =>
  kit.saysOther(intent, sessionId, "metadata", "session_id") || kit.saysOther(intent, String(attempt), "metadata", "attempt");

/** The answer to creating, reading or cancelling an intent. Anything odd is unknown. */
export function readAnswer(answer: kit.Answered, intent: Intent, subject: Subject): IntentState {
  const body = kit.readJson(answer.body);
  if (body === null) return kit.unknown("Stripe's answer is not one JSON object");
  if (answer.status === 200)
    return kit.at(body, "error") === undefined ? readIntentObject(body, intent, subject) : kit.unknown("200 with an error");
  if (isAnothers(kit.at(body, "error", intent), subject)) return ANOTHERS;
  if (answer.status === 409) return kit.unknown("another request with this key is under way");
  if (["succeeded", "processing", "requires_capture"].includes(kit.textAt(body, "error", intent, "status") ?? ""))
    return kit.unknown("an error about a payment that is under way");
  return readRefusal(answer.status, body, subject.mode) ?? kit.unknown(`status ${answer.status} without a reason`);
}

/** An intent as Stripe shows it in an answer or a list. */
export function readIntentObject(intent: kit.JsonObject, kind: Intent, subject: Subject): IntentState {
  const id = stripeId(intent, kind === "payment_intent" ? "pi_" : "seti_", "id");
  if (kit.textAt(intent, "object") !== kind || id === undefined) return kit.unknown("the answer is not the object asked for");
  if (isAnothers(intent, subject)) return ANOTHERS;
  const lastError = kit.at(intent, kind === "payment_intent" ? "last_payment_error" : "last_setup_error");
  const processor = kind === "payment_intent" ? paymentIds(intent) : {};
  const failed = kit.isObject(lastError)
    ? kit.declined(codeOfError(lastError) ?? "card_declined", { message: kit.textAt(lastError, "message"), processor })
    : kit.declined("processing_error", { processor });
  const status = kit.textAt(intent, "status");
  if (status === "succeeded" || status === "requires_capture")
    return kind === "payment_intent" ? readPaid(intent, subject) : readStored(intent);
  if (status === "processing") return { outcome: "processing", id };
  if (status === "requires_action")
    return { outcome: "waiting", id, refusal: kit.declined("authentication_required", { processor }), mayMove: true };
  if (status === "requires_confirmation") return { outcome: "waiting", id, refusal: failed, mayMove: true };
  if (status === "requires_payment_method") return { outcome: "waiting", id, refusal: failed, mayMove: false };
  return status === "canceled" ? failed : kit.unknown("a status that Stripe does not document");
}

/** Whether an intent was cancelled, by this request or an earlier one. */
export const isCancelled = ({ status, body }: kit.Answered): boolean =>
  status === 200 && kit.textAt(kit.readJson(body), "status") === "canceled";

/** Whether a refund was made or is on its way, a hold was cancelled, or a customer deleted; what was refunded before is back as well. */
export function isReversed(answer: kit.Answered, mode: Subject["mode"]): boolean {
  if (mode === "tokenize") return kit.isGone(answer);
  const { status, body: bytes } = answer;
  const body = kit.readJson(bytes);
  if (status === 400) return kit.textAt(body, "error", "code") === "charge_already_refunded";
  const done = kit.textAt(body, "object") === "refund" ? ["succeeded", "pending"] : ["canceled"];
  return status === 200 && done.includes(kit.textAt(body, "status") ?? "");
}

function readPaid(intent: kit.JsonObject, subject: Subject): Approved | Declined | Unknown {
  const capture = intent["status"] === "requires_capture" ? "authorized" : "captured";
  const amount = kit.scalarAt(intent, capture === "authorized" ? "amount_capturable" : "amount_received");
  if (amount !== String(stripeAmount(subject)) || intent["currency"] !== subject.currency.toLowerCase())
    return kit.unknown("another amount or currency than asked for");
  const ids = paymentIds(intent);
  if (ids["stripe_charge_id"] === undefined) return kit.unknown("a paid intent without its charge");
  if (kit.at(intent, "latest_charge", "refunded") === true) return kit.takenBack(ids);
  const receipt = kit.textAt(intent, "latest_charge", "receipt_url");
  return kit.approved({ receipt_url: receipt?.startsWith("https://") ? receipt : undefined, ...ids }, { capture });
}

function readStored(intent: kit.JsonObject): Approved | Unknown {
  const paymentMethod = stripeId(intent, "pm_", "payment_method");
  const customer = stripeId(intent, "cus_", "customer");
  if (intent["status"] !== "succeeded" || paymentMethod === undefined || customer === undefined)
    return kit.unknown("a stored card without its ids");
  return kit.approved({ payment_method_id: paymentMethod, stripe_customer_id: customer });
}

/** One page of a list: the attempt's own intents in it, and where the next page starts. Null when it is no list. */
export function readPage(
  answer: GatewayAnswer,
  intent: Intent,
  { sessionId, attempt }: Subject,
): { items: kit.JsonObject[]; next: string | null } | null {
  const body = kit.lookUpBody(answer, kit.readJson);
  const all = kit.objectsAt(body, "data");
  const more = kit.at(body, "has_more");
  if (kit.textAt(body, "object") !== "list" || all === null || typeof more !== "boolean") return null;
  const items = all.filter(
    (item) => kit.textAt(item, "metadata", "session_id") === sessionId && kit.textAt(item, "metadata", "attempt") === String(attempt),
  );
  const last = stripeId(all.at(-1), intent === "payment_intent" ? "pi_" : "seti_", "id");
  return more && last === undefined ? null : { items, next: more ? (last ?? null) : null };
}
