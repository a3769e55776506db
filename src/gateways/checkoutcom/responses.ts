import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { checkoutAmount, referenceOf } from "./requests.ts";

/** `response_code`: 20xxx may work later, 30xxx never with this card, 4xxxx is the vendor's risk engine. Codes may hold letters. */
const codeOf = kit.codeTable(
  {
    do_not_honor: "20005",
    insufficient_funds: "20051",
    expired_card: "20054 30033",
    incorrect_number: "20014 20056 20101 30015",
    incorrect_cvc: "200N7 20055 20124 40104 20087",
    invalid_expiry: "20100",
    incorrect_zip: "40108 40111 20107 20123",
    card_not_supported: "20057 20062 20103 20039 20052 20053 20083 200T3 30016-30019",
    lost_or_stolen: "30004 30007 30036 30041 30043 20067",
    fraud_suspected: "20059 20063 20183 20105 30034 30037 4*",
    limit_exceeded: "20038 20061 20065 20075 20121 200P1 200P9 30021 30022 30038 4015* 4016* 4017* 4021* 4022* 4023*",
    authentication_required: "20150-20155 20159 40110 43401",
    duplicate_transaction: "20094",
    processing_error: "20006 20009 20019 20022 20030 20068 20086 20088 20091 20092 20095 20096 20098",
    gateway_misconfigured: "20003 20013 20020 20031 20040 20058 20102 20104 20106 20109-20120 20156 20157 40102 40109 30020 30045 50*",
  },
  "card_declined",
);
/** Said with `approved: false` of what may have been taken before or after: looked up before it is told. */
const UNCLEAR: ReadonlySet<string | undefined> = new Set(["20094", "20009", "20068", "20118"]);
/** A part of the amount, in the old code and the present one. */
const PARTIAL: ReadonlySet<string | undefined> = new Set(["10010", "20010"]);
/** A rule of the risk engine: what it does, decline or only flag, is the merchant's setting, and `approved` says which. */
const isRiskRules = (code: string | undefined): boolean => code?.startsWith("4") ?? false;
/** Codes of a channel that may not take telephone orders. */
const NO_MOTO: ReadonlySet<string | undefined> = new Set(["20058", "20157"]);

/** `error_codes` of a refused request; the vendor's names differ in their endings. */
const codeOfError = kit.textTable<DeclineCode>([
  [/^card_expired$/, "expired_card"],
  [/^card_disabled$/, "card_not_supported"],
  [/^card_authorization_failed$/, "card_declined"],
  [/^3ds_payment_required$/, "authentication_required"],
  [/^api_calls_quota_exceeded$/, "gateway_unavailable"],
  [/card_number/, "incorrect_number"],
  [/expiry/, "invalid_expiry"],
  [/cvv/, "incorrect_cvc"],
  [/zip/, "incorrect_zip"],
]);

/** Of those, faults behind the gateway, which may have come after the payment was taken. */
const FAULTS: ReadonlySet<string> = new Set(["processing_error", "service_unavailable", "issuer_network_unavailable"]);
/** A second delivery of a request beside the first: how the vendor refuses it was not to be learnt, and it says nothing of the first. */
const TWIN = /duplicate|idempoten|in_progress/;

/** Statuses that refuse a request before anything is processed; of who may not ask the status alone tells. */
const codeOfRefusal = kit.codeTable({ gateway_misconfigured: "404 405 415" });
const NO_RIGHT = "the key lacks a right, or Checkout.com has not switched on full card numbers for the account";

const PAYMENT = /^pay_[A-Za-z0-9]{1,60}$/;
const SOURCE = /^src_[A-Za-z0-9]{1,60}$/;

/** What a payment's status says of one that was approved. */
const standsAs = kit.wordTable({
  Authorized: "stands",
  Captured: "stands",
  "Partially Captured": "stands",
  "Card Verified": "stands",
  Pending: "works",
  "Retry Scheduled": "works",
  Voided: "is gone",
  Canceled: "is gone",
  Expired: "is gone",
  Refunded: "is gone",
});

/** `working` is read again; `partial` must be sent back. */
export type State = Approved | Declined | Unknown | { outcome: "working" | "partial"; id: string };

function refusedBy(status: number): Declined | undefined {
  const refusal = kit.shutOut(status);
  return refusal && status === 403 ? { ...refusal, reason: NO_RIGHT } : refusal;
}

