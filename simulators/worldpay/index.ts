import { basicUser, brandOf, defineSimulator, header, isAccepted, isCardNumber, isExpired, isoSeconds, json } from "../kit/index.ts";
import { refused, refuseWith } from "../kit/index.ts";
import type { Answer, FieldFault, Fields, Incoming, Refusal } from "../kit/index.ts";
import { events, query, queryOne } from "./look-ups.ts";
import { avsRisks, byHolder, cvcRisk, HOST, ISSUER, NO_ADDRESS } from "./outcomes.ts";
import type { Card, Details, Payment, State, Token, WorldpayCall } from "./outcomes.ts";
import { EVENTS, INSTRUMENT, isSent, LARGEST, PART, PAYMENT, QUERY } from "./rules.ts";

/**
 * Access Worldpay's Payments API 2024-06-01: JSON under HTTP Basic, the outcome is a word of the body: a decline has status 201, a
 * captured approval 202. Besides it the two look-ups: Payment Queries, and the events and links of the Card Payments API.
 */

const VERSION = "2024-06-01";
const QUERIES = "application/vnd.worldpay.payment-queries-v1.hal+json";
const CARD_PAYMENTS = "application/vnd.worldpay.payments-v7+json";
/** What may be done with a payment, from the last part of its link's path: outcome, event, and whether it was possible. */
const ACTIONS: Readonly<Record<string, readonly [outcome: string, event: string, act: (call: WorldpayCall, payment: Payment) => boolean]>> =
  {
    settlements: ["sentForSettlement", "settlementRequestSubmitted", capture],
    partialSettlements: ["sentForSettlement", "settlementRequestSubmitted", capture],
    cancellations: ["sentForCancellation", "cancellationRequestSubmitted", cancel],
    refunds: ["sentForRefund", "refundRequestSubmitted", refund],
    partialRefunds: ["sentForPartialRefund", "refundRequestSubmitted", refund],
    reversals: ["sentForReversal", "reversalRequestSubmitted", (call, payment) => cancel(call, payment) || refund(call, payment)],
  };
const actionEndpoints = Object.keys(ACTIONS).map((action) => {
  const rules = action.startsWith("partial") ? PART : {};
  return [`POST /api/payments/:linkData/${action}`, { rules, run: (call: WorldpayCall) => follow(call, action) }] as const;
});

export const simulator = defineSimulator<State, Details, Token>({
  body: "json",
  state: () => ({ links: new Map() }),
  authenticate(request) {
    const user = basicUser(request);
    if (user === null) throw refusal(401, "accessDenied", "Access to the requested resource has been denied.");
    checkHeaders(request);
    return user;
  },
  reference: "transactionReference",
  recorded: ["channel", "merchant.entity"],
  endpoints: {
    "POST /api/payments": { rules: PAYMENT, run: pay },
    "GET /api/payments/:linkData": {
      rules: {},
      run: (call) => json(200, { lastEvent: linked(call).details.lastEvent, ...links(linked(call)) }),
    },
    ...Object.fromEntries(actionEndpoints),
    "GET /paymentQueries/payments": { rules: QUERY, run: query },
    "GET /paymentQueries/payments/:paymentId": { rules: {}, run: queryOne },
    "GET /payments/events": { rules: EVENTS, run: events },
    "POST /payments/authorizations/cancellations/:linkData": { rules: {}, run: (call) => follow(call, "cancellations") },
    "POST /payments/authorizations/reversals/:linkData": { rules: {}, run: (call) => follow(call, "reversals") },
    "POST /payments/settlements/full/:linkData": { rules: {}, run: (call) => follow(call, "settlements") },
    "POST /payments/settlements/refunds/full/:linkData": { rules: {}, run: (call) => follow(call, "refunds") },
  },
  refuse: {
    malformed: (_request, isOtherType) =>
      isOtherType
        ? refusal(415, "headerHasInvalidValue", "A header has an invalid value.", { headerName: "Content-Type" })
        : refusal(400, "bodyIsNotJson", "The body is not valid JSON."),
    path: () => refusal(404, "endpointNotFound", "The endpoint does not exist."),
    field: (fault, request) => (request.method === "POST" && request.body.length === 0 ? emptyBody() : invalid(fault, request.fields)),
  },
  responseHeaders: ({ tools }) => ({ "WP-CorrelationId": tools.id("", 32) }),
});

