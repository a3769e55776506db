import { parseAmountText, toMinor } from "#src/kernel/money.ts";
import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, ProcessorFields, Unknown } from "../contract.ts";
import { readForm } from "../kit/form.ts";
import { words } from "../kit/scrub.ts";
import { childText, childrenOf, readXml } from "../kit/xml.ts";
import type { XmlElement } from "../kit/xml.ts";
import { orderId } from "./requests.ts";
import type { Subject } from "./requests.ts";

/** Response codes in our words; 300 stands for a dozen things and is told apart by its text. */
const CODES: Readonly<Record<string, DeclineCode>> = Object.fromEntries(
  (
    [
      ["card_declined", "200 226 260 261 262 263 264"],
      ["do_not_honor", "201 240"],
      ["insufficient_funds", "202"],
      ["limit_exceeded", "203"],
      ["card_not_supported", "204 461"],
      ["incorrect_number", "220 221 222"],
      ["expired_card", "223"],
      ["invalid_expiry", "224"],
      ["incorrect_cvc", "225"],
      ["lost_or_stolen", "250 251 252"],
      ["fraud_suspected", "253"],
      ["gateway_unavailable", "301 420 421"],
      ["gateway_misconfigured", "410 411 460"],
      ["processing_error", "300 400 430 440 441"],
    ] as const satisfies readonly (readonly [DeclineCode, string])[]
  ).flatMap(([ours, theirs]) => theirs.split(" ").map((code) => [code, ours] as const)),
);

/** Errors after which the processor may have acted all the same. */
const IN_DOUBT: readonly string[] = ["400", "420", "421", "430", "440"];

/** Texts of code 300, the first that fits; each text ends in ` REFID:` and a number. */
const TEXTS: readonly (readonly [text: RegExp, ours: DeclineCode])[] = [
  [/authentication failed|api key not found|authenticated user is invalid/i, "gateway_credentials_invalid"],
  [/sandbox (domain|accounts)|customer vault|invalid processor|currency/i, "gateway_misconfigured"],
  [/invalid credit card number|ccnumber/i, "incorrect_number"],
  [/expir|ccexp/i, "invalid_expiry"],
  [/\bcvv|security code/i, "incorrect_cvc"],
  [/\bavs\b|\bzip\b|postal/i, "incorrect_zip"],
  [/not accept|card type/i, "card_not_supported"],
  [/limit exceeded|fraud/i, "fraud_suspected"],
];
const DUPLICATE = /duplicate|already exists/i;
const UNSUPPORTED = /not supported|unsupported/i;
const ONLY_PENDING = /only transactions pending settlement/i;

/** What the answer to a request says. */
export type Reading =
  | Approved
  | Declined
  | Unknown
  /** Refused, because the same card and amount, or a record of this id, is there already. */
  | { outcome: "duplicate"; verdict: Declined }
  /** The processor cannot do this kind of request; nothing was done. */
  | { outcome: "unsupported"; verdict: Declined }
  /** Another amount than asked for was taken. */
  | { outcome: "partial"; id: string };

type Form = ReadonlyMap<string, string>;

function declined(code: DeclineCode, text?: string, processor: ProcessorFields = {}): Declined {
  const silent = code === "gateway_credentials_invalid" || code === "gateway_unavailable";
  return { outcome: "declined", code, message: silent ? null : words(text?.replace(/\s*REFID:\S*$/i, "")), processor };
}

function unknown(reason: string): Unknown {
  return { outcome: "unknown", reason };
}

/** The vendor's transaction id: ten or eleven digits, a UUID on some processors. */
function idOf(text: string | undefined): string | undefined {
  return text !== undefined && /^[A-Za-z0-9-]{1,64}$/.test(text) ? text : undefined;
}

/** Answers as fields, or why there are none. Any status but 200 says nothing about the payment. */
function fieldsOf(answer: GatewayAnswer): Form | Declined | Unknown {
  if (answer.kind === "not sent") return declined("gateway_unavailable");
  if (answer.kind === "lost") return unknown("the vendor's answer was lost");
  if (answer.status === 429) return declined("gateway_unavailable");
  const fields = answer.status === 200 ? readForm(answer.body) : null;
  return fields ?? unknown(`status ${answer.status} with a body that says nothing`);
}

