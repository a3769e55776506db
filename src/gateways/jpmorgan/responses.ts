import type { DeclineCode } from "#src/kernel/payment.ts";
import type { AccessToken, Approved, Declined, GatewayAnswer, GatewayIo, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { orderNumber } from "./requests.ts";

/** `responseCode` where the vendor's pages name it. */
const codeOf = kit.codeTable({
  card_declined: "DECLINED CONSUMER_ABORTED",
  do_not_honor: "DO_NOT_HONOR",
  insufficient_funds: "INSUFFICIENT_FUNDS PARTIAL_APPROVAL",
});
const [PARTIAL, AUTHENTICATE] = ["PARTIAL_APPROVAL", "PERFORM_AUTHENTICATION"];
/** The rest of the vendor's list is not published: its names are known by the words in them. */
const ofWords = kit.textTable<DeclineCode>([
  [/duplicate/i, "duplicate_transaction"],
  [/authentication/i, "authentication_required"],
  [/expired/i, "expired_card"],
  [/cvv|security[ _]code|card[ _]verification/i, "incorrect_cvc"],
  [/invalid[ _](card|account)[ _]?(number)?/i, "incorrect_number"],
  [/avs|postal/i, "incorrect_zip"],
  [/lost|stolen|pick[ _]?up/i, "lost_or_stolen"],
  [/fraud|suspected/i, "fraud_suspected"],
  [/insufficient/i, "insufficient_funds"],
  [/limit|exceed|frequency/i, "limit_exceeded"],
  [/not[ _]permitted|restricted|not[ _]supported/i, "card_not_supported"],
  [/issuer[ _]unavailable/i, "processing_error"],
]);
/** `networkResponseCode`, ISO 8583. */
const ofNetwork = kit.codeTable({
  insufficient_funds: "51",
  expired_card: "54",
  incorrect_number: "14 15",
  incorrect_cvc: "N7 82",
  lost_or_stolen: "04 07 41 43",
  fraud_suspected: "34 59",
  limit_exceeded: "61 65 75",
  card_not_supported: "57 58 62",
  authentication_required: "1A",
  duplicate_transaction: "94",
  processing_error: "19 91 96",
  gateway_misconfigured: "03 12 13",
});
/** What a refused field stands for. */
const ofEntity = kit.textTable<DeclineCode>([
  [/accountNumber\b/, "incorrect_number"],
  [/expiry/, "invalid_expiry"],
  [/cvv/, "incorrect_cvc"],
  [/postalCode/, "incorrect_zip"],
]);

/** States of a payment that stands. */
const HAS_MONEY = new Set(["CLOSED", "COMPLETED", "AUTHORIZED"]);
const ID = /^[A-Za-z0-9-]{1,64}$/;
const TOKEN = /^[A-Za-z0-9]{8,32}$/;
const CARD = ["paymentMethodType", "card"] as const;
const NETWORK = [...CARD, "networkResponse"] as const;

/** The answer to asking for a token: nothing has been paid yet, so whatever goes wrong is a refusal. */
export function readAccessToken(answer: GatewayAnswer, clock: GatewayIo["clock"]): AccessToken | Declined {
  const read = kit.triage(answer, { effect: "nothing", read: kit.readJson });
  if (kit.isOutcome(read)) return read;
  const token = kit.textAt(read.body, "access_token");
  const seconds = Number(kit.scalarAt(read.body, "expires_in"));
  if (read.status === 200 && token && seconds > 0) return kit.accessToken(token, seconds, clock, { marginSeconds: 30 });
  return kit.declined(read.status < 500 ? "gateway_credentials_invalid" : "gateway_unavailable");
}

/** What an answer says about a payment; `pending` is asked about again, `partial` is sent back. */
export type PaymentState =
  | Approved
  | Declined
  | Unknown
  | { outcome: "pending"; id: string }
  | { outcome: "partial"; id: string; amountMinor: number };

/** The answer to a payment or verification. Approvals and declines are both 200; 4xx took nothing. */
export function readAnswer(answer: GatewayAnswer, subject: Subject): PaymentState {
  const readable = (status: number) => status < 500 && status !== 408 && status !== 425 && status !== 429;
  const approves = (body: kit.JsonObject) =>
    kit.textAt(body, "responseStatus") === "SUCCESS" || HAS_MONEY.has(kit.textAt(body, "transactionState") ?? "");
  // Of a duplicate (409) the body is not documented; it is looked up.
  const isVendors = (body: kit.JsonObject) =>
    kit.textAt(body, "responseStatus") !== undefined || (answer.kind === "answered" && answer.status === 409);
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, readable, isVendors, approves, flood: "unclear" });
  if ("outcome" in read) return read;
  const { status, body } = read;
  return status < 300 ? readPayment(body, subject) : readError(status, body);
}

