import type { Approved, Declined, GatewayAnswer, LookUpResult, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { orderId } from "./requests.ts";

/** Response codes in our words; 300 stands for a dozen things and is told apart by its text. */
const codeOf = kit.codeTable({
  card_declined: "200 226 260 261 262 263 264",
  do_not_honor: "201 240",
  insufficient_funds: "202",
  limit_exceeded: "203",
  card_not_supported: "204 461",
  incorrect_number: "220 221 222",
  expired_card: "223",
  invalid_expiry: "224",
  incorrect_cvc: "225",
  lost_or_stolen: "250 251 252",
  fraud_suspected: "253",
  gateway_unavailable: "301 420 421",
  gateway_misconfigured: "410 411 460",
  processing_error: "300 400 430 440 441",
});

/** The processor has seen this payment before: the first delivery of the same request, perhaps. */
const TWIN = "430";
/** Errors after which the processor may have acted all the same. */
const IN_DOUBT: readonly string[] = ["400", "420", "421", TWIN, "440"];

/** Texts of code 300; each ends in ` REFID:` and a number. A duplicate is looked up by the kit before it is believed. */
const codeOfText = kit.textTable([
  [/duplicate|already exists/i, "duplicate_transaction"],
  [/authentication failed|api key not found|authenticated user is invalid/i, "gateway_credentials_invalid"],
  [/sandbox (domain|accounts)|customer vault|invalid processor|currency/i, "gateway_misconfigured"],
  [/invalid credit card number|ccnumber/i, "incorrect_number"],
  [/expir|ccexp/i, "invalid_expiry"],
  [/\bcvv|security code/i, "incorrect_cvc"],
  [/\bavs\b|\bzip\b|postal/i, "incorrect_zip"],
  [/not accept|card type/i, "card_not_supported"],
  [/limit exceeded|fraud/i, "fraud_suspected"],
]);
const UNSUPPORTED = /not supported|unsupported/i;
const ONLY_PENDING = /only transactions pending settlement/i;

/** What the response to a request says. */
export type Response =
  | Approved
  | Declined
  | Unknown
  /** The processor cannot do this kind of request; nothing was done. */
  | { outcome: "unsupported"; refusal: Declined }
  /** Another amount than asked for was taken. */
  | { outcome: "partial"; id: string };

/** A response to a request that stores a card; no part of nothing can have been taken. */
export function asOutcome(response: Response): Approved | Declined | Unknown {
  if (response.outcome === "unsupported") return response.refusal;
  return response.outcome === "partial" ? kit.unknown("an amount was taken to store a card") : response;
}

/** The vendor's transaction id: ten or eleven digits, a UUID on some processors. */
const idOf = (text: string | undefined): string | undefined => (text !== undefined && /^[A-Za-z0-9-]{1,64}$/.test(text) ? text : undefined);

/** Fields of a response; any status but 200 says nothing about the payment. */
function fieldsOf(answer: GatewayAnswer) {
  const approves = (fields: kit.Form) => fields.get("response") === "1";
  return kit.triage(answer, { effect: "money", read: kit.readForm, readable: (status) => status === 200, approves });
}

/** The vendor's words without their trace number. */
const said = (text: string | undefined) => text?.replace(/\s*REFID:\S*$/i, "");

/** The response to a sale, or to a request that stores the card. */
export function readResponse(answer: GatewayAnswer, subject: Subject): Response {
  const read = fieldsOf(answer);
  if (kit.isOutcome(read)) return read;
  const fields = read.body;
  const text = fields.get("responsetext") ?? "";
  const code = fields.get("response_code") ?? "";
  const id = idOf(fields.get("transactionid"));
  const named = fields.get("orderid");
  if (named && named !== orderId(subject)) return kit.unknown("the answer belongs to another order");
  const response = fields.get("response");
  if (response === "1") return code === "100" ? readApproval(fields, id, subject) : kit.unknown("an approval with another code than 100");
  if (response === "3") return readError(code, text);
  if (response !== "2") return kit.unknown("no response that the vendor documents");
  if (!/^2\d\d$/.test(code)) return kit.unknown("a decline with a code that is none");
  return refusalOf(code, text, id);
}

const refusalOf = (code: string, text: string, id: string | undefined): Declined =>
  kit.declined(declineOf(code, text), { message: said(text), processor: { nmi_transaction_id: id } });

/** A merchant's own address or code rule declines with 200 and says so in words only; 300 says everything in words. */
function declineOf(code: string, text: string) {
  if (code === "300") return codeOfText(text) ?? "processing_error";
  if (code === "200" && /\bcvv/i.test(text)) return "incorrect_cvc";
  if (code === "200" && /\bavs\b/i.test(text)) return "incorrect_zip";
  return codeOf(code) ?? "card_declined";
}

/** `response=3`: refused before anything was taken, except for the codes that leave it open. */
function readError(code: string, text: string): Response {
  if (IN_DOUBT.includes(code)) return kit.unknown("the processor failed: it may have acted", codeOf(code));
  const known = codeOf(code);
  if (known === undefined) return kit.unknown("an error with a code that the vendor does not document");
  const ours = code === "300" ? (codeOfText(text) ?? known) : known;
  const refusal = kit.declined(ours, { message: said(text) });
  const cannot = code === "460" || (ours === "processing_error" && UNSUPPORTED.test(text));
  return cannot ? { outcome: "unsupported", refusal } : refusal;
}

/** Keys of the status webhook's processor object, by their names in a response and in a report. */
const WEBHOOK = { auth_code: "authcode", response_code: "response_code", avs_result_code: "avsresponse", cvv_result_code: "cvvresponse" };
const WEBHOOK_REPORTED = { auth_code: "authorization_code", avs_result_code: "avs_response", cvv_result_code: "csc_response" };

function readApproval(fields: kit.Form, id: string | undefined, subject: Subject): Response {
  const webhook = kit.namedFields((name) => fields.get(name), WEBHOOK);
  if (subject.mode === "tokenize") {
    if (fields.get("customer_vault_id") !== orderId(subject)) return kit.unknown("an approval without the vault record asked for");
    return stored(id, subject, webhook);
  }
  const type = fields.get("type");
  if (id === undefined || (type && type !== "sale")) return kit.unknown("an approval that is no sale or has no transaction");
  const amount = fields.get("amount_authorized");
  if (amount && !isAmount(amount, subject)) return { outcome: "partial", id };
  return kit.approved({ nmi_transaction_id: id }, { webhook });
}

/** A stored card. Without a transaction it was stored unasked, or its validation is not shown yet. */
export const stored = (id: string | undefined, subject: Subject, webhook: Readonly<Record<string, string | undefined>> = {}): Approved =>
  kit.approved({ nmi_transaction_id: id, nmi_customer_vault_id: orderId(subject) }, { webhook });

/** Storing a card asks the issuer for nothing. */
const isAmount = (text: string | undefined, { mode, amountMinor, currency }: Subject): boolean =>
  kit.minorOfDecimal(text, currency) === (mode === "charge" ? amountMinor : 0);

/** What became of a void, a refund or the deletion of a record. */
export function readReversal(answer: GatewayAnswer): kit.ReversalStep {
  const read = fieldsOf(answer);
  if (kit.isOutcome(read)) return "unclear";
  if (read.body.get("response") === "1" && read.body.get("response_code") === "100") return "done";
  return ONLY_PENDING.test(read.body.get("responsetext") ?? "") ? "settled already" : "unclear";
}

/** The root of a report; null for anything else, an `error_response` above all: a refused question is never "not found". */
function reportOf(answer: GatewayAnswer): kit.XmlElement | null {
  const root = kit.lookUpBody(answer, kit.readXml);
  return root?.name === "nm_response" && kit.childrenOf(root, "error_response").length === 0 ? root : null;
}

/** What the attempt's transactions say: its one sale or validation, whatever voids and refunds stand beside it. */
export function readTransactions(answer: GatewayAnswer, subject: Subject): LookUpResult {
  const report = reportOf(answer);
  if (report === null) return kit.unknown("the vendor did not answer the look-up");
  const wanted = subject.mode === "charge" ? "sale" : "validate";
  const all = kit.childrenOf(report, "transaction");
  const mine = all.filter((transaction) => kit.childText(transaction, "order_id") === orderId(subject));
  const found = mine.flatMap((transaction) => {
    const actions = kit.childrenOf(transaction, "action").filter((action) => kit.childText(action, "action_type") === wanted);
    return actions.map((action) => readTransaction(transaction, action, subject));
  });
  if (found.length === 0 && mine.length > 0) return kit.unknown("a transaction of another kind carries this order");
  const standing = kit.theStanding(kit.withoutDuplicates(found));
  const result = standing.outcome === "approved" && isSentBack(mine, subject) ? kit.takenBack() : standing;
  // Of a report of all orders this may be a part.
  return mine.length < all.length && result.outcome !== "approved"
    ? kit.unknown("the report shows other orders, and perhaps not all")
    : result;
}

/** Whether a refund of the whole stands beside the sale, as a further action of it or a transaction of its own that was not cancelled. */
function isSentBack(transactions: readonly kit.XmlElement[], subject: Subject): boolean {
  const standing = transactions.filter((transaction) => !/^(canceled|failed)$/.test(kit.childText(transaction, "condition") ?? ""));
  const actions = standing.flatMap((transaction) => kit.childrenOf(transaction, "action"));
  const refunds = actions.filter((action) => kit.childText(action, "action_type") === "refund" && kit.childText(action, "success") === "1");
  return subject.mode === "charge" && refunds.some((action) => isAmount(kit.childText(action, "amount")?.replace(/^-/, ""), subject));
}

function readTransaction(transaction: kit.XmlElement, action: kit.XmlElement, subject: Subject): LookUpResult {
  const id = idOf(kit.childText(transaction, "transaction_id"));
  const code = kit.childText(action, "response_code");
  const took = kit.childText(action, "success") === "1" && code === "100";
  const isOtherCurrency = kit.childrenOf(transaction, "currency").some(({ text }) => text !== "" && text !== subject.currency);
  const condition = kit.childText(transaction, "condition") ?? "";
  if (/^(in_progress|unknown)$/.test(condition)) return kit.pending;
  if (condition === "failed") {
    if (took || code === undefined) return kit.unknown("a failed payment that succeeded");
    return code === TWIN ? kit.declined("duplicate_transaction") : refusalOf(code, kit.childText(action, "response_text") ?? "", id);
  }
  if (condition === "canceled")
    return kit.declined("processing_error", { processor: { nmi_transaction_id: id }, reason: "the payment had been voided" });
  if (!/^(pendingsettlement|complete)$/.test(condition)) return kit.unknown("a condition that no sale of ours can have");
  if (!took || id === undefined) return kit.unknown("a completed payment that did not succeed");
  if (!isAmount(kit.childText(action, "amount"), subject) || (subject.mode === "charge" && isOtherCurrency))
    return kit.unknown("another amount or currency than asked for");
  const webhook = { ...kit.namedFields((name) => kit.childText(transaction, name), WEBHOOK_REPORTED), response_code: code };
  return subject.mode === "tokenize" ? stored(id, subject, webhook) : kit.approved({ nmi_transaction_id: id }, { webhook });
}

/** Whether the vault holds the attempt's record; null when the vendor did not say. */
export function holdsRecord(answer: GatewayAnswer, subject: Subject): boolean | null {
  const report = reportOf(answer);
  if (report === null) return null;
  const records = kit.childrenOf(report, "customer_vault").flatMap((vault) => kit.childrenOf(vault, "customer"));
  return records.some((record) => kit.childText(record, "customer_vault_id") === orderId(subject));
}