const isForm = (fields: Form | Declined | Unknown): fields is Form => !("outcome" in fields);

/** The answer to a sale, or to a request that stores the card. */
export function readAnswer(answer: GatewayAnswer, subject: Subject): Reading {
  const fields = fieldsOf(answer);
  if (!isForm(fields)) return fields;
  const text = fields.get("responsetext") ?? "";
  const code = fields.get("response_code") ?? "";
  const id = idOf(fields.get("transactionid"));
  const named = fields.get("orderid");
  if (named && named !== orderId(subject)) return unknown("the answer belongs to another order");
  switch (fields.get("response") ?? "") {
    case "1":
      return code === "100" ? readApproval(fields, id, subject) : unknown("an approval with another code than 100");
    case "2":
      return /^2\d\d$/.test(code) ? declined(declineOf(code, text), text, idsOf(id)) : unknown("a decline with a code that is none");
    case "3":
      return readError(code, text);
    default:
      return unknown("no response that the vendor documents");
  }
}

function idsOf(id: string | undefined): ProcessorFields {
  return id === undefined ? {} : { nmi_transaction_id: id };
}

/** A merchant's own address or code rule declines with 200 and says so in words only. */
function declineOf(code: string, text: string): DeclineCode {
  if (code === "200" && /\bcvv/i.test(text)) return "incorrect_cvc";
  if (code === "200" && /\bavs\b/i.test(text)) return "incorrect_zip";
  return CODES[code] ?? "card_declined";
}

/** `response=3`: refused before anything was taken, except for the codes that leave it open. */
function readError(code: string, text: string): Reading {
  if (IN_DOUBT.includes(code)) return unknown("the processor failed: it may have acted");
  const known = CODES[code];
  if (known === undefined) return unknown("an error with a code that the vendor does not document");
  if (code === "300" && DUPLICATE.test(text)) return { outcome: "duplicate", verdict: declined("duplicate_transaction", text) };
  const ours = code === "300" ? (TEXTS.find(([pattern]) => pattern.test(text))?.[1] ?? known) : known;
  const verdict = declined(ours, text);
  const cannot = code === "460" || (ours === "processing_error" && UNSUPPORTED.test(text));
  return cannot ? { outcome: "unsupported", verdict } : verdict;
}

/** Further keys of the status webhook, in the names that the interface has for authorizenet. */
function webhookOf(values: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => Boolean(entry[1])));
}

function readApproval(fields: Form, id: string | undefined, subject: Subject): Reading {
  const webhookProcessor = webhookOf({
    auth_code: fields.get("authcode"),
    response_code: fields.get("response_code"),
    avs_result_code: fields.get("avsresponse"),
    cvv_result_code: fields.get("cvvresponse"),
  });
  if (subject.mode === "tokenize") {
    if (fields.get("customer_vault_id") !== orderId(subject)) return unknown("an approval without the vault record asked for");
    return stored(id, subject, webhookProcessor);
  }
  const type = fields.get("type");
  if (id === undefined || (type && type !== "sale")) return unknown("an approval that is no sale or has no transaction");
  const amount = fields.get("amount_authorized");
  if (amount && !isAmount(amount, subject)) return { outcome: "partial", id };
  return { outcome: "approved", capture: "captured", processor: idsOf(id), webhookProcessor };
}

function stored(id: string | undefined, subject: Subject, webhookProcessor: Record<string, string>): Approved {
  const processor = { ...idsOf(id), nmi_customer_vault_id: orderId(subject) };
  return { outcome: "approved", capture: "captured", processor, webhookProcessor };
}

/** Storing a card asks the issuer for nothing. */
function isAmount(text: string, { mode, amountMinor, currency }: Subject): boolean {
  const amount = parseAmountText(text);
  return amount !== null && toMinor(amount, currency) === (mode === "charge" ? amountMinor : 0);
}

