import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { amountOf } from "./requests.ts";

/** `refusalReasonCode`, and for answers without it the vendor's name of the same (`refusalReason`), its blanks as underscores. */
const ofRefusal = kit.codeTable({
  card_declined: "2 17 18 19 25 26 27 33 46",
  do_not_honor: "3 Referral",
  insufficient_funds: "12 Not_enough_balance",
  expired_card: "6 Expired_Card",
  incorrect_number: "8 Invalid_Card_Number",
  incorrect_cvc: "24 CVC_Declined",
  incorrect_zip: "32 AVS_Declined",
  limit_exceeded: "28 29 Withdrawal_amount_exceeded Withdrawal_count_exceeded",
  card_not_supported: "10 23 34 35 Not_supported Transaction_Not_Permitted",
  lost_or_stolen: "5 Blocked_Card",
  fraud_suspected: "14 20 22 31 Acquirer_Fraud FRAUD FRAUD-CANCELLED Issuer_Suspected_Fraud",
  authentication_required: "11 38 39 42 3D_Not_Authenticated",
  gateway_unavailable: "9 Issuer_Unavailable",
  processing_error: "4 7 15 16 21",
});
/** `errorCode` of a request that was refused before anything was paid; 000 stands for many things. */
const ofError = kit.codeTable({
  incorrect_number: "101 102 109 193",
  incorrect_cvc: "103 153",
  incorrect_zip: "104 117 131-135",
  invalid_expiry: "129 140 141",
  card_not_supported: "907",
  limit_exceeded: "916",
  authentication_required: "105 921_*",
  gateway_credentials_invalid: "010 10",
  gateway_misconfigured: "107 138 194 901 905 905_* 931 950-957",
  processing_error: "0 14_* 702 130 167 177",
});
/** What a payment waits for that neither a call nor the widget can give. */
const ACTIONS: ReadonlySet<string> = new Set(["RedirectShopper", "IdentifyShopper", "ChallengeShopper", "PresentToShopper"]);
/** A refused structure or set-up is told with these, also with status 500; nothing was processed. */
const NOT_PROCESSED: ReadonlySet<string> = new Set(["validation", "configuration"]);
/** The first try is still at work; something that it needs is away for the moment. */
const IN_PROGRESS: ReadonlySet<string> = new Set(["704", "703"]);
/** A fault of Adyen's own, whatever the status. */
const FAULT = "internal";
const APPROVING: ReadonlySet<string | undefined> = new Set(["Authorised", "PartiallyAuthorised"]);

/** A pspReference, or the id of a stored card. */
const ID = /^[A-Z0-9]{16}$/;
const STORED_ID = ["tokenization.storedPaymentMethodId", "recurring.recurringDetailReference"];

interface Standing<State> {
  outcome: State;
  pspReference: string;
}
/** An answer about a payment; `partial` is sent back, `another sum` stands and is neither a yes nor a no. */
export type PaymentState = Approved | Declined | Unknown | Standing<"partial"> | Standing<"another sum">;

/** Errors have a code, results their own. */
const isVendors = (body: kit.JsonObject): boolean =>
  kit.textAt(body, "errorType") !== undefined ||
  kit.scalarAt(body, "errorCode") !== undefined ||
  kit.textAt(body, "resultCode") !== undefined;

/** A request whose first try is still at work, that Adyen failed on, or whose answer is unreadable or not Adyen's, is sent again under its key. */
export function judge(answer: kit.Answered): kit.Repeat {
  const body = kit.readJson(answer.body);
  if ((answer.status < 300 && body === null) || kit.isForeign(answer.status, body, isVendors)) return "perhaps done";
  if (IN_PROGRESS.has(kit.textAt(body, "errorCode") ?? "") || kit.textAt(body, "errorType") === FAULT) return "perhaps done";
  return NOT_PROCESSED.has(kit.textAt(body, "errorType") ?? "") ? "final" : kit.repeatByStatus(answer);
}

/** Adyen's name for what was asked, in errors too. */
export const pspReferenceOf = ({ body }: kit.Answered): string | undefined => kit.idAt(kit.readJson(body), ID, "pspReference");

/** The pspReference of what an answer shows to be authorised for us, though its status is no success: it may stand, and is to be sent back. */
export function standingOf(answer: GatewayAnswer, { reference }: Subject): string | undefined {
  if (answer.kind !== "answered" || answer.status === 200) return undefined;
  const body = kit.readJson(answer.body);
  const isOurs = APPROVING.has(kit.textAt(body, "resultCode")) && kit.textAt(body, "merchantReference") === reference;
  return isOurs ? kit.idAt(body, ID, "pspReference") : undefined;
}

/** The answer to a payment. Refusals are 200 like approvals; an error object tells that nothing was processed. */
export function readPayment(answer: GatewayAnswer, subject: Subject): PaymentState {
  const approves = (body: kit.JsonObject) => APPROVING.has(kit.textAt(body, "resultCode"));
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, readable: (status) => status !== 429, isVendors, approves });
  if ("outcome" in read) return read;
  return read.status === 200 ? readResult(read.body, subject) : readError(read.status, read.body);
}

function readError(status: number, body: kit.JsonObject): Declined | Unknown {
  const [code, type] = [kit.scalarAt(body, "errorCode"), kit.textAt(body, "errorType") ?? ""];
  const isRefused = status >= 400 && (status < 500 ? ![408, 409, 425].includes(status) : NOT_PROCESSED.has(type));
  if (!isRefused || type === FAULT || IN_PROGRESS.has(code ?? ""))
    return kit.unknown(`status ${status} that does not say what became of the payment`);
  const denied = status === 401 || status === 403 ? "gateway_credentials_invalid" : undefined;
  const unnamed = type === "configuration" ? "gateway_misconfigured" : "processing_error";
  return kit.declined(ofError(code) ?? denied ?? unnamed, { message: kit.textAt(body, "message") });
}

