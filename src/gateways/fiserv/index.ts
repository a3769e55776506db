import type { AttemptTrace, GatewayAnswer, LookUpResult, Order, Outcome, Subject, VoidResult } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";
import type { PaymentState } from "./responses.ts";

type FiservIo = kit.Io<typeof requests.SETTINGS>;

const DEADLINE_MS = 60_000;
const SECOND = "keys that are good for a look-up were refused with the request, whose id may have been used before";

/**
 * Fiserv (First Data) IPG, Payment Gateway API v2: `payments` and `payment-tokens`.
 * Length: two codes to be weighed, the issuer's and the gateway's own, statuses that do not tell a refusal from an answer, and partial approvals.
 */
export const gateway = kit.defineGateway({
  name: "fiserv",
  settings: requests.SETTINGS,
  capabilities: {
    // Client-Request-Id is a nonce: a second request with it is refused, never replayed.
    idempotency: "refuse",
    // A minute of 404 after the vendor's own time-out of a minute.
    absenceIsProofAfterMs: 120_000,
    token: "a payment token",
    processorFields: {
      charge: "fiserv_transaction_id fiserv_order_id fiserv_state",
      tokenize: "fiserv_payment_token fiserv_order_id",
      inWebhook: {
        fiserv_transaction_id: ["fiserv_transaction_id"],
        fiserv_order_id: ["fiserv_order_id"],
        fiserv_payment_token: ["fiserv_payment_token"],
        fiserv_state: ["fiserv_state"],
      },
    },
    deadlineMs: DEADLINE_MS,
  },
  sandbox: { api_key: "EXAMPLEapiKEY0001", api_secret: "EXAMPLEsecret42" },
  documentation:
    "The vendor boards a store for telephone orders; without it a payment is refused with 5108 or 23032. Widget payments come without 3-D Secure: the store must accept " +
    "that (ECI 7), or they are refused with 5102. Unconfirmed: the codes of 400 and " +
    "401 answers, whether a declined payment's order id may be used again (each card has its own), and that a card stored twice has two tokens: " +
    "one that was stored too late is deleted. A refund whose answer was lost, and that its " +
    "order does not show, is not sent again: the payment stays on the list of unmatched ones.",
  refusalOf: (sum) => (sum.mode === "charge" && kit.twoPlaces(sum) === null ? "Fiserv takes two decimal places only" : null),
  charge,
  tokenize,
  lookUp,
  void: (attempt, io) => (attempt.mode === "tokenize" ? removeToken(attempt, io) : voidPayment(attempt, io)),
});

async function charge(order: Order, io: FiservIo): Promise<Outcome> {
  const answer = await io.send(requests.sale(order, io));
  const state = responses.readSale(answer, order);
  if (await isSecond(order, io, answer, state)) return kit.usedUp({ reason: SECOND }, "gateway_credentials_invalid");
  return follow(order, io, state);
}

/**
 * A request's id counts once, and how a second delivery is refused was not to be learnt: keys that are refused with it, and with which a
 * look-up is answered, may not be wrong.
 */
async function isSecond(order: Order, io: FiservIo, answer: GatewayAnswer, state: PaymentState): Promise<boolean> {
  const isShutOut = answer.kind === "answered" && answer.status === 401 && state.outcome === "declined" && !kit.isDuplicate(state);
  return isShutOut && responses.isAnswered(await io.send(requests.readPayment(io, order.reference)));
}

/** Waits for what is not decided yet, and takes back what was approved in part. */
async function follow(subject: Subject, io: FiservIo, first: PaymentState, notes: AttemptTrace["notes"] = {}): Promise<Outcome> {
  let state: PaymentState | null = first;
  if (first.outcome === "waiting") {
    await io.note({ payment: first.id });
    state = await kit.poll(io, async () => {
      const read = responses.readLookUp(await io.send(requests.readPayment(io, first.id)), subject);
      return read.outcome === "waiting" || read.outcome === "absent" || read.outcome === "unknown" ? undefined : read;
    });
  }
  if (state === null || state.outcome === "waiting") return kit.unknown("Fiserv is still working on the payment");
  if (state.outcome !== "partial") return state;
  await io.note({ payment: state.id });
  if (!(await takeBack(subject, io, state.id, notes))) return kit.unknown("a partial payment that could not be voided");
  return kit.declined("insufficient_funds", {
    processor: { fiserv_transaction_id: state.id },
    reason: "only a part was approved; it was voided",
  });
}

function takeBack(subject: Subject, io: FiservIo, id: string, notes: AttemptTrace["notes"]): Promise<boolean> {
  const steps = { void: () => requests.voidPayment(io, id), refund: () => requests.returnPayment(subject, io, id) };
  return kit.voidElseRefund(io, steps, responses.readReversal, notes);
}

async function voidPayment(attempt: AttemptTrace, io: FiservIo): Promise<VoidResult> {
  return kit.reversal(await lookUp(attempt, io), async ({ processor }) => {
    // A return whose answer was lost is a transaction of the payment's order.
    const returned = responses.readOrder(await io.send(requests.readOrder(attempt, io)), attempt);
    return returned === "none" ? takeBack(attempt, io, processor["fiserv_transaction_id"] ?? "", attempt.notes) : returned === "whole";
  });
}

async function tokenize(order: Order, io: FiservIo): Promise<Outcome> {
  const stored = await kit.storeAgain(io, async () => {
    const answer = await io.send(requests.createToken(order, io));
    const read = kit.triage(answer, { effect: "money", read: kit.readJson, readable: responses.readable, isVendors: responses.isVendors });
    const state = kit.isOutcome(read) ? read : responses.readToken(read.status, read.body);
    return (await isSecond(order, io, answer, state)) ? kit.unknown(SECOND) : state;
  });
  return kit.noted(io, stored);
}

/** By the token that was noted: without one no stored card is known. */
async function removeToken({ notes: { fiserv_payment_token: token } }: AttemptTrace, io: FiservIo): Promise<VoidResult> {
  return token === undefined ? kit.perhapsStored : responses.readRemoval(await io.send(requests.deleteToken(io, token)));
}

async function lookUp(attempt: AttemptTrace, io: FiservIo): Promise<LookUpResult> {
  if (attempt.mode === "tokenize") return kit.perhapsStored;
  const found = responses.readLookUp(await io.send(requests.readPayment(io, attempt.reference)), attempt);
  return kit.isDuplicate(found) ? ofOrder(attempt, io) : settled(attempt, io, found);
}

async function settled(attempt: AttemptTrace, io: FiservIo, found: PaymentState | typeof kit.absent): Promise<LookUpResult> {
  if (found.outcome === "absent") return found;
  return found.outcome === "waiting" ? kit.pending : follow(attempt, io, found, attempt.notes);
}

/** A second delivery that was refused for the first one's sake carries the attempt's ids too, and says nothing of the first. */
async function ofOrder(attempt: AttemptTrace, io: FiservIo): Promise<LookUpResult> {
  const sales = responses.readSales(await io.send(requests.readOrder(attempt, io)), attempt);
  if (sales === null) return kit.unknown("Fiserv did not show the order");
  return kit.theStanding(kit.withoutDuplicates(await kit.each(sales, (sale) => settled(attempt, io, sale))));
}
