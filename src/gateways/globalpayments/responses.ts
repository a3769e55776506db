import type { AccessToken, Declined, GatewayAnswer, GatewayIo, LookUpResult, Subject, Unknown } from "../contract.ts";
import type { DeclineCode } from "#src/kernel/payment.ts";
import * as kit from "../kit/index.ts";

/**
 * Length: sales, verifications and stores each answer otherwise, and a key that was seen before names what it made.
 */

/** `payment_method.result`: three digits on European acquirers, the issuer's two (ISO 8583) on American ones. */
const ofResult = kit.codeTable(
  {
    card_declined: "01 02 1*",
    lost_or_stolen: "103 04 07 41 43",
    fraud_suspected: "107 108 109 59 63",
    authentication_required: "110 111 1A",
    do_not_honor: "05",
    insufficient_funds: "51",
    expired_card: "33 54",
    incorrect_number: "14 15",
    incorrect_cvc: "82 N7",
    card_not_supported: "57 62 93",
    limit_exceeded: "61 65 75",
    duplicate_transaction: "94",
    gateway_unavailable: "91 96 2*",
    gateway_misconfigured: "3*",
    processing_error: "5*",
  },
  "card_declined",
);
/** `detailed_error_code` of a refusal. */
const ofError = kit.codeTable(
  {
    incorrect_cvc: "40085",
    gateway_credentials_invalid: "40001 40004",
    gateway_misconfigured: "40003 40007 40041 40119 40212 50001 50024",
    processing_error: "40005 40008 40043 40116 40213 40251 40268 50020",
    gateway_unavailable: "50002 50013 50018 50046",
    duplicate_transaction: "40039",
  },
  "gateway_misconfigured",
);
/** The idempotency key was seen before. */
const SEEN = "40039";
/** Faults behind the gateway: a sale may have reached the acquirer, whatever status stands beside them. */
const MAY_HAVE_RUN = new Set(["50002", "50013", "50018", "50046"]);
/** 40041 names the country, currency or brand that the merchant is not set up for. */
const BRAND = /\b(visa|mastercard|amex|discover|diners|jcb)\b/i;
/** 40085 (which is the security code's as well), 40090, 40213 and 50021 name the field that is wrong. */
const ofField = kit.textTable<DeclineCode>([
  [/card\.number|request card number/i, "incorrect_number"],
  [/expiry_(month|year)|expiry date|card expdate/i, "invalid_expiry"],
]);

const CAPTURED = new Set(["CAPTURED", "BATCHED", "FUNDED"]);
const REFUSED = new Set(["DECLINED", "REJECTED", "FAILED", "NOT_VERIFIED"]);
const OPEN = new Set(["PENDING", "INITIATED", "FOR_REVIEW"]);
/** Taken back: by us, when its session had ended otherwise. */
const TAKEN_BACK = new Set(["REVERSED", "REFUNDED"]);

/** What an active filter of the merchant's says of a payment that is captured all the same: one that it holds is not settled. */
const HELD = new Set(["PENDING_REVIEW", "HOLD_SUCCESSFUL"]);

const TRANSACTION_ID = /^TRN_[A-Za-z0-9_-]{1,80}$/;
const STORED_ID = /^PMT_[A-Za-z0-9_-]{1,80}$/;

/** The answer to asking for a token, with the accounts that it grants. */
export function readAccessToken(answer: GatewayAnswer, clock: GatewayIo["clock"]): AccessToken | Declined {
  const read = kit.triage(answer, { effect: "nothing", read: kit.readJson });
  if (kit.isOutcome(read)) return read;
  const { status, body } = read;
  const [token, seconds] = [kit.textAt(body, "token"), Number(kit.scalarAt(body, "seconds_to_expire"))];
  if (status !== 200 || !token || !(seconds > 0)) {
    return kit.declined(status === 401 || status === 403 ? "gateway_credentials_invalid" : "gateway_misconfigured", {
      message: kit.textAt(body, "detailed_error_description"),
    });
  }
  const accounts = kit.objectsAt(body, "scope", "accounts") ?? [];
  const granted = (prefix: string, name: string) => {
    const account = accounts.find((entry) => kit.textAt(entry, "id")?.startsWith(prefix));
    return account ? { [`${name}_id`]: kit.textAt(account, "id") ?? "", [`${name}_name`]: kit.textAt(account, "name") ?? "" } : {};
  };
  return kit.accessToken(token, seconds, clock, { grants: { ...granted("TRA_", "transaction"), ...granted("TKA_", "token") } });
}

