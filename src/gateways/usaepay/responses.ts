import type { Approved, Declined, GatewayAnswer, Subject, Unknown } from "../contract.ts";
import type { DeclineCode } from "#src/kernel/payment.ts";
import * as kit from "../kit/index.ts";

/** `error_code` of a decline or an error, leading zeros dropped; codes of 102xx are FDMS', 65xxx Paymentech's, 89xxx Global's. */
const codeOf = kit.codeTable({
  incorrect_number: "11 12 13 14 10214 65204 65308 65310 65312 89114",
  invalid_expiry: "15 16 85 10005 65205 40452",
  expired_card: "17 10280 89154",
  incorrect_cvc: "10116 10282 10297 65248 65376 89612",
  incorrect_zip: "34 2034 120 10107 10109 10110",
  insufficient_funds: "10251 203 303",
  limit_exceeded: "10265 65217 89611 32 70 40011",
  do_not_honor: "10205 65240",
  lost_or_stolen: "10204 65202 65215",
  card_not_supported: "10257 10262 10215 30001 30003 91 92 10003 10006 65358 65361 89613",
  card_declined: "10127 15000 15100 65200 65218 43 10225 10278",
  fraud_suspected: "10139 10106 10160 10115 10293",
  duplicate_transaction: "31 93 50094 71094 89194",
  authentication_required: "10117",
  gateway_credentials_invalid: "23 28 30 20002 20006 20008 21002 10118 10137 10138",
  gateway_misconfigured: "6 7 80 112 109 156 20005 20007 20010 20036 40014 10026 10027 70010 70011 70012 59001 65313",
  gateway_unavailable: "4 9 10 18 19 27 9001 10132 40007 40008 40018 89191 89201 90909 155",
  processing_error: "20019 20001 71 10128",
});

/** "zero auth amount". */
const ZERO_REFUSED = "81003";
/** The reason of a verification that the processor has no way to make. */
export const CANNOT_VERIFY = "the processor verifies no card";

const REFNUM = /^[0-9]{1,20}$/;
const CARD_KEY = /^[A-Za-z0-9-]{1,40}$/;

/** What an answer says; `partial` must be voided. */
export type State = Approved | Declined | Unknown | { outcome: "partial"; refnum: string };

/** The answer to a sale. Approved, declined and most errors alike come with status 200. */
export function readPayment(answer: GatewayAnswer, subject: Subject): State {
  const read = kit.triage(answer, { effect: "money", read: kit.readJson });
  if ("outcome" in read) return read;
  const { status, body } = read;
  const refnum = kit.idAt(body, REFNUM, "refnum");
  if (status !== 200 || kit.textAt(body, "result_code") === undefined) return refusal(status, body);
  switch (kit.textAt(body, "result_code") ?? "") {
    case "A":
      if (refnum === undefined) return kit.unknown("approved without a reference number");
      // Another payment's answer, folded: whose it is, the look-up tells.
      if (kit.textAt(body, "is_duplicate") === "Y") return kit.declined("duplicate_transaction", { message: "is_duplicate" });
      return paid(body, refnum, subject);
    case "P":
      return refnum === undefined ? kit.unknown("a part without a reference number") : { outcome: "partial", refnum };
    case "D":
    case "E":
    case "V":
      return refusal(status, body);
    default:
      return kit.unknown("a result that USAePay does not document");
  }
}

function paid(body: kit.JsonObject, refnum: string, subject: Subject): Approved | Unknown {
  const amount = kit.at(body, "auth_amount");
  const isAsked = amount === undefined || kit.minorOfDecimal(amount, subject.currency) === subject.amountMinor;
  return isAsked ? kit.approved({ usaepay_refnum: refnum }) : kit.unknown("another amount than asked for");
}

function stored(body: kit.JsonObject): Approved | Unknown {
  const key = kit.idAt(body, CARD_KEY, "savedcard", "key");
  return key === undefined ? kit.unknown("approved without the stored card's key") : kit.approved({ usaepay_card_key: key });
}

/** Codes come as text or number, padded or not, and under two names. */
function refusal(status: number, body: kit.JsonObject): Declined {
  const code = (kit.scalarAt(body, "error_code") ?? kit.scalarAt(body, "errorcode"))?.replace(/^0+(?=\d)/, "");
  const result = kit.textAt(body, "result_code");
  const known = codeOf(code) ?? (result === undefined ? kit.codeOfStatus(status) : undefined);
  const otherwise: DeclineCode = result === "V" ? "authentication_required" : result === "D" ? "card_declined" : "processing_error";
  const checked = known === undefined && result === "D" ? kit.codeOfChecks({ cvv: kit.textAt(body, "cvc", "result_code") }) : undefined;
  return kit.declined(known ?? checked ?? otherwise, {
    message: kit.textAt(body, "error"),
    processor: { usaepay_refnum: kit.idAt(body, REFNUM, "refnum") },
  });
}

/** The answer to storing a card, which moves nothing: what is unclear may be asked again. */
export function readStored(answer: GatewayAnswer): Approved | Declined | Unknown {
  const read = kit.triage(answer, { effect: "money", read: kit.readJson });
  if ("outcome" in read) return read;
  if (read.status === 200 && kit.textAt(read.body, "result_code") === "A") return stored(read.body);
  const refused = refusal(read.status, read.body);
  return kit.scalarAt(read.body, "error_code") === ZERO_REFUSED ? { ...refused, reason: CANNOT_VERIFY } : refused;
}

export const refnumOf = (answer: GatewayAnswer) => kit.idAt(kit.lookUpBody(answer, kit.readJson), REFNUM, "refnum");

/** One page of the list: the attempt's own transactions, and where the next page starts. Null when it is no list. */
export function readPage(
  answer: GatewayAnswer,
  { reference }: Subject,
  offset: number,
): { items: kit.JsonObject[]; next: number | null } | null {
  const all = kit.objectsAt(kit.lookUpBody(answer, kit.readJson), "data");
  if (all === null) return null;
  return { items: all.filter((item) => kit.textAt(item, "orderid") === reference), next: all.length < 100 ? null : offset + 100 };
}

/** A transaction as a list has it: a sale that stands, was refused, or was taken back. */
export function readListed(item: kit.JsonObject, subject: Subject): Approved | Declined | Unknown {
  const refnum = kit.idAt(item, REFNUM, "refnum");
  const [result, type] = [kit.textAt(item, "result_code"), kit.textAt(item, "trantype") ?? ""];
  if (/void/i.test(`${type} ${kit.textAt(item, "status") ?? ""}`))
    return kit.declined("processing_error", { reason: "the payment was taken back" });
  if (result === "D" || result === "E") return refusal(200, item);
  const amount = kit.at(item, "auth_amount") ?? kit.at(item, "amount");
  const isAsked = amount !== undefined && kit.minorOfDecimal(amount, subject.currency) === subject.amountMinor;
  if (result !== "A" || refnum === undefined || !isAsked) return kit.unknown("a transaction of our order that is not the one asked for");
  return kit.approved({ usaepay_refnum: refnum });
}

/** A void is refused once the batch is closed. */
export function readReversal({ status, body }: kit.Answered): kit.ReversalStep {
  const read = kit.readJson(body);
  const result = kit.textAt(read, "result_code");
  if (status === 200 && result === "A") return "done";
  return status === 200 && (result === "E" || result === "D" || kit.at(read, "error_code") !== undefined) ? "settled already" : "unclear";
}
