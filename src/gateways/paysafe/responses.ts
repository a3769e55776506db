import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, LookUpResult, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import type { Kind } from "./requests.ts";

/**
 * `error.code`: of the issuer (3xxx), the risk rules (4xxx), our request (5xxx) and the vault (7xxx).
 * Length: two interfaces, payments and the vault, each with its own look-up, repeat and reversal; neither does the other's part.
 */
const codeOf = kit.codeTable({
  do_not_honor: "3009 3015 3057",
  card_declined: "3013 3014 3029 3030 3035 3037 3038 5021 3033 5501 5502 7514",
  insufficient_funds: "3022",
  expired_card: "3006 3049",
  invalid_expiry: "3012 3045",
  incorrect_number: "3002 3017 7508",
  incorrect_cvc: "3005 3019",
  incorrect_zip: "3004 3007",
  card_not_supported: "3001 3008 3026 3011 3024 3036 3040 3055",
  lost_or_stolen: "3016 3051 3052 3053",
  fraud_suspected: "3032 3050 3054 4001 4002",
  limit_exceeded: "3023 3027 3047",
  authentication_required: "3039 3060",
  duplicate_transaction: "3044 3417 5031",
  processing_error: "3018 3020 3041 3042 3025 7503 7504 7515",
  gateway_unavailable: "1000-1008 3028 1200",
  gateway_credentials_invalid: "5000 5275-5280",
  gateway_misconfigured:
    "5040 5001 5003 5004 5005 5010 5016 5017 5023 5042 5050 5068 5269 5273 5270 5271 5272 5281 3046 3048 3064-3067 3071 3072",
});
/** The issuer's catch-all, the fault of a field, and the vault's word for a profile that it has. */
const [CATCH_ALL, FIELD_ERROR, STORED_ALREADY] = ["3009", "5068", "7505"];
/** A fault on the way to the issuer or back: the payment may stand all the same, and is looked up before anything is told. */
const LEFT_OPEN = /^(100\d|3028|3041)$/;
const codeOfField = kit.textTable<DeclineCode>([
  [/^card\.cardNum$/, "incorrect_number"],
  [/^card\.cvv$/, "incorrect_cvc"],
  [/^card\.cardExpiry/, "invalid_expiry"],
  [/^billingDetails\.zip$/, "incorrect_zip"],
]);

/** Besides successes: the issuer's refusal, those that the vendor gives before it processes anything, and a used reference. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 402, 403, 404, 405, 406, 409]);
const readable = (status: number): boolean => status < 300 || REFUSALS.has(status);

const ID = /^[A-Za-z0-9-]{1,64}$/;
/** A card's token begins with C, a customer's, which cannot pay, with P. */
const CARD_TOKEN = /^C[A-Za-z0-9_-]{1,79}$/;

/** A payment: `received` is still at work, `held` waits for a risk decision, `another currency` was taken and must not stay. */
export type State = Approved | Declined | Unknown | { outcome: "received" | "held" | "another currency"; id: string };

const codeIn = (body: kit.JsonObject | null) => kit.scalarAt(body, "error", "code");
const fieldsIn = (body: kit.JsonObject) => (kit.objectsAt(body, "error", "fieldErrors") ?? []).map((one) => kit.textAt(one, "field") ?? "");

const isVendors = (body: kit.JsonObject): boolean => kit.textAt(body, "error", "code") !== undefined;

const approves = (body: kit.JsonObject): boolean => ["COMPLETED", "RECEIVED", "HELD"].includes(kit.textAt(body, "status") ?? "");

const ANOTHERS = kit.unknown("the answer is about another payment");

/** The answer to a payment or a verification. A decline is status 402, a used reference 409. */
export function readPayment(answer: GatewayAnswer, subject: Subject, currency: string): State {
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, readable, isVendors, approves });
  if (kit.isOutcome(read)) return read;
  const { status, body } = read;
  const code = codeIn(body);
  if (LEFT_OPEN.test(code ?? "")) return kit.unknown("a fault on the way to the issuer that is to be looked up", codeOf(code));
  if (kit.saysOther(body, subject.reference, "merchantRefNum")) return ANOTHERS;
  // The issuer's no has a code, and so has a used reference.
  const isCoded = status === 409 ? codeOf(code) === "duplicate_transaction" : status !== 402 || code !== undefined;
  if (!isCoded) return kit.unknown(`status ${status} that does not say why`);
  return status < 300 ? stateOf(body, subject, currency) : refusal(status, body);
}

