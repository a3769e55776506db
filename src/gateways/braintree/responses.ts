import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";

/**
 * Length: GraphQL has status 200 for everything, so that four tables of codes and the place of an error tell what ran.
 */

/** `processorResponse.legacyCode` of a decline; every other 2xxx is a plain one, every other 3xxx the network's. */
const ofProcessor = kit.codeTable(
  {
    do_not_honor: "2000 2011 2041 2043 2044",
    insufficient_funds: "2001",
    limit_exceeded: "2002 2003 2056",
    expired_card: "2004",
    incorrect_number: "2005 2007 2008 2009 2051 2105",
    invalid_expiry: "2006",
    incorrect_cvc: "2010",
    incorrect_zip: "2059 2060",
    lost_or_stolen: "2012 2013 2022 2047 2053",
    fraud_suspected: "2014 2021",
    card_not_supported: "2015 2019 2024",
    duplicate_transaction: "2016",
    authentication_required: "2058 2099 2101",
    gateway_misconfigured: "2023 2025-2031 2040 2042 2045 2055 2064 2080",
    processing_error: "2033 2034 2048 2061 3*",
  },
  "card_declined",
);
/** `gatewayRejectionReason`: the merchant's own rules. */
const ofRejection = kit.codeTable(
  {
    incorrect_cvc: "CVV AVS_AND_CVV",
    incorrect_zip: "AVS",
    fraud_suspected: "FRAUD RISK_THRESHOLD PAYMENT_METHOD_BLOCKED",
    limit_exceeded: "EXCESSIVE_RETRY TOO_MANY_CONFIRMATION_ATTEMPTS",
    duplicate_transaction: "DUPLICATE",
    authentication_required: "THREE_D_SECURE",
    gateway_misconfigured: "APPLICATION_INCOMPLETE TOKEN_ISSUANCE MANUAL_TRANSACTIONS_DISABLED UNION_PAY_ENROLLMENT_REQUIRED",
  },
  "card_declined",
);
/** `extensions.legacyCode` of a validation. */
const ofValidation = kit.codeTable(
  {
    incorrect_number: "81714 81715 81716 81717",
    invalid_expiry: "81709-81713",
    incorrect_cvc: "81706 81707 81736",
    incorrect_zip: "81737 81808 81809 81813 81828 91826",
    card_not_supported: "81703 91567 91577 91734 915101 915195",
    card_declined: "81750",
  },
  "gateway_misconfigured",
);
/** `extensions.errorClass` of the other errors that plainly say that nothing ran. */
const ofClass = kit.codeTable({
  gateway_credentials_invalid: "AUTHENTICATION AUTHORIZATION",
  gateway_unavailable: "RESOURCE_LIMIT",
  gateway_misconfigured: "NOT_FOUND UNSUPPORTED_CLIENT",
});
const FAULTS = new Set(["INTERNAL", "SERVICE_AVAILABILITY"]);
/** The single-use id is consumed, locked, or no longer known: by a first delivery of this very request, perhaps. The vault has numbers of its own. */
const USED_UP = /^(9156[4-6]|9173[1-3]|9310[7-9])$/;
/** The merchant account takes no telephone payments. */
const NO_MOTO = "91558";

const GLOBAL_ID = /^[A-Za-z0-9+/=_-]{1,255}$/;
const LEGACY_ID = /^[A-Za-z0-9_-]{1,64}$/;
const TAKEN = new Set(["SUBMITTED_FOR_SETTLEMENT", "SETTLING", "SETTLED", "SETTLEMENT_PENDING", "SETTLEMENT_CONFIRMED"]);
const NOT_TAKEN = new Set(["SETTLEMENT_DECLINED", "AUTHORIZATION_EXPIRED", "VOIDED"]);
const REFUSED = new Set(["PROCESSOR_DECLINED", "GATEWAY_REJECTED", "FAILED"]);
const OTHER_CURRENCY = kit.declined("gateway_misconfigured", {
  reason: "the merchant account has another currency than the session: set merchant_account_id; the payment was sent back",
});
const PART = kit.declined("insufficient_funds", { reason: "only a part was approved; it was sent back" });

