import type { AttemptTrace, GatewayAnswer, LookUpResult, Order, Outcome, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";
import type { State } from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

const DAY_MS = 86_400_000;
const SECOND = "keys that are good for a search were refused with the payment, whose token may have been used before";

/**
 * Cybersource REST API: payments, instrument identifiers of its token management, transaction search.
 * Length: two ways to sign, a hold that a refusal leaves to be released, reversals told from voids and refunds, and a look-up in two steps.
 */
export const gateway = kit.defineGateway({
  name: "cybersource",
  settings: requests.SETTINGS,
  capabilities: {
    idempotency: "none",
    // The search's index lags by minutes; the vendor's own plan ends after a quarter of an hour with a doubt.
    absenceIsProofAfterMs: 3_600_000,
    token: "an instrument identifier",
    processorFields: { charge: "cybersource_payment_id", tokenize: "cybersource_payment_id cybersource_instrument_identifier_id" },
    deadlineMs: 75_000,
  },
  sandbox: {
    merchant_id: "examplemid",
    key_id: "0f0e0d0c-0b0a-4908-8706-050403020100",
    shared_secret: "RVhBTVBMRS1ub3QtYS1yZWFsLXNoYXJlZC1rZXktMDE=",
  },
  supportHeader: "v-c-correlation-id",
  documentation:
    "Storing cards needs Token Management Service; an instrument identifier holds the number alone, so that a later charge must give the " +
    "expiry date again. Accounts without relaxed address requirements want the billing_... settings. Message-level encryption must be off. " +
    "Telephone payments need a processor that takes commerceIndicator moto. A lost payment is searched for over the last seven days. " +
    "Unconfirmed: until when HTTP signatures are taken, and amounts of currencies without decimals. " +
    "A refund after the batch whose answer was lost cannot be known, and is not sent again: the payment stays on the list of unmatched ones.",
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(await lookUp(attempt, io), ({ processor, capture }) => {
      const id = processor["cybersource_payment_id"] ?? "";
      return capture === "captured" ? takeBack(attempt, io, id) : released(attempt, io, id, attempt.amountMinor);
    }),
});

/**
 * A token is good for one request. Where keys with which a search is answered are refused with a payment or a store, it may have arrived
 * before, and have been taken.
 */
async function isSecond(order: Order, io: Io, answer: GatewayAnswer): Promise<boolean> {
  const isShutOut = answer.kind === "answered" && answer.status === 401;
  return isShutOut && !kit.isOutcome(responses.readSearch(await io.send(requests.search(order, io)), order));
}

async function charge(order: Order, io: Io): Promise<Outcome> {
  const answer = await io.send(requests.sale(order, io));
  if (await isSecond(order, io, answer)) return kit.declined("duplicate_transaction", { reason: SECOND });
  return follow(order, io, responses.readPayment(answer, order));
}

/** Gives up what must not stay: a part is sent back before it is refused, a refused hold lapses in any case. */
async function follow(subject: Subject, io: Io, state: State): Promise<Outcome> {
  if (state.outcome !== "partial" && state.outcome !== "refused") return state;
  await io.note({ payment: state.id });
  if (state.outcome === "partial") {
    const refusal = kit.declined("insufficient_funds", {
      processor: { cybersource_payment_id: state.id },
      reason: "only a part was approved; it was sent back",
    });
    return kit.releasedFirst(refusal, () => released(subject, io, state.id, state.amountMinor));
  }
  // A card that is stored holds nothing.
  const isReleased = subject.mode === "tokenize" || (await released(subject, io, state.id, subject.amountMinor));
  return isReleased ? state.refusal : { ...state.refusal, reason: "the issuer's hold was not released and will lapse" };
}

/**
 * An authorization is reversed; of a sale whose capture ran already the payment is voided. It is never refunded: a refund could
 * be of more than was taken.
 */
async function released(subject: Subject, io: Io, id: string, amountMinor: number): Promise<boolean> {
  const isGone = (answer: kit.Answered) => ["done", "none left"].includes(responses.readReversal(answer));
  const isReleased = await kit.isDone(io, requests.release(subject, io, id, amountMinor), isGone);
  return isReleased || kit.isDone(io, requests.voidSale(subject, io, id), isGone);
}

function takeBack(attempt: AttemptTrace, io: Io, id: string): Promise<boolean> {
  const steps = {
    void: () => requests.voidSale(attempt, io, id),
    refund: () => requests.refund(attempt, io, id),
  };
  return kit.voidElseRefund(io, steps, responses.readReversal, attempt.notes);
}

/** The same number has the same identifier, so that a lost store is sent again; a used transactionId may be refused. */
function tokenize(order: Order, io: Io): Promise<Outcome> {
  let tries = 0;
  return kit.storeAgain(io, async () => {
    const transactionId = tries++ === 0 ? requests.codeOf(order) : kit.shortReference(`${order.reference}-${tries}`, 30);
    const answer = await io.send(requests.store(order, io, transactionId));
    return (await isSecond(order, io, answer)) ? kit.unknown(SECOND) : follow(order, io, responses.readPayment(answer, order));
  });
}

async function lookUp(attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  if (attempt.mode === "tokenize") return kit.perhapsStored;
  const states = responses.readSearch(await io.send(requests.search(attempt, io)), attempt);
  if (kit.isOutcome(states)) return states;
  const found = kit.theStanding(kit.withoutDuplicates(await kit.each(states, (state) => follow(attempt, io, state))));
  const isShown = io.clock.now() - attempt.startedAtMs < (requests.SEARCHED_DAYS - 1) * DAY_MS;
  return found.outcome === "absent" && !isShown ? kit.unknown("the attempt is older than what the search shows") : found;
}
