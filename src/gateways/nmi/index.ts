import type { AttemptTrace, GatewayRequest, LookUpResult, Order, Outcome } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

/**
 * NMI Payment API (transact.php) and Query API (query.php), the Customer Vault for stored cards.
 * Length: forms in one interface and XML in the other, cards stored asked or unasked, and duplicates that the vendor knows by card and amount alone.
 */
export const gateway = kit.defineGateway({
  name: "nmi",
  settings: requests.SETTINGS,
  capabilities: {
    // No key: the vendor refuses the same card and amount for five minutes.
    idempotency: "refuse",
    // A sale may be acted on until its time-out, and the report lags behind by less than a minute.
    absenceIsProofAfterMs: 120_000,
    token: "a Customer Vault record",
    processorFields: { charge: "nmi_transaction_id", tokenize: "nmi_transaction_id nmi_customer_vault_id" },
  },
  documentation:
    "The account needs the Customer Vault to store cards, and a merchant id for telephone orders (MOTO) to take them; its own industry setting " +
    "decides, and processor_id picks one of several. The vendor refuses the same card and amount for five minutes whatever the order: a second " +
    "payment of that kind fails as duplicate_transaction. Unconfirmed: currencies without decimals (sent with two), the industry field, the longest " +
    "orderid and description, the account's own window for duplicates, and the words of a vault id that is used already, of the fraud filter and of an " +
    "account without the vault. A refund whose answer was lost, and that no report shows, is not sent again: the payment stays " +
    "on the list of unmatched ones.",
  sandbox: { security_key: "simulatorsSecurityKeyOfThirtyTwo" },
  refusalOf: (sum) => (sum.mode === "charge" && kit.twoPlaces(sum) === null ? "the vendor takes two decimal places only" : null),
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(await lookUp(attempt, io), ({ processor }) => reverse(attempt, io, processor["nmi_transaction_id"] ?? "")),
});

async function charge(order: Order, io: Io): Promise<Outcome> {
  const response = await responseTo(requests.sale(order, io.settings), order, io);
  if (response.outcome !== "partial") return responses.asOutcome(response);
  await io.note({ transaction: response.id });
  const processor = { nmi_transaction_id: response.id };
  return kit.releasedFirst(kit.declined("insufficient_funds", { processor, reason: "only a part was authorized; it was voided" }), () =>
    kit.isDone(io, requests.voidSale(io.settings, response.id), responses.readReversal),
  );
}

/** The note of a card that is stored unasked, because the processor cannot validate. */
const UNVERIFIED = "unverified";

async function tokenize(order: Order, io: Io): Promise<Outcome> {
  const verified = await responseTo(requests.validateAndStore(order, io.settings), order, io);
  if (verified.outcome !== "unsupported") return responses.asOutcome(verified);
  await io.note({ [UNVERIFIED]: "yes" });
  return responses.asOutcome(await responseTo(requests.store(order, io.settings), order, io));
}

async function responseTo(request: GatewayRequest, order: Order, io: Io): Promise<responses.Response> {
  return responses.readResponse(await io.send(request), order);
}

async function lookUp(attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  const payment = responses.readTransactions(await io.send(requests.findTransactions(attempt, io.settings)), attempt);
  if (attempt.mode === "charge" || payment.outcome === "pending" || payment.outcome === "unknown") return payment;
  // The record decides: a processor that cannot validate gets the card into the vault all the same.
  const stored = responses.holdsRecord(await io.send(requests.findRecord(attempt, io.settings)), attempt);
  if (stored === null) return kit.unknown("the vault did not answer the look-up");
  if (stored) return payment.outcome === "approved" ? payment : responses.stored(undefined, attempt);
  // The refused validation is no refusal of the card: it may not be stored yet.
  if (payment.outcome === "declined" && attempt.notes[UNVERIFIED] !== undefined) return kit.absent;
  if (payment.outcome !== "approved") return payment;
  return kit.declined("gateway_misconfigured", { reason: "the card was verified, but the vault holds no record of it" });
}

async function reverse(attempt: AttemptTrace, io: Io, id: string): Promise<boolean> {
  const { settings } = io;
  if (attempt.mode === "tokenize") return kit.isDone(io, requests.deleteRecord(attempt, settings), responses.readReversal);
  const steps = {
    void: () => requests.voidSale(settings, id),
    refund: () => requests.refund(settings, id, attempt),
    lookUp: () => lookUp(attempt, io),
  };
  return kit.voidElseRefund(io, steps, responses.readReversal, attempt.notes);
}