/** What a payment's transaction says; `working` is read again, `must go back` is sent back and then refused. */
export type PaymentState =
  | Approved
  | Declined
  | Unknown
  | { outcome: "working"; id: string }
  | { outcome: "must go back"; id: string; refusal: Declined };

/**
 * The object under `data.<operation>`, or why there is none. HTTP is 200 for refusals too; an error beside a good object only
 * says that a field below it could not be read.
 */
function readData(answer: GatewayAnswer, effect: kit.Effect, operation: string): kit.JsonObject | Declined | Unknown {
  const approves = (body: kit.JsonObject) => kit.isObject(kit.at(body, "data", operation, "transaction"));
  const rule = { read: kit.readJson, readable: (status: number) => status === 200 };
  const read =
    effect === "money" ? kit.triage(answer, { ...rule, effect, approves, flood: "unclear" }) : kit.triage(answer, { ...rule, effect });
  if ("outcome" in read) return read;
  const data = kit.at(read.body, "data", operation);
  if (kit.isObject(data)) return data;
  const errors = kit.objectsAt(read.body, "errors");
  return errors?.[0]
    ? errorOf(errors, effect)
    : effect === "money"
      ? kit.unknown("neither data nor errors")
      : kit.declined("processing_error");
}

/**
 * The operation ran, or may have: a class that is a fault or not known, an error of a field below the operation, or one without
 * a class that names a place in the answer (an error of the document itself has none).
 */
function mayHaveRun(error: kit.JsonObject): boolean {
  const [kind, path] = [kit.textAt(error, "extensions", "errorClass"), kit.at(error, "path")];
  const depth = Array.isArray(path) ? path.length : 0;
  if (kind === undefined) return depth > 0;
  return depth > 1 || (kind !== "VALIDATION" && ofClass(kind) === undefined);
}

function errorOf(errors: readonly kit.JsonObject[], effect: kit.Effect): Declined | Unknown {
  if (effect === "money" && errors.some(mayHaveRun)) return kit.unknown("a fault of the vendor after it may have acted");
  const first = errors[0];
  const kind = kit.textAt(first, "extensions", "errorClass");
  const message = kit.textAt(first, "message");
  if (kind !== "VALIDATION")
    return kit.declined(FAULTS.has(kind ?? "") ? "gateway_unavailable" : (ofClass(kind) ?? "gateway_misconfigured"), { message });
  const codes = errors.map((error) => kit.scalarAt(error, "extensions", "legacyCode") ?? "");
  if (effect === "money" && codes.some((code) => USED_UP.test(code))) return kit.usedUp({ message });
  const isMoto = errors.some((error) => kit.textAt(error, "extensions", "inputPath", 2) === "paymentInitiator");
  if (isMoto || codes.includes(NO_MOTO))
    return kit.declined("gateway_misconfigured", {
      message,
      reason: "the merchant account takes no telephone payments (MOTO): ask Braintree, or set moto to false",
    });
  const known = codes.map((code) => ofValidation(code));
  return kit.declined(known.find((code) => code !== "gateway_misconfigured") ?? "gateway_misconfigured", { message });
}

/** The vendor is too busy, its engine, or what stands before it and has no words for it: come again, as a single-use id pays but once. */
export function isTooBusy(answer: GatewayAnswer): boolean {
  if (answer.kind === "answered" && answer.status === 429) return true;
  const body = kit.lookUpBody(answer, kit.readJson);
  const errors = kit.objectsAt(body, "errors") ?? [];
  // Beside an object it was a field of it that was too much.
  const isAnswered = Object.values(kit.at(body, "data") ?? {}).some((data) => kit.isObject(data));
  return !isAnswered && errors.length > 0 && errors.every((error) => kit.textAt(error, "extensions", "errorClass") === "RESOURCE_LIMIT");
}

/** An id that the vendor made, or why there is none. */
export function readId(answer: GatewayAnswer, operation: string, kind: string): string | Declined {
  const data = readData(answer, "nothing", operation);
  if (kit.isOutcome(data)) return data.outcome === "declined" ? data : kit.declined("gateway_unavailable");
  return kit.idAt(data, GLOBAL_ID, kind, "id") ?? kit.declined("processing_error");
}

