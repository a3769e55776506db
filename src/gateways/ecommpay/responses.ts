import { JsonNumber } from "#src/kernel/json.ts";
import type { JsonValue } from "#src/kernel/json.ts";
import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, ProcessorFields, Unknown } from "../contract.ts";
import { at, isObject, readJson, textAt, words } from "../kit/index.ts";
import type { JsonObject } from "../kit/index.ts";
import type { Settings, Subject } from "./requests.ts";
import { isSigned } from "./signature.ts";

/** The vendor's codes in our words; `1401-1407` is every code between. A decline that is not named here is card_declined. */
const CODES: Readonly<Record<string, DeclineCode>> = Object.fromEntries(
  (
    [
      ["insufficient_funds", "10105 10112 10113"],
      ["expired_card", "3021 3029 10106"],
      ["invalid_expiry", "3020"],
      ["incorrect_number", "10102 10805"],
      ["incorrect_cvc", "10103 3141"],
      ["incorrect_zip", "109 2061"],
      ["card_not_supported", "3105 3356 3360 10108 10204 1461 1462"],
      ["do_not_honor", "10201 10806 10811"],
      ["lost_or_stolen", "10203 1408"],
      ["fraud_suspected", "402 1401-1407 1409-1415 1431 1432 1435-1460 1463 1499 10401 10402 10404 10405 10807 3199"],
      ["limit_exceeded", "309 1421 1422 1433 10101 10107 2642 3355 3357 3358"],
      ["authentication_required", "104 108 10104 10114 10205 10403 10709 10722"],
      ["duplicate_transaction", "3041 1434 3613"],
      ["card_declined", "100 603 10000 10100 10206 10704 10810 10812 301 10301"],
      ["processing_error", "10202 10502 10602 10603 601 602 10501 10601 501 2147 3062 3081 3201 10801 3027 3101 3221 3241 3181 3183 3184"],
      ["gateway_unavailable", "314 10505"],
      ["gateway_credentials_invalid", "3261 3262 2442 3123 3124"],
      [
        "gateway_misconfigured",
        "303 310 318 319 502 702 2003 2004 2123 2124 2154 2426 2541 2610 2611 3022 3023 3024 3026 3060 3119 3121 3161 3162 3191 3291 3299 10503 10701-10703 10705-10708",
      ],
    ] as const satisfies readonly (readonly [DeclineCode, string])[]
  ).flatMap(([ours, theirs]) => theirs.split(" ").flatMap((range) => codesIn(range).map((code) => [code, ours] as const))),
);

const USED_PAYMENT_ID = "3041";
const NO_SUCH_PAYMENT = "3061";

/** Payment states in which the vendor or the issuer is at work. */
const AT_WORK = ["processing", "awaiting customer", "awaiting customer action", "awaiting merchant auth"];
/** States that wait for what a call cannot give: no money moves until it is given. */
const STUCK: Readonly<Record<string, DeclineCode>> = {
  "awaiting 3ds result": "authentication_required",
  "awaiting redirect result": "authentication_required",
  "awaiting clarification": "gateway_misconfigured",
};
const GIVEN_BACK = ["cancelled", "reversed", "refunded"];

function codesIn(range: string): string[] {
  const [first = 0, last = first] = range.split("-").map(Number);
  return Array.from({ length: last - first + 1 }, (_none, index) => String(first + index));
}

function declined(code: DeclineCode, message?: string, processor: ProcessorFields = {}): Declined {
  const silent = code === "gateway_credentials_invalid" || code === "gateway_unavailable";
  return { outcome: "declined", code, message: silent ? null : words(message), processor };
}

/** A string or a number in its own digits: codes come as either. */
function wordAt(value: JsonValue | undefined, ...path: string[]): string | undefined {
  const found = at(value, ...path);
  return found instanceof JsonNumber ? found.text : typeof found === "string" ? found : undefined;
}

/** The code and the words of a refused request: at the top, or in the first of its `errors`. */
function errorIn(body: JsonObject): { code: string; message: string | undefined } | null {
  const first = Array.isArray(body["errors"]) ? body["errors"][0] : undefined;
  const code = wordAt(body, "code") ?? wordAt(first, "code");
  const message = textAt(body, "message") ?? textAt(first, "message");
  return code === undefined ? null : { code, message };
}

function bodyOf(answer: GatewayAnswer): JsonObject | null {
  return answer.kind === "answered" ? readJson(answer.body) : null;
}

/** What the answer to a payment request says: in the vendor's queue (perhaps since before), refused, or nothing certain. */
export function readQueued(answer: GatewayAnswer): { outcome: "queued" } | Declined | Unknown {
  if (answer.kind === "not sent") return declined("gateway_unavailable");
  const body = bodyOf(answer);
  if (answer.kind === "lost" || answer.status >= 500) return { outcome: "unknown", reason: "the vendor's answer was lost" };
  const error = body && errorIn(body);
  if (error?.code === USED_PAYMENT_ID) return { outcome: "queued" };
  if (answer.status === 403) return declined("gateway_misconfigured", error?.message);
  if (answer.status === 429) return declined("gateway_unavailable");
  if (body === null) return { outcome: "unknown", reason: "the vendor's answer is not one JSON object" };
  if (answer.status === 200 && body["status"] === "success") return { outcome: "queued" };
  const refused = body["status"] === "error" || (answer.status >= 400 && error !== null);
  if (!refused) return { outcome: "unknown", reason: "an answer that neither takes the payment nor refuses it" };
  return declined(CODES[error?.code ?? ""] ?? "processing_error", error?.message);
}