/** What a transaction says; `open` is read again, `duplicate` names the transaction that the idempotency key made first. */
export type State =
  | Exclude<LookUpResult, { outcome: "absent" | "pending" }>
  | { outcome: "open"; id: string }
  | { outcome: "duplicate"; id: string };

export const isVendors = (body: kit.JsonObject): boolean => kit.textAt(body, "error_code") !== undefined;

/** The final answer to a sale. */
export function readSale(answer: kit.Answered, subject: Subject): State {
  const approves = (body: kit.JsonObject) => [CAPTURED, OPEN].some((those) => those.has(kit.textAt(body, "status") ?? ""));
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, readable: () => true, isVendors, approves });
  if (kit.isOutcome(read)) return read;
  return read.status === 200 ? readTransaction(read.body, subject) : readError(read.status, read.body, TRANSACTION_ID);
}

/** A refund is a captured transaction too. */
const isRefund = (transaction: kit.JsonObject) => kit.textAt(transaction, "type") === "REFUND";

/** A payment as the vendor shows it. */
export function readTransaction(transaction: kit.JsonObject, subject: Subject): State {
  const id = kit.idAt(transaction, TRANSACTION_ID, "id");
  const status = kit.textAt(transaction, "status") ?? "";
  if (id === undefined) return kit.unknown("a transaction without its id");
  if (kit.textAt(transaction, "reference") !== subject.reference || isRefund(transaction))
    return kit.unknown("the answer is about another transaction");
  if (OPEN.has(status)) return { outcome: "open", id };
  if (REFUSED.has(status)) return refusalOf(transaction, { globalpayments_transaction_id: id });
  if (TAKEN_BACK.has(status)) return kit.takenBack();
  const risk = riskOf(transaction) ?? "";
  if (HELD.has(risk)) return kit.declined("held_for_review", { processor: { globalpayments_transaction_id: id } });
  if (risk === "REJECTED") return kit.unknown("a payment that the risk assessment rejects, and no refusal");
  if (!CAPTURED.has(status) && status !== "PREAUTHORIZED") return kit.unknown("a status that Global Payments does not document");
  if (kit.minorOf(kit.at(transaction, "amount")) !== subject.amountMinor || kit.textAt(transaction, "currency") !== subject.currency)
    return kit.unknown("another amount or currency than asked for");
  return kit.approved({ globalpayments_transaction_id: id }, { capture: status === "PREAUTHORIZED" ? "authorized" : "captured" });
}

/** The result of a filter that acts; a list in the answer to a sale, one alone in a report. */
function riskOf(transaction: kit.JsonObject): string | undefined {
  const risk = kit.at(transaction, "risk_assessment", 0) ?? kit.at(transaction, "risk_assessment");
  return kit.textAt(risk, "mode") === "PASSIVE" ? undefined : kit.textAt(risk, "result");
}

function refusalOf(body: kit.JsonObject, processor: Readonly<Record<string, string>> = {}): Declined {
  const result = kit.scalarAt(body, "payment_method", "result");
  const card = kit.at(body, "payment_method", "card");
  const checks = { cvv: kit.textAt(card, "cvv_result") === "NOT_MATCHED" ? "N" : undefined };
  const message = kit.textAt(body, "payment_method", "message");
  const code = result === "65" && /\bSCA\b|authentication/i.test(message ?? "") ? "authentication_required" : ofResult(result);
  const known = code === "card_declined" ? (kit.codeOfChecks(checks) ?? code) : code;
  return kit.declined(known, { message, processor });
}

const mayHaveRun = (body: kit.JsonObject | null): boolean =>
  MAY_HAVE_RUN.has(kit.scalarAt(body, "detailed_error_code") ?? "") || kit.textAt(body, "error_code") === "ACTION_FAILED";

