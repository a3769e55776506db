import type { DeclineCode } from "#src/kernel/payment.ts";
import type { JsonValue } from "#src/kernel/json.ts";
import type { Approved, Declined, ProcessorFields, Unknown } from "../contract.ts";
import { at, isObject, readJsonObject, textAt } from "../kit/json.ts";
import type { JsonObject } from "../kit/json.ts";
import type { Answered, Repeat } from "../kit/repeat.ts";
import { words } from "../kit/scrub.ts";
import type { Intent, Subject } from "./requests.ts";
import { stripeAmount } from "./requests.ts";

/** Stripe's `decline_code` and `code` in our words. A refusal that is not named here is a plain `card_declined`. */
const CODES: Readonly<Record<string, DeclineCode>> = Object.fromEntries(
  (
    [
      [
        "do_not_honor",
        "do_not_honor call_issuer no_action_taken do_not_try_again try_again_later not_permitted service_not_allowed approve_with_id",
      ],
      ["insufficient_funds", "insufficient_funds"],
      [
        "limit_exceeded",
        "withdrawal_count_limit_exceeded card_velocity_exceeded card_decline_rate_limit_exceeded payment_intent_rate_limit_exceeded",
      ],
      ["expired_card", "expired_card expired_payment_method"],
      ["incorrect_number", "incorrect_number invalid_number invalid_account testmode_decline live_mode_test_card"],
      ["incorrect_cvc", "incorrect_cvc invalid_cvc"],
      ["incorrect_zip", "incorrect_zip incorrect_postal_code incorrect_address postal_code_invalid"],
      ["invalid_expiry", "invalid_expiry_month invalid_expiry_year"],
      [
        "card_not_supported",
        "card_not_supported currency_not_supported transaction_not_allowed invalid_card_type payment_method_restricted",
      ],
      ["lost_or_stolen", "lost_card stolen_card pickup_card restricted_card"],
      ["fraud_suspected", "fraudulent merchant_blacklist security_violation request_blocked"],
      [
        "authentication_required",
        "authentication_required authentication_failure authentication_not_handled payment_intent_authentication_failure setup_intent_authentication_failure",
      ],
      ["duplicate_transaction", "duplicate_transaction"],
      ["processing_error", "processing_error issuer_not_available reenter_transaction invalid_amount"],
      ["gateway_credentials_invalid", "api_key_expired platform_api_key_expired secret_key_required"],
      [
        "gateway_misconfigured",
        "account_invalid resource_missing amount_too_small amount_too_large testmode_charges_only platform_account_required idempotency_error",
      ],
    ] as const satisfies readonly (readonly [DeclineCode, string])[]
  ).flatMap(([ours, theirs]) => theirs.split(" ").map((code) => [code, ours] as const)),
);

/** Statuses of the answers that mean the same whatever their body says. */
const STATUSES: Readonly<Record<number, DeclineCode>> = {
  400: "gateway_misconfigured",
  401: "gateway_credentials_invalid",
  403: "gateway_misconfigured",
  404: "gateway_misconfigured",
  429: "gateway_unavailable",
};

const RAW_CARD_REFUSED = "Sending credit card numbers directly to the Stripe API is generally unsafe";
const AUTHENTICATION_DEMANDED = "error_on_requires_action";

/** Whether the same request with the same key should be sent again; Stripe's own word on it comes first. */
export function judge(answer: Answered): Repeat {
  const { status } = answer;
  const advice = answer.headers["stripe-should-retry"];
  const busy = status === 409 || status === 424 || status === 429 || status >= 500;
  const again = advice === "true" || (busy && advice !== "false") || readJsonObject(answer.body) === null;
  if (!again) return "final";
  return status === 429 ? "nothing done" : "perhaps done";
}