/** The answer to a charge. */
export function readCharge(answer: GatewayAnswer, subject: Subject): PaymentState {
  const data = readData(answer, "money", "chargeCreditCard");
  return kit.isOutcome(data) ? data : transactionState(kit.at(data, "transaction"), subject);
}

/** A transaction by its id; `working` again when it could not be read. */
export function readTransaction(answer: GatewayAnswer, id: string, subject: Subject): PaymentState {
  const node = kit.at(kit.lookUpBody(answer, kit.readJson), "data", "node");
  return kit.isObject(node) ? transactionState(node, subject) : { outcome: "working", id };
}

/** The transactions that carry our order id; null when the vendor did not say, or shows others than it was asked for. */
export function readSearch(answer: GatewayAnswer, subject: Subject): { id: string; state: PaymentState }[] | null {
  const body = kit.lookUpBody(answer, kit.readJson);
  const edges = kit.objectsAt(body, "data", "search", "transactions", "edges");
  if (edges === null) return null;
  const nodes = edges.map((edge) => kit.at(edge, "node"));
  if (nodes.some((node) => kit.textAt(node, "orderId") !== subject.reference)) return null;
  const own = nodes.filter((node) => !isTwin(node, subject));
  return own.map((node) => ({ id: kit.idAt(node, GLOBAL_ID, "id") ?? "", state: transactionState(node, subject) }));
}

type Json = Parameters<typeof kit.at>[0];

/** A second delivery of this attempt, refused for the first one's sake: it says nothing of the first, which may not show yet. */
function isTwin(transaction: Json, { reference }: Subject): boolean {
  const rejection = (kit.objectsAt(transaction, "statusHistory") ?? []).find(
    (entry) => kit.textAt(entry, "gatewayRejectionReason") === "DUPLICATE",
  );
  return rejection !== undefined && (kit.textAt(rejection, "duplicateOf", "orderId") ?? reference) === reference;
}

function transactionState(transaction: Json, subject: Subject): PaymentState {
  const [id, legacyId] = [kit.idAt(transaction, GLOBAL_ID, "id"), kit.idAt(transaction, LEGACY_ID, "legacyId")];
  const status = kit.textAt(transaction, "status") ?? "";
  if (id === undefined || legacyId === undefined) return kit.unknown("a transaction without its ids");
  if (kit.saysOther(transaction, subject.reference, "orderId")) return kit.unknown("the answer is another payment's");
  const processor = { braintree_transaction_id: legacyId };
  if (status === "AUTHORIZING") return { outcome: "working", id };
  if (REFUSED.has(status)) return refusalOf(transaction, status, processor);
  if (NOT_TAKEN.has(status)) return kit.declined("processing_error", { processor });
  if (!TAKEN.has(status) && status !== "AUTHORIZED") return kit.unknown("a status that Braintree does not document");
  if (kit.textAt(transaction, "amount", "currencyCode") !== subject.currency)
    return { outcome: "must go back", id, refusal: OTHER_CURRENCY };
  const taken = kit.minorOfDecimal(kit.at(transaction, "amount", "value"), subject.currency);
  if (taken !== null && taken > 0 && taken < subject.amountMinor) return { outcome: "must go back", id, refusal: PART };
  if (taken !== subject.amountMinor) return kit.unknown("another amount than asked for");
  const refunded = readRefunds(transaction, subject);
  if (refunded === "whole") return kit.takenBack(processor);
  if (refunded === "at work") return kit.unknown("a refund of the payment is at work");
  return kit.approved(processor, { capture: status === "AUTHORIZED" ? "authorized" : "captured" });
}

