import type { AttemptTrace, LookUpResult, Order, Outcome } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

const DECIMALS = kit.uncertainDecimals(kit.DISPUTED);

/**
 * Access Worldpay: Payments API 2024-06-01, the Payment Queries API, and its links into the Card Payments API.
 * Length: three interfaces, each with its own words for the state of a payment; two of them have to agree that there is none.
 */
export const gateway = kit.defineGateway({
  name: "worldpay",
  settings: requests.SETTINGS,
  capabilities: {
    idempotency: "none",
    // Queries and events lag up to 15 minutes behind.
    absenceIsProofAfterMs: 20 * 60_000,
    // A billing address would have to be whole; a caller gives no more than its postal code.
    sendsPostalCode: false,
    token: "a token (its href)",
    processorFields: { charge: "worldpay_payment_id", tokenize: "worldpay_payment_id worldpay_token_id" },
    deadlineMs: 75_000,
  },
  sandbox: { username: "ExampleUser01", password: "ExamplePass01", entity: "default", narrative: "Example Store" },
  supportHeader: "wp-correlationid",
  refusalOf: DECIMALS.refusalOf,
  documentation:
    "Telephone payments go as channel moto. A ZIP code alone cannot be sent, so no address is checked. The stored card is charged by " +
    "its link (token href); where that has more than 255 characters the token's id and its namespace are kept, with a / between " +
    "them. Unconfirmed: channel moto together with a stored card, the full list of refusal codes, how a user that may not pay is " +
    "refused (403), the vendor's time-out, and that nothing at all guards against a request that arrives twice. " +
    DECIMALS.note +
    "A refund whose answer was lost, and that no look-up shows, is not sent again: the payment stays on the list of unmatched ones.",
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(await lookUp(attempt, io), async ({ processor }) => {
      const path = responses.reversalPath(await io.send(requests.readPayment(processor["worldpay_payment_id"] ?? "", io.settings)));
      if (path === undefined) return false;
      const reverse = () => io.send(requests.reverse(path, io.settings));
      if (!path.includes("/cancellations/")) return kit.refundOnce(io, reverse, responses.readReversal, attempt.notes);
      // Before settlement, a second one does no harm.
      const answer = await reverse();
      return answer.kind === "answered" && responses.readReversal(answer) === "done";
    }),
});

async function charge(order: Order, io: Io): Promise<Outcome> {
  if (requests.isTooLarge(order)) return kit.declined("gateway_misconfigured", { reason: "Worldpay takes amounts of 32 bits only" });
  const answer = await io.send(requests.sale(order, io.settings));
  const payment = responses.readPayment(answer, order);
  const path = responses.settlementPath(answer, io.settings.options.cvc_not_matched);
  if (payment.outcome !== "approved" || payment.capture === "captured" || path === undefined) return payment;
  return responses.readSettlement(await io.send(requests.settle(path, io.settings)), payment);
}

/** A verification for no money: sent again while its answer is lost. */
function tokenize(order: Order, io: Io): Promise<Outcome> {
  let attempt = 0;
  return kit.storeAgain(io, async () => {
    const namespace = requests.namespaceOf(order, ++attempt);
    return responses.readPayment(await io.send(requests.verifyAndStore(order, io.settings, namespace)), order, namespace);
  });
}

async function lookUp(attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  if (attempt.mode === "tokenize") return kit.perhapsStored;
  const found = responses.readPayments(await io.send(requests.findPayments(attempt, io.settings)), attempt, io.clock.now());
  if (found === null) return kit.unknown("Worldpay did not answer the look-up");
  const read = await kit.each(found, async (one) => {
    const id = "processor" in one ? one.processor["worldpay_payment_id"] : undefined;
    const isRead = one.outcome === "declined" && id !== undefined;
    return isRead ? responses.withEvents(await io.send(requests.readPayment(id, io.settings)), one) : one;
  });
  if (read.length > 0) return kit.theStanding(read);
  return responses.readEvents(await io.send(requests.findEvents(attempt, io.settings)), attempt, io.clock.now());
}
