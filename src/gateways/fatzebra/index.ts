import { isDeclineCode } from "#src/kernel/payment.ts";
import type { AttemptTrace, Declined, GatewayAnswer, LookUpResult, Order, Outcome, Subject, VoidResult } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

const DECIMALS = kit.uncertainDecimals(kit.DISPUTED);

/**
 * Fat Zebra (PMNTS) Gateway API v1.0: purchases that are found by our reference, and card tokens.
 * Length: two flags and a code that may contradict one another, refusals in words alone, holds and uncaptured purchases to be released, and refunds that a bank
 * may decline, each under a reference of its own.
 */
export const gateway = kit.defineGateway({
  name: "fatzebra",
  settings: requests.SETTINGS,
  capabilities: {
    // A used reference is either refused or answered with its first purchase: the vendor does not say which.
    idempotency: "refuse",
    absenceIsProofAfterMs: 120_000,
    sendsPostalCode: false,
    token: "a card token",
    processorFields: { charge: "fatzebra_purchase_id", tokenize: "fatzebra_card_token" },
    deadlineMs: 90_000,
  },
  sandbox: { username: "TEST", token: "TEST", ip_address: "203.0.113.10" },
  refusalOf: DECIMALS.refusalOf,
  documentation:
    "The vendor demands the payer's IPv4 address; for telephone payments this service's own is sent. Storing a card asks no issuer: its " +
    "token comes from a hold of one unit of money, which is released at once. Unconfirmed: what a used reference is answered, the wording of refused fields, " +
    "the body beside status 401, and the vendor's time-out. " +
    DECIMALS.note,
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    // A stored card cannot be taken out by this interface.
    attempt.mode === "charge" ? voidPurchase(attempt, io) : kit.perhapsStored,
});

async function charge(order: Order, io: Io): Promise<Outcome> {
  const payerIp = kit.payerIpOf(order, io, "IPv4");
  if (kit.isOutcome(payerIp)) return payerIp;
  return whole(order, io, (await purchased(order, io, payerIp)).state);
}

/** Sends a purchase; what it was refused for, where that is no proof, is noted for reconciliation. */
async function purchased(order: Order, io: Io, payerIp: string): Promise<{ state: responses.PurchaseState; answer: GatewayAnswer }> {
  const answer = await io.send(requests.purchase(order, io.settings, payerIp));
  const state = responses.readPurchase(answer, order);
  const field = state.outcome === "unknown" ? responses.refusedField(answer) : undefined;
  if (field !== undefined) await io.note({ [kit.REFUSED_AS]: field });
  return { state, answer };
}

/** A part of the amount must not stay, nor a hold. */
async function whole(subject: kit.Noted<Subject>, io: Io, state: responses.PurchaseState): Promise<Outcome> {
  if (state.outcome !== "partial") return state;
  if (state.isHeld) {
    const held = kit.declined("gateway_misconfigured", { reason: "the money was only held; it was released" });
    return kit.releasedFirst(held, () => kit.isDone(io, requests.voidPurchase(io.settings, state.id), responses.readReversal));
  }
  const refusal = kit.declined("insufficient_funds", { reason: "only a part was approved; it was voided" });
  return kit.releasedFirst(refusal, () => reversed({ ...subject, amountMinor: state.amountMinor }, io, state.id));
}

async function voidPurchase(attempt: AttemptTrace, io: Io): Promise<VoidResult> {
  const answer = await io.send(requests.readPurchase(attempt, io.settings));
  const uncaptured = responses.uncapturedId(answer, attempt);
  if (uncaptured !== undefined) {
    // One that was released meanwhile is voided no more, and nothing of it is left.
    const isGone = (step: kit.Answered) => responses.readReversal(step) !== "unclear";
    const isReleased = await kit.isDone(io, requests.voidPurchase(io.settings, uncaptured), isGone);
    return isReleased ? { outcome: "voided" } : kit.unknown("the hold could not be released");
  }
  const found = responses.readFound(answer, attempt);
  const state = found.outcome === "absent" ? found : await whole(attempt, io, found);
  return kit.reversal(state, ({ processor }) => reversed(attempt, io, processor["fatzebra_purchase_id"] ?? ""));
}

/** A refund has a reference of its own: a second one is refused, or answered as the first. One that was declined needs another. */
const reversed = (subject: kit.Noted<Subject>, io: Io, id: string): Promise<boolean> =>
  kit.voidElseRefund(
    io,
    {
      void: () => requests.voidPurchase(io.settings, id),
      refund: () => requests.refund(subject, io.settings, id, Number(kit.keyEnd(subject.notes))),
      secondRefund: "harmless",
      // The vendor does not say that it refuses to refund what is voided.
      lookUp: async () => kit.partStands(responses.readFound(await io.send(requests.readPurchase(subject, io.settings)), subject)),
      isKept: (answer, step) => step === "refund" && responses.isDeclined(answer),
    },
    responses.readReversal,
    subject.notes,
  );

/** The issuer is asked by a hold, whose answer has the card's token; without one the card is stored unseen. */
async function tokenize(order: Order, io: Io): Promise<Outcome> {
  if (!io.settings.options.verify)
    return kit.storeAgain(io, async () => responses.readStored(await io.send(requests.store(order, io.settings))));
  const payerIp = kit.payerIpOf(order, io, "IPv4");
  if (kit.isOutcome(payerIp)) return payerIp;
  const { state, answer } = await purchased(order, io, payerIp);
  return stored(io, state, answer);
}

/** Releases the hold that has verified a card, and keeps the card's token. */
async function stored(io: Io, held: responses.PurchaseState, answer: GatewayAnswer): Promise<Outcome> {
  if (held.outcome === "declined") return { ...held, processor: {} };
  if (held.outcome === "unknown") return held;
  const id = held.outcome === "partial" ? held.id : (held.processor["fatzebra_purchase_id"] ?? "");
  const { answer: voided } = await kit.sendUntilFinal(io, () => requests.voidPurchase(io.settings, id));
  const token = responses.tokenOf(answer);
  if (held.outcome === "partial") return kit.declined("insufficient_funds", { reason: "only a part of the verifying hold was approved" });
  if (token === undefined) return kit.declined("processing_error", { reason: "the card was verified, and the answer has no token of it" });
  // Nothing settles a hold: one that cannot be voided was released before.
  const isReleased = voided !== null && responses.readReversal(voided) !== "unclear";
  const reason = "the card is stored; that the hold which verified it was released is not known: else it lapses";
  return kit.approved({ fatzebra_card_token: token }, { reason: isReleased ? undefined : reason });
}

/** By our reference; of a card that was to be stored, the hold that verified it. */
async function lookUp(attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  const answer = await io.send(requests.readPurchase(attempt, io.settings));
  const found = responses.readFound(answer, attempt);
  if (found.outcome === "absent") return found;
  const state = found.outcome === "declined" ? { ...found, code: codeOf(found, attempt) } : found;
  return attempt.mode === "charge" ? whole(attempt, io, state) : stored(io, state, answer);
}

/** A purchase that failed without a reason may be one whose field was refused. */
function codeOf({ code }: Declined, { notes }: AttemptTrace): Declined["code"] {
  const field = notes[kit.REFUSED_AS] ?? "";
  return code === "processing_error" && isDeclineCode(field) && field !== "duplicate_transaction" ? field : code;
}
