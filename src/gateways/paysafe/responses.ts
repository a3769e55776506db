import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, LookUpResult, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import type { Subject } from "./requests.ts";

/** `error.code`: of the issuer (3xxx), the risk rules (4xxx), our request (5xxx) and the vault (7xxx). */
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
/** The issuer's catch-all, and the fault of a field. */
const [CATCH_ALL, FIELD_ERROR, STORED_ALREADY] = ["3009", "5068", "7505"];
/** What may stand for a payment that was taken all the same: looked up before it is told. */
const UNCLEAR = "3041";
const codeOfField = kit.textTable<DeclineCode>([
  [/^card\.cardNum$/, "incorrect_number"],
  [/^card\.cvv$/, "incorrect_cvc"],
  [/^card\.cardExpiry/, "invalid_expiry"],
  [/^billingDetails\.zip$/, "incorrect_zip"],
]);

const ID = /^[A-Za-z0-9-]{1,64}$/;
/** A card's token begins with C, a customer's, which cannot pay, with P. */
const CARD_TOKEN = /^C[A-Za-z0-9_-]{1,79}$/;
/** The vault's refusal of the address that was sent. */
export const NO_ADDRESS = "the vault does not take the address";
/** The vault has a profile under this name. */
export const PROFILE_EXISTS = "the vault holds the card's profile";

/** A payment: `received` is still at work, `held` waits for a risk decision, `another currency` was taken and must not stay. */
export type State =
  | Approved
  | Declined
  | Unknown
  | { outcome: "received"; id: string }
  | { outcome: "held"; id: string }
  | { outcome: "another currency"; id: string };

/** The answer to a payment or a verification. A decline is status 402, a used reference 409. */
export function readPayment(answer: GatewayAnswer, subject: Subject, currency: string): State {
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, readable: (status) => status < 500 && status !== 429 });
  if (kit.isOutcome(read)) return read;
  const { status, body } = read;
  if (status < 300) return stateOf(body, subject, currency);
  const isTold = kit.textAt(body, "error", "code") !== undefined;
  // Without a code only the statuses that the vendor gives before it processes anything say so.
  if (!isTold && ![400, 401, 402, 403, 404, 405, 406].includes(status)) return kit.unknown(`status ${status} without an error code`);
  if (kit.textAt(body, "error", "code") === UNCLEAR) return kit.unknown("an error of the acquirer that is to be looked up");
  return refusal(status, body);
}

/** A payment or a verification as its object shows it. */
export function stateOf(body: kit.JsonObject, subject: Subject, currency: string): State {
  if (kit.at(body, "error") !== undefined) return refusal(402, body);
  const [id, status] = [kit.idAt(body, ID, "id"), kit.textAt(body, "status")];
  if (id === undefined) return kit.unknown("a payment without its id");
  switch (status ?? "") {
    case "COMPLETED":
      return subject.mode === "charge" ? completed(body, id, subject, currency) : kit.approved({});
    case "RECEIVED":
      return { outcome: "received", id };
    case "HELD":
      return { outcome: "held", id };
    case "FAILED":
      return kit.declined("card_declined", { processor: { paysafe_auth_id: id } });
    case "CANCELLED":
      return kit.declined("processing_error", { processor: { paysafe_auth_id: id }, reason: "the payment was cancelled" });
    default:
      return kit.unknown("a status that Paysafe does not document");
  }
}

function completed(body: kit.JsonObject, id: string, { amountMinor }: Subject, currency: string): State {
  if (kit.minorOf(kit.at(body, "amount")) !== amountMinor) return kit.unknown("another amount than asked for");
  if (kit.textAt(body, "settlements", 0, "status") === "CANCELLED")
    return kit.declined("processing_error", { processor: { paysafe_auth_id: id }, reason: "the payment was taken back" });
  const theirs = kit.textAt(body, "currencyCode");
  // Nothing is left to settle of a sale.
  const left = kit.minorOf(kit.at(body, "availableToSettle")) ?? 0;
  if (theirs !== undefined && theirs !== currency) return { outcome: "another currency", id };
  return kit.approved(
    { paysafe_auth_id: id },
    {
      capture: kit.at(body, "settleWithAuth") === false || left > 0 ? "authorized" : "captured",
      webhook: {
        auth_code: kit.textAt(body, "authCode"),
        avs_result_code: kit.textAt(body, "avsResponse"),
        cvv_result_code: kit.textAt(body, "cvvVerification"),
      },
    },
  );
}

