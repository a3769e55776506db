import type { AttemptTrace, GatewayRequest, LookUpResult, Order, Outcome, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

/** Longest card number that the vendor's schema takes. */
const LONGEST_NUMBER = 16;

/** Authorize.Net API (JSON): createTransaction for a charge, a customer profile with one payment profile to store a card. */
export const gateway = kit.defineGateway({
  name: "authorizenet",
  settings: requests.SETTINGS,
  capabilities: {
    idempotency: "refuse",
    // A request may run for a minute, and a new transaction may take another to show in the reports.
    absenceIsProofAfterMs: 180_000,
    authorizeOnly: true,
    takesBillingAddress: true,
    token: "a payment profile of a customer profile",
    processorFields: responses.PROCESSOR_FIELDS,
    deadlineMs: 65_000,
  },
  documentation:
    "Switch on the Transaction Details API (a lost answer is looked up with it) and, to store cards, the Customer Information Manager; keep " +
    "the account in Live Mode, the sandbox's too: in Test Mode nothing is charged, and payments fail. Accounts that are boarded for " +
    "e-commerce alone refuse telephone payments until moto is false, and processors that check no card for nothing refuse to store one " +
    "until validation is testMode. A payment that is held for review fails here, and the merchant may still release it. Unconfirmed: the " +
    "contents of a duplicate's answer, the fields of a validation beyond its reason, which processors validate by the ZIP alone, and what CAVV results " +
    "from 5 to B mean (they are passed on). " +
    "A refund after the batch whose answer was lost cannot be known, and is not sent again: the payment stays on the list of unmatched ones.",
  sandbox: { api_login_id: "simulator1", transaction_key: "simulatorKey0001" },
  refusalOf: (sum) => (sum.mode === "charge" && kit.twoPlaces(sum) === null ? "Authorize.Net takes two decimal places only" : null),
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(await lookUp(attempt, io), ({ processor }) => {
      const { authnet_transaction_id: id = "", authnet_customer_profile_id: profile = "" } = processor;
      if (attempt.mode === "charge") return takeBack(attempt, io, id);
      return untilAnswered(attempt, io, () => requests.deleteCustomerProfile(attempt, io.settings, profile), responses.isDeleted);
    }),
});

async function charge(order: Order, io: Io): Promise<Outcome> {
  if (order.card.number.length > LONGEST_NUMBER) return kit.declined("card_not_supported");
  const answer = await io.send(requests.createTransaction(order, io.settings));
  const response = responses.readTransaction(answer, order, requests.captureOf(io.settings));
  if (response.outcome !== "partial") return response;
  const refusal = kit.declined("insufficient_funds", { reason: "only a part was approved; it was voided" });
  return kit.releasedFirst(refusal, () => voided(order, io, response.transId));
}

async function tokenize(order: Order, io: Io): Promise<Outcome> {
  if (order.card.number.length > LONGEST_NUMBER) return kit.declined("card_not_supported");
  return responses.readStored(await io.send(requests.createCustomerProfile(order, io.settings)), order);
}

/** What the attempt left at the vendor: the customer profile or the transaction that carries its reference. */
async function lookUp(attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  const { settings } = io;
  if (attempt.mode === "tokenize")
    return responses.readCustomerProfile(await io.send(requests.getCustomerProfile(attempt, settings)), attempt);
  const found = await readListed(await listed(attempt, io), attempt, io);
  return found.outcome === "absent" ? readListed(await settled(attempt, io), attempt, io) : found;
}

/** The one that stands; of refusals alone the newest, but a second delivery that was refused as a duplicate says nothing of the first. */
async function readListed(all: responses.Listed[] | null, attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  if (all === null) return kit.unknown("the transactions could not be listed; is the Transaction Details API enabled?");
  const read = async ({ transId }: responses.Listed) =>
    responses.readDetails(await io.send(requests.getTransactionDetails(attempt, io.settings, transId)), attempt);
  const standing = all.filter(({ refused }) => !refused);
  if (standing.length > 0) return kit.theOnly(standing, read);
  for (const refused of all) {
    const found = await read(refused);
    if (!kit.isDuplicate(found)) return found;
  }
  return kit.absent;
}

/** Settled transactions leave the unsettled list once a day, so an old attempt is in a batch. */
async function settled(attempt: AttemptTrace, io: Io): Promise<responses.Listed[] | null> {
  // Whole seconds are sent: what settled in this one would be absent.
  const [from, to] = [attempt.startedAtMs - kit.CLOCKS_APART_MS, io.clock.now() + 1000];
  const dated = responses.readBatches(await io.send(requests.listBatches(attempt, io.settings, from, to)), attempt);
  // The vendor's clock may be ahead: what it settled just now is in the last day's.
  const latest = responses.readBatches(await io.send(requests.listBatches(attempt, io.settings)), attempt);
  if (dated === null || latest === null) return null;
  const found: responses.Listed[] = [];
  for (const batch of new Set([...dated, ...latest])) {
    const mine = await listed(attempt, io, batch);
    if (mine === null) return null;
    found.push(...mine);
  }
  return found;
}

/** The attempt's own transactions of a list, newest first; null when it could not be read to the attempt's begin. */
const listed = (attempt: AttemptTrace, io: Io, batch?: string) =>
  kit.allPages(1, async (page) =>
    responses.readList(await io.send(requests.listTransactions(attempt, io.settings, page, batch)), attempt, page),
  );

/** Voids a transaction; false when it is not known to be void. */
const voided = (subject: Subject, io: Io, transId: string) =>
  untilAnswered(subject, io, () => requests.voidTransaction(subject, io.settings, transId), responses.isReversed);

/**
 * What is settled is refunded, which takes the end of the card's number. A refund that is refused is not known to be made: the
 * vendor says reason 54 of another currency and of what is too old as well. It does not say that it would refuse a second one.
 */
async function takeBack(attempt: AttemptTrace, io: Io, transId: string): Promise<boolean> {
  if (await voided(attempt, io, transId)) return true;
  const { settings } = io;
  const card = responses.readSettledCard(await io.send(requests.getTransactionDetails(attempt, settings, transId)), attempt);
  if (card === null) return false;
  const refund = () => io.send(requests.refundTransaction(attempt, settings, transId, card));
  return kit.refundOnce(io, refund, (answer) => responses.readRefund(answer, attempt), attempt.notes);
}

/** A void or deletion that is repeated does no harm, so it is tried until the vendor says something. */
async function untilAnswered(subject: Subject, io: Io, build: () => GatewayRequest, isDone: typeof responses.isDeleted): Promise<boolean> {
  const { answer } = await kit.sendUntilFinal(io, build, ({ status }) => (status === 200 ? "final" : "perhaps done"));
  return answer !== null && isDone(answer, subject);
}
