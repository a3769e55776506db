import type { Approved, AttemptTrace, Declined, GatewayAnswer, LookUpResult, Subject, Unknown } from "../contract.ts";
import type { DeclineCode } from "#src/kernel/payment.ts";
import * as kit from "../kit/index.ts";
import { invoiceOf } from "./requests.ts";

/**
 * Faults between the gateway and the processor, who may have said yes: the connection broke, or the answer was late, blank or
 * malformed. Faults of the gateway itself (4 to 19) come before anybody is asked.
 */
const FAULTS = "27 9001 10132 40007 40008 40009 40018 40409 59002 64668 65220 70002 70015 70016 81001 89191 89201 90909 900001";
const NOT_KNOWN = new Set(FAULTS.split(" "));

/**
 * `error_code` of a decline or an error, leading zeros dropped; codes of 102xx are FDMS', 50xxx and 57xxx TSYS', 64xxx Vantiv's, 65xxx
 * Paymentech's, 7xxxx Planet Payment's, 89xxx Global's.
 */
const codeOf = kit.codeTable({
  incorrect_number: "11 12 13 14 10060 10214 50014 56965 56966 56967 64614 65204 65308 65310 65312 65318 89114 89406",
  invalid_expiry: "15 16 85 10005 65205 40452",
  expired_card: "17 10280 50054 64654 89154",
  incorrect_cvc: "10116 10282 10297 57855 64697 65248 65376 78855 89612",
  incorrect_zip: "34 2034 120 10107 10109 10110",
  insufficient_funds: "10151 10251 203 303 50051 57852 64651 71051 78852",
  limit_exceeded: "10265 50061 50065 64661 64665 65217 71061 71065 89611 32 70 40011",
  do_not_honor: "10205 50001 50002 50005 64601 64605 65240 71005",
  lost_or_stolen: "10204 50004 50007 50041 50043 64604 64607 64641 64643 65202 65215",
  card_not_supported:
    "10257 10262 10215 80015 30001 30002 30003 30004 91 92 10003 10004 10006 10057 50015 50057 50058 64138 64615 64657 64658 64662 65317 65358 65359 65360 65361 70013 71015 71057 71058 89613",
  card_declined: "10127 15000 15100 65200 65218 43 10225 10278",
  fraud_suspected: "10139 10106 10160 10115 10293 50093 71093",
  duplicate_transaction: "31 93 50094 64694 71094 89194",
  authentication_required: "10117",
  gateway_credentials_invalid: "23 28 30 20002 20006 20008 21002 10118 10137 10138 10140",
  gateway_misconfigured:
    "6 7 80 112 109 156 15001 20005 20007 20010 20036 40012 40013 40014 40034 10026 10027 10051 10054 50003 57286 59001 64124 64603 65313 65999 70003 70007 70010 70011 70012 89103 89158",
  gateway_unavailable: `${FAULTS} 4 9 10 18 19 36 155 50028 50091 50096 64001 64628 64691 64692 64696 64712 65214 65602 89402`,
  processing_error: "20019 20001 71 10128",
});

/** "zero auth amount". */
const ZERO_REFUSED = "81003";
/** The reason of a verification that the processor has no way to make. */
export const CANNOT_VERIFY = "the processor verifies no card";

const REFNUM = /^[0-9]{1,20}$/;
const CARD_KEY = /^[A-Za-z0-9-]{1,40}$/;

/** Declined, an error, and 3-D Secure wanted. */
const REFUSED = new Set(["D", "E", "V"]);

/** What an answer says; `partial` must be voided. */
type State = Approved | Declined | Unknown | { outcome: "partial"; refnum: string };

const isVendors = (body: kit.JsonObject): boolean => errorOf(body) !== undefined || kit.textAt(body, "result_code") !== undefined;