/** A refusal of the request itself; 409 names what the key made before. */
function readError(status: number, body: kit.JsonObject, form: RegExp): Declined | Unknown | { outcome: "duplicate"; id: string } {
  const [code, message] = [kit.scalarAt(body, "detailed_error_code"), kit.textAt(body, "detailed_error_description")];
  const name = kit.textAt(body, "error_code");
  if (status === 409 && code === SEEN) {
    const id = /id=([A-Za-z0-9_-]+)/.exec(message ?? "")?.[1] ?? "";
    return form.test(id) ? { outcome: "duplicate", id } : kit.declined("duplicate_transaction", { message });
  }
  if (status === 401) return kit.declined("gateway_credentials_invalid");
  if (status === 429) return kit.declined("gateway_unavailable");
  if (status >= 500 || status < 400) return kit.unknown(`status ${status} without an outcome`);
  if (mayHaveRun(body)) return kit.unknown("a fault of the vendor after it may have acted");
  if (status === 409 || name === "DUPLICATE_TRANSACTION") return kit.declined("duplicate_transaction", { message });
  if (code === "40041" && BRAND.test(message ?? "")) return kit.declined("card_not_supported", { message });
  return kit.declined(ofField(message) ?? ofError(code), { message });
}

/**
 * Null when the issuer verified the card. Nothing moved, so nothing is unknown. A repeat that the key refuses was asked before;
 * `again`, under another key, where the refusal does not say that the card was verified then.
 */
export function readVerification({ status, body }: kit.Answered): Declined | "again" | null {
  const read = kit.readJson(body);
  if (read === null) return kit.declined("gateway_unavailable");
  if (status === 200) return kit.textAt(read, "status") === "VERIFIED" ? null : refusalOf(read);
  const error = readError(status, read, /^VER_[A-Za-z0-9_-]{1,80}$|^TRN_[A-Za-z0-9_-]{1,80}$/);
  if (error.outcome === "duplicate" || kit.isDuplicate(error))
    return /\bstatus=VERIFIED\b/.test(kit.textAt(read, "detailed_error_description") ?? "") ? null : "again";
  return error.outcome === "declined" ? error : kit.declined("gateway_unavailable");
}

/** The stored card's id, from the answer or from what the key made before; or why there is none. A success without one may have stored it. */
export function readStored({ status, body }: kit.Answered): string | Declined {
  const read = kit.readJson(body);
  const id = kit.idAt(read, STORED_ID, "id");
  if (status === 200 && id !== undefined && kit.textAt(read, "status") === "ACTIVE") return id;
  if (read === null || status === 200) return kit.LOST_STORE;
  const error = readError(status, read, STORED_ID);
  if (error.outcome === "duplicate") return error.id;
  return error.outcome === "declined" ? error : kit.declined("gateway_unavailable");
}

/** The payments of a look-up; null when the vendor did not say, shows none of what it found, or others than it was asked for. */
export function readList(answer: GatewayAnswer, subject: Subject): State[] | null {
  const body = kit.lookUpBody(answer, kit.readJson);
  const found = kit.objectsAt(body, "transactions");
  if (found === null || (found.length === 0 && (kit.minorOf(kit.at(body, "total_record_count")) ?? 0) > 0)) return null;
  return found.every((item) => kit.textAt(item, "reference") === subject.reference)
    ? found.filter((item) => !isRefund(item)).map((item) => readTransaction(item, subject))
    : null;
}

/** State and id of what a reversal made. To a key that was seen before, as after a lost answer, the vendor names in words what it made then. */
function reversalIn({ status, body }: kit.Answered): { state: string; id: string | undefined } {
  const read = kit.readJson(body);
  if (status === 200) return { state: kit.textAt(read, "status") ?? "", id: kit.idAt(read, TRANSACTION_ID, "id") };
  const isSeen = status === 409 && kit.scalarAt(read, "detailed_error_code") === SEEN;
  const seen = isSeen ? kit.textAt(read, "detailed_error_description") : undefined;
  const [, id, state = ""] = /\bid=([A-Za-z0-9_-]+), status=([A-Z]+)/.exec(seen ?? "") ?? [];
  return { state, id };
}

/** Whether what the key made was declined: it makes no other. */
export const isDeclined = (answer: kit.Answered): boolean => REFUSED.has(reversalIn(answer).state);

/** A reversal is refused once the payment is settled. A refund has an id of its own: it is never the payment, still captured. */
export function readReversal(answer: kit.Answered, payment: string): kit.ReversalStep {
  const { state, id } = reversalIn(answer);
  if (TAKEN_BACK.has(state) || (CAPTURED.has(state) && id !== undefined && id !== payment)) return "done";
  const isRefused = [400, 404].includes(answer.status) && !mayHaveRun(kit.readJson(answer.body));
  return isDeclined(answer) || isRefused ? "settled already" : "unclear";
}