/** An id in Stripe's form, so that nothing else of an odd answer can be stored. */
function idAt(value: JsonValue | undefined, prefix: string, ...path: string[]): string | undefined {
  const found = at(value, ...path);
  const id = isObject(found) ? found["id"] : found;
  return typeof id === "string" && id.length <= 255 && id.startsWith(prefix) && /^[A-Za-z0-9_]+$/.test(id) ? id : undefined;
}

/** The id of the object that a harmless step made, or why there is none. */
export function readCreated(answer: Answered, kind: "payment_method" | "customer"): string | Declined {
  const body = readJsonObject(answer.body);
  const id = idAt(body ?? undefined, kind === "customer" ? "cus_" : "pm_", "id");
  if (answer.status === 200 && textAt(body ?? undefined, "object") === kind && id !== undefined) return id;
  const refusal = body && readRefusal(answer.status, body, "charge");
  if (refusal) return refusal;
  return declined(answer.status >= 500 ? "gateway_unavailable" : "processing_error", null);
}

function declined(code: DeclineCode, message: string | null, processor: ProcessorFields = {}): Declined {
  return { outcome: "declined", code, message, processor };
}

function unknown(reason: string): Unknown {
  return { outcome: "unknown", reason };
}

/** What an error object says: `decline_code` first when the code is card_declined, else the code. */
function codeOf(error: JsonObject): DeclineCode | undefined {
  const code = textAt(error, "code") ?? "";
  const message = textAt(error, "message") ?? "";
  if (message.startsWith(RAW_CARD_REFUSED)) return "gateway_misconfigured";
  const declineCode = textAt(error, "decline_code");
  if (code === "card_declined") return (declineCode !== undefined && CODES[declineCode]) || "card_declined";
  if (code.startsWith("parameter_")) return "gateway_misconfigured";
  if (CODES[code] !== undefined) return CODES[code];
  if (textAt(error, "type") !== "card_error") return undefined;
  return message.includes(AUTHENTICATION_DEMANDED) ? "authentication_required" : "card_declined";
}

/** Vendor's words only where they can help the merchant: not about keys, and nothing that a fault made up. */
function refusalOf(error: JsonObject, code: DeclineCode, processor: ProcessorFields): Declined {
  const silent = code === "gateway_credentials_invalid" || code === "gateway_unavailable";
  return declined(code, silent ? null : words(textAt(error, "message")), processor);
}

/** A 4xx answer with Stripe's error object; null when the answer is none. */
function readRefusal(status: number, body: JsonObject, mode: Subject["mode"]): Declined | null {
  const error = at(body, "error");
  if (!isObject(error) || status < 400 || status >= 500) return null;
  const intent = error["payment_intent"];
  const processor = mode === "charge" ? paymentIds(intent, idAt(error, "ch_", "charge")) : {};
  const code = (status === 401 ? undefined : codeOf(error)) ?? (status === 402 ? undefined : STATUSES[status]);
  return code ? refusalOf(error, code, processor) : null;
}

function paymentIds(intent: JsonValue | undefined, knownCharge?: string): ProcessorFields {
  const id = idAt(intent, "pi_", "id");
  const charge = knownCharge ?? idAt(intent, "ch_", "latest_charge") ?? idAt(intent, "py_", "latest_charge");
  return { ...(id && { stripe_payment_intent_id: id }), ...(charge && { stripe_charge_id: charge }) };
}

/** What an intent says: settled, unclear, still at work, or waiting for something that cannot come. */
export type Reading =
  | Approved
  | Declined
  | Unknown
  | { outcome: "processing"; id: string }
  | { outcome: "cancel"; id: string; verdict: Declined };

/** The answer to creating, reading or cancelling an intent. Anything odd is unknown. */
export function readAnswer(answer: Answered, intent: Intent, subject: Subject): Reading {
  const body = readJsonObject(answer.body);
  if (body === null) return unknown("Stripe's answer is not one JSON object");
  if (answer.status === 200)
    return at(body, "error") === undefined ? readIntentObject(body, intent, subject) : unknown("200 with an error");
  if (answer.status === 409) return unknown("another request with this key is under way");
  const running = textAt(body, "error", intent, "status");
  if (running === "succeeded" || running === "processing" || running === "requires_capture")
    return unknown("an error about a payment that is under way");
  return readRefusal(answer.status, body, subject.mode) ?? unknown(`status ${answer.status} without a reason`);
}