/** The answer to a sale. Approved, declined and most errors alike come with status 200. */
export function readPayment(answer: GatewayAnswer, subject: Subject): State {
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, isVendors });
  if ("outcome" in read) return read;
  const { status, body } = read;
  const [result, refnum] = [kit.textAt(body, "result_code"), kit.idAt(body, REFNUM, "refnum")];
  if (body["invoice"] !== "" && kit.saysOther(body, invoiceOf(subject), "invoice") && !isFolded(body))
    return kit.unknown("the answer to another request");
  if (result === undefined || REFUSED.has(result)) {
    if (isUnlisted(body)) return kit.unknown("an error that USAePay does not list", "processing_error");
    return isOpen(body) ? kit.unknown("a fault behind the gateway") : refusal(status, body);
  }
  if (status !== 200 || (result !== "A" && result !== "P")) return kit.unknown("a result that USAePay does not document");
  if (refnum === undefined) return kit.unknown("approved without a reference number");
  if (result === "P") return { outcome: "partial", refnum };
  // Another payment's answer, folded: whose it is, the look-up tells.
  if (isFolded(body)) return kit.declined("duplicate_transaction", { message: "is_duplicate" });
  return paid(body, refnum, subject);
}

/** The answer of an earlier transaction of the same card and amount, which need not be this attempt's. */
const isFolded = (body: kit.JsonObject): boolean => kit.textAt(body, "is_duplicate") === "Y";

function paid(body: kit.JsonObject, refnum: string, subject: Subject): Approved | Unknown {
  if ((errorOf(body) ?? "0") !== "0") return kit.unknown("approved with the code of an error");
  const amount = kit.at(body, "auth_amount");
  const isAsked = amount === undefined || kit.minorOfDecimal(amount, subject.currency) === subject.amountMinor;
  return isAsked ? kit.approved({ usaepay_refnum: refnum }) : kit.unknown("another amount than asked for");
}

function stored(body: kit.JsonObject): Approved | Unknown {
  const key = kit.idAt(body, CARD_KEY, "savedcard", "key");
  return key === undefined ? kit.unknown("approved without the stored card's key") : kit.approved({ usaepay_card_key: key });
}

/** Codes come as text or number, padded or not, and under two names. */
const errorOf = (body: kit.JsonObject | null) =>
  (kit.scalarAt(body, "error_code") ?? kit.scalarAt(body, "errorcode"))?.replace(/^0+(?=\d)/, "");

/** An error that may have come after the processor said yes, or that has no code. */
const isOpen = (body: kit.JsonObject): boolean => {
  const code = errorOf(body);
  return NOT_KNOWN.has(code ?? "") || (code === undefined && kit.textAt(body, "result_code") === "E");
};

/** An error that the vendor does not list: its own list of payments tells whether it was the end. */
const isUnlisted = (body: kit.JsonObject): boolean => kit.textAt(body, "result_code") === "E" && codeOf(errorOf(body)) === undefined;

/** Who may not ask is told by the status alone; a body without any of the vendor's words is none of its refusals. */
function refusal(status: number, body: kit.JsonObject): Declined | Unknown {
  const code = errorOf(body);
  const result = kit.textAt(body, "result_code");
  const isKeys = status === 401 || status === 403;
  if (!isKeys && code === undefined && result === undefined && kit.textAt(body, "error") === undefined)
    return kit.unknown("an answer without a result or an error");
  const byStatus = isKeys ? "gateway_credentials_invalid" : kit.codeOfStatus(status);
  const known = codeOf(code) ?? (result === undefined ? byStatus : undefined);
  const otherwise: DeclineCode = result === "V" ? "authentication_required" : result === "D" ? "card_declined" : "processing_error";
  const checked = known === undefined && result === "D" ? kit.codeOfChecks({ cvv: kit.textAt(body, "cvc", "result_code") }) : undefined;
  return kit.declined(known ?? checked ?? otherwise, {
    message: kit.textAt(body, "error"),
    processor: { usaepay_refnum: kit.idAt(body, REFNUM, "refnum") },
  });
}

/** The answer to storing a card, which moves nothing: what is unclear may be asked again. */
export function readStored(answer: GatewayAnswer): Approved | Declined | Unknown {
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, isVendors });
  if ("outcome" in read) return read;
  const result = kit.textAt(read.body, "result_code");
  if (read.status === 200 && result === "A") return stored(read.body);
  if (result !== undefined && !REFUSED.has(result)) return kit.unknown("a result that says nothing of the card");
  const refused = refusal(read.status, read.body);
  return refused.outcome === "declined" && errorOf(read.body) === ZERO_REFUSED ? { ...refused, reason: CANNOT_VERIFY } : refused;
}

export const refnumOf = (answer: GatewayAnswer) => kit.idAt(kit.lookUpBody(answer, kit.readJson), REFNUM, "refnum");