const refusal = (status: number, errorName: string, message: string, more: object = {}): Refusal =>
  refused(errorName, status, { errorName, message, ...more });

const emptyBody = (): Refusal => refusal(400, "bodyIsEmpty", "The body is empty.");

/** One wrong field, as the validation errors name it. */
function wrongField(errorName: string, field: string, words: string): Refusal {
  const message = "The json body provided does not match the expected schema";
  const validationErrors = [{ errorName, message: words, jsonPath: `$.${field}` }];
  return refused(errorName, 400, { errorName: "bodyDoesNotMatchSchema", message, validationErrors });
}

function invalid({ kind, field, words }: FieldFault, fields: Fields): Refusal {
  const names = { missing: "fieldIsMissing", unknown: "fieldIsNotAllowed", forbidden: "fieldIsNotAllowed", order: "fieldIsNotAllowed" };
  if (kind in names) return wrongField(names[kind as keyof typeof names], field, `The field ${words}`);
  if (kind === "type" && words.endsWith("string")) return wrongField("fieldMustBeString", field, "The field must be a string");
  if (kind === "type" && words.endsWith("integer")) return wrongField("fieldMustBeNumber", field, "The field must be a number");
  const isTooLarge = kind === "value" && Number(fields.get(field)) > LARGEST && field.endsWith("amount");
  return wrongField(isTooLarge ? "integerIsTooLarge" : "fieldHasInvalidValue", field, `The field ${words}`);
}

/** Each of the three interfaces has headers of its own. */
function checkHeaders(request: Incoming): void {
  const { path, method } = request;
  const isPayments = path.startsWith("/api/payments");
  const accept = isPayments ? "application/json" : path.startsWith("/paymentQueries") ? QUERIES : CARD_PAYMENTS;
  const wanted = {
    ...(isPayments && { "WP-Api-Version": VERSION }),
    Accept: accept,
    // The Card Payments API wants it of a GET as well.
    ...((method === "POST" ? !isPayments : accept === CARD_PAYMENTS) && { "Content-Type": accept }),
  };
  for (const [headerName, value] of Object.entries(wanted)) {
    if (header(request, headerName) === "") throw refusal(406, "headerIsMissing", "A valid header must be provided.", { headerName });
    if (header(request, headerName) === value) continue;
    throw refusal(headerName === "Content-Type" ? 415 : 406, "headerHasInvalidValue", "A header has an invalid value.", { headerName });
  }
}

/** The card as typed, or a stored one. */
function cardOf(call: WorldpayCall): Card {
  if (call.text(`${INSTRUMENT}.type`) === "token") {
    const [href, tokenId, namespace] = ["href", "tokenId", "namespace"].map((name) => call.maybe(`${INSTRUMENT}.${name}`));
    const token =
      href === undefined ? call.vault.find((one) => one.tokenId === tokenId && one.namespace === namespace) : call.vault.get(href);
    if (token === undefined)
      throw wrongField("fieldHasInvalidValue", `${INSTRUMENT}.${href === undefined ? "tokenId" : "href"}`, "No such token");
    return token;
  }
  const number = call.text(`${INSTRUMENT}.cardNumber`);
  if (!isCardNumber(number)) throw wrongField("fieldHasInvalidValue", `${INSTRUMENT}.cardNumber`, "The field must be a card number");
  return { number, month: call.number(`${INSTRUMENT}.expiryDate.month`), year: call.number(`${INSTRUMENT}.expiryDate.year`) };
}