/** What became of a void, a refund or the deletion of a record. */
export function readUndoing(answer: GatewayAnswer): "done" | "settled already" | "unclear" {
  const fields = fieldsOf(answer);
  if (!isForm(fields)) return "unclear";
  if (fields.get("response") === "1" && fields.get("response_code") === "100") return "done";
  return ONLY_PENDING.test(fields.get("responsetext") ?? "") ? "settled already" : "unclear";
}

/** The root of a report; null for anything else, an `error_response` above all: a refused question is never "not found". */
function reportOf(answer: GatewayAnswer): XmlElement | null {
  const root = answer.kind === "answered" && answer.status === 200 ? readXml(answer.body) : null;
  if (root?.name !== "nm_response") return null;
  return childrenOf(root, "error_response").length > 0 ? null : root;
}

/** What the attempt's transactions say: its one sale or validation, whatever voids and refunds stand beside it. */
export function readTransactions(
  answer: GatewayAnswer,
  subject: Subject,
): Approved | Declined | Unknown | { outcome: "absent" } | { outcome: "pending" } {
  const report = reportOf(answer);
  if (report === null) return unknown("the vendor did not answer the look-up");
  const wanted = subject.mode === "charge" ? "sale" : "validate";
  const mine = childrenOf(report, "transaction").filter((transaction) => childText(transaction, "order_id") === orderId(subject));
  const found = mine.flatMap((transaction) => {
    const actions = childrenOf(transaction, "action").filter((action) => childText(action, "action_type") === wanted);
    return actions.map((action) => ({ transaction, action }));
  });
  const [only, ...others] = found;
  if (only === undefined) return mine.length > 0 ? unknown("a transaction of another kind carries this order") : { outcome: "absent" };
  return others.length > 0 ? unknown("more than one payment carries this order") : readTransaction(only.transaction, only.action, subject);
}

function readTransaction(transaction: XmlElement, action: XmlElement, subject: Subject): ReturnType<typeof readTransactions> {
  const id = idOf(childText(transaction, "transaction_id"));
  const code = childText(action, "response_code");
  const took = childText(action, "success") === "1" && code === "100";
  const currency = childText(transaction, "currency");
  switch (childText(transaction, "condition") ?? "") {
    case "in_progress":
    case "unknown":
      return { outcome: "pending" };
    case "failed": {
      const text = childText(action, "response_text") ?? "";
      if (took || code === undefined) return unknown("a failed payment that succeeded");
      return declined(declineOf(code, text), text, idsOf(id));
    }
    case "canceled":
      return { ...declined("processing_error", undefined, idsOf(id)), reason: "the payment had been voided" };
    case "pendingsettlement":
    case "complete":
      break;
    default:
      return unknown("a condition that no sale of ours can have");
  }
  if (!took || id === undefined) return unknown("a completed payment that did not succeed");
  if (!isAmount(childText(action, "amount") ?? "", subject) || (subject.mode === "charge" && currency && currency !== subject.currency))
    return unknown("another amount or currency than asked for");
  const webhookProcessor = webhookOf({
    auth_code: childText(transaction, "authorization_code"),
    response_code: code,
    avs_result_code: childText(transaction, "avs_response"),
    cvv_result_code: childText(transaction, "csc_response"),
  });
  if (subject.mode === "tokenize") return stored(id, subject, webhookProcessor);
  return { outcome: "approved", capture: "captured", processor: idsOf(id), webhookProcessor };
}

/** Whether the vault holds the attempt's record; null when the vendor did not say. */
export function holdsRecord(answer: GatewayAnswer, subject: Subject): boolean | null {
  const report = reportOf(answer);
  if (report === null) return null;
  const records = childrenOf(report, "customer_vault").flatMap((vault) => childrenOf(vault, "customer"));
  return records.some((record) => childText(record, "customer_vault_id") === orderId(subject));
}

/** A record that was stored without asking the issuer, or whose validation is not shown yet. */
export function storedAlone(subject: Subject): Approved {
  return stored(undefined, subject, {});
}
