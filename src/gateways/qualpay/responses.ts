import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, AttemptTrace, Declined, GatewayAnswer, LookUpResult, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { PAGE } from "./requests.ts";

/** `rcode`: three characters, `0` and the issuer's two, or the gateway's own. It is a text: as a number `0N7` would be nothing. */
const codeOf = kit.codeTable({
  do_not_honor: "001 002 005",
  lost_or_stolen: "004 007 041 043",
  card_not_supported: "012 057 062",
  incorrect_number: "014 015 108",
  insufficient_funds: "051",
  expired_card: "054",
  invalid_expiry: "107",
  fraud_suspected: "059 063",
  limit_exceeded: "061 065",
  incorrect_cvc: "0N7 082",
  incorrect_zip: "106",
  authentication_required: "01A",
  duplicate_transaction: "094",
  card_declined: "0R0 0R1 0R3 0*",
  gateway_unavailable: "091 092 998 999",
  gateway_credentials_invalid: "101",
  gateway_misconfigured: "003 058 110 111",
  processing_error: "013 104 019 096 100 102 103 105 109 405",
});
const [APPROVED, PARTIAL, NO_REASON_TO_DECLINE, VOID_FAILED] = ["000", "010", "085", "401"];

/** `tran_status` of a sale: captured, settled and so on; what was never taken, or was given back. */
const STATUS = kit.meanings({ paid: "A C S P N", held: "H", refused: "D F R", "taken back": "K V v" });

const ID = /^[A-Za-z0-9]{16,64}$/;

/** What an answer says; `partial` must be voided. */
type State = Approved | Declined | Unknown | { outcome: "partial"; pgId: string };

/** The body of an answer. A refused key says so by the status; the body of a 403 is not documented. */
function readAnswer(answer: GatewayAnswer): kit.Read<kit.JsonObject> | Declined | Unknown {
  const approves = (body: kit.JsonObject) => [APPROVED, PARTIAL].includes(kit.textAt(body, "rcode") ?? "");
  const isVendors = (body: kit.JsonObject) => ["rcode", "pg_id"].some((name) => kit.textAt(body, name) !== undefined);
  return kit.triage(answer, { effect: "money", read: kit.readJson, isVendors, approves, flood: "unclear", refused: kit.shutOut });
}

/** The answer to a sale. Declines are 402; 400 never reached the issuer. Every answer has a pg_id, which says nothing of approval. */
export function readSale(answer: GatewayAnswer, { amountMinor, currency }: Subject): State {
  const read = readAnswer(answer);
  if ("outcome" in read) return read;
  const { status, body } = read;
  const [rcode, pgId] = [kit.textAt(body, "rcode"), kit.idAt(body, ID, "pg_id")];
  if (status !== 200) return refusal(status, body);
  if (pgId === undefined) return kit.unknown("200 without the payment's id");
  // The amount is told of a part alone.
  const amount = kit.at(body, "amt_tran") ?? undefined;
  const isPart = amount !== undefined && kit.minorOfDecimal(amount, currency) !== amountMinor;
  if (rcode === PARTIAL || (rcode === APPROVED && isPart)) return { outcome: "partial", pgId };
  return rcode === APPROVED ? kit.approved({ qualpay_pg_id: pgId }, { webhook: details(body) }) : kit.unknown("200 without an approval");
}

/** The answer to storing a card, with or without the issuer's word; it moves nothing. */
export function readStored(answer: GatewayAnswer, isVerified: boolean): Approved | Declined | Unknown {
  const read = readAnswer(answer);
  if ("outcome" in read) return read;
  const { status, body } = read;
  if (status !== 200) return refusal(status, body);
  const rcode = kit.textAt(body, "rcode");
  const [pgId, cardId] = [kit.idAt(body, ID, "pg_id"), kit.idAt(body, ID, "card_id")];
  const isYes = rcode === APPROVED || (isVerified && rcode === NO_REASON_TO_DECLINE);
  if (!isYes || pgId === undefined || cardId === undefined) return kit.unknown("200 without a stored card");
  return kit.approved({ qualpay_pg_id: pgId, qualpay_card_id: cardId }, { webhook: details(body) });
}

/** The gateway's own refusals, which never reached the issuer: 100 and up, known or not, and a token that could not be made. */
const REFUSED_BY_GATEWAY = /^(1\d\d|405)$/;