function pay(call: WorldpayCall): Answer {
  const { tools, state } = call;
  const entity = call.text("merchant.entity");
  if (!isAccepted(entity)) throw refusal(400, "entityIsNotConfigured", "The entity is not configured.");
  const card = cardOf(call);
  const [holder, namespace] = [call.text(`${INSTRUMENT}.cardHolderName`), call.maybe("instruction.tokenCreation.namespace")];
  if (call.vault.find((token) => token.number === card.number && token.namespace === namespace))
    throw wrongField("fieldHasInvalidValue", "instruction.tokenCreation.namespace", "The card has a token in this namespace");
  if (holder === "ERROR") throw refusal(500, "internalErrorOccurred", "We cannot currently process your request. Please contact support.");
  if (isSent(call.fields, "instruction.threeDS"))
    return json(201, { outcome: "3dsDeviceDataRequired", transactionReference: call.text("transactionReference") });
  const declined =
    call.decide(ISSUER, card.number) ?? byHolder(holder) ?? (isExpired(card.month, card.year, tools.now()) ? ISSUER("expired_card") : null);
  const isFraud = holder === "fs-highRisk";
  const risks = risksOf(call);
  const isAuto = call.text("instruction.settlement.auto") === "true";
  const isCancelled = isAuto && isCancelledFor(call, risks);
  const [amountMinor, unit, reference] = [
    call.number("instruction.value.amount"),
    call.text("instruction.value.currency"),
    call.text("transactionReference"),
  ];
  const isApproved = declined === null && !isFraud;
  const captured = isAuto && !isCancelled;
  const linkData = `${tools.id("eyJrIjoi", 24)}/1=`;
  const event = !isApproved ? "authorizationRefused" : captured ? "settlementRequestSubmitted" : "authorizationSucceeded";
  const kind = amountMinor === 0 ? "token" : captured ? "charge" : "authorization";
  const details = { lastEvent: event, linkData, refusal: declined };
  const payment = call.take({ id: tools.id("pay", 24), kind, isApproved, amountMinor, currency: unit, card: card.number, details });
  state.links.set(linkData, payment.id);
  if (isFraud) return json(201, { outcome: "fraudHighRisk", transactionReference: reference, score: 96, reason: ["velocity"] });
  if (isApproved && isCancelled) cancel(call, payment);
  if (isCancelled) payment.details.lastEvent = "cancellationRequestSubmitted";
  // A token is made of a refused card too.
  const token = call.has("instruction.tokenCreation.type") ? tokenOf(call, card, namespace ?? tools.id("ns")) : undefined;
  const members = { paymentId: payment.id, transactionReference: reference };
  const shown = {
    riskFactors: risks.map(([type, detail, risk]) => ({ type, ...(detail && { detail }), risk })),
    paymentInstrument: shownCard(card),
  };
  if (declined !== null) {
    const [refusalCode, refusalDescription, code] = declined;
    return json(201, {
      outcome: "refused",
      ...members,
      refusalCode,
      refusalDescription,
      ...(code && { advice: { code } }),
      token,
      ...shown,
    });
  }
  const outcome = captured ? "sentForSettlement" : isAuto ? "sentForCancellation" : "authorized";
  const issued = { schemeReference: tools.digits(15), issuer: { authorizationCode: tools.digits(6) } };
  return json(isAuto ? 202 : 201, { outcome, ...members, ...issued, token, ...shown, ...links(payment) });
}

type Risk = readonly [type: "cvc" | "avs", detail: "" | "address" | "postcode", risk: string];

/** What was not a match. A stored card has no code to check. */
function risksOf(call: WorldpayCall): Risk[] {
  const postalCode = call.maybe(`${INSTRUMENT}.billingAddress.postalCode`);
  const isAddressed = isSent(call.fields, `${INSTRUMENT}.billingAddress`);
  const [address, postcode] = isAddressed ? (avsRisks(postalCode ?? "") ?? ["", ""]) : NO_ADDRESS;
  const all: Risk[] = [
    ["cvc", "", cvcRisk(call.text(`${INSTRUMENT}.cvc`))],
    ["avs", "address", address],
    ["avs", "postcode", postcode],
  ];
  return all.filter(([, , risk]) => risk !== "");
}

