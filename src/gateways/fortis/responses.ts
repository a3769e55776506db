import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, LookUpResult, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { ID } from "./requests.ts";

/** `reason_code_id` of a transaction with status 301. */
const codeOf = kit.codeTable(
  {
    card_declined: "1500 1601 1599 1003 1661 1620 1623 1663",
    do_not_honor: "1510 1602 1615 1624",
    insufficient_funds: "1616 1201 1657 1659",
    expired_card: "1622",
    invalid_expiry: "1614",
    incorrect_number: "1608 1631",
    incorrect_cvc: "1613 1656 1800",
    incorrect_zip: "1655",
    card_not_supported: "1625 1626 1518 1618",
    lost_or_stolen: "1520 1604 1606 1607",
    fraud_suspected: "1605 1301-1399",
    limit_exceeded: "1619 1611 1652",
    duplicate_transaction: "1801 1609",
    processing_error: "1530 1531 1603 1627 1005 1621 1654 1662 1588 1664 1665",
    gateway_misconfigured: "1540 1628 1802 1650 1653 1612 1541 1004 1666",
  },
  "card_declined",
);
/** The field that a refusal of our data names, the card's first; a used id of ours may be our own request, arrived twice. */
const ofField = kit.textTable<DeclineCode>([
  [/\baccount_number\b/, "incorrect_number"],
  [/\bexp_date\b/, "invalid_expiry"],
  [/\bcvv\b/, "incorrect_cvc"],
  [/\bpostal_code\b/, "incorrect_zip"],
  [/\b(transaction|token)_api_id\b/, "duplicate_transaction"],
]);

const OF_CARD = /\b(account_number|exp_date|cvv)\b/;

const STATUS = { approved: "101", verified: "121", voided: "201", refunded: "111", declined: "301" };
/** Status 101 with this reason: a part was approved. */
const PARTIAL = "1201";

/** So much of a sale was approved, in minor units (null: not said): it must be voided. */
export interface Partial {
  outcome: "partial";
  id: string;
  amountMinor: number | null;
}
type State = Approved | Declined | Unknown | Partial;

type Body = { status: number; data: kit.JsonObject };

/**
 * The data of an answer, or what it means that there are none: a refusal of our data (412) or keys charged nothing; of anything
 * else, a flood (429) and the host's own faults included, nothing is known.
 */
function dataOf(answer: GatewayAnswer): Body | Declined | Unknown {
  const approves = (body: kit.JsonObject) => kit.scalarAt(body, "data", "status_code") === STATUS.approved;
  const rule = { effect: "money", read: kit.readJson, readable: () => true, approves, flood: "unclear", refused: kit.shutOut } as const;
  const read = kit.triage(answer, rule);
  if ("outcome" in read) return read;
  const { status, body } = read;
  const data = kit.at(body, "data");
  if (kit.isObject(data)) return { status, data };
  // The vendor's example of a 412 has an id where others have "Error": its own status tells it then.
  const isFortis = kit.textAt(body, "type") === "Error" || kit.scalarAt(body, "statusCode") === "412";
  return isFortis && status >= 400 && status < 500 && ![408, 409, 425].includes(status)
    ? refusalOf(body)
    : kit.unknown(`status ${status} without data`);
}

/** The vendor words a refusal in three places, and under `meta` in three forms. */
function refusalOf(body: kit.JsonObject): Declined {
  const meta = kit.at(body, "meta");
  const errors = kit.at(meta, "errors");
  const lists = kit.isObject(errors) ? Object.values(errors).flat() : [];
  const told = [
    ...(kit.objectsAt(meta, "details") ?? []).map((detail) => kit.textAt(detail, "message")),
    ...lists.map((text) => (typeof text === "string" ? text : undefined)),
    kit.textAt(meta, "message"),
    kit.textAt(body, "detail"),
    kit.textAt(body, "title"),
  ].filter((text) => text !== undefined);
  const named = kit.isObject(errors) ? Object.keys(errors) : [];
  // The vendor's words may repeat the value that they refuse, a security code too.
  const all = [...named, ...told].join(" ");
  return kit.declined(ofField(all) ?? "gateway_misconfigured", { message: OF_CARD.test(all) ? undefined : told[0] });
}

/** The answer to a sale. Approved and declined come alike; the status code decides, never the words. */
export function readSale(answer: GatewayAnswer, subject: Subject): State {
  const read = dataOf(answer);
  return "outcome" in read ? read : readTransaction(read.data, subject, read.status < 300);
}