/** The vendor does not say in which time zone `created` is: two days are more than any of them, and than a clock that is off. */
const TOO_OLD_MS = 48 * 3_600_000;

/**
 * One page of the list, newest first: the attempt's own transactions, and where the next page starts. There is none after the
 * sale was found, or where the transactions are older than it. Null when it is no list.
 */
export function readPage(
  answer: GatewayAnswer,
  attempt: Pick<AttemptTrace, "reference" | "startedAtMs">,
  offset: number,
): { items: kit.JsonObject[]; next: number | null } | null {
  const all = kit.objectsAt(kit.lookUpBody(answer, kit.readJson), "data");
  if (all === null) return null;
  const invoice = invoiceOf(attempt);
  const items = all.filter((item) => kit.textAt(item, "orderid") === attempt.reference || kit.textAt(item, "invoice") === invoice);
  const [, day = "", time = ""] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/.exec(kit.textAt(all.at(-1), "created") ?? "") ?? [];
  const isOld = Date.parse(`${day}T${time}Z`) < attempt.startedAtMs - TOO_OLD_MS;
  return { items, next: items.some(isTelling) || isOld || all.length < 100 ? null : offset + 100 };
}

/** What the attempt's own transactions say: its one sale, taken back where a refund of the whole stands beside it. */
export function readFound(items: readonly kit.JsonObject[], subject: Subject): LookUpResult {
  const sales = items.filter((item) => !isRefund(item)).map((item) => readListed(item, subject));
  const standing = kit.theStanding(kit.withoutDuplicates(sales));
  const isBack = items.some((item) => isRefund(item) && kit.textAt(item, "result_code") === "A" && !isGone(item) && isOf(item, subject));
  return standing.outcome === "approved" && isBack ? kit.takenBack() : standing;
}

/** Neither a refund nor refused as a duplicate: of those the sale itself is older. */
const isTelling = (item: kit.JsonObject): boolean => !isRefund(item) && codeOf(errorOf(item)) !== "duplicate_transaction";

const isRefund = (item: kit.JsonObject): boolean => /refund/i.test(kit.textAt(item, "trantype") ?? "");

/** Voided, or its funds released (status codes V and R). */
const isGone = (item: kit.JsonObject): boolean =>
  /void|released/i.test(`${kit.textAt(item, "trantype")} ${kit.textAt(item, "status")}`) ||
  /^[VR]$/.test(kit.textAt(item, "status_code") ?? "");

/** Of the sum that was asked for. */
const isOf = (item: kit.JsonObject, { currency, amountMinor }: Subject): boolean =>
  kit.minorOfDecimal(kit.at(item, "auth_amount") ?? kit.at(item, "amount"), currency) === amountMinor;

/** A transaction as a list has it: a sale that stands, was refused, or was taken back. */
function readListed(item: kit.JsonObject, subject: Subject): Approved | Declined | Unknown {
  const [result, refnum] = [kit.textAt(item, "result_code"), kit.idAt(item, REFNUM, "refnum")];
  // The vendor may cut it.
  if (!subject.reference.startsWith(kit.scalarAt(item, "orderid") ?? "")) return kit.unknown("another order with our invoice number");
  if (isGone(item)) return kit.takenBack();
  if (result === "D" || result === "E") return isOpen(item) ? kit.unknown("a fault behind the gateway") : refusal(200, item);
  // Status code E: a fault after the processing.
  const isAsked = isOf(item, subject) && kit.textAt(item, "status_code") !== "E";
  if (result !== "A" || refnum === undefined || !isAsked) return kit.unknown("a transaction of our order that is not the one asked for");
  return kit.approved({ usaepay_refnum: refnum });
}

/** A void is refused once the batch is closed; what the gateway says of itself, of the key or of a duplicate allows no refund. */
export function readReversal({ status, body }: kit.Answered): kit.ReversalStep {
  const read = kit.readJson(body);
  const [result, code] = [kit.textAt(read, "result_code"), errorOf(read)];
  if (status !== 200) return "unclear";
  if (result === "A") return "done";
  const isUndecided = (read !== null && isOpen(read)) || /^(gateway_|duplicate)/.test(codeOf(code) ?? "");
  return !isUndecided && (result === "E" || result === "D" || code !== undefined) ? "settled already" : "unclear";
}