const isVendors = (body: kit.JsonObject): boolean =>
  ["error_type", "request_id"].some((name) => kit.textAt(body, name) !== undefined) || Array.isArray(kit.at(body, "error_codes"));

/** The answer to a payment: a decline is status 201 as well. */
export function readAnswer(answer: GatewayAnswer, subject: Subject): State {
  const approves = (body: kit.JsonObject) => kit.at(body, "approved") === true || standsAs(kit.textAt(body, "status")) === "stands";
  // 429 is "too many requests or duplicate request detected" by the vendor's list: the first one may be at work.
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, isVendors, approves, flood: "unclear", refused: refusedBy });
  if (kit.isOutcome(read)) return read;
  const { status, body } = read;
  if (status === 400 || status === 422) return invalid(body);
  const refused = codeOfRefusal(String(status));
  if (refused !== undefined) return kit.declined(refused);
  if (status !== 201 && status !== 202) return kit.unknown(`a payment with status ${status}`);
  if (kit.textAt(body, "response_code") === undefined && kit.at(body, "approved") === true)
    return kit.unknown("approved without a response code");
  const state = stateOf(body, subject, "answer");
  const isUnclear = state.outcome === "declined" && UNCLEAR.has(kit.textAt(body, "response_code"));
  return isUnclear ? kit.unknown("a decline that is to be looked up") : state;
}

/** Which field was wrong is in `error_codes`, where they are there at all. */
function invalid(body: kit.JsonObject): Declined | Unknown {
  const given = kit.at(body, "error_codes");
  const codes = Array.isArray(given) ? given.filter((code) => typeof code === "string") : [];
  if (codes.some((one) => FAULTS.has(one))) return kit.unknown("a fault behind Checkout.com");
  if ([kit.textAt(body, "error_type") ?? "", ...codes].some((one) => TWIN.test(one))) return kit.unknown("refused beside another delivery");
  const code = codes.map((one) => codeOfError(one)).find((one) => one !== undefined) ?? "gateway_misconfigured";
  return kit.declined(code, { message: codes.join(", ") });
}

/** A payment as its object shows it, in the answer to it or when it is read. */
function stateOf(body: kit.JsonObject, subject: Subject, from: "answer" | "look-up"): State {
  const id = kit.idAt(body, PAYMENT, "id");
  if (id === undefined) return kit.unknown("a payment without its id");
  if (kit.saysOther(body, referenceOf(subject), "reference")) return kit.unknown("another payment than asked for");
  const [status, isApproved] = [kit.textAt(body, "status"), kit.at(body, "approved")];
  const code = kit.textAt(body, "response_code") ?? kit.textAt(body, "actions", 0, "response_code");
  const now = standsAs(status);
  if ((status === "Declined" && isApproved === true) || (now === "stands" && isApproved === false))
    return kit.unknown("approved and declined at once");
  if (status === "Declined" || isApproved === false) return refusal(body, id, code);
  if (PARTIAL.has(code)) return { outcome: "partial", id };
  if (now === "works" && kit.textAt(body, "_links", "redirect", "href") !== undefined) return kit.declined("authentication_required");
  if (now === "works" || (from === "answer" && isApproved === undefined)) return { outcome: "working", id };
  if (now === "is gone") return kit.takenBack({ checkoutcom_payment_id: id });
  if (now === undefined || (isApproved !== undefined && isApproved !== true))
    return kit.unknown("a status that Checkout.com does not document");
  if (code !== undefined && !code.startsWith("10") && !isRiskRules(code)) return kit.unknown("approved with the code of a refusal");
  if (kit.minorOf(kit.at(body, "amount")) !== checkoutAmount(subject) || kit.textAt(body, "currency") !== subject.currency)
    return kit.unknown("another amount or currency than asked for");
  return approved(body, id, subject, status === "Card Verified");
}

const FLAGGED = "flagged by the vendor's risk engine: a payment waits for the merchant to capture or void it";