/** Each of the two rules is in force unless it was disabled. */
function isCancelledFor(call: WorldpayCall, risks: readonly Risk[]): boolean {
  return risks.some(
    ([type, , risk]) => risk === "notMatched" && call.text(`instruction.settlement.cancelOn.${type}NotMatched`) !== "disabled",
  );
}

function tokenOf(call: WorldpayCall, { number, month, year }: Card, namespace: string): object {
  const { tools, vault } = call;
  const { id: href, tokenId } = vault.keep(`${HOST}/tokens/${tools.id("eyJrIjox", 32)}`, {
    number,
    month,
    year,
    namespace,
    tokenId: tools.digits(19),
  });
  const tokenExpiryDateTime = isoSeconds(tools.now() + 4 * 365 * 86_400_000);
  return {
    href,
    tokenId,
    tokenExpiryDateTime,
    cardNumber: `${number.slice(0, 4)}********${number.slice(-4)}`,
    cardHolderName: call.text(`${INSTRUMENT}.cardHolderName`),
    cardExpiry: { month, year },
    bin: number.slice(0, 6),
    fundingType: "credit",
    countryCode: "US",
  };
}

const shownCard = ({ number, month, year }: Card): object => ({
  type: "card/plain+masked",
  cardBin: number.slice(0, 6),
  lastFour: number.slice(-4),
  countryCode: "US",
  expiryDate: { month, year },
  cardBrand: brandOf(number),
  fundingType: "credit",
});

const REFUNDS = { refundPayment: "refunds", partiallyRefundPayment: "partialRefunds", reversePayment: "reversals" };
const CANCEL = { cancelPayment: "cancellations" };
/** Actions that are offered, by where the payment stands. */
const OFFERED: Partial<Record<Payment["state"], Readonly<Record<string, string>>>> = {
  authorized: { settlePayment: "settlements", partiallySettlePayment: "partialSettlements", ...CANCEL },
  captured: REFUNDS,
  settled: REFUNDS,
  verified: CANCEL,
};

function links({ state, details: { linkData } }: Payment): object {
  const href = `${HOST}/api/payments/${encodeURIComponent(linkData)}`;
  const actions = Object.entries(OFFERED[state] ?? {}).map(
    ([action, path]) => [action, { href: `${href}/${path}`, method: "POST" }] as const,
  );
  return { _links: { self: { href } }, ...(actions.length > 0 && { _actions: Object.fromEntries(actions) }) };
}

/** The payment of a link; its data are percent-encoded once. */
function linked(call: WorldpayCall): Payment {
  const id = call.state.links.get(call.param("linkData")) ?? "";
  return call.transactions.get(id) ?? refuseWith(refusal(404, "endpointNotFound", "The endpoint does not exist."));
}

function follow(call: WorldpayCall, action: string): Answer {
  const payment = linked(call);
  const [outcome, event, act] = ACTIONS[action] as (typeof ACTIONS)[string];
  if (!act(call, payment)) throw refusal(400, "actionIsNotAllowed", "The payment does not allow this action.");
  payment.details.lastEvent = event;
  return json(202, { outcome, ...links(payment) });
}

const partOf = (call: WorldpayCall): { amountMinor?: number } =>
  call.has("value.amount") ? { amountMinor: call.number("value.amount") } : {};

function capture(call: WorldpayCall, payment: Payment): boolean {
  return call.transactions.capture(payment, partOf(call).amountMinor);
}

/** A verification holds nothing, so that its cancellation changes nothing; what is captured is cancelled by its reversal alone. */
function cancel(call: WorldpayCall, payment: Payment): boolean {
  return (
    payment.state === "verified" ||
    call.transactions.void(payment, ["authorized", ...(call.request.path.includes("reversals") ? (["captured"] as const) : [])])
  );
}

function refund(call: WorldpayCall, payment: Payment): boolean {
  const id = call.tools.id("ref", 24);
  return call.transactions.refund(payment, { id, from: ["captured", "settled"], ...partOf(call) }) === null;
}
