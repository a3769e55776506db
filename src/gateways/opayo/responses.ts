import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { refundCode, type Registered } from "./requests.ts";

/** `DeclineCode` of a NOTAUTHED: the bank's own (ISO 8583). */
const ofBank = kit.codeTable({
  do_not_honor: "01 02 05",
  authentication_required: "1A",
  insufficient_funds: "51",
  limit_exceeded: "61 65",
  expired_card: "33 54",
  incorrect_number: "14 15",
  lost_or_stolen: "04 07 41 43",
  fraud_suspected: "34 59 63",
  card_not_supported: "57 58 62",
  incorrect_cvc: "82 N7",
});
/** The first four digits of `StatusDetail`. */
const ofDetail = kit.codeTable({
  authentication_required: "4026 4027 4046 5029",
  incorrect_number: "1007 3048 3051 3062 4048 5010 5011 5015 5026",
  expired_card: "5013",
  invalid_expiry: "2226 3050 3052 5014 5016 5028",
  incorrect_cvc: "5017 5018 5019",
  card_not_supported: "1008 4021 4022 4043",
  incorrect_zip: "3016 3027 3090 5022 5023 5055",
  limit_exceeded: "5025",
  duplicate_transaction: "4001-4005 4042",
  gateway_credentials_invalid: "3034 4000 4020 4047",
});
/** A used VendorTxCode as it is told without a number. */
const USED_BEFORE = /\bVendorTxCode\b.*\bused before\b/;
/** Codes of rules that the account set up about checks: what did not match says why. */
const RULES = new Set(["2001", "5995"]);
/** Time-outs and faults behind the vendor, whatever `Status` they come with: the bank may have said yes. What they are where it did not. */
const notKnown = kit.codeTable({ gateway_unavailable: "2002 2008 5996 5997", processing_error: "2003 5003 5994 6000" });
/** No merchant number for telephone orders. */
const MOTO_REFUSED = "3099";

const VPS_TX_ID = /^\{?[A-Za-z0-9-]{1,38}\}?$/;
const SECURITY_KEY = /^[A-Za-z0-9]{1,64}$/;

/**
 * 65 has two meanings: a limit on how often the card is used, and, as a soft decline, the wish for a cardholder's authentication. Opayo's answers
 * do not say which. It is the second where authentication could have been asked for (AccountType E; telephone orders are outside of it), of
 * Mastercard, which has no other code for it: Visa's is 1A.
 */
const SOFT_DECLINE = "65";

/** The answer to a registration. Judged by `Status` alone: the texts drift. `mayAuthenticate`: see SOFT_DECLINE. */
export function readRegistration(
  answer: GatewayAnswer,
  { mode, reference }: Subject,
  mayAuthenticate: boolean,
): Approved | Declined | Unknown {
  const approves = (body: kit.Form) => /^(OK|REGISTERED|AUTHENTICATED)$/.test(body.get("Status") ?? "");
  const readable = (status: number) => status === 200;
  const read = kit.triage(answer, { effect: "money", read: kit.readLines, readable, approves, flood: "unclear" });
  if ("outcome" in read) return read;
  const { body } = read;
  const [status, code] = [body.get("Status") ?? "", body.get("DeclineCode")];
  if ((body.get("VendorTxCode") ?? reference) !== reference) return kit.unknown("the answer is about another transaction");
  const open = notKnown(detailCode(body)) ?? (status === "ERROR" ? "processing_error" : undefined);
  if (open !== undefined) return kit.unknown("a time-out or fault behind the vendor: the transaction is looked up", open);
  if (status === "OK" && mode === "charge")
    return ofBank(code) === undefined ? accepted(body) : kit.unknown("an approval with the bank's refusal");
  if ((status === "REGISTERED" || status === "AUTHENTICATED") && mode === "tokenize") return accepted(body);
  if (status === "3DAUTH")
    return kit.declined("authentication_required", { reason: "a 3-D Secure challenge was asked for: set moto or three_d_secure" });
  if (status === "NOTAUTHED") {
    const ours = mayAuthenticate && code === SOFT_DECLINE ? "authentication_required" : ofBank(code);
    return kit.declined(ours ?? "card_declined", { ...refusal(body), processor: idsOf(body) });
  }
  if (status === "REJECTED")
    return kit.declined(ofDetail(detailCode(body)) ?? byChecks(body), { ...refusal(body), processor: idsOf(body) });
  if (status === "MALFORMED" || status === "INVALID") return refused(body);
  // OK REPEATED is an earlier registration's answer; PENDING and whatever else may have acted.
  return kit.unknown("a status that decides nothing: the transaction is looked up");
}

function accepted(body: kit.Form): Approved | Unknown {
  const ids = idsOf(body);
  return ids.opayo_vps_tx_id === undefined || ids.opayo_security_key === undefined
    ? kit.unknown("accepted without the ids that a refund needs")
    : kit.approved(ids);
}

function idsOf(body: kit.Form) {
  const [id, key] = [body.get("VPSTxId") ?? "", body.get("SecurityKey") ?? ""];
  return { opayo_vps_tx_id: VPS_TX_ID.test(id) ? id : undefined, opayo_security_key: SECURITY_KEY.test(key) ? key : undefined };
}

/** The first four digits of `StatusDetail`. */
const detailCode = (body: kit.Form) => /^(\d{4})\b/.exec(body.get("StatusDetail") ?? "")?.[1];

const refusal = (body: kit.Form) => ({ message: body.get("StatusDetail") });

