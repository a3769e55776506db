import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { amountOf, VERIFICATION_MINOR } from "./requests.ts";

/** `error.code`, or a failed charge's `failureCode`. */
const codeOf = kit.codeTable({
  card_declined: "card_declined payment_method_declined invalid_account",
  insufficient_funds: "insufficient_funds",
  expired_card: "expired_card",
  incorrect_number: "invalid_number incorrect_number",
  incorrect_cvc: "invalid_cvc incorrect_cvc",
  incorrect_zip: "incorrect_zip incorrect_address",
  invalid_expiry: "invalid_expiry_month invalid_expiry_year",
  lost_or_stolen: "lost_or_stolen",
  fraud_suspected: "suspected_fraud blacklisted blocked",
  limit_exceeded: "limit_exceeded",
  do_not_honor: "do_not_try_again",
  authentication_required: "authentication_required",
  card_not_supported: "brand_not_supported",
  processing_error: "processing_error",
  gateway_misconfigured: "currency_not_supported amount_too_high amount_too_low expired_token",
});
/** `issuerDeclineCode`, the network's own: it tells a plain `card_declined` apart. */
const ofIssuer = kit.codeTable({
  do_not_honor: "05",
  insufficient_funds: "51",
  expired_card: "54",
  incorrect_number: "14",
  incorrect_cvc: "N7 82",
  lost_or_stolen: "04 07 41 43",
  limit_exceeded: "61 65",
  card_not_supported: "57 58 62",
  fraud_suspected: "34 59",
  authentication_required: "1A",
  processing_error: "91 96",
});

const CHARGE = /^char_[A-Za-z0-9]{1,64}$/;
const CUSTOMER = /^cust_[A-Za-z0-9]{1,64}$/;
const CARD = /^card_[A-Za-z0-9]{1,64}$/;

/** A charge as its own object shows it; `pending` is read again. */
export type ChargeState = Approved | Declined | Unknown | { outcome: "pending"; id: string };

/** The final answer to a charge: a charge object, or an error that took nothing. */
export function readCharge({ status, body }: kit.Answered, subject: Subject): ChargeState {
  const read = kit.readJson(body);
  if (read === null) return kit.shutOut(status) ?? kit.unknown("Shift4's answer is not one JSON object");
  if (status === 200) return kit.at(read, "error") === undefined ? chargeState(read, subject) : kit.unknown("200 with an error");
  return refusal(status, read) ?? kit.unknown(`status ${status} without a reason`);
}

/** A charge object, from an answer or a list. Old recordings of the vendor have no status. */
export function chargeState(charge: kit.JsonObject, subject: Subject): ChargeState {
  const id = kit.idAt(charge, CHARGE, "id");
  const [status, failure] = [kit.textAt(charge, "status"), kit.textAt(charge, "failureCode")];
  if (id === undefined) return kit.unknown("200 without a charge's id");
  const { sessionId, attempt } = subject;
  if (kit.saysOther(charge, sessionId, "metadata", "sessionId") || kit.saysOther(charge, String(attempt), "metadata", "attempt"))
    return kit.unknown("the charge of another attempt");
  if (status === "successful" && failure !== undefined) return kit.unknown("a successful charge with a failure");
  if (status === "failed" || failure !== undefined)
    return kit.declined(declineOf(failure, kit.scalarAt(charge, "failureIssuerDeclineCode")), {
      message: kit.textAt(charge, "failureMessage"),
      processor: subject.mode === "charge" ? { shift4_charge_id: id } : {},
    });
  if (status === "pending") {
    return kit.textAt(charge, "flow", "nextAction") === "redirect" ? kit.declined("authentication_required") : { outcome: "pending", id };
  }
  if (kit.at(charge, "status") !== undefined && status !== "successful") return kit.unknown("a status that Shift4 does not document");
  const asked = subject.mode === "charge" ? amountOf(subject) : VERIFICATION_MINOR;
  // The amount is what refunds have left of it.
  const [amount, sentBack] = [kit.minorOf(kit.at(charge, "amount")), sentBackOf(charge)];
  const isRefunded = charge["refunded"] === true;
  if (!(amount === asked || (isRefunded && amount === 0)) || kit.textAt(charge, "currency")?.toUpperCase() !== subject.currency)
    return kit.unknown("another amount or currency than asked for");
  if (sentBack !== (isRefunded ? asked : 0)) return kit.unknown("a part of the charge was refunded, or a refund of it is at work");
  if (subject.mode === "charge")
    return isRefunded ? kit.takenBack({ shift4_charge_id: id }) : kit.approved({ shift4_charge_id: id }, { capture: captureOf(charge) });
  // Of a verification `authorized` says that its hold is not released yet.
  return kit.approved({ shift4_charge_id: id }, { capture: isRefunded ? "captured" : "authorized" });
}

