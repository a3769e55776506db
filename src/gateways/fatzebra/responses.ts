import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, LookUpResult, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { VERIFICATION_MINOR } from "./requests.ts";

/** `response_code`; its words are `Declined` for most of them, so only the code counts. */
const codeOf = kit.codeTable({
  do_not_honor: "01 02 05",
  insufficient_funds: "51",
  expired_card: "33 54",
  incorrect_number: "14 15 56",
  incorrect_cvc: "82",
  card_not_supported: "12 31 39 40 42 52 53 57 58",
  lost_or_stolen: "04 07 35 36 37 41 43",
  fraud_suspected: "34 59",
  limit_exceeded: "13 38 61 65 75",
  duplicate_transaction: "94",
  gateway_misconfigured: "03 60",
  processing_error: "06 09 19 22 25 30 90 96 99",
  gateway_unavailable: "91 92",
});
/** Texts of `errors`, which have no code. */
const codeOfText = kit.textTable<DeclineCode>([
  [/reference.*\b(already|taken|used|duplicate|unique)/i, "duplicate_transaction"],
  [/expired/i, "expired_card"],
  [/expiry/i, "invalid_expiry"],
  [/cvv/i, "incorrect_cvc"],
  [/card.?number/i, "incorrect_number"],
]);

const PURCHASE = /^[0-9A-Z]{1,8}-P-[0-9A-Z]{1,32}$/i;
const TOKEN = /^[A-Za-z0-9_-]{1,64}$/;
/** Response codes of a fault and of a request that is still in progress: a payment may stand all the same. */
const LEFT_OPEN: ReadonlySet<string | undefined> = new Set(["99", "09"]);
/** The same in words, where there is no code. */
const FAULT = /system|internal|timed? ?out|unavailable|unexpected|try again/i;

/** What a purchase says; a part of the amount must not stay, and no hold where money was to be taken. */
export type PurchaseState = Approved | Declined | Unknown | { outcome: "partial"; id: string; amountMinor: number; isHeld?: true };

/** The answer to a purchase. The status says nothing about the outcome: a decline is 200, and so may a refused field be. */
export function readPurchase(answer: GatewayAnswer, subject: Subject): PurchaseState {
  const body = bodyOf(answer);
  if (kit.isOutcome(body)) return body;
  const state = purchaseState(body, subject);
  const isOpen = state.outcome === "declined" && LEFT_OPEN.has(kit.scalarAt(body, "response", "response_code"));
  return isOpen ? kit.unknown("a fault of the gateway that leaves the outcome open") : state;
}

/** The body of an answer to a request that may have been acted on. Refused credentials are told by the status alone. */
function bodyOf(answer: GatewayAnswer): kit.JsonObject | Declined | Unknown {
  const approves = (body: kit.JsonObject) => kit.at(body, "response", "successful") === true;
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, approves, flood: "unclear", refused: kit.shutOut });
  return kit.isOutcome(read) ? read : read.body;
}

/** `message` of a purchase that was voided: its inner flag is false then, beside the code of its approval. */
const VOIDED = "Voided";

/** What a look-up by reference says; 404 only in the vendor's own words is an absence. */
export function readFound(answer: GatewayAnswer, subject: Subject): PurchaseState | Extract<LookUpResult, { outcome: "absent" }> {
  const body = kit.lookUpBody(answer, kit.readJson, [200, 404]);
  if (body === null) return kit.unknown("Fat Zebra did not answer the look-up");
  const isMissing = answer.kind === "answered" && answer.status === 404;
  if (isMissing) return body["successful"] === false ? kit.absent : kit.unknown("404 without the vendor's envelope");
  const response = kit.at(body, "response");
  // The outer flag is the purchase's own where it was refused before the bank was asked: the inner one decides.
  const isShown = body["successful"] === true || (body["successful"] === false && kit.at(response, "successful") === false);
  if (!isShown) return kit.unknown("a look-up that was refused");
  if (kit.textAt(response, "reference") !== subject.reference) return kit.unknown("another purchase than asked for");
  return kit.textAt(response, "message") === VOIDED ? voided(response, subject) : purchaseState({ ...body, successful: true }, subject);
}

