import type { AttemptTrace, GatewayAnswer, GatewayRequest, LookUpResult, Order, Outcome, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";
import type { PaymentState } from "./responses.ts";

type BraintreeIo = kit.Io<typeof requests.SETTINGS>;

const POLL_MS = [2_000];
/** Pauses before a request is made again that the vendor was too busy for. */
const BUSY_MS = [1_000, 5_000];

/** Braintree's GraphQL API: a single-use id for the card, then a charge; or a customer, and the card in its vault. */
export const gateway = kit.defineGateway({
  name: "braintree",
  settings: requests.SETTINGS,
  capabilities: {
    // The single-use id pays once: a second request with it is refused.
    idempotency: "refuse",
    // The charge may be sent as late as the deadline, be worked on for 60 s, and the search lags a little.
    absenceIsProofAfterMs: 180_000,
    token: "a payment method of a customer in the Vault",
    processorFields: { charge: "braintree_transaction_id", tokenize: "braintree_customer_id braintree_payment_method_token" },
  },
  sandbox: { merchant_id: "examplemerchant1", public_key: "examplepublickey", private_key: "0123456789abcdef0123456789abcdef" },
  checkSettings: requests.settingsFault,
  documentation:
    "Ids are the legacy ids that the Control Panel shows. There is no description field. The merchant account decides the currency: a " +
    "payment in another one is sent back and refused. Unconfirmed: whether MOTO must be enabled for a merchant account (the option moto " +
    "leaves the mark out), the form of a refused verification (both are read), the numbers of the postal-code and amount validations, " +
    "the longest cardholder name, what the processor's codes from 2109 on mean (they are card_declined), and how long the search lags.",
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(await lookUp(attempt, io), async () => {
      if (attempt.mode === "tokenize") return remove(io, attempt.notes["customer"] ?? "");
      const found = responses.readSearch(await io.send(requests.searchByOrder(attempt, io.settings)), attempt) ?? [];
      const [taken, ...others] = found.filter(({ state }) => state.outcome === "approved");
      return taken !== undefined && others.length === 0 && sendBack(io, taken.id);
    }),
});

/** Sends a request, and again while the vendor says that it was too busy to do anything. */
async function send(io: BraintreeIo, build: () => GatewayRequest): Promise<GatewayAnswer> {
  let answer = await io.send(build());
  for (const pause of BUSY_MS) {
    if (!responses.isTooBusy(answer) || !(await io.wait(pause))) break;
    answer = await io.send(build());
  }
  return answer;
}

async function charge(order: Order, io: BraintreeIo): Promise<Outcome> {
  const card = responses.readId(await send(io, () => requests.tokenizeCard(order, io.settings)), "tokenizeCreditCard", "paymentMethod");
  if (kit.isOutcome(card)) return card;
  return follow(order, io, responses.readCharge(await send(io, () => requests.charge(order, io.settings, card)), order));
}

/** Reads a payment that is still at work, and sends one back that was taken in part or in another currency than the session's. */
async function follow(subject: Subject, io: BraintreeIo, first: PaymentState): Promise<Outcome> {
  let state: PaymentState | null = first;
  if (first.outcome === "working") {
    const read = async () => {
      const now = responses.readTransaction(await io.send(requests.readTransaction(io.settings, first.id)), first.id, subject);
      return now.outcome === "working" ? undefined : now;
    };
    state = await kit.poll(io, read, POLL_MS);
  }
  if (state === null || state.outcome === "working") return kit.unknown("Braintree is still authorizing the payment");
  if (state.outcome !== "must go back") return state;
  const { id, refusal } = state;
  return kit.releasedFirst(refusal, () => sendBack(io, id));
}

async function sendBack(io: BraintreeIo, id: string): Promise<boolean> {
  return responses.isSentBack(await io.send(requests.reverse(io.settings, id)));
}

async function remove(io: BraintreeIo, customer: string): Promise<boolean> {
  return responses.isRemoved(await io.send(requests.deleteCustomer(io.settings, customer)));
}

async function tokenize(order: Order, io: BraintreeIo): Promise<Outcome> {
  const card = responses.readId(await send(io, () => requests.tokenizeCard(order, io.settings)), "tokenizeCreditCard", "paymentMethod");
  if (kit.isOutcome(card)) return card;
  const customer = responses.readId(await send(io, () => requests.createCustomer(order, io.settings)), "createCustomer", "customer");
  if (kit.isOutcome(customer)) return customer;
  await io.note({ customer });
  const outcome = responses.readVault(await send(io, () => requests.vault(order, io.settings, card, customer)));
  // A customer without a card is of no use to anybody.
  if (outcome.outcome === "declined" && !kit.isDuplicate(outcome)) await remove(io, customer);
  return outcome;
}

/** A payment by our order id; a stored card by the customer that was made for it, and noted. */
async function lookUp(attempt: AttemptTrace, io: BraintreeIo): Promise<LookUpResult> {
  if (attempt.mode === "tokenize") {
    const customer = attempt.notes["customer"];
    if (customer === undefined) return kit.absent;
    const stored = responses.readCards(await io.send(requests.cardsOfCustomer(io.settings, customer)));
    return stored === null ? kit.unknown("Braintree did not answer the look-up") : (stored ?? kit.absent);
  }
  const found = responses.readSearch(await io.send(requests.searchByOrder(attempt, io.settings)), attempt);
  if (found === null) return kit.unknown("Braintree did not answer the look-up");
  // A second delivery is refused as a duplicate and carries the order id too: what was taken decides.
  const state = kit.theStanding(found.map((one) => one.state));
  if (state.outcome === "absent") return state;
  return state.outcome === "working" ? kit.pending : follow(attempt, io, state);
}