function refused(body: kit.Form): Declined {
  const code = detailCode(body);
  if (code !== undefined && RULES.has(code)) return kit.declined(byChecks(body), refusal(body));
  const reason = "no merchant number for telephone orders: ask Elavon, or set moto to false";
  const isUsed = USED_BEFORE.test(body.get("StatusDetail") ?? "");
  return kit.declined(isUsed ? "duplicate_transaction" : (ofDetail(code) ?? "gateway_misconfigured"), {
    ...refusal(body),
    ...(code === MOTO_REFUSED && { reason }),
  });
}

function byChecks(body: kit.Form): DeclineCode {
  if (body.get("CV2Result") === "NOTMATCHED") return "incorrect_cvc";
  return [body.get("PostCodeResult"), body.get("AddressResult")].includes("NOTMATCHED") ? "incorrect_zip" : "card_declined";
}

/** What the Reporting API knows of a transaction, and what a reversal of it needs. */
export type Found = Declined | Unknown | typeof kit.absent | { outcome: "stands"; registered: Registered; isRefunded: boolean };

const NOT_FOUND = "0043";
/** What a report is read for: each stands there once. */
const READ = [
  "errorcode",
  "vendortxcode",
  "txstateid",
  "status",
  "vpstxid",
  "securitykey",
  "vpsauthcode",
  "amount",
  "currency",
  "refunded",
];
/** In the words of a state. */
const FAILED = /\b(fail|declin|cancel|void|abort|reject|expir)/i;
/** What the merchant himself ended, and what Opayo did without the bank's refusal. */
const [BY_MERCHANT, BY_OPAYO] = [/\bby the vendor\b/i, /\b(error|registration|settled)\b/i];
const AUTHORISED = "16";

/** The report on a code of ours. */
function reportOn(answer: GatewayAnswer, code: string): { outcome: "reported"; root: kit.XmlElement } | typeof kit.absent | Unknown {
  const root = kit.lookUpBody(answer, kit.readXml);
  if (root?.name !== "vspaccess") return kit.unknown("the Reporting API did not answer the look-up");
  if (READ.some((name) => kit.childrenOf(root, name).length > 1)) return kit.unknown("a report that says something twice");
  const error = kit.childText(root, "errorcode");
  if (error === NOT_FOUND) return kit.absent;
  if (error !== "0000") return kit.unknown("the Reporting API refused the look-up: see reporting_user and its permissions");
  if ((kit.childText(root, "vendortxcode") ?? code) !== code) return kit.unknown("the Reporting API told of another transaction");
  return { outcome: "reported", root };
}

/** What became of the payment or registration. */
export function readDetail(answer: GatewayAnswer, subject: Subject): Found {
  const { mode, reference } = subject;
  const found = reportOn(answer, reference);
  if (found.outcome !== "reported") return found;
  const { root } = found;
  const [state, status = ""] = [kit.childText(root, "txstateid"), kit.childText(root, "status")];
  const [vpsTxId = "", securityKey = ""] = [kit.childText(root, "vpstxid"), kit.childText(root, "securitykey")];
  const isStored = mode === "tokenize" && /\b(registered|authenticated)\b/i.test(status) && !/\b(not|failed|cancelled)\b/i.test(status);
  if (isStored || (mode === "charge" && state === AUTHORISED)) {
    if (mode === "charge" && !isAsked(root, subject)) return kit.unknown("another amount or currency than asked for");
    if (FAILED.test(status)) return kit.unknown("an authorised transaction that failed");
    const isWhole = VPS_TX_ID.test(vpsTxId) && SECURITY_KEY.test(securityKey);
    const registered = { vpsTxId, securityKey, txAuthNo: kit.childText(root, "vpsauthcode") ?? "" };
    // The vendor does not say how much of it.
    const isRefunded = !["NO", ""].includes(kit.childText(root, "refunded") ?? "");
    return isWhole ? { outcome: "stands", registered, isRefunded } : kit.unknown("a transaction without the ids that a refund needs");
  }
  if (FAILED.test(status) && BY_MERCHANT.test(status)) return kit.takenBack();
  if (FAILED.test(status)) return kit.declined(BY_OPAYO.test(status) ? "processing_error" : "card_declined", { message: status });
  return kit.unknown("a state of the transaction that the vendor's documents do not name");
}

/** What became of the refund of the whole: one that was refused has used its code up, and gave nothing back. */
export function readRefund(answer: GatewayAnswer, subject: kit.Noted<Subject>): "done" | "absent" | "refused" | "unclear" {
  const found = reportOn(answer, refundCode(subject));
  if (found.outcome !== "reported") return found.outcome === "absent" ? "absent" : "unclear";
  const [state, status = ""] = [kit.childText(found.root, "txstateid"), kit.childText(found.root, "status")];
  const isNamed = kit.childText(found.root, "vendortxcode") === refundCode(subject);
  if (!isNamed || !isAsked(found.root, subject) || FAILED.test(status) === (state === AUTHORISED)) return "unclear";
  return state === AUTHORISED ? "done" : "refused";
}

/** The amount and currency of a payment, which not every detail has; thousands may be set apart. */
function isAsked(root: kit.XmlElement, { amountMinor, currency }: Subject): boolean {
  const [amount, unit] = [kit.childText(root, "amount")?.replaceAll(",", ""), kit.childText(root, "currency")];
  return (!amount || kit.minorOfDecimal(amount, currency) === amountMinor) && (!unit || unit === currency);
}

const ofReversal = kit.meanings<kit.ReversalStep>({ done: "OK", "settled already": "INVALID MALFORMED NOTAUTHED REJECTED" });

/** A void is refused once the payment is settled. A lost or undecided answer to one allows no refund: both might be taken. */
export function readReversal(answer: kit.Answered): kit.ReversalStep {
  const body = kit.lookUpBody(answer, kit.readLines);
  return body && notKnown(detailCode(body)) !== undefined ? "unclear" : (ofReversal(body?.get("Status")) ?? "unclear");
}