/**
 * What a look-up found: null when there is no such request, in the vendor's own words (a page before it says 404 as well), which
 * proves something only after the vendor's own time-out. `requestIds`: those that the payment may name, where they are known.
 */
export function readFound(answer: GatewayAnswer, subject: Subject, requestIds?: readonly string[]): PaymentState | null {
  const body = kit.lookUpBody(answer, kit.readJson, [200, 404]);
  if (body === null || answer.kind !== "answered") return kit.unknown("J.P. Morgan did not answer the look-up");
  if (answer.status === 404) return kit.textAt(body, "responseStatus") === "ERROR" ? null : kit.unknown("a 404 that is not the vendor's");
  const told = kit.textAt(body, "requestId");
  const isAnothers = requestIds && told !== undefined && !requestIds.includes(told);
  if (isAnothers || kit.saysOther(body, orderNumber(subject), "merchantOrderNumber")) return kit.unknown("the answer is another payment's");
  const isVoid = kit.at(body, "isVoid") === true;
  if (isVoid && subject.mode === "charge") return isVoided(body) ? kit.takenBack() : kit.unknown("voided, and in a state with money");
  const state = readPayment(body, subject);
  return (state.outcome === "approved" || state.outcome === "partial") && isSentBack(body) ? sentBack(state) : state;
}

function readPayment(body: kit.JsonObject, subject: Subject): PaymentState {
  const [status, code, state] = [
    kit.textAt(body, "responseStatus"),
    kit.textAt(body, "responseCode"),
    kit.textAt(body, "transactionState"),
  ];
  const saysNo = status === "ERROR" || status === "DENIED" || state === "ERROR" || state === "DECLINED";
  if (saysNo && (status === "SUCCESS" || HAS_MONEY.has(state ?? ""))) return kit.unknown("a refusal and an approval in one answer");
  if (status === "ERROR" || state === "ERROR") return kit.declined(reasonOf(body) ?? "processing_error", refusalOf(body));
  if (status === "DENIED" || state === "DECLINED") return readDenial(body);
  // Neither a call nor the widget can give it, and nothing is paid without it.
  if (code === AUTHENTICATE && !HAS_MONEY.has(state ?? "")) return kit.declined("authentication_required", refusalOf(body));
  const id = kit.idAt(body, ID, "transactionId");
  if (id === undefined) return kit.unknown("200 without the transaction's id");
  if (state === "PENDING" || code === "CUSTOMER_PENDING") return { outcome: "pending", id };
  if (status !== "SUCCESS") return kit.unknown("a response status that J.P. Morgan does not document");
  if (code === PARTIAL) return { outcome: "partial", id, amountMinor: partOf(body) ?? subject.amountMinor };
  if (code === AUTHENTICATE || codeOf(code) !== undefined) return kit.unknown("an approval under the code of a refusal");
  return subject.mode === "tokenize" ? readStored(body, id) : readPaid(body, id, subject);
}

const isVoided = (body: kit.JsonObject | null): boolean => kit.textAt(body, "transactionState") === "VOIDED";

/** Whether a hold was released. */
export const isReleased = ({ status, body }: kit.Answered): boolean => status === 200 && isVoided(kit.readJson(body));

/** Captured, and nothing is left to refund: by an earlier refund of ours. */
const isSentBack = (body: kit.JsonObject): boolean => isCaptured(body) && kit.minorOf(kit.at(body, "remainingRefundableAmount")) === 0;

const sentBack = ({ outcome }: PaymentState): Declined =>
  outcome === "partial" ? kit.declined("insufficient_funds", { reason: "only a part was approved; it was sent back" }) : kit.takenBack();

function isCaptured(body: kit.JsonObject): boolean {
  const captures = kit.objectsAt(body, "paymentRequest", "authorizations") ?? [];
  const isClosed = ["CLOSED", "COMPLETED"].includes(kit.textAt(body, "transactionState") ?? "");
  return isClosed || captures.some((entry) => kit.textAt(entry, "transactionStatusCode") === "CAPTURED");
}

/** What of a part can be sent back; the asked amount would be refused. */
const partOf = (body: kit.JsonObject): number | null =>
  kit.minorOf(kit.at(body, "remainingRefundableAmount")) || kit.minorOf(kit.at(body, "amount"));

function readPaid(body: kit.JsonObject, id: string, subject: Subject): PaymentState {
  const state = kit.textAt(body, "transactionState");
  // Not every answer has the sum.
  const isOther = kit.saysOther(body, String(subject.amountMinor), "amount") || kit.saysOther(body, subject.currency, "currency");
  if (isOther || body["partialAuthorization"] === true) return kit.unknown("another amount or currency than asked for");
  if (!isCaptured(body) && state !== "AUTHORIZED") return kit.unknown("approved, but in a state without money");
  // AUTHORIZED after captureMethod NOW: J.P. Morgan captures it by itself. One that it calls MANUAL it does not.
  const isHeld = !isCaptured(body) && kit.textAt(body, "captureMethod") === "MANUAL";
  return kit.approved({ jpmorgan_transaction_id: id, jpmorgan_state: state }, { capture: isHeld ? "authorized" : "captured" });
}