/** What a status answer says of a payment. */
export type Reading =
  | Approved
  | Declined
  | Unknown
  | { outcome: "absent" }
  | { outcome: "pending" }
  /** The issuer said yes to a card that the project did not keep. */
  | { outcome: "not kept"; approved: Approved }
  /** Money moved that must not stay: a part of the amount, or a hold. */
  | { outcome: "give back"; amountMinor: number | "hold"; verdict: Declined }
  | { outcome: "given back"; verdict: Declined };

/** Only a message with the vendor's signature says anything about a payment; a wrong one counts as none. */
export function readStatus(answer: GatewayAnswer, subject: Subject, settings: Settings): Reading {
  const body = bodyOf(answer);
  if (answer.kind !== "answered" || body === null) return { outcome: "unknown", reason: "the vendor did not answer the look-up" };
  const payment = body["payment"];
  if (errorIn(body)?.code === NO_SUCH_PAYMENT && payment === undefined) return { outcome: "absent" };
  if (answer.status !== 200 || !isObject(payment)) return { outcome: "unknown", reason: "the vendor refused the look-up" };
  if (!isSigned(body, settings.credentials.secret_key))
    return { outcome: "unknown", reason: "the signature of the vendor's answer is wrong" };
  if (payment["id"] !== subject.reference) return { outcome: "unknown", reason: "the answer belongs to another payment" };
  return readPayment(body, payment, subject);
}

function readPayment(body: JsonObject, payment: JsonObject, subject: Subject): Reading {
  const operation = operationOf(body, subject);
  const code = wordAt(operation, "code") ?? "";
  const id = wordAt(operation, "id");
  const processor = { ecommpay_payment_id: subject.reference, ...(id !== undefined && { ecommpay_operation_id: id }) };
  const state = textAt(payment, "status") ?? "";
  const stuck = STUCK[state];
  if (AT_WORK.includes(state)) return { outcome: "pending" };
  if (stuck !== undefined) return declined(stuck, undefined, processor);
  if (GIVEN_BACK.includes(state))
    return {
      outcome: "given back",
      verdict: { ...declined("processing_error", undefined, processor), reason: "the money was given back" },
    };
  if (state === "awaiting capture") {
    const reason = "the project holds money instead of taking it";
    return { outcome: "give back", amountMinor: "hold", verdict: { ...declined("gateway_misconfigured", undefined, processor), reason } };
  }
  if (state === "decline" && operation?.["status"] !== "success")
    return declined(CODES[code] ?? "card_declined", textAt(operation, "message"), processor);
  if (state === "error") {
    const error = errorIn(body);
    return declined(CODES[error?.code ?? code] ?? "processing_error", error?.message ?? textAt(operation, "message"), processor);
  }
  const approved = state === "success" && operation?.["status"] === "success" && code === "0" && id !== undefined;
  return approved
    ? readApproval(body, payment, operation, processor, subject)
    : { outcome: "unknown", reason: "a state that says nothing" };
}

/** The newest operation of the attempt's kind; a verification goes by more than one name. */
function operationOf(body: JsonObject, { mode }: Subject): JsonObject | undefined {
  const operations = Array.isArray(body["operations"]) ? body["operations"].filter(isObject) : [];
  const kind = mode === "charge" ? /^sale$/ : /verification/;
  const mine = operations.filter((operation) => kind.test(textAt(operation, "type") ?? ""));
  const madeAt = (operation: JsonObject) => textAt(operation, "created_date") ?? textAt(operation, "date") ?? "";
  return mine.toSorted((one, other) => (madeAt(one) < madeAt(other) ? -1 : madeAt(one) > madeAt(other) ? 1 : 0)).at(-1);
}

function readApproval(body: JsonObject, payment: JsonObject, operation: JsonObject, processor: ProcessorFields, subject: Subject): Reading {
  const authCode = textAt(operation, "provider", "auth_code");
  const webhookProcessor = { ...(authCode && { auth_code: authCode }) };
  const approved: Approved = { outcome: "approved", capture: "captured", processor, webhookProcessor };
  const sums = [at(payment, "sum"), at(operation, "sum_initial")].filter((sum) => sum !== undefined);
  const amounts = sums.map((sum) => minorIn(sum));
  if (sums.length === 0 || !sums.every((sum) => textAt(sum, "currency") === subject.currency) || amounts.includes(null))
    return { outcome: "unknown", reason: "an approval without its amount, or in another currency" };
  if (subject.mode === "tokenize") {
    // Some projects verify with a small amount, which the vendor releases by itself.
    const kept = textAt(body, "account", "token") ?? wordAt(body, "account", "id");
    return kept ? approved : { outcome: "not kept", approved };
  }
  const wanted = subject.amountMinor;
  const least = Math.min(...amounts.map(Number));
  if (amounts.every((amount) => amount === wanted)) return approved;
  if (least <= 0 || amounts.some((amount) => Number(amount) > wanted))
    return { outcome: "unknown", reason: "another amount than asked for" };
  const reason = "only a part was authorized";
  return { outcome: "give back", amountMinor: least, verdict: { ...declined("insufficient_funds", undefined, processor), reason } };
}

/** A whole number of minor units, or null. */
function minorIn(sum: JsonValue | undefined): number | null {
  const amount = at(sum, "amount");
  return amount instanceof JsonNumber && /^[0-9]{1,15}$/.test(amount.text) ? Number(amount.text) : null;
}

/** The token of a card that was kept by a request of its own. */
export function readToken(answer: GatewayAnswer): string | null {
  const body = bodyOf(answer);
  const token = textAt(body ?? undefined, "token");
  return answer.kind === "answered" && answer.status === 200 && token !== undefined && /^[\x21-\x7e]{16,255}$/.test(token) ? token : null;
}