/** A transaction, from an answer or a list. */
function readTransaction(data: kit.JsonObject, { reference, amountMinor, currency }: Subject, isMade: boolean): State {
  if (kit.saysOther(data, reference, "transaction_api_id")) return kit.unknown("the answer is another payment's");
  const id = kit.idAt(data, ID, "id");
  const [status, reason] = [kit.scalarAt(data, "status_code"), kit.scalarAt(data, "reason_code_id")];
  if (status === STATUS.declined) return declinedAs(data, reason);
  if (status === STATUS.voided) return kit.takenBack();
  if (status !== STATUS.approved || id === undefined || !isMade) return kit.unknown("a status that decides nothing");
  const approved = kit.minorOf(kit.at(data, "auth_amount"));
  if (reason === PARTIAL || (approved !== null && approved < amountMinor)) return { outcome: "partial", id, amountMinor: approved };
  const isAsked = approved !== null && kit.minorOf(kit.at(data, "transaction_amount")) === amountMinor;
  if (!isAsked || (kit.textAt(data, "currency") ?? currency) !== currency) return kit.unknown("another amount or currency than asked for");
  return kit.approved({ fortis_transaction_id: id });
}

const declinedAs = (data: kit.JsonObject, reason: string | undefined): Declined =>
  kit.declined(codeOf(reason), {
    message: kit.textAt(data, "response_message"),
    processor: { fortis_transaction_id: kit.idAt(data, ID, "id") },
  });

/** The issuer's check of a card that is to be stored: approved with the id of the check. */
export function readVerified(answer: GatewayAnswer): Approved | Declined | Unknown {
  const read = dataOf(answer);
  return "outcome" in read ? read : readCheck(read.data, read.status < 300);
}

function readCheck(data: kit.JsonObject, isMade: boolean): Approved | Declined | Unknown {
  const [id, status] = [kit.idAt(data, ID, "id"), kit.scalarAt(data, "status_code")];
  if (status === STATUS.declined) return { ...declinedAs(data, kit.scalarAt(data, "reason_code_id")), processor: {} };
  if (status !== STATUS.verified || id === undefined || !isMade) return kit.unknown("a status that decides nothing");
  return kit.textAt(data, "cvv_response") === "N" ? kit.declined("incorrect_cvc") : kit.approved({ fortis_transaction_id: id });
}

/** A check whose answer was lost, as the list has it; unknown while it is not there. */
export function readFoundCheck(answer: GatewayAnswer, reference: string): Approved | Declined | Unknown {
  const [check] = listed(answer, reference) ?? [];
  return check === undefined ? kit.unknown("the check's answer was lost") : readCheck(check, true);
}

/** The answer to storing a card. */
export function readToken(answer: GatewayAnswer): Approved | Declined | Unknown {
  const read = dataOf(answer);
  if ("outcome" in read) return read;
  const id = kit.idAt(read.data, ID, "id");
  if (id === undefined || kit.at(read.data, "active") !== true || read.status >= 300) return kit.unknown("no active token in the answer");
  return kit.approved({ fortis_token_id: id });
}

/**
 * The transactions of an id of ours in a list: filtered again, because an unknown filter might be ignored. Null when it is no list,
 * shows others alone, for the filter did nothing then and ours may stand on a later page, or none of what was found.
 */
function listed(answer: GatewayAnswer, reference: string): kit.JsonObject[] | null {
  const body = kit.lookUpBody(answer, kit.readJson);
  const all = kit.objectsAt(body, "list");
  const mine = all?.filter((item) => kit.textAt(item, "transaction_api_id") === reference) ?? [];
  const isMore = all !== null && (all.length > 0 || (kit.minorOf(kit.at(body, "pagination", "total_count")) ?? 0) > 0);
  return all === null || (mine.length === 0 && isMore) ? null : mine;
}

/** The attempt's transaction. */
export function readFound(answer: GatewayAnswer, subject: Subject): LookUpResult | Partial {
  const mine = listed(answer, subject.reference);
  if (mine === null) return kit.unknown("Fortis did not answer the look-up");
  const states = mine.map((item) => readTransaction(item, subject, true));
  const [partial] = states.filter((state) => state.outcome === "partial");
  if (partial !== undefined && states.length === 1) return partial;
  const whole = states.map((state) => (state.outcome === "partial" ? kit.unknown("a part was approved") : state));
  return kit.theStanding(kit.withoutDuplicates(whole));
}

/** A void is refused once the batch is closed, as a decline or as a refusal of our data. A duplicate may have been made before. */
export function readReversal({ status, body }: kit.Answered): kit.ReversalStep {
  const data = kit.at(kit.readJson(body), "data");
  const code = kit.scalarAt(data, "status_code");
  if (code === STATUS.declined && codeOf(kit.scalarAt(data, "reason_code_id")) === "duplicate_transaction") return "unclear";
  if (status < 300 && (code === STATUS.voided || code === STATUS.refunded)) return "done";
  return status === 412 || (status < 500 && code === STATUS.declined) ? "settled already" : "unclear";
}