const captureOf = (charge: kit.JsonObject) => (charge["captured"] === false ? "authorized" : "captured");

/** What was sent back of a charge, minor units, told as a sum or one by one; null while it is not known what becomes of one. */
function sentBackOf(charge: kit.JsonObject): number | null {
  const refunds = (kit.objectsAt(charge, "refunds") ?? []).filter((refund) => kit.textAt(refund, "status") !== "failed");
  // Old recordings of the vendor have no status.
  if (refunds.some((refund) => kit.at(refund, "status") !== undefined && !isSuccessful(refund))) return null;
  const amounts = refunds.map((refund) => kit.minorOf(refund["amount"]) ?? Number.NaN);
  return kit.minorOf(charge["amountRefunded"]) ?? amounts.reduce((sum, amount) => sum + amount, 0);
}

const isSuccessful = (refund: kit.JsonObject | null): boolean => kit.textAt(refund, "status") === "successful";

/** Whether a refund was made, or a hold released: one may be at work, or fail. */
export const isSentBack = (answer: kit.Answered | null): boolean => answer?.status === 200 && isSuccessful(kit.readJson(answer.body));

function declineOf(code: string | undefined, issuer: string | undefined): DeclineCode {
  const known = codeOf(code) ?? "card_declined";
  return code === undefined || code === "card_declined" ? (ofIssuer(issuer) ?? known) : known;
}

/** An error object of the vendor's, which has a type, with a status that says nothing was taken; null when it is none, or tells of a fault behind the vendor. */
function refusal(status: number, body: kit.JsonObject): Declined | null {
  const error = kit.at(body, "error");
  if (status < 400 || status >= 500 || [undefined, "gateway_error"].includes(kit.textAt(error, "type"))) return null;
  const code = kit.textAt(error, "code");
  const known = status === 401 ? undefined : codeOf(code);
  const isCard = kit.textAt(error, "type") === "card_error" || status === 402;
  const ours = isCard
    ? declineOf(code, kit.scalarAt(error, "issuerDeclineCode"))
    : (known ?? kit.codeOfStatus(status) ?? "gateway_misconfigured");
  return kit.declined(ours, {
    message: kit.textAt(error, "message"),
    processor: { shift4_charge_id: kit.idAt(error, CHARGE, "chargeId") },
  });
}

/** The customer and the card that is stored with it, or why there are none. No money moves, so nothing is unknown; a success without ids may have stored it. */
export function readCustomer({ status, body }: kit.Answered): { customer: string; card: string } | Declined {
  const read = kit.readJson(body);
  const [customer, first] = [kit.idAt(read, CUSTOMER, "id"), kit.idAt(read, CARD, "cards", 0, "id")];
  const card = kit.idAt(read, CARD, "defaultCardId") ?? first;
  if (status === 200) return customer !== undefined && card !== undefined ? { customer, card } : kit.LOST_STORE;
  return (read && refusal(status, read)) ?? kit.declined(status >= 500 ? "gateway_unavailable" : "processing_error");
}

/** A charge that was read by its id; null when the vendor did not say. */
export function readKnown(answer: GatewayAnswer, id: string): kit.JsonObject[] | null {
  const body = kit.lookUpBody(answer, kit.readJson);
  return body !== null && kit.textAt(body, "id") === id ? [body] : null;
}

/** One page of a list: the attempt's own charges in it, and where the next page starts. Null when it is no list. */
export function readPage(answer: GatewayAnswer, { sessionId, attempt }: Subject): { items: kit.JsonObject[]; next: string | null } | null {
  const body = kit.lookUpBody(answer, kit.readJson);
  const all = kit.objectsAt(body, "list");
  const more = kit.at(body, "hasMore");
  if (all === null || typeof more !== "boolean") return null;
  const items = all.filter(
    (item) => kit.textAt(item, "metadata", "sessionId") === sessionId && kit.textAt(item, "metadata", "attempt") === String(attempt),
  );
  const last = kit.idAt(all.at(-1), CHARGE, "id");
  return more && last === undefined ? null : { items, next: more ? (last ?? null) : null };
}