function approved(body: kit.JsonObject, id: string, { mode }: Subject, isVerification: boolean): Approved | Declined | Unknown {
  const source = kit.idAt(body, SOURCE, "source", "id");
  if (isVerification !== (mode === "tokenize")) return kit.unknown("a verification for a payment, or the other way round");
  if (mode === "tokenize" && source === undefined) return kit.unknown("verified without the stored card's id");
  const code = kit.textAt(body, "response_code");
  const isFlagged = kit.at(body, "risk", "flagged") === true || code === "10100" || isRiskRules(code);
  // It is not captured by itself, whatever was asked for, and lapses after a week.
  if (mode === "charge" && isFlagged && kit.textAt(body, "status") === "Authorized")
    return kit.declined("held_for_review", { processor: { checkoutcom_payment_id: id }, reason: FLAGGED });
  return kit.approved(
    { checkoutcom_payment_id: id, checkoutcom_source_id: mode === "tokenize" ? source : undefined },
    {
      webhook: {
        auth_code: kit.textAt(body, "auth_code"),
        response_code: code,
        avs_result_code: kit.textAt(body, "source", "avs_check"),
        cvv_result_code: kit.textAt(body, "source", "cvv_check"),
        network_trans_id: kit.textAt(body, "scheme_id"),
      },
      reason: isFlagged ? FLAGGED : undefined,
    },
  );
}

const refusal = (body: kit.JsonObject, id: string, code: string | undefined): Declined =>
  kit.declined(codeOf(code), {
    message: kit.textAt(body, "response_summary") ?? kit.textAt(body, "actions", 0, "response_summary"),
    processor: { checkoutcom_payment_id: id },
    reason: code === undefined ? NO_CODE : NO_MOTO.has(code) ? MOTO_REFUSED : undefined,
  });
/** A decline whose code stands in the payment's actions. */
export const NO_CODE = "declined without a code";
const MOTO_REFUSED = "the processing channel does not take such payments: have MOTO switched on, or set moto to false";

/** The ids of the payments under our reference; null when the vendor did not say, shows others, or has more than a page. */
export function readSearch(answer: GatewayAnswer, reference: string): string[] | null {
  const body = kit.lookUpBody(answer, kit.readJson);
  const all = kit.objectsAt(body, "data");
  if (all === null || kit.minorOf(kit.at(body, "total_count")) !== all.length) return null;
  if (all.some((one) => kit.textAt(one, "reference") !== reference)) return null;
  const ids = all.map((one) => kit.idAt(one, PAYMENT, "id"));
  return ids.includes(undefined) ? null : (ids as string[]);
}

/** A payment that was read; null when the vendor did not say. */
export function readPayment(answer: GatewayAnswer, id: string, subject: Subject): State | null {
  const body = kit.lookUpBody(answer, kit.readJson);
  return body !== null && kit.textAt(body, "id") === id ? stateOf(body, subject, "look-up") : null;
}

/** A decline with the code of the payment's last action, which is the first of the list. */
export function withAction(answer: GatewayAnswer, { processor, message }: Declined): Declined {
  const [last] = (answer.kind === "answered" && answer.status === 200 && kit.readJsonList(answer.body)) || [];
  return kit.declined(codeOf(kit.textAt(last, "response_code")), {
    message: kit.textAt(last, "response_summary") ?? message ?? undefined,
    processor,
  });
}

/** How many voids and refunds of the payment were declined; null when the vendor did not say. One without a code is not decided yet. */
export function declinedReversals(answer: GatewayAnswer): number | null {
  const actions = answer.kind === "answered" && answer.status === 200 ? kit.readJsonList(answer.body) : null;
  const isDeclined = (action: kit.JsonObject) => !(kit.textAt(action, "response_code") ?? "10").startsWith("10");
  return actions?.filter((action) => ["Void", "Refund"].includes(kit.textAt(action, "type") ?? "") && isDeclined(action)).length ?? null;
}

/** The reversal was taken to be worked on; `done`: it had been made before. */
export function readReversal(answer: GatewayAnswer): "done" | "accepted" | "unclear" {
  if (answer.kind !== "answered") return "unclear";
  return answer.status === 204 ? "done" : answer.status === 202 ? "accepted" : "unclear";
}

/** Whether a stored card was taken out: one that is not there any more, by an earlier removal. The vendor's own 404 has no body. */
export const isRemoved = (answer: GatewayAnswer): boolean =>
  answer.kind === "answered" && (answer.status === 204 || (answer.status === 404 && answer.body.length === 0));

/** Whether a payment that was read shows that it was sent back. */
export const isReversed = (answer: GatewayAnswer): boolean =>
  standsAs(kit.textAt(kit.lookUpBody(answer, kit.readJson), "status")) === "is gone";
