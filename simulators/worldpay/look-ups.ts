import { brandOf, json, Refusal, refuseWith, table } from "../kit/index.ts";
import type { Answer } from "../kit/index.ts";
import type { Payment, WorldpayCall } from "./outcomes.ts";

/** Payment Queries and the events of the Card Payments API; their links are relative. */

const notFound = (): Refusal =>
  new Refusal(json(404, { errorName: "paymentNotFound", message: "The payment was not found." }), "paymentNotFound").unrecorded();

function row({ id, at, reference, amountMinor, currency: unit, card, details: { lastEvent } }: Payment): object {
  return {
    timestamp: new Date(at).toISOString(),
    paymentId: id,
    transactionReference: reference,
    lastEvent,
    value: { currency: unit, amount: amountMinor },
    paymentInstrument: {
      type: "card/plain+masked",
      card: { number: { cardBin: card.slice(0, 6), last4Digits: card.slice(-4) }, brand: brandOf(card) },
    },
    _links: { self: { href: `/paymentQueries/payments/${id}` } },
  };
}

export function query(call: WorldpayCall): Answer {
  const reference = call.maybe("transactionReference") ?? null;
  const [from, until] = [Date.parse(call.text("startDate")) || 0, Date.parse(call.text("endDate")) || Infinity];
  const found = call.lookUp(reference, (one) => (reference ?? one.reference) === one.reference && one.at >= from && one.at <= until);
  return json(200, { _links: { self: { href: call.request.path } }, _embedded: { payments: found.map(row) } });
}

/** Keys of the Card Payments API's links and their paths, by where the payment stands. */
const CARD_LINKS: Partial<Record<Payment["state"], Readonly<Record<string, string>>>> = {
  authorized: { cancel: "authorizations/cancellations", settle: "settlements/full" },
  verified: { cancel: "authorizations/cancellations" },
  captured: { reverse: "authorizations/reversals" },
  settled: { refund: "settlements/refunds/full", reverse: "authorizations/reversals" },
};

function cardLinks({ state, details: { linkData } }: Payment): object {
  const found = Object.entries(CARD_LINKS[state] ?? {});
  return Object.fromEntries(
    found.map(([key, path]) => [`cardPayments:${key}`, { href: `/payments/${path}/${encodeURIComponent(linkData)}` }]),
  );
}

export function queryOne(call: WorldpayCall): Answer {
  const payment = call.lookUpById(call.param("paymentId")) ?? refuseWith(notFound());
  const { lastEvent: eventName, refusal } = payment.details;
  const refused = refusal && { outcome: "refused", code: refusal[0], description: refusal[1] };
  return json(200, {
    ...row(payment),
    events: [{ eventName, timestamp: new Date(payment.at).toISOString(), ...refused }],
    _links: cardLinks(payment),
  });
}

/** The Card Payments API spells its events otherwise. */
const EVENT_WORDS = table(`
  authorizationSucceeded Authorized, authorizationRefused Refused, settlementRequestSubmitted Sent for Settlement
  cancellationRequestSubmitted Sent for Cancellation, refundRequestSubmitted Sent for Refund
  reversalRequestSubmitted Sent for Reversal
`);

export function events(call: WorldpayCall): Answer {
  const reference = call.text("transactionRef");
  const [payment = refuseWith(notFound())] = call.lookUp(reference, (one) => one.reference === reference);
  return json(200, { lastEvent: EVENT_WORDS.get(payment.details.lastEvent), _links: cardLinks(payment) });
}
