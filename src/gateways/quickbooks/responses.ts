import { Secret } from "#src/kernel/secret.ts";
import type { AccessToken, Approved, Declined, GatewayAnswer, GatewayIo, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";

/** Codes of the errors object in our words, or Intuit's range of them. */
const ofCode = kit.codeTable({
  incorrect_cvc: "PMT-2000 PMT-2001 PMT-1001",
  incorrect_zip: "PMT-2002 PMT-2003 PMT-1002 PMT-1003",
  fraud_suspected: "PMT-1xxx PMT-2xxx",
  card_not_supported: "PMT-5001",
  card_declined: "PMT-5xxx",
  gateway_misconfigured: "PMT-3xxx PMT-4xxx",
  gateway_credentials_invalid: "AuthenticationFailed AuthorizationFailed invalid_grant invalid_client",
});
/** A code's range has four digits: PMT-10305, that there are no records, is of none. */
const rangeOf = (code: string | undefined): string | undefined => code?.replace(/^(PMT-\d)\d{3}$/, "$1xxx");
const codeOf = (code: string | undefined) => ofCode(code) ?? ofCode(rangeOf(code));
/** A refused field, by its name or the words about it. */
const codeOfField = kit.textTable([
  [/card[. ]?number|^number/i, "incorrect_number"],
  [/exp(Month|Year)/i, "invalid_expiry"],
  [/cvc/i, "incorrect_cvc"],
  [/postalCode/i, "incorrect_zip"],
  // The words of PMT-5000, which have come with PMT-4000 too.
  [/has been declined/i, "card_declined"],
]);
/** Intuit has one code for the issuer's no; its words may say more. */
const codeOfWords = kit.textTable([
  [/insufficient/i, "insufficient_funds"],
  [/expired/i, "expired_card"],
]);

const ID = /^[A-Za-z0-9]{1,64}$/;
/** An access token is given up this long before its end. */
const MARGIN_SECONDS = 300;

interface Errors {
  code: string;
  message: string | undefined;
  detail: string | undefined;
}

/** The first error of an answer, or the flat one of authentication; null when there is none. */
function errorIn(body: kit.JsonObject | null): Errors | null {
  const error = kit.at(body, "errors", 0) ?? body ?? undefined;
  const code = kit.textAt(error, "code");
  return code === undefined ? null : { code, message: kit.textAt(error, "message"), detail: kit.textAt(error, "detail") };
}

/** Who may not ask is told so before anything runs, whatever the body says. */
const isShutOut = (status: number) => status === 401 || status === 403;

/** PMT-6xxx leaves it open what happened: the same Request-Id asks again. */
const isFault = (error: Errors | null) => rangeOf(error?.code) === "PMT-6xxx";

/** A fault that Intuit names, whatever the status: no flood, and no break-down on the way. */
export const isNamedFault = (answer: kit.Answered): boolean => isFault(errorIn(kit.readJson(answer.body)));

export function judge(answer: kit.Answered): kit.Repeat {
  // Of a flood (429) too Intuit does not say that nothing was done.
  if (kit.repeatByStatus(answer) !== "final") return "perhaps done";
  const body = kit.readJson(answer.body);
  return (body === null && !isShutOut(answer.status)) || isFault(errorIn(body)) ? "perhaps done" : "final";
}

/** Answers that Intuit keeps under the Request-Id: a charge, or a refusal by whoever judged it. */
export function isRecorded({ status, body }: kit.Answered): boolean {
  const error = errorIn(kit.readJson(body));
  return error === null ? status < 300 : /^PMT-[125]xxx$/.test(rangeOf(error.code) ?? "");
}

/** The tokens of a refresh, or why there are none. */
export function readTokens(
  answer: GatewayAnswer,
  clock: GatewayIo["clock"],
): { token: AccessToken; keep: { refresh_token: Secret } } | Declined {
  const read = kit.triage(answer, { effect: "nothing", read: kit.readJson });
  if (kit.isOutcome(read)) return read;
  const [access, refresh] = [kit.textAt(read.body, "access_token"), kit.textAt(read.body, "refresh_token")];
  if (read.status !== 200 || !access || !refresh) {
    const code = codeOf(kit.textAt(read.body, "error")) ?? kit.codeOfStatus(read.status) ?? "gateway_unavailable";
    return kit.declined(code, { reason: "Intuit gave no access token; the merchant may have to connect again" });
  }
  const token = kit.accessToken(access, Number(kit.scalarAt(read.body, "expires_in") ?? 0), clock, { marginSeconds: MARGIN_SECONDS });
  return { token, keep: { refresh_token: new Secret(refresh) } };
}

/** Nothing was done, or the issuer said no: an error of Intuit's, whatever the status. */
function refused(body: kit.JsonObject | null, status: number): Declined | Unknown {
  const error = errorIn(body);
  if (isShutOut(status)) return kit.declined("gateway_credentials_invalid", { reason: `Intuit answered ${status}: keys, scope or app` });
  if (error === null || isFault(error)) return kit.unknown(`status ${status} that says neither yes nor no`);
  const { code, message, detail } = error;
  const more =
    rangeOf(code) === "PMT-4xxx" ? codeOfField(`${detail ?? ""} ${message ?? ""}`) : code === "PMT-5000" ? codeOfWords(message) : undefined;
  const ours = more ?? codeOf(code);
  return ours ? kit.declined(ours, { message }) : kit.unknown("an error that Intuit does not document");
}

/** What a charge's answer says; `excess`: money was taken that must not stay. */
type ChargeResponse = Approved | Declined | Unknown | { outcome: "excess"; refusal: Declined };

export function readCharge({ body: bytes, status }: kit.Answered, { amountMinor, currency }: Subject): ChargeResponse {
  const body = kit.readJson(bytes);
  if (body === null) return refused(null, status);
  const error = errorIn(body);
  // Approved, and the cancellation that the merchant's own rules ask for failed.
  if (error !== null && rangeOf(error.code) === "PMT-1xxx")
    return { outcome: "excess", refusal: kit.declined(codeOf(error.code) ?? "fraud_suspected", { message: error.message }) };
  const state = kit.textAt(body, "status");
  if (status >= 300 && (state === "CAPTURED" || state === "SETTLED" || state === "AUTHORIZED"))
    return kit.unknown(`an approval with status ${status}`);
  if ((status !== 200 && status !== 201) || (error !== null && state === undefined)) return refused(body, status);
  const id = kit.idAt(body, ID, "id");
  const processor = { quickbooks_charge_id: id };
  if (state === "DECLINED" || state === "CANCELLED") {
    const said = error === null ? kit.declined("card_declined") : refused(body, status);
    return said.outcome === "declined" ? { ...said, processor: kit.present(processor) } : said;
  }
  if (error !== null) return kit.unknown("a charge with an error");
  if (id === undefined || kit.minorOfDecimal(body["amount"], currency) !== amountMinor || body["currency"] !== currency)
    return kit.unknown("a charge without its id, or of another amount or currency");
  if (state === "AUTHORIZED")
    return { outcome: "excess", refusal: kit.declined("gateway_misconfigured", { processor, reason: "the money was only held" }) };
  if (state !== "CAPTURED" && state !== "SETTLED") return kit.unknown("a status that Intuit does not document");
  return kit.approved(processor, { webhook: { auth_code: kit.textAt(body, "authCode"), response_code: state } });
}

export function readStored({ body: bytes, status }: kit.Answered): Approved | Declined | Unknown {
  const body = kit.readJson(bytes);
  if ((status !== 200 && status !== 201) || errorIn(body) !== null) return refused(body, status);
  const id = kit.idAt(body, ID, "id");
  return id === undefined ? kit.unknown("a stored card without its id") : kit.approved({ quickbooks_card_id: id });
}

/** `status` of a reversal that was made. A settled one is none of them: a charge that it could have been told of is settled, too. */
const MADE = new Set(["ISSUED", "VOIDED", "SUCCEEDED"]);

/** What became of a void or a refund; Intuit knows no such charge with 404. `refused`: it said so, and did nothing. */
export function readReversal(answer: GatewayAnswer | Declined): "done" | "absent" | "refused" | "unclear" {
  if (kit.isOutcome(answer) || answer.kind !== "answered") return "unclear";
  const { status } = answer;
  const body = kit.readJson(answer.body);
  const error = errorIn(body);
  if (status === 404 && error?.code === "PMT-10305") return "absent";
  if (status < 300) return MADE.has(kit.textAt(body, "status") ?? "") ? "done" : "unclear";
  return error !== null && !isShutOut(status) && judge(answer) === "final" ? "refused" : "unclear";
}

/** What became of a refund. One that is declined, or that these credentials may not make, was not made. */
export function readRefund(answer: kit.Answered): kit.ReversalStep {
  const isDeclined = answer.status < 300 && kit.textAt(kit.readJson(answer.body), "status") === "DECLINED";
  const said = isDeclined || isShutOut(answer.status) ? "refused" : readReversal(answer);
  return said === "absent" || said === "refused" ? "settled already" : said;
}

/**
 * Whether nothing of a charge that was read is left with the merchant: cancelled before it was settled, or refunded after, in whole
 * where it lists its refunds.
 */
export function isTakenBack(answer: GatewayAnswer | Declined, id: string): boolean {
  if (kit.isOutcome(answer) || answer.kind !== "answered" || answer.status !== 200) return false;
  const body = kit.readJson(answer.body) ?? undefined;
  if (kit.textAt(body, "id") !== id) return false;
  if (kit.textAt(body, "status") !== "REFUNDED") return kit.textAt(body, "status") === "CANCELLED";
  const refunds = kit.objectsAt(body, "refundDetail")?.filter((one) => kit.textAt(one, "status") !== "DECLINED");
  const sum = refunds?.reduce((total, one) => total + (kit.minorOfDecimal(one["amount"], "USD") ?? Number.NaN), 0);
  return sum === undefined || sum === kit.minorOfDecimal(kit.at(body, "amount"), "USD");
}

/** Ids of a customer's cards; null when Intuit did not say. */
export function readCards(answer: GatewayAnswer | Declined): string[] | null {
  if (kit.isOutcome(answer) || answer.kind !== "answered" || answer.status !== 200) return null;
  const cards = kit.readJsonList(answer.body);
  const ids = cards?.map((card) => kit.idAt(card, ID, "id")) ?? [undefined];
  return ids.includes(undefined) ? null : (ids as string[]);
}