/** An intent as Stripe shows it in an answer or a list. */
export function readIntentObject(intent: JsonObject, kind: Intent, subject: Subject): Reading {
  const id = idAt(intent, kind === "payment_intent" ? "pi_" : "seti_", "id");
  if (textAt(intent, "object") !== kind || id === undefined) return unknown("the answer is not the object asked for");
  const lastError = at(intent, kind === "payment_intent" ? "last_payment_error" : "last_setup_error");
  const processor = kind === "payment_intent" ? paymentIds(intent) : {};
  const failed = isObject(lastError) ? refusalOf(lastError, codeOf(lastError) ?? "card_declined", processor) : null;
  switch (textAt(intent, "status") ?? "") {
    case "succeeded":
    case "requires_capture":
      return kind === "payment_intent" ? readPaid(intent, subject) : readStored(intent);
    case "processing":
      return { outcome: "processing", id };
    case "requires_action":
      return { outcome: "cancel", id, verdict: declined("authentication_required", null, processor) };
    case "requires_confirmation":
    case "requires_payment_method":
      return { outcome: "cancel", id, verdict: failed ?? declined("processing_error", null, processor) };
    case "canceled":
      return failed ?? declined("processing_error", null, processor);
    default:
      return unknown("a status that Stripe does not document");
  }
}

function readPaid(intent: JsonObject, subject: Subject): Approved | Unknown {
  const held = intent["status"] === "requires_capture";
  const amount = at(intent, held ? "amount_capturable" : "amount_received");
  if (amount !== stripeAmount(subject.amountMinor, subject.currency) || intent["currency"] !== subject.currency.toLowerCase()) {
    return unknown("another amount or currency than asked for");
  }
  const ids = paymentIds(intent);
  if (ids["stripe_charge_id"] === undefined) return unknown("a paid intent without its charge");
  const receipt = textAt(intent, "latest_charge", "receipt_url");
  const shown = receipt !== undefined && receipt.length <= 255 && receipt.startsWith("https://") ? { receipt_url: receipt } : {};
  return { outcome: "approved", capture: held ? "authorized" : "captured", processor: { ...shown, ...ids } };
}

function readStored(intent: JsonObject): Approved | Unknown {
  const paymentMethod = idAt(intent, "pm_", "payment_method");
  const customer = idAt(intent, "cus_", "customer");
  if (intent["status"] !== "succeeded" || paymentMethod === undefined || customer === undefined)
    return unknown("a stored card without its ids");
  return { outcome: "approved", capture: "captured", processor: { payment_method_id: paymentMethod, stripe_customer_id: customer } };
}

/** One page of a list: the attempt's own intents in it, and where the next page starts. Null when it is no list. */
export function readPage(answer: Answered, intent: Intent, subject: Subject): { mine: JsonObject[]; next: string | null } | null {
  const body = readJsonObject(answer.body);
  const data = at(body ?? undefined, "data");
  const more = at(body ?? undefined, "has_more");
  if (answer.status !== 200 || textAt(body ?? undefined, "object") !== "list" || !Array.isArray(data) || typeof more !== "boolean")
    return null;
  const items = data.filter(isObject);
  const mine = items.filter(
    (item) =>
      textAt(item, "metadata", "session_id") === subject.sessionId && textAt(item, "metadata", "attempt") === String(subject.attempt),
  );
  const last = idAt(items.at(-1), intent === "payment_intent" ? "pi_" : "seti_", "id");
  if (items.length < data.length || (more && last === undefined)) return null;
  return { mine, next: more ? (last ?? null) : null };
}
