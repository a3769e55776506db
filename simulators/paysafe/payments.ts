import { isoSeconds, json } from "../kit/index.ts";
import type { Answer } from "../kit/index.ts";
import {
  BY_AMOUNT,
  CHECKS_ADDRESSES,
  CURRENCIES,
  INSUFFICIENT,
  ISSUER,
  checkCard,
  checkReference,
  failed,
  fieldError,
  missing,
  newId,
  refusal,
  shownCard,
  storedCard,
  useReference,
} from "./shared.ts";
import type { Kind, Made, No, PaysafeCall } from "./shared.ts";

/** Authorizations, verifications and settlements. */

export function pay(call: PaysafeCall, kind: "auths" | "verifications"): Answer {
  const account = call.param("account");
  if (call.has("keywords[10]")) throw fieldError("keywords", "must have at most 10 items");
  const stored = call.has("card.paymentToken") ? storedCard(call) : null;
  const number = stored?.number ?? checkCard(call, "card.", "3002");
  const zip = call.text("billingDetails.zip") || (stored?.zip ?? "");
  if (account === CHECKS_ADDRESSES && zip === "") throw refusal("3004");
  const amountMinor = call.number("amount") || 0;
  const byAmount = BY_AMOUNT.get(call.text("amount"));
  checkReference(call);
  if (byAmount === "1007") throw refusal("1007");
  const no: No | null = byAmount === undefined ? call.decide(ISSUER, number) : [byAmount, byAmount === "3022" ? INSUFFICIENT : "Declined."];
  // A verification moves nothing: the answer that is never sent is that of the payment, or of the card's storing.
  if (kind === "verifications") call.isLost = false;
  useReference(call);
  const isSale = call.text("settleWithAuth") === "true";
  const nested = (name: string) => (Object.keys(call.under(`${name}.`)).length > 0 ? { [name]: call.under(`${name}.`) } : {});
  const made = call.transactions.add({
    id: newId(call),
    reference: call.text("merchantRefNum"),
    // A verification stores nothing: the vault's profile is the token.
    kind: isSale ? "charge" : "authorization",
    isApproved: no === null,
    ...(kind === "auths" && { amountMinor, currency: CURRENCIES.get(account) ?? "USD" }),
    card: number,
    details: {
      kind,
      account,
      no,
      settlementId: newId(call),
      members: {
        ...(kind === "auths" && { settleWithAuth: isSale, preAuth: false }),
        card: stored === null ? shownCard(call, number) : { ...stored.members },
        ...(no === null && { authCode: call.tools.digits(6) }),
        ...nested("profile"),
        ...nested("billingDetails"),
        ...(call.has("description") && { description: call.text("description") }),
        currencyCode: CURRENCIES.get(account) ?? "USD",
        avsResponse: zip === "" ? "NOT_PROCESSED" : "MATCH",
        cvvVerification: call.has("card.cvv") ? "MATCH" : "NOT_PROCESSED",
      },
    },
    ledger: { account, entryMode: call.maybe("entryMode") ?? null },
  });
  if (no === null) return json(200, shown(made));
  const { id, reference: merchantRefNum } = made;
  return failed(402, ...no, { beside: { id, merchantRefNum, riskReasonCode: [1059], settleWithAuth: isSale, links: linksOf(made) } });
}

const linksOf = ({ id, details: { kind, account } }: Made): object[] => [
  { rel: "self", href: `https://api.test.paysafe.com/cardpayments/v1/accounts/${account}/${kind}/${id}` },
];

/** Money states in the vendor's words; a captured sale waits for the end-of-day batch. */
function shown(one: Made): object {
  const { id, reference: merchantRefNum, at, state, amountMinor, capturedMinor, refundedMinor, details } = one;
  const head = { id, merchantRefNum, txnTime: isoSeconds(at) };
  const links = linksOf(one);
  if (details.no !== null)
    return {
      ...head,
      status: "FAILED",
      amount: amountMinor,
      ...details.members,
      error: { code: details.no[0], message: details.no[1] },
      links,
    };
  if (details.kind === "verifications") return { ...head, status: "COMPLETED", ...details.members, links };
  const status = state === "voided" ? "CANCELLED" : "COMPLETED";
  const availableToSettle = state === "authorized" ? amountMinor : 0;
  const settlements = capturedMinor > 0 ? [settlementOf(one)] : [];
  const availableToRefund = capturedMinor - refundedMinor;
  const listed = settlements.map((settlement) => ({ ...settlement, availableToRefund }));
  return {
    ...head,
    status,
    amount: amountMinor,
    availableToSettle,
    ...details.members,
    ...(listed.length > 0 && { settlements: listed }),
    links,
  };
}