/** Whether what was refunded, at once or in parts, is the whole, or may come to be. Refunds that failed are none. */
function readRefunds(transaction: Json, { amountMinor, currency }: Subject): "not whole" | "whole" | "at work" {
  const refunds = (kit.at(transaction, "refunds") ?? null) === null ? [] : kit.objectsAt(transaction, "refunds");
  const standing = refunds?.filter((one) => ![NOT_TAKEN, REFUSED].some((failed) => failed.has(kit.textAt(one, "status") ?? "")));
  if (!standing?.every((one) => TAKEN.has(kit.textAt(one, "status") ?? ""))) return "at work";
  const amounts = standing.map((one) => kit.minorOfDecimal(kit.at(one, "amount", "value"), currency) ?? Number.NaN);
  const sum = amounts.reduce((total, amount) => total + amount, 0);
  if (sum < amountMinor) return "not whole";
  return sum === amountMinor ? "whole" : "at work";
}

/** The event of the status history that says why. */
function refusalOf(transaction: Json, status: string, processor: Readonly<Record<string, string>>): Declined {
  const event = (kit.objectsAt(transaction, "statusHistory") ?? []).find((entry) => kit.textAt(entry, "status") === status);
  return kit.declined(reasonOf(status, event), { message: kit.textAt(event, "processorResponse", "message"), processor });
}

function reasonOf(status: string, event: Json): DeclineCode {
  if (status === "GATEWAY_REJECTED") return ofRejection(kit.textAt(event, "gatewayRejectionReason"));
  const code = kit.scalarAt(event, "processorResponse", "legacyCode");
  return status === "FAILED" && code === undefined ? "processing_error" : ofProcessor(code);
}

/** The answer to storing a card. Refused verifications come as null with the verification, or as errors: both are read. */
export function readVault(answer: GatewayAnswer): Approved | Declined | Unknown {
  const data = readData(answer, "money", "vaultCreditCard");
  if (kit.isOutcome(data)) return data;
  const stored = kit.at(data, "paymentMethod");
  if (kit.isObject(stored)) return storedCard(stored);
  const verification = kit.at(data, "verification");
  const status = kit.textAt(verification, "status");
  if (status !== "PROCESSOR_DECLINED" && status !== "GATEWAY_REJECTED" && status !== "FAILED")
    return kit.unknown("neither a stored card nor a refusal");
  return kit.declined(reasonOf(status, verification), { message: kit.textAt(verification, "processorResponse", "message") });
}

function storedCard(stored: Json): Approved | Unknown {
  const token = kit.idAt(stored, LEGACY_ID, "legacyId");
  const customer = kit.idAt(stored, LEGACY_ID, "customer", "legacyId");
  if (token === undefined || customer === undefined) return kit.unknown("a stored card without its ids");
  return kit.approved({ braintree_customer_id: customer, braintree_payment_method_token: token });
}

/** An error of the whole operation: there is nothing of that id. */
const isNotFound = (error: kit.JsonObject): boolean =>
  kit.textAt(error, "extensions", "errorClass") === "NOT_FOUND" && kit.at(error, "path", 1) === undefined;

/** What a customer made for this attempt holds: one card, none or is gone (undefined), or the vendor did not say (null). */
export function readCards(answer: GatewayAnswer): Approved | Unknown | undefined | null {
  const body = kit.lookUpBody(answer, kit.readJson);
  const edges = kit.objectsAt(body, "data", "node", "paymentMethods", "edges");
  const errors = kit.at(body, "errors") === undefined ? [] : kit.objectsAt(body, "errors");
  if (edges === null) return kit.at(body, "data", "node") === null && errors?.every(isNotFound) ? undefined : null;
  if (edges.length > 1) return kit.unknown("more than one card with this attempt's customer");
  return edges[0] && storedCard(kit.at(edges[0], "node"));
}

/** Whether a reversal has gone through: a refund may be refused by the card's bank, and a voided one sends nothing back. */
export function isSentBack(answer: GatewayAnswer): boolean {
  const reversal = kit.at(kit.lookUpBody(answer, kit.readJson), "data", "reverseTransaction", "reversal");
  const [kind, status] = [kit.textAt(reversal, "__typename"), kit.textAt(reversal, "status") ?? ""];
  return kind === "Refund" ? TAKEN.has(status) : kind === "Transaction" && status === "VOIDED";
}

/** Whether a customer was removed. */
export const isRemoved = (answer: GatewayAnswer): boolean =>
  kit.isObject(kit.at(kit.lookUpBody(answer, kit.readJson), "data", "deleteCustomer"));