/** A payment or a verification as its object shows it. */
export function stateOf(body: kit.JsonObject, subject: Subject, currency: string): State {
  const [id, status] = [kit.idAt(body, ID, "id"), kit.textAt(body, "status")];
  if (kit.saysOther(body, subject.reference, "merchantRefNum")) return ANOTHERS;
  if ((kit.at(body, "error") ?? null) !== null && approves(body)) return kit.unknown("a payment that stands, and an error, in one answer");
  if ((kit.at(body, "error") ?? null) !== null)
    return codeIn(body) === undefined ? kit.unknown("an error without a code") : refusal(402, body);
  if (id === undefined) return kit.unknown("a payment without its id");
  const processor = { paysafe_auth_id: id };
  if (status === "COMPLETED") return subject.mode === "charge" ? completed(body, id, subject, currency) : kit.approved({});
  if (status === "RECEIVED") return { outcome: "received", id };
  if (status === "HELD") return { outcome: "held", id };
  if (status === "FAILED") return kit.declined("card_declined", { processor });
  return status === "CANCELLED"
    ? kit.declined("processing_error", { processor, reason: "the payment was cancelled" })
    : kit.unknown("a status that Paysafe does not document");
}

/** What is left of a settlement; before its batch is through nothing can be refunded, and nothing may be shown as left. */
const leftToRefund = (settlement: kit.JsonObject | undefined): number | null =>
  kit.textAt(settlement, "status") === "COMPLETED" ? kit.minorOf(kit.at(settlement, "availableToRefund")) : null;

function completed(body: kit.JsonObject, id: string, { amountMinor }: Subject, currency: string): State {
  if (kit.minorOf(kit.at(body, "amount")) !== amountMinor) return kit.unknown("another amount than asked for");
  const processor = { paysafe_auth_id: id };
  const [settlement, ...others] = kit.objectsAt(body, "settlements") ?? [];
  const settled = kit.textAt(settlement, "status");
  if (others.length > 0 || settled === "FAILED" || kit.saysOther(settlement, String(amountMinor), "amount"))
    return kit.unknown("approved, and not settled as a whole");
  const left = leftToRefund(settlement);
  if (settled === "CANCELLED" || left === 0) return kit.takenBack(processor);
  if (left !== null && left < amountMinor) return kit.unknown("a part was refunded");
  const unit = kit.at(body, "currencyCode") ?? currency;
  if (unit !== currency) return typeof unit === "string" ? { outcome: "another currency", id } : kit.unknown("a currency that is no text");
  // Nothing is left to settle of a sale.
  const isHeld = kit.at(body, "settleWithAuth") === false || (kit.minorOf(kit.at(body, "availableToSettle")) ?? 0) > 0;
  return kit.approved(processor, {
    capture: isHeld ? "authorized" : "captured",
    webhook: kit.namedFields((name) => kit.textAt(body, name), {
      auth_code: "authCode",
      avs_result_code: "avsResponse",
      cvv_result_code: "cvvVerification",
    }),
  });
}

function refusal(status: number, body: kit.JsonObject): Declined {
  const code = codeIn(body);
  const raw = code === CATCH_ALL ? kit.codeOfIso(kit.scalarAt(body, "acquirerResponse", "responseCode")) : undefined;
  const [field] = code === FIELD_ERROR ? fieldsIn(body).flatMap((name) => codeOfField(name) ?? []) : [];
  const otherwise = status === 402 ? "card_declined" : (kit.codeOfStatus(status) ?? "processing_error");
  return kit.declined(raw ?? field ?? codeOf(code) ?? otherwise, {
    message: kit.textAt(body, "error", "message"),
    processor: { paysafe_auth_id: kit.idAt(body, ID, "id") },
  });
}

/** What stands under a reference; null when the vendor did not say, or shows others than it was asked for. */
export function readSearch(answer: GatewayAnswer, kind: Kind, reference: string): kit.JsonObject[] | null {
  const all = kit.objectsAt(kit.lookUpBody(answer, kit.readJson), kind);
  return all?.every((one) => kit.textAt(one, "merchantRefNum") === reference) ? all : null;
}