function refusal(status: number, body: kit.JsonObject): Declined {
  const code = kit.scalarAt(body, "error", "code");
  const fields = (kit.objectsAt(body, "error", "fieldErrors") ?? []).map((one) => kit.textAt(one, "field") ?? "");
  const finer =
    code === CATCH_ALL
      ? kit.codeOfIso(kit.scalarAt(body, "acquirerResponse", "responseCode"))
      : code === FIELD_ERROR
        ? fields.map((field) => codeOfField(field)).find((found) => found !== undefined)
        : undefined;
  const otherwise = status === 402 ? "card_declined" : (kit.codeOfStatus(status) ?? "gateway_unavailable");
  const isAddress = code === FIELD_ERROR && fields.some((field) => field.includes("billingAddress"));
  const reason = isAddress ? NO_ADDRESS : code === STORED_ALREADY ? PROFILE_EXISTS : undefined;
  return kit.declined(finer ?? codeOf(code) ?? otherwise, {
    message: kit.textAt(body, "error", "message"),
    processor: { paysafe_auth_id: kit.idAt(body, ID, "id") },
    ...(reason !== undefined && { reason }),
  });
}

/** What stands under a reference; null when the vendor did not say. */
export function readSearch(answer: GatewayAnswer, kind: "auths" | "verifications", reference: string): kit.JsonObject[] | null {
  const all = kit.objectsAt(kit.lookUpBody(answer, kit.readJson), kind);
  return all?.filter((one) => kit.textAt(one, "merchantRefNum") === reference) ?? null;
}

/** The payment that is read again while it is at work; undefined while that says nothing new. */
export function readAgain(answer: GatewayAnswer, subject: Subject, currency: string): State | undefined {
  const body = kit.lookUpBody(answer, kit.readJson);
  const state = body === null ? undefined : stateOf(body, subject, currency);
  return state?.outcome === "received" || state?.outcome === "unknown" ? undefined : state;
}

/** The ids by which a payment is sent back. */
export function idsOf(body: kit.JsonObject | undefined): { auth: string; settlement: string } | null {
  const [auth, settlement] = [kit.idAt(body, ID, "id"), kit.idAt(body, ID, "settlements", 0, "id")];
  return auth === undefined || settlement === undefined ? null : { auth, settlement };
}

/** A cancelled settlement, or one that went out with the batch. */
export function readReversal({ status, body }: kit.Answered): kit.ReversalStep {
  const read = kit.readJson(body);
  if (read !== null && status < 300 && kit.at(read, "error") === undefined && kit.idAt(read, ID, "id") !== undefined) return "done";
  return kit.scalarAt(read ?? undefined, "error", "code") === "3415" ? "settled already" : "unclear";
}

/** The confirmation that a held payment was cancelled. */
export function isCancelled(answer: GatewayAnswer): boolean {
  return kit.textAt(kit.lookUpBody(answer, kit.readJson), "status") === "CANCELLED";
}

/** The answer to storing a card: its profile, or a refusal. It moves no money, so that it may be asked again. */
export function readStored(answer: GatewayAnswer): Approved | Declined | Unknown {
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, readable: (status) => status < 500 && status !== 429 });
  if (kit.isOutcome(read)) return read;
  return read.status < 300 && kit.at(read.body, "error") === undefined
    ? storedIn(read.body)
    : { ...refusal(read.status, read.body), processor: {} };
}

function storedIn(profile: kit.JsonObject): Approved | Unknown {
  const cards = kit.objectsAt(profile, "cards") ?? [];
  const token = kit.idAt(cards[0], CARD_TOKEN, "paymentToken");
  if (token === undefined || cards.length !== 1) return kit.unknown("a profile without its one card");
  return kit.approved({ paysafe_payment_token: token });
}

/** The id of the attempt's profile; null when there is none, undefined when the vendor did not say. */
export function readProfileId(answer: GatewayAnswer): string | null | undefined {
  if (answer.kind === "answered" && answer.status === 404 && kit.readJson(answer.body) !== null) return null;
  return kit.idAt(kit.lookUpBody(answer, kit.readJson), ID, "id");
}

/** The card of a profile that was found. */
export function readProfile(answer: GatewayAnswer): LookUpResult {
  const profile = kit.lookUpBody(answer, kit.readJson);
  return profile === null ? kit.unknown("Paysafe did not answer the look-up") : storedIn(profile);
}