/** A verified card is stored only when the profile's ids, or a Safetech token, have come with the answer. */
function readStored(body: kit.JsonObject, id: string): Approved | Declined {
  const profile = kit.at(body, "accountHolder", "consumerProfileInfo");
  const processor = {
    jpmorgan_transaction_id: id,
    jpmorgan_consumer_profile_id: kit.idAt(profile, ID, "consumerProfileId"),
    jpmorgan_payment_method_id: kit.idAt(profile, ID, "paymentMethodId"),
    jpmorgan_payment_token: safetechToken(body),
  };
  const isStored = processor.jpmorgan_consumer_profile_id !== undefined && processor.jpmorgan_payment_method_id !== undefined;
  if (isStored || processor.jpmorgan_payment_token !== undefined) return kit.approved(processor);
  return kit.declined("processing_error", {
    processor: { jpmorgan_transaction_id: id },
    reason: "the card was verified, but no profile was made",
  });
}

/** An entry with an error in a good answer only says that the merchant is not enrolled. */
function safetechToken(body: kit.JsonObject): string | undefined {
  const tokens = kit.objectsAt(body, ...CARD, "paymentTokens") ?? [];
  const safetech = tokens.find(
    (token) => kit.textAt(token, "tokenProvider") === "SAFETECH" && kit.textAt(token, "responseStatus") !== "ERROR",
  );
  return kit.idAt(safetech, TOKEN, "tokenNumber");
}

function readDenial(body: kit.JsonObject): Declined {
  const known = reasonOf(body);
  if (known !== undefined && known !== "card_declined") return kit.declined(known, refusalOf(body));
  const network = kit.at(body, ...NETWORK);
  if (kit.textAt(network, "cardVerificationResult") === "NO_MATCH") return kit.declined("incorrect_cvc", refusalOf(body));
  if (known === undefined && kit.textAt(network, "addressVerificationResult") === "NO_MATCH")
    return kit.declined("incorrect_zip", refusalOf(body));
  return kit.declined("card_declined", refusalOf(body));
}

/** By the response code, then by its words, then by the network's code. */
function reasonOf(body: kit.JsonObject): DeclineCode | undefined {
  const code = kit.textAt(body, "responseCode");
  const named = codeOf(code);
  if (named !== undefined && named !== "card_declined") return named;
  const words = [code, kit.textAt(body, "responseMessage"), kit.textAt(body, "hostMessage")].filter(Boolean).join(" ");
  return ofWords(words) ?? ofNetwork(kit.scalarAt(body, ...NETWORK, "networkResponseCode")) ?? named;
}

const refusalOf = (body: kit.JsonObject) => ({
  message: kit.textAt(body, "responseMessage"),
  processor: { jpmorgan_transaction_id: kit.idAt(body, ID, "transactionId") },
});

/** Nothing was processed: the keys, a field, or the account. */
function readError(status: number, body: kit.JsonObject): Declined | Unknown {
  const message = kit.textAt(body, "responseMessage");
  if (status === 401 || status === 403) return kit.declined("gateway_credentials_invalid");
  const errors = kit.at(body, "validationErrors");
  const entities = (Array.isArray(errors) ? errors : []).map((error) => kit.textAt(error, "entity")).join(" ");
  const words = [kit.textAt(body, "responseCode"), message].join(" ");
  // A request id is new each time: one that was used before came with a first delivery of this very request.
  const isSecond = status === 409 || ofWords(words) === "duplicate_transaction" || /request-?id/i.test(`${entities} ${words}`);
  if (isSecond) return kit.declined("duplicate_transaction", { message });
  if (status === 429) return kit.declined("gateway_unavailable");
  if (status >= 300 && status < 400) return kit.unknown(`status ${status}`);
  return kit.declined(ofEntity(entities) ?? "gateway_misconfigured", { message });
}

/** Statuses of a request that was refused before anything was made of it; 412 is of a payment in another state. */
const REFUSING = new Set([400, 404, 412, 422]);

/** What became of a refund. A duplicate may have been made. */
export function readRefund(answer: kit.Answered): kit.ReversalStep {
  const body = kit.readJson(answer.body);
  const said = kit.textAt(body, "responseStatus");
  if (said === "SUCCESS" && answer.status === 200) return "done";
  const isRefused = (said === "DENIED" && answer.status < 300) || (said === "ERROR" && REFUSING.has(answer.status));
  return isRefused && ofWords([kit.textAt(body, "responseCode"), kit.textAt(body, "responseMessage")].join(" ")) !== "duplicate_transaction"
    ? "settled already"
    : "unclear";
}