/** The payment that is read again while it is at work; undefined while that says nothing new. */
export function readAgain(answer: GatewayAnswer, subject: Subject, currency: string): State | undefined {
  const body = kit.lookUpBody(answer, kit.readJson);
  const state = body === null ? undefined : stateOf(body, subject, currency);
  return state?.outcome === "received" || state?.outcome === "unknown" ? undefined : state;
}

/** The ids by which a payment is sent back, a hold having no settlement, and whether all of it was. */
export function idsOf(body: kit.JsonObject | undefined): { auth: string; settlement: string | undefined; isRefunded: boolean } | null {
  const [auth, settlement] = [kit.idAt(body, ID, "id"), kit.idAt(body, ID, "settlements", 0, "id")];
  const isRefunded = leftToRefund(kit.objectsAt(body, "settlements")?.[0]) === 0;
  return auth === undefined ? null : { auth, settlement, isRefunded };
}

/**
 * A cancelled settlement, which then says so, or one that went out with the batch; a refund, which may be on its way, or that was plainly
 * refused; the reference of a refund that was sent before, and perhaps refused.
 */
export function readReversal({ status, body }: kit.Answered, kind: "cancellation" | "refund"): kit.ReversalStep | "refused" {
  const read = kit.readJson(body);
  const said = kit.textAt(read, "status");
  const isSaid = kind === "cancellation" ? said === "CANCELLED" : said !== "FAILED" && said !== "CANCELLED";
  const isMade = isSaid && kit.idAt(read, ID, "id") !== undefined;
  if (status < 300 && codeIn(read) === undefined && isMade) return "done";
  const code = codeIn(read);
  if (code === "5031") return "none left";
  if (code === "3415") return "settled already";
  const isFailed = status < 300 && code === undefined && said === "FAILED";
  const isTold = (status === 400 || status === 402) && code !== undefined;
  const isRefused = isTold && !LEFT_OPEN.test(code) && codeOf(code) !== "duplicate_transaction";
  return isFailed || isRefused ? "refused" : "unclear";
}

/** The confirmation that a held payment was cancelled. */
export const isCancelled = (answer: GatewayAnswer): boolean => kit.textAt(kit.lookUpBody(answer, kit.readJson), "status") === "CANCELLED";

/**
 * The answer to storing a card: its profile, or a refusal; the vault has a profile of this name already, or does not take the
 * address. It moves no money, so that it may be asked again.
 */
export function readStored(answer: GatewayAnswer, subject: Subject): Approved | Declined | Unknown | "stored before" | "no such address" {
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, readable, isVendors });
  if (kit.isOutcome(read)) return read;
  const { status, body } = read;
  const code = codeIn(body);
  if (status < 300 && code === undefined) return storedIn(body, subject);
  if (code === STORED_ALREADY) return "stored before";
  if (code === FIELD_ERROR && fieldsIn(body).some((field) => field.includes("billingAddress"))) return "no such address";
  return { ...refusal(status, body), processor: {} };
}

const isAnothers = (profile: kit.JsonObject | null, { reference }: Subject) => kit.saysOther(profile, reference, "merchantCustomerId");

function storedIn(profile: kit.JsonObject, subject: Subject): Approved | Unknown {
  if (isAnothers(profile, subject)) return kit.unknown("the profile of another attempt");
  const cards = kit.objectsAt(profile, "cards") ?? [];
  const token = kit.idAt(cards[0], CARD_TOKEN, "paymentToken");
  if (token === undefined || cards.length !== 1) return kit.unknown("a profile without its one card");
  return kit.approved({ paysafe_payment_token: token });
}

/** The id of the attempt's profile; null when there is none, undefined when the vendor did not say. */
export function readProfileId(answer: GatewayAnswer, subject: Subject): string | null | undefined {
  // The vendor's own 404 has an error with a code; a page before it says 404 as well.
  if (answer.kind === "answered" && answer.status === 404 && kit.scalarAt(kit.readJson(answer.body), "error", "code") !== undefined)
    return null;
  const profile = kit.lookUpBody(answer, kit.readJson);
  return isAnothers(profile, subject) ? undefined : kit.idAt(profile, ID, "id");
}

/** The card of a profile that was found. */
export function readProfile(answer: GatewayAnswer, subject: Subject): LookUpResult {
  const profile = kit.lookUpBody(answer, kit.readJson);
  return profile === null ? kit.unknown("Paysafe did not answer the look-up") : storedIn(profile, subject);
}
