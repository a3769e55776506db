import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { orderReference } from "./requests.ts";

/** `errorcode` of what was refused and took nothing. Codes that it does not know decide nothing. */
const codeOf = kit.codeTable({
  do_not_honor: "72000",
  insufficient_funds: "60042",
  authentication_required: "71000 88888 60022 30004",
  fraud_suspected: "30002 60036 60044 60500",
  card_not_supported: "60043 60045 10103 31007",
  incorrect_number: "31000 10003",
  incorrect_cvc: "31001",
  invalid_expiry: "31002 31003 31004 10100",
  gateway_credentials_invalid: "6 30006 30008 60023 61002",
  gateway_misconfigured: "10* 20* 30* 31* 40000 60012 60018 60019 60025 60027 60028 60029 60035 60040",
  processing_error: "88000 79001 90007 60030",
});
/** Faults of the vendor or the bank that leave open what became of the request: what they mean where nothing was made. */
const ofFault = kit.codeTable({ processing_error: "70001 60010 60034 60039 62000 79000 99999", gateway_misconfigured: "60038" });
const DECLINED = "70000";
/** `acquirerresponsecode` of a decline. */
const ofAcquirer = kit.codeTable({
  insufficient_funds: "51",
  expired_card: "54 33",
  incorrect_number: "14 15",
  lost_or_stolen: "41 43 04 07",
  fraud_suspected: "34 59 63",
  card_not_supported: "57 58 62",
  limit_exceeded: "61 65",
  incorrect_cvc: "82 N7",
  authentication_required: "1A",
});
/** `errordata` of 30000, an invalid field. */
const ofField = kit.codeTable({
  incorrect_number: "pan",
  incorrect_cvc: "securitycode",
  invalid_expiry: "expirydate expirymonth expiryyear",
  incorrect_zip: "billingpostcode",
});
const INVALID_FIELD = "30000";
/** The account type is not enabled, or the site has no account of it. */
const ACCOUNT_REFUSED = new Set(["60028", "40000", "30009"]);

/** `settlestatus` of money that is or will be settled; suspended and cancelled ones are not. */
const STANDS = new Set(["0", "1", "10", "100"]);
const [SUSPENDED, CANCELLED] = ["2", "3"];
const MISMATCH = "4";

const REFERENCE = /^[0-9A-Za-z]+(-[0-9A-Za-z]+){1,4}$/;

/** What an answer or record says; `suspended` is authorized, will not settle, and must be cancelled. */
export type State = Approved | Declined | Unknown | { outcome: "suspended"; transaction: string; refusal: Declined };

const TYPES = { charge: "AUTH", tokenize: "ACCOUNTCHECK" } as const;

/**
 * The answer to a sale or a card's check: status 200 for all that was processed, several types side by side. 401 is about the
 * user; of any other status, a flood's (429) too, nothing is known.
 */
export function readPayment(answer: GatewayAnswer, subject: Subject): State {
  const approves = (body: kit.JsonObject) => responsesOf(body, TYPES[subject.mode]).some((one) => kit.scalarAt(one, "errorcode") === "0");
  const refused = (status: number) => (status === 401 ? kit.shutOut(status) : undefined);
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, approves, flood: "unclear", refused });
  if ("outcome" in read) return read;
  const said = read.status === 200 ? responseOf(read.body, TYPES[subject.mode]) : undefined;
  return said === undefined ? kit.unknown("no response to what was asked") : stateOf(said, subject);
}

/** The responses of the wanted type, and the errors that came in its place. */
function responsesOf(body: kit.JsonObject, type: string): kit.JsonObject[] {
  const all = kit.objectsAt(body, "response") ?? [];
  return all.filter((one) => [type, "ERROR"].includes(kit.textAt(one, "requesttypedescription") ?? ""));
}

/** The only one of them: of two, none says what became of the one request. */
function responseOf(body: kit.JsonObject, type: string): kit.JsonObject | undefined {
  const [only, ...others] = responsesOf(body, type);
  return others.length > 0 ? undefined : only;
}

function stateOf(said: kit.JsonObject, subject: Subject): State {
  if (kit.saysOther(said, orderReference(subject), "orderreference")) return kit.unknown("the answer is about another order");
  const code = kit.scalarAt(said, "errorcode");
  if (code !== "0") return refused(said, code ?? "", subject);
  if (kit.textAt(said, "requesttypedescription") !== TYPES[subject.mode]) return kit.unknown("no error, and no payment");
  const transaction = kit.idAt(said, REFERENCE, "transactionreference");
  if (transaction === undefined) return kit.unknown("approved without a transaction reference");
  // Refusals have this one, or a number and a dash before it.
  if (/\bDECLINED$/.test(kit.textAt(said, "authcode") ?? "")) return kit.unknown("approved with the code of a refusal");
  return subject.mode === "tokenize" ? checked(said, transaction) : paid(said, transaction, subject);
}

/** The issuer approves a check whose security code did not match. */
function checked(said: kit.JsonObject, transaction: string): Approved | Declined {
  if (kit.scalarAt(said, "securityresponsesecuritycode") === MISMATCH) return kit.declined("incorrect_cvc");
  return approved(said, transaction);
}