/** Nothing is left of a payment; of a card that was to be stored only the hold that verified it is gone. */
function voided(response: kit.JsonObject[string] | undefined, { mode }: Subject): Approved | Declined {
  const processor = { fatzebra_purchase_id: kit.idAt(response, PURCHASE, "id") };
  const isWhole = kit.minorOf(kit.at(response, "amount")) === VERIFICATION_MINOR;
  return mode === "tokenize" && isWhole ? kit.approved(processor) : kit.takenBack(processor);
}

/** The bank's flag, its code and what was captured say the same, or no code says anything. */
function isContradiction(body: kit.JsonObject): boolean {
  const [inner, code] = [kit.at(body, "response", "successful"), kit.scalarAt(body, "response", "response_code")];
  if (inner === true) return codeOf(code) !== undefined;
  return code === "00" || kit.at(body, "response", "captured") === true;
}

/** The id of a purchase that is found approved and not captured: a hold. */
export function uncapturedId(answer: GatewayAnswer, subject: Subject): string | undefined {
  const body = kit.lookUpBody(answer, kit.readJson) ?? undefined;
  const response = kit.at(body, "response");
  const isApproved = kit.at(body, "successful") === true && kit.at(response, "successful") === true;
  const isOurs = kit.textAt(response, "reference") === subject.reference;
  return isApproved && isOurs && kit.at(response, "captured") === false ? kit.idAt(response, PURCHASE, "id") : undefined;
}

/** Two flags: the outer one says that the request was processed, the inner one what the bank said. */
function purchaseState(body: kit.JsonObject, subject: Subject): PurchaseState {
  const response = kit.at(body, "response");
  const [outer, inner] = [body["successful"], kit.at(response, "successful")];
  const code = kit.scalarAt(response, "response_code");
  const processor = { fatzebra_purchase_id: kit.idAt(response, PURCHASE, "id") };
  if (kit.saysOther(response, subject.reference, "reference")) return kit.unknown("another purchase than asked for");
  if (isContradiction(body)) return kit.unknown("approved and declined at once");
  if (outer === false && inner !== true) return refused(body, code, processor);
  if (outer !== true || typeof inner !== "boolean") return kit.unknown("an answer without its two flags");
  const fraud = kit.textAt(response, "fraud_result")?.toLowerCase();
  if (!inner) {
    const isFraud = fraud === "deny" || fraud === "challenge";
    return kit.declined(isFraud ? "fraud_suspected" : (codeOf(code) ?? "card_declined"), {
      message: kit.textAt(response, "message"),
      processor,
    });
  }
  return taken(response, fraud, subject);
}

/** The bank said yes: to what, and is it captured? */
function taken(response: kit.JsonObject[string] | undefined, fraud: string | undefined, subject: Subject): PurchaseState {
  const id = kit.idAt(response, PURCHASE, "id");
  if (id === undefined) return kit.unknown("approved without the purchase's id");
  const isCharge = subject.mode === "charge";
  const captured = kit.at(response, "captured");
  if (fraud === "deny" || (fraud === "challenge" && captured !== true))
    return kit.unknown("approved by the bank, held by the fraud screening");
  if (typeof captured !== "boolean") return kit.unknown("an approval that does not say whether it was captured");
  const asked = isCharge ? subject.amountMinor : VERIFICATION_MINOR;
  const amount = kit.minorOf(kit.at(response, captured ? "captured_amount" : "amount"));
  if (amount !== null && amount > 0 && amount < asked && (captured || !isCharge)) return { outcome: "partial", id, amountMinor: amount };
  if (amount !== asked || kit.textAt(response, "currency")?.toUpperCase() !== subject.currency)
    return kit.unknown("another amount or currency than asked for");
  if (isCharge && !captured) return { outcome: "partial", id, amountMinor: amount, isHeld: true };
  return kit.approved(
    { fatzebra_purchase_id: id },
    {
      capture: captured ? "captured" : "authorized",
      webhook: { auth_code: kit.scalarAt(response, "authorization"), response_code: kit.scalarAt(response, "response_code") },
    },
  );
}

