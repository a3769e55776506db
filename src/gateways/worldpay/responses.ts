import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, AttemptTrace, Declined, GatewayAnswer, LookUpResult, Outcome, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";

/** `refusalCode` in our words, leading zeros dropped; 65 stands for two things. */
const codeOf = kit.codeTable(
  {
    do_not_honor: "5",
    card_declined: "1 2 8 10 76 85",
    insufficient_funds: "51",
    limit_exceeded: "61 75",
    expired_card: "33 54",
    incorrect_number: "14 15 56 78",
    incorrect_cvc: "38 55 82 97 N7",
    lost_or_stolen: "4 7 41 43",
    fraud_suspected: "34 59 63 83",
    card_not_supported: "57 62 93",
    authentication_required: "1A",
    gateway_misconfigured: "3 58",
    gateway_unavailable: "91 96",
    processing_error: "6 12 13 17 28 29 80 92 972 973",
  },
  "card_declined",
);
/** Members of the request that a 400 names by their path. */
const ofPath = kit.textTable<DeclineCode>([
  [/\.cardNumber$/, "incorrect_number"],
  [/\.expiryDate(\.|$)/, "invalid_expiry"],
  [/\.cvc$/, "incorrect_cvc"],
  [/\.billingAddress(\.|$)/, "incorrect_zip"],
]);
const ofStatus = kit.codeTable({ gateway_credentials_invalid: "401 403", gateway_misconfigured: "400 404 406 415" });
const NEEDS_AUTHENTICATION = new Set(["3dsDeviceDataRequired", "3dsChallenged", "3dsAuthenticationFailed", "3dsUnavailable"]);

const ID = /^[\x21-\x7e]{1,128}$/;
/** Longest text that is kept; the token's own id and its namespace, which are charged together, stand in for a longer link. */
const LONGEST_HREF = 255;
const TOKEN_ID = /^[0-9A-Z]{15,21}$/;