function paid(said: kit.JsonObject, transaction: string, { amountMinor, currency }: Subject): State {
  const status = kit.scalarAt(said, "settlestatus") ?? "";
  const processor = { trustpayments_transaction_reference: transaction };
  if (status === CANCELLED) return kit.declined(ofChecks(said) ?? "card_declined", { processor, reason: "the payment was cancelled" });
  if (status === SUSPENDED) {
    const reason = "the payment was suspended by a rule of the account; it was cancelled";
    return { outcome: "suspended", transaction, refusal: kit.declined(ofChecks(said) ?? "fraud_suspected", { processor, reason }) };
  }
  if (!STANDS.has(status)) return kit.unknown("a settle status that Trust Payments does not document");
  // A record of a query may leave the currency out.
  const isAsked = kit.minorOf(kit.at(said, "baseamount")) === amountMinor && !kit.saysOther(said, currency, "currencyiso3a");
  return isAsked ? approved(said, transaction) : kit.unknown("another amount than asked for");
}

const approved = (said: kit.JsonObject, transaction: string): Approved =>
  kit.approved(
    { trustpayments_transaction_reference: transaction },
    { webhook: { auth_code: kit.textAt(said, "authcode"), response_code: kit.scalarAt(said, "errorcode") } },
  );

function ofChecks(said: kit.JsonObject): DeclineCode | undefined {
  if (kit.scalarAt(said, "securityresponsesecuritycode") === MISMATCH) return "incorrect_cvc";
  return kit.scalarAt(said, "securityresponsepostcode") === MISMATCH ? "incorrect_zip" : undefined;
}

/** A refusal takes nothing, unless its money is to be settled, or is kept until somebody releases it, as after a risk referral. */
function refused(said: kit.JsonObject, code: string, { mode }: Subject): State {
  const status = mode === "charge" ? (kit.scalarAt(said, "settlestatus") ?? "") : "";
  if (STANDS.has(status)) return kit.unknown("a refusal of money that is to be settled");
  const state = refusal(said, code);
  if (status !== SUSPENDED || state.outcome !== "declined") return state;
  const transaction = kit.idAt(said, REFERENCE, "transactionreference");
  if (transaction === undefined) return kit.unknown("a refusal of suspended money without its reference");
  return { outcome: "suspended", transaction, refusal: state };
}

/** Codes of 5xxxx, of a bank that did not answer, and 60038 leave open what became of the request. */
function refusal(said: kit.JsonObject, code: string): Declined | Unknown {
  const field = kit.textAt(said, "errordata") ?? kit.textAt(said, "errordata", 0);
  const known = code === DECLINED ? declineOf(said) : ((code === INVALID_FIELD ? ofField(field) : undefined) ?? codeOf(code));
  if (known === undefined) return kit.unknown("an error that leaves the outcome open", ofFault(code));
  return kit.declined(known, {
    message: kit.textAt(said, "errormessage"),
    processor: { trustpayments_transaction_reference: kit.idAt(said, REFERENCE, "transactionreference") },
    ...(ACCOUNT_REFUSED.has(code) && {
      reason: "the site has no such account type: have MOTO enabled for telephone payments, or set the option moto to false",
    }),
  });
}

function declineOf(said: kit.JsonObject): DeclineCode {
  const code = kit.scalarAt(said, "acquirerresponsecode");
  // Mastercard asks for authentication with 65.
  if (code === "65" && (kit.textAt(said, "paymenttypedescription") ?? "").startsWith("MASTERCARD")) return "authentication_required";
  const wrongCode = kit.scalarAt(said, "securityresponsesecuritycode") === MISMATCH ? "incorrect_cvc" : undefined;
  return ofAcquirer(code) ?? wrongCode ?? (code === "05" ? "do_not_honor" : "card_declined");
}

/**
 * The records of the attempt; empty when nothing is recorded, null when the vendor did not say, shows fewer than it found, or shows
 * other orders than it was asked for. The outer code tells that the query ran.
 */
export function readQuery(answer: GatewayAnswer, subject: Subject): State[] | null {
  const body = kit.lookUpBody(answer, kit.readJson);
  const said = body === null ? undefined : responseOf(body, "TRANSACTIONQUERY");
  if (kit.scalarAt(said, "errorcode") !== "0" || kit.textAt(said, "requesttypedescription") !== "TRANSACTIONQUERY") return null;
  const found = kit.scalarAt(said, "found");
  const records = found === "0" && kit.at(said, "records") === undefined ? [] : kit.objectsAt(said, "records");
  if (records === null || (found !== undefined && Number(found) !== records.length)) return null;
  if (records.some((one) => kit.textAt(one, "orderreference") !== orderReference(subject))) return null;
  // A refund of the payment carries its order reference too.
  const ofType = (type: string) => records.filter((one) => kit.textAt(one, "requesttypedescription") === type);
  const isSentBack = subject.mode === "charge" && ofType("REFUND").some((one) => isWholeRefund(one, subject));
  return ofType(TYPES[subject.mode])
    .map((one) => stateOf(one, subject))
    .map((state) => (isSentBack && state.outcome === "approved" ? kit.takenBack() : state));
}

function isWholeRefund(record: kit.JsonObject, { amountMinor }: Subject): boolean {
  const isMade = kit.scalarAt(record, "errorcode") === "0" && STANDS.has(kit.scalarAt(record, "settlestatus") ?? "");
  return isMade && kit.minorOf(kit.at(record, "baseamount")) === amountMinor;
}

/** A transaction that can be updated no more, as one that is settled. */
const NOT_UPDATABLE = "60017";

/** A cancellation is refused once the payment is settled. */
export function readReversal({ status, body }: kit.Answered): kit.ReversalStep {
  const said = status === 200 ? kit.objectsAt(kit.readJson(body), "response")?.[0] : undefined;
  const code = kit.scalarAt(said, "errorcode") ?? "";
  if (code === "0") return "done";
  if (code === NOT_UPDATABLE) return "settled already";
  return codeOf(code) === undefined || codeOf(code) === "gateway_credentials_invalid" ? "unclear" : "settled already";
}
