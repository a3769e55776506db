import type { AttemptTrace, GatewayRequest, Order, Outcome, VoidResult } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

/** A transaction is sent at most so often, each time under the same order id. */
const MOST_TRIES = 2;
/** Before it is sent again, one that was not found has this long to show, ms. */
const SHOWS_MS = 3_000;
const LOST = "the request was lost, and Moneris does not know of it";

/**
 * Moneris Gateway API (MPG), XML: purchases, verifications, the vault. One request at a time, on one address.
 * Length: no key that replays, so that each transaction has a status check of its own, and a card is stored in two steps, the second with the first one's id.
 */
export const gateway = kit.defineGateway({
  name: "moneris",
  settings: requests.SETTINGS,
  capabilities: {
    // An order id is good for one transaction, for ever.
    idempotency: "refuse",
    // A status check repeats the whole request, card and all: only the attempt itself can ask.
    lookUp: "none",
    voidBy: "vendor id",
    absenceIsProofAfterMs: 120_000,
    token: "a vault profile (data key)",
    processorFields: { charge: "moneris_txn_id", tokenize: "moneris_data_key", authCode: "auth_code" },
    deadlineMs: 100_000,
  },
  sandbox: { store_id: "store5", api_token: "yesguy", currency: "USD" },
  documentation:
    "A store settles in one currency, CAD or USD; a session in another is refused. Where the store has no address verification or no " +
    "card validation digits, set avs_enabled or cvd_enabled to false. A lost answer is asked for by one status check while the card is " +
    "there, later by nobody. A payment can only be voided with its order id, the session's id and the attempt. Unconfirmed: field " +
    "lengths, crypt_type 1, the words for an unknown store or data key, whether a verification must carry cof_info, and whether a status " +
    "check shows a correction. " +
    "A refund after the batch whose answer was lost cannot be known, and is not sent again: the payment stays on the list of unmatched ones.",
  refusalOf: (sum, settings) =>
    sum.mode === "charge" && requests.amountOf(sum, settings) === null
      ? "the store settles in another currency, or the amount is too large"
      : null,
  charge,
  tokenize,
  void: (attempt, io) => (attempt.mode === "tokenize" ? removeCard(attempt, io) : voidPurchase(attempt, io)),
});

async function charge(order: Order, io: Io): Promise<Outcome> {
  const { settings } = io;
  const amount = kit.unrefused(requests.amountOf(order, settings));
  // So that a void can tell a payment that never was from one whose id was lost.
  await io.note({ purchase: "sent" });
  const outcome = await sendOnce(io, (isCheck) => requests.purchase(order, settings, amount, isCheck), responses.ofPurchase(order));
  return kit.noted(io, outcome);
}

/**
 * A lost answer is asked for once by a status check. Where the vendor knows of no such transaction it is sent again under its order
 * id, so that a request which is still on its way can never be acted on a second time.
 */
async function sendOnce(io: Io, build: (isCheck: boolean) => GatewayRequest, meaning: responses.Meaning): Promise<Outcome> {
  for (let attempt = 1; attempt <= MOST_TRIES; attempt++) {
    const outcome = responses.readAnswer(await io.send(build(false)), meaning);
    const isOpen = outcome.outcome === "unknown" || kit.isDuplicate(outcome);
    // A refusal that never came to the host says nothing of the first request.
    const isBlind = attempt > 1 && outcome.outcome === "declined" && !outcome.processor["moneris_txn_id"];
    if (!isOpen) return isBlind ? kit.unknown(LOST) : outcome;
    const found = responses.readStatus(await io.send(build(true)), meaning);
    if (found !== "not found") return found;
    if (!(await io.wait(SHOWS_MS))) break;
  }
  return kit.unknown(LOST);
}

/** Verified by the issuer for no money, then stored, which may be done again: a second data key of the card does no harm. */
async function tokenize(order: Order, io: Io): Promise<Outcome> {
  const { settings } = io;
  const verified = await sendOnce(io, (isCheck) => requests.verify(order, settings, isCheck), responses.ofVerification);
  if (verified.outcome === "declined" && !kit.isDuplicate(verified)) return verified;
  if (verified.outcome !== "approved")
    return kit.declined("gateway_unavailable", { reason: "no answer to verifying the card; no money can have moved" });
  const issuerId = verified.webhookProcessor?.["issuer_id"];
  const store = () => requests.store(order, settings, typeof issuerId === "string" ? issuerId : undefined);
  const stored = await kit.noted(
    io,
    await kit.storeAgain(io, async () => responses.readAnswer(await io.send(store()), responses.ofStored)),
  );
  return stored.outcome === "approved" && issuerId !== undefined ? { ...stored, webhookProcessor: { issuer_id: issuerId } } : stored;
}

async function voidPurchase(attempt: AttemptTrace, io: Io): Promise<VoidResult> {
  // Attempts of the version before have the id as `txn`.
  const { purchase, txn: before, moneris_txn_id: txn = before } = attempt.notes;
  if (!purchase) return { outcome: "nothing to void" };
  if (!txn) return kit.unknown("a purchase whose id was lost cannot be voided");
  const steps = {
    void: () => requests.correct(attempt, io.settings, txn),
    refund: () => requests.refund(attempt, io.settings, txn),
    lookUp: async () => responses.readCorrection(await io.send(requests.correct(attempt, io.settings, txn, true)), attempt),
  };
  const isDone = await kit.voidElseRefund(io, steps, responses.readReversal, attempt.notes);
  return isDone ? { outcome: "voided" } : kit.unknown("the payment could not be voided");
}

/** By the data key that was noted: without one no stored card is known. */
async function removeCard({ notes: { moneris_data_key: key } }: AttemptTrace, io: Io): Promise<VoidResult> {
  return key === undefined ? kit.perhapsStored : responses.readRemoval(await io.send(requests.remove(io.settings, key)));
}