const settlementOf = ({ reference, at, state, capturedMinor, details: { settlementId, account } }: Made) => ({
  id: settlementId,
  merchantRefNum: reference,
  txnTime: isoSeconds(at),
  status: state === "captured" ? "PENDING" : "COMPLETED",
  amount: capturedMinor,
  links: [{ rel: "self", href: `https://api.test.paysafe.com/cardpayments/v1/accounts/${account}/settlements/${settlementId}` }],
});

export function find(call: PaysafeCall, kind: Kind): Answer {
  const reference = call.text("merchantRefNum");
  const [start, end] = [Date.parse(call.text("startDate")) || 0, Date.parse(call.text("endDate")) || Infinity];
  const found = call.lookUp(reference, (one) => one.reference === reference && isOn(call, one, kind) && one.at >= start && one.at <= end);
  const [offset, limit] = [call.number("offset"), call.number("limit") || 10];
  return json(200, { [kind]: found.slice(offset, offset + limit).map(shown), links: [] });
}

const isOn = (call: PaysafeCall, { details }: Made, kind: Kind): boolean =>
  details.kind === kind && details.account === call.param("account");

export function read(call: PaysafeCall, kind: Kind): Answer {
  const id = call.param("id");
  const [found] = call.lookUp(call.transactions.get(id)?.reference ?? null, (one) => one.id === id && isOn(call, one, kind));
  return json(200, shown(found ?? missing()));
}

/** The authorization of the path, or the one whose settlement the path names. */
function target(call: PaysafeCall, by: "auth" | "settlement"): Made {
  const id = call.param("id");
  const isMeant = (one: Made) => (by === "auth" ? one.id === id : one.capturedMinor > 0 && one.details.settlementId === id);
  return call.transactions.all().find((one) => isMeant(one) && isOn(call, one, "auths")) ?? missing();
}

export function settle(call: PaysafeCall): Answer {
  const one = target(call, "auth");
  checkReference(call);
  if (!call.transactions.capture(one, call.has("amount") ? call.number("amount") : undefined)) throw refusal("3502");
  useReference(call);
  return json(200, settlementOf(one));
}

/** Takes a settlement back before its batch; what was authorized is then held as before. */
export function cancel(call: PaysafeCall): Answer {
  const one = target(call, "settlement");
  if (one.state !== "captured") throw refusal("3415");
  const settlement = { ...settlementOf(one), status: "CANCELLED" };
  Object.assign(one, { state: "authorized", capturedMinor: 0 });
  return json(200, settlement);
}

export function release(call: PaysafeCall): Answer {
  const one = target(call, "auth");
  if (call.has("amount") && call.number("amount") !== one.amountMinor) throw fieldError("amount", "must be the amount that is held");
  checkReference(call);
  if (!call.transactions.void(one, ["authorized"])) throw refusal("3502");
  useReference(call);
  const members = { merchantRefNum: call.text("merchantRefNum"), txnTime: isoSeconds(call.tools.now()), amount: one.amountMinor };
  return json(200, { id: newId(call), ...members, status: "COMPLETED" });
}

export function refund(call: PaysafeCall): Answer {
  const one = target(call, "settlement");
  if (one.state === "captured") throw refusal("3406");
  checkReference(call);
  const [id, amount] = [newId(call), call.has("amount") ? call.number("amount") : one.capturedMinor - one.refundedMinor];
  if (call.transactions.refund(one, { id, amountMinor: amount }) !== null)
    throw fieldError("amount", "is more than is available to refund");
  useReference(call);
  return json(200, { id, merchantRefNum: call.text("merchantRefNum"), txnTime: isoSeconds(call.tools.now()), status: "PENDING", amount });
}