/** The vendor's id of a payment, else what its own link ends in, else our reference. */
function paymentId(body: kit.JsonObject, { reference }: Subject): string {
  const self = /\/([^/?#]+)$/.exec(kit.textAt(body, "_links", "self", "href") ?? "")?.[1];
  return kit.idAt(body, ID, "paymentId") ?? decoded(self) ?? reference;
}

function decoded(segment: string | undefined): string | undefined {
  try {
    const text = segment && decodeURIComponent(segment);
    return text && ID.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

const APPROVING: ReadonlySet<string | undefined> = new Set(["sentForSettlement", "authorized"]);

/** The answer to a payment or to the verification of a card that is stored in `namespace`. An approval at once has status 202, a decline 201. */
export function readPayment(answer: GatewayAnswer, subject: Subject, namespace = subject.reference): Outcome {
  const approves = (body: kit.JsonObject) => APPROVING.has(kit.textAt(body, "outcome"));
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, approves, flood: "unclear" });
  if ("outcome" in read) return read;
  const { status, body } = read;
  if (status !== 201 && status !== 202) return refusedRequest(status, body);
  if (kit.saysOther(body, subject.reference, "transactionReference")) return kit.unknown("the answer is another payment's");
  const outcome = kit.textAt(body, "outcome") ?? "";
  if (APPROVING.has(outcome) && (body["errorName"] ?? body["refusalCode"]) !== undefined)
    return kit.unknown("an approval beside a refusal");
  // Not every answer has the sum, or what was approved of it.
  const isOther = (body["value"] !== undefined && !isAsked(body, subject)) || isPart(body, subject);
  if (APPROVING.has(outcome) && isOther) return kit.unknown(OTHER_SUM);
  if (NEEDS_AUTHENTICATION.has(outcome)) return kit.declined("authentication_required");
  if (outcome === "sentForSettlement")
    return subject.mode === "charge" ? paid(body, subject, "captured") : kit.unknown("settled, where a card was to be verified");
  if (outcome === "authorized") return subject.mode === "charge" ? paid(body, subject, "authorized") : stored(body, subject, namespace);
  if (outcome === "sentForCancellation")
    return kit.declined(cancelledFor(body), { processor: { worldpay_payment_id: paymentId(body, subject) } });
  if (outcome === "fraudHighRisk") return kit.declined("fraud_suspected");
  if (outcome !== "refused") return kit.unknown("an outcome that Worldpay does not document");
  const processor = { worldpay_payment_id: kit.idAt(body, ID, "paymentId") };
  const said = refusal(kit.scalarAt(body, "refusalCode"), kit.textAt(body, "refusalDescription"), processor);
  if (!kit.isObject(body["token"])) return said;
  // A token can have been made of the refused card: the vendor's own page finds it by its id.
  const storedAs = kit.idAt(body, TOKEN_ID, "token", "tokenId");
  return { ...said, mayBeStored: true, ...(storedAs !== undefined && { storedAs }) };
}

/** The path of the link that settles a payment; undefined when there is none, or the project would have one with such a code cancelled. */
export function settlementPath(answer: GatewayAnswer, cvcNotMatched: "enabled" | "disabled"): string | undefined {
  const body = kit.lookUpBody(answer, kit.readJson, [201]);
  if (body === null || (cvcNotMatched === "enabled" && riskOf(body, "cvc") === "notmatched")) return undefined;
  const href = kit.textAt(body, "_actions", "settlePayment", "href");
  return /\/api\/payments\/[\w.~%=+-]{1,2048}\/settlements$/.exec(href ?? "")?.[0];
}

/** A payment that was only held, by the answer to its settlement. */
export function readSettlement(answer: GatewayAnswer, held: Approved): Approved | Unknown {
  if (answer.kind === "not sent" || (answer.kind === "answered" && NOT_REVERSED.has(answer.status))) return held;
  const isSettled = kit.textAt(kit.lookUpBody(answer, kit.readJson, [202]), "outcome") === "sentForSettlement";
  return isSettled ? { ...held, capture: "captured" } : kit.unknown("whether the payment that was held is settled is not known");
}

const OTHER_SUM = "another amount or currency than asked for";

/** The sum of a payment; nothing, where a card is verified. */
function isAsked(body: kit.JsonObject, { mode, amountMinor, currency }: Subject): boolean {
  const [amount, unit] = [kit.minorOf(kit.at(body, "value", "amount")), kit.textAt(body, "value", "currency")];
  return amount === (mode === "charge" ? amountMinor : 0) && unit === currency;
}

/** Whether the issuer approved of another sum than was asked for, which he never should. */
function isPart(body: kit.JsonObject, { mode, amountMinor, currency }: Subject): boolean {
  const amounts = kit.at(body, "amounts") ?? undefined;
  const [total, unit] = [kit.minorOf(kit.at(amounts, "totalAuthorized")), kit.textAt(amounts, "currency")];
  return amounts !== undefined && mode === "charge" && (total !== amountMinor || unit !== currency);
}

const paid = (body: kit.JsonObject, subject: Subject, capture: Approved["capture"]): Approved =>
  kit.approved({ worldpay_payment_id: paymentId(body, subject) }, { capture, webhook: checks(body) });

function stored(body: kit.JsonObject, subject: Subject, namespace: string): Outcome {
  const href = kit.textAt(body, "token", "href");
  const isLink = href !== undefined && /^https?:\/\/[\x21-\x7e]+$/.test(href) && href.length <= LONGEST_HREF;
  const id = kit.idAt(body, TOKEN_ID, "token", "tokenId");
  if (!isLink && id === undefined) return kit.unknown("verified, but without a token");
  const token = isLink ? href : `${id}/${namespace}`;
  return kit.approved({ worldpay_payment_id: paymentId(body, subject), worldpay_token_id: token }, { webhook: checks(body) });
}

/** Approval code and checks for the status webhook. A match has no risk factor at all. */
function checks(body: kit.JsonObject): Readonly<Record<string, string | undefined>> {
  const [address, postcode, cvc] = [riskOf(body, "avs", "address"), riskOf(body, "avs", "postcode"), riskOf(body, "cvc")];
  const isUnsure = [address, postcode].some((risk) => risk !== undefined && risk !== "notmatched");
  const avs = isUnsure ? "U" : `${address ? "n" : "y"}${postcode ? "n" : "y"}`;
  return {
    auth_code: kit.textAt(body, "issuer", "authorizationCode"),
    avs_result_code: AVS(avs) ?? "U",
    cvv_result_code: CVV(cvc ?? "matched") ?? "P",
  };
}

const AVS = kit.wordTable({ yy: "Y", ny: "Z", yn: "A", nn: "N" });
const CVV = kit.wordTable({ matched: "M", notmatched: "N", notsupplied: "S" });

/** What Worldpay doubts, in small letters without underscores: some pages write it `not_checked`. */
function riskOf(body: kit.JsonObject, type: string, detail?: string): string | undefined {
  const factor = (kit.objectsAt(body, "riskFactors") ?? []).find(
    (one) => kit.textAt(one, "type") === type && (detail === undefined || kit.textAt(one, "detail") === detail),
  );
  return kit.textAt(factor, "risk")?.replaceAll("_", "").toLowerCase();
}

/** Why our own rule cancelled an approved payment. */
function cancelledFor(body: kit.JsonObject): DeclineCode {
  if (riskOf(body, "cvc") === "notmatched") return "incorrect_cvc";
  const isAddress = ["address", "postcode"].some((detail) => riskOf(body, "avs", detail) === "notmatched");
  return isAddress ? "incorrect_zip" : "card_declined";
}

function refusal(
  given: string | undefined,
  message: string | undefined,
  processor: Readonly<Record<string, string | undefined>>,
): Declined {
  const code = given?.replace(/^0+(?=.)/, "");
  const of65 = /amount|count|limit|exceed/i.test(message ?? "") ? "limit_exceeded" : "authentication_required";
  return kit.declined(code === "65" ? of65 : codeOf(code), { message, processor });
}

/** An error document: the request itself was refused, and nothing ran. */
function refusedRequest(status: number, body: kit.JsonObject): Outcome {
  const [name, code] = [kit.textAt(body, "errorName"), ofStatus(String(status))];
  // Who may not ask is told so before anything runs, whatever the words.
  const isAboutKeys = code === "gateway_credentials_invalid";
  if (code === undefined || (name === undefined && !isAboutKeys)) return kit.unknown(`status ${status} with a body that says nothing`);
  const message = kit.textAt(body, "message");
  if (name === "entityIsNotConfigured")
    return kit.declined("gateway_misconfigured", { message, reason: "the user may not use this entity: ask Worldpay, or set entity" });
  const paths = (kit.objectsAt(body, "validationErrors") ?? []).map((error) => kit.textAt(error, "jsonPath") ?? "");
  if (paths.includes("$.instruction.tokenCreation.namespace"))
    return kit.unknown("the namespace may hold the card already, of an earlier delivery of the same request");
  if (paths.includes("$.channel")) {
    const reason = "the account takes no telephone payments as channel moto: ask Worldpay, or set moto to false";
    return kit.declined("gateway_misconfigured", { message, reason });
  }
  const ofCard = status === 400 ? paths.map(ofPath).find((found) => found !== undefined) : undefined;
  return kit.declined(ofCard ?? code, { message });
}

/** The last event of a payment, in small letters without blanks: two styles are in use. */
const stateOf = kit.textTable<"captured" | "held" | "refused" | "failed" | "waiting" | "taken back">([
  [/^(settlement(requested|requestsubmitted|succeeded)|sentforsettlement|settled|salesucceeded)$/, "captured"],
  [/^(authorizationsucceeded|authorized)$/, "held"],
  [/^((authorization|sale)refused|refused)$/, "refused"],
  [/^((authorization|sale)failed|error)$/, "failed"],
  // A cancellation, refund or reversal that is only asked for may still fail.
  [/^((authorization|sale|cancellation|refund|reversal)requested|sentforauthorization)$/, "waiting"],
  // Not one that failed, was refused, timed out or took back a part: such a payment stands.
  [
    /^(?!.*(fail|refus|reject|error|timedout|partial))(cancel|sen[dt]forcancel|refund|sentforrefund|revers|sentforrevers|expired$)/,
    "taken back",
  ],
]);
/** As long a payment that is to settle by itself may show its approval alone. */
const EVENTS_LAG_MS = 15 * 60_000;

function readState(event: string | undefined, id: string, attempt: AttemptTrace, nowMs: number): LookUpResult {
  const state = stateOf(event?.replace(/[^A-Za-z]/g, "").toLowerCase());
  const processor = { worldpay_payment_id: id };
  if (state === "captured") return kit.approved(processor);
  if (state === "waiting" || (state === "held" && nowMs - attempt.startedAtMs < EVENTS_LAG_MS)) return kit.pending;
  if (state === "held") return kit.approved(processor, { capture: "authorized" });
  if (state === "refused") return kit.declined("card_declined", { processor });
  if (state === "failed") return kit.declined("processing_error", { processor });
  return state === "taken back" ? kit.takenBack(processor) : kit.unknown("a state that Worldpay does not document");
}

/**
 * What a payment's own events add to its last one: why the issuer refused it; and whether all of it was sent back, which the last
 * event tells alike of a part.
 */
export function withEvents(answer: GatewayAnswer, found: Declined): Declined | Unknown {
  const events = kit.objectsAt(kit.lookUpBody(answer, kit.readJson), "events");
  if (kit.isTakenBack(found)) {
    const isWhole = events !== null && !events.some((event) => kit.textAt(event, "type")?.startsWith("partial"));
    return isWhole ? found : kit.unknown("perhaps only a part of the payment was sent back");
  }
  const refused = events?.find((event) => kit.textAt(event, "outcome") === "refused");
  return refused ? refusal(kit.scalarAt(refused, "code"), kit.textAt(refused, "description"), found.processor) : found;
}

/** The payments of our reference; null when Worldpay did not say, or not all. */
export function readPayments(answer: GatewayAnswer, attempt: AttemptTrace, nowMs: number): LookUpResult[] | null {
  const body = kit.lookUpBody(answer, kit.readJson);
  const rows = kit.objectsAt(body, "_embedded", "payments");
  if (rows === null || kit.at(body, "_links", "next") !== undefined) return null;
  return rows.map((row) => readRow(row, attempt, nowMs));
}

function readRow(row: kit.JsonObject, attempt: AttemptTrace, nowMs: number): LookUpResult {
  if (kit.textAt(row, "transactionReference") !== attempt.reference) return kit.unknown("the query found another payment");
  const state = readState(kit.textAt(row, "lastEvent"), kit.idAt(row, ID, "paymentId") ?? attempt.reference, attempt, nowMs);
  return state.outcome === "approved" && !isAsked(row, attempt) ? kit.unknown(OTHER_SUM) : state;
}

/** No such payment (404), or no such use of that API for this user. */
const NO_EVENTS = new Set([400, 401, 403, 404]);

/** The Card Payments API's word on our reference; it has mostly the payment's state alone, and 404 for none. */
export function readEvents(answer: GatewayAnswer, attempt: AttemptTrace, nowMs: number): LookUpResult {
  // Whoever may not use that API has no payments in it: then the first query's word stands.
  if (answer.kind === "answered" && NO_EVENTS.has(answer.status)) return kit.absent;
  const body = kit.lookUpBody(answer, kit.readJson);
  if (body === null) return kit.unknown("Worldpay did not answer the look-up");
  if (kit.saysOther(body, attempt.reference, "transactionReference")) return kit.unknown("the events are another payment's");
  if (body["value"] !== undefined && !isAsked(body, attempt)) return kit.unknown(OTHER_SUM);
  return readState(kit.textAt(body, "lastEvent"), attempt.reference, attempt, nowMs);
}

/** Statuses that say that a reversal, or a settlement, was not taken. */
const NOT_REVERSED = new Set([400, 401, 403, 404, 422]);

export const readReversal = ({ status }: kit.Answered): kit.ReversalStep =>
  status === 202 ? "done" : NOT_REVERSED.has(status) ? "settled already" : "unclear";

/** Links that reverse a payment, in this order: before it is settled, whichever way is due, afterwards. */
const REVERSALS = ["cardPayments:cancel", "cardPayments:reverse", "cardPayments:refund"] as const;

/** The path of the first link that reverses the payment; undefined when there is none. */
export function reversalPath(answer: GatewayAnswer): string | undefined {
  const links = kit.at(kit.lookUpBody(answer, kit.readJson), "_links");
  const hrefs = REVERSALS.map((name) => kit.textAt(links, name, "href"));
  const paths = hrefs.map((href) => /\/payments\/(?:authorizations|settlements|sales)\/[\w.~%=+/-]{1,2048}$/.exec(href ?? "")?.[0]);
  return paths.find((path) => path !== undefined && !path.includes(".."));
}