function readResult(body: kit.JsonObject, subject: Subject): PaymentState {
  const [result, pspReference] = [kit.textAt(body, "resultCode") ?? "", kit.idAt(body, ID, "pspReference")];
  if (kit.saysOther(body, subject.reference, "merchantReference")) return kit.unknown("the answer is about another payment");
  if (result === "Refused" || result === "Cancelled") return readRefusal(body, pspReference);
  if (result === "Error") return readProcessingError(body, pspReference);
  if (ACTIONS.has(result)) return kit.declined("authentication_required", { processor: { adyen_psp_reference: pspReference } });
  if (pspReference === undefined) return kit.unknown("200 without a pspReference");
  if (result === "PartiallyAuthorised") return { outcome: "partial", pspReference };
  if (result !== "Authorised") return kit.unknown("a result that is neither yes nor no");
  if (!isAmountOf(body, subject)) {
    const isOurs = kit.textAt(body, "merchantReference") === subject.reference;
    return isOurs ? { outcome: "another sum", pspReference } : kit.unknown("another amount or currency, and no reference of ours");
  }
  // It is captured once the merchant accepts it, and cancelled when he does not.
  if (subject.mode === "charge" && kit.textAt(body, "additionalData", "fraudManualReview") === "true")
    return kit.declined("held_for_review", { processor: { adyen_psp_reference: pspReference } });
  return kit.approved(
    { adyen_psp_reference: pspReference, ...(subject.mode === "tokenize" && { adyen_stored_payment_method_id: storedIdOf(body) }) },
    { webhook: checksOf(body) },
  );
}

/** The amount of the answer, which not every answer has; in the currency that was asked for, what was authorised of it, too. */
function isAmountOf(body: kit.JsonObject, subject: Subject): boolean {
  const [amount, more] = [kit.at(body, "amount") ?? undefined, kit.at(body, "additionalData")];
  const asked = subject.mode === "charge" ? amountOf(subject) : 0;
  const isOther =
    kit.textAt(more, "authorisedAmountCurrency") === subject.currency && kit.saysOther(more, `${asked}`, "authorisedAmountValue");
  if (subject.mode === "charge" && isOther) return false;
  return amount === undefined || (kit.minorOf(kit.at(amount, "value")) === asked && kit.textAt(amount, "currency") === subject.currency);
}

/** A plain refusal is refined by the issuer's own code, where the merchant has it switched on: "51", or "51 : Insufficient funds". */
function readRefusal(body: kit.JsonObject, pspReference: string | undefined): Declined {
  const code = kit.scalarAt(body, "refusalReasonCode") ?? kit.textAt(body, "refusalReason")?.replaceAll(" ", "_");
  const [words] = kit.textAt(body, "additionalData", "refusalReasonRaw")?.split(/ ?:/) ?? [];
  const finer =
    code === undefined || code === "2" || code === "Refused" ? (kit.textAt(body, "additionalData", "refusalCodeRaw") ?? words) : undefined;
  return refusal(kit.codeOfIso(finer) ?? ofRefusal(code) ?? "card_declined", body, pspReference);
}

/** The acquirer or issuer could not be asked. Without a code that says so the payment may stand. */
function readProcessingError(body: kit.JsonObject, pspReference: string | undefined): Declined | Unknown {
  const ours = ofRefusal(kit.scalarAt(body, "refusalReasonCode"));
  return ours === undefined ? kit.unknown("an error without a known reason") : refusal(ours, body, pspReference);
}

const refusal = (code: DeclineCode, body: kit.JsonObject, pspReference: string | undefined): Declined =>
  kit.declined(code, { message: kit.textAt(body, "refusalReason"), processor: { adyen_psp_reference: pspReference } });

/** Each only where the merchant has it switched on. Results of checks are a number and words. */
function checksOf(body: kit.JsonObject): Record<string, string | undefined> {
  const number = (name: string) => /^\d{1,2}/.exec(kit.textAt(body, "additionalData", name) ?? "")?.[0];
  return {
    auth_code: kit.textAt(body, "additionalData", "authCode"),
    response_code: kit.scalarAt(body, "refusalReasonCode") ?? "0",
    avs_result_code: number("avsResult"),
    cvv_result_code: number("cvcResult"),
  };
}

function storedIdOf(body: kit.JsonObject): string | undefined {
  const [newer, older] = STORED_ID.map((name) => kit.idAt(body, ID, "additionalData", name));
  return newer ?? older ?? kit.idAt(body, ID, "paymentMethod", "storedPaymentMethodId");
}

/** Ids of the cards that are stored for a shopper; null when the answer does not say. */
export function readStored(answer: GatewayAnswer): string[] | null {
  const listed = kit.objectsAt(kit.lookUpBody(answer, kit.readJson), "storedPaymentMethods");
  const ids = listed?.map((method) => kit.idAt(method, ID, "id")) ?? null;
  return ids !== null && ids.every((id) => id !== undefined) ? ids : null;
}

/** A reversal is received; what then comes of it only a webhook tells. */
export const isReceived = (answer: GatewayAnswer): boolean =>
  answer.kind === "answered" && answer.status === 201 && kit.textAt(kit.readJson(answer.body), "status") === "received";