/** Nothing was taken: 402 is the issuer's word, 400 the gateway's. Without such a code nothing is said. */
function refusal(status: number, body: kit.JsonObject): Declined | Unknown {
  const [rcode, rmsg] = [kit.textAt(body, "rcode") ?? "", kit.textAt(body, "rmsg")];
  const details = { message: rmsg, processor: { qualpay_pg_id: kit.idAt(body, ID, "pg_id") } };
  if (status === 404) return kit.declined("gateway_misconfigured");
  const isIssuers = rcode.startsWith("0") && rcode !== APPROVED && rcode !== PARTIAL;
  const isSaid = (status === 402 && isIssuers) || (status === 400 && REFUSED_BY_GATEWAY.test(rcode));
  const code = declineOf(rcode, rmsg);
  if (code === "duplicate_transaction" && (status === 400 || status === 402)) return kit.declined(code, details);
  if (!isSaid) return kit.unknown(`status ${status} with a code that does not belong to it`);
  return kit.declined(code, details);
}

/** The code of a duplicate is not published. */
function declineOf(rcode: string, rmsg = ""): DeclineCode {
  if (/duplicate/i.test(rmsg)) return "duplicate_transaction";
  if (rcode === "065" && /authenticat|\bSCA\b/i.test(rmsg)) return "authentication_required";
  return codeOf(rcode) ?? "processing_error";
}

const details = (body: kit.JsonObject) =>
  kit.namedFields((theirs) => kit.textAt(body, theirs), {
    auth_code: "auth_code",
    response_code: "rcode",
    response_message: "rmsg",
    avs_result_code: "auth_avs_result",
    cvv_result_code: "auth_cvv2_result",
  });

/**
 * One page of the report: the sales that carry the attempt's reference, and the next page. The report ends where its rows are
 * older than the attempt, or with a page that is not full and that the report itself calls the last. Null when it is no report.
 */
export function readPage(
  answer: GatewayAnswer,
  attempt: AttemptTrace,
  page: number,
): { items: kit.JsonObject[]; next: number | null } | null {
  const body = kit.lookUpBody(answer, kit.readJson);
  const rows = kit.objectsAt(body, "data");
  if (rows === null || kit.scalarAt(body, "code") !== "0") return null;
  const items = rows.filter((row) => kit.textAt(row, "merch_ref_num")?.split(" ")[0] === attempt.reference);
  const isLast = rows.length < PAGE && page + 1 >= (kit.minorOf(kit.at(body, "totalPages")) ?? 0);
  const isThrough = isLast || rows.some((row) => isOlder(row, attempt));
  return { items: items.filter((row) => /^sale$/i.test(kit.textAt(row, "request_type") ?? "")), next: isThrough ? null : page + 1 };
}

/** Pacific time lies up to eight hours behind UTC; what is left of the doubt is an hour, for clocks that differ. */
const PACIFIC_MS = 8 * 3_600_000;
const MARGIN_MS = 3_600_000;

function isOlder(row: kit.JsonObject, { startedAtMs }: AttemptTrace): boolean {
  const [, day, time] = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})/.exec(kit.textAt(row, "tran_time") ?? "") ?? [];
  return day !== undefined && Date.parse(`${day}T${time}Z`) + PACIFIC_MS + MARGIN_MS < startedAtMs;
}

/** A sale as the report has it. */
export function readRow(row: kit.JsonObject, subject: Subject): LookUpResult {
  const [status, pgId] = [STATUS(kit.textAt(row, "tran_status")), kit.idAt(row, ID, "pg_id")];
  if (pgId === undefined) return kit.unknown("a sale without its id");
  const processor = { qualpay_pg_id: pgId };
  // Of a part too, whose void had lost its answer.
  if (status === "taken back") return kit.takenBack(processor);
  const isAsked = kit.minorOfDecimal(kit.at(row, "amt_tran"), subject.currency) === subject.amountMinor;
  if (!isAsked) return kit.unknown("a sale of our reference that is not the one asked for");
  const isRefunded = kit.minorOfDecimal(kit.at(row, "amt_refunded"), subject.currency) === subject.amountMinor;
  if (status === "paid") return isRefunded ? kit.takenBack(processor) : kit.approved(processor);
  if (status === "held") return kit.pending;
  if (status === undefined) return kit.unknown("a status that Qualpay does not document");
  const [rcode, rmsg] = [kit.textAt(row, "rcode") ?? "0", kit.textAt(row, "rmsg")];
  // Of the gateway's codes that are not published one is a duplicate's.
  return kit.declined(codeOf(rcode) === undefined ? "duplicate_transaction" : declineOf(rcode, rmsg), { processor });
}

/** A void is refused once the batch is closed. */
export function readReversal({ status, body }: kit.Answered): kit.ReversalStep {
  const rcode = kit.textAt(kit.readJson(body), "rcode");
  if (status === 200 && rcode === APPROVED) return "done";
  return status < 500 && rcode === VOID_FAILED ? "settled already" : "unclear";
}