/** Not processed: by the errors' texts. A fault may hide a payment; only the look-up tells. */
function refused(body: kit.JsonObject, code: string | undefined, processor: Record<string, string | undefined>): Declined | Unknown {
  const message = errorsIn(body);
  const ours = codeOf(code) ?? codeOfErrors(message);
  if (LEFT_OPEN.has(code) || message === "" || ours === undefined)
    return kit.unknown("a fault of the gateway that leaves the outcome open");
  return kit.declined(ours, { message, processor });
}

function errorsIn(body: kit.JsonObject | undefined): string {
  const list = kit.at(body, "errors");
  return Array.isArray(list) ? list.filter((error) => typeof error === "string").join("; ") : "";
}

/** Nothing where the words are of a fault. */
const codeOfErrors = (message: string): DeclineCode | undefined =>
  codeOfText(message) ?? (message === "" || FAULT.test(message) ? undefined : "gateway_misconfigured");

/** What the errors' texts mean beside the code of a fault: a refused field may come with one, and has to be looked up first. */
export function refusedField(answer: GatewayAnswer): DeclineCode | undefined {
  const body = (answer.kind === "answered" && kit.readJson(answer.body)) || undefined;
  const code = kit.scalarAt(body, "response", "response_code");
  return LEFT_OPEN.has(code) ? (codeOfErrors(errorsIn(body)) ?? codeOf(code)) : undefined;
}

/** The answer to storing a card, which moves nothing: what is unclear may be asked again. */
export function readStored(answer: GatewayAnswer): Approved | Declined | Unknown {
  const body = bodyOf(answer);
  if (kit.isOutcome(body)) return body;
  const response = kit.at(body, "response");
  if (body["successful"] === false) return refused(body, kit.scalarAt(response, "response_code"), {});
  const token = kit.idAt(response, TOKEN, "token");
  const isUsable = body["successful"] === true && kit.at(response, "authorized") !== false;
  return token !== undefined && isUsable
    ? kit.approved({ fatzebra_card_token: token })
    : kit.unknown("a stored card without a usable token");
}

/** The token that every purchase's answer has. */
export const tokenOf = (answer: GatewayAnswer) =>
  kit.idAt(kit.lookUpBody(answer, kit.readJson, [200, 201]), TOKEN, "response", "card_token");

/** Whether the bank said no to a refund, and no fault leaves open what became of it. */
export function isDeclined({ status, body }: kit.Answered): boolean {
  const read = kit.readJson(body) ?? undefined;
  const isNo = status < 500 && kit.at(read, "successful") === true && kit.at(read, "response", "successful") === false;
  const code = kit.scalarAt(read, "response", "response_code");
  return isNo && code !== undefined && code !== "00" && !LEFT_OPEN.has(code);
}

/** A void is refused once the purchase is settled. */
export function readReversal({ status, body }: kit.Answered): kit.ReversalStep {
  const read = kit.readJson(body);
  const [outer, inner] = [kit.at(read, "successful"), kit.at(read, "response", "successful")];
  if (status < 300 && outer === true && inner === true) return "done";
  // The refund's own reference was used.
  const errors = kit.at(read, "errors");
  const isUsed =
    outer === false &&
    Array.isArray(errors) &&
    errors.some((text) => typeof text === "string" && codeOfText(text) === "duplicate_transaction");
  if (isUsed) return "none left";
  return outer === true && inner === false ? "settled already" : "unclear";
}
