import type { AttemptTrace, LookUpResult, Order, Outcome, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";
import type { ChargeState } from "./responses.ts";

type Shift4Io = kit.Io<typeof requests.SETTINGS>;

const POLL_MS = [2_000];

/**
 * Shift4 API of dev.shift4.com (formerly SecurionPay): a charge with the card; a customer with a card that a hold has verified.
 * Length: a card is stored in four steps, each with a key of its own, and a look-up goes through lists whose metadata cannot be searched for.
 */
export const gateway = kit.defineGateway({
  name: "shift4",
  settings: requests.SETTINGS,
  capabilities: {
    idempotency: "replay",
    absenceIsProofAfterMs: 120_000,
    // A merchant account is boarded for telephone orders; the request has no mark.
    moto: false,
    token: "a card of a Customer",
    processorFields: { charge: "shift4_charge_id", tokenize: "shift4_customer_id shift4_card_id" },
  },
  sandbox: { secret_key: "sk_test_SIMULATORsecretshift40042" },
  checkSettings: requests.settingsFault,
  documentation:
    "Shift4 must accept the merchant's PCI level for card numbers sent to it, or payments are refused as invalid requests. Telephone orders are marked by the merchant account (merchant_account_id), not by the request. Unconfirmed: how long an " +
    "Idempotency-Key is remembered, the longest description, and whether a customer without an e-mail address is refused.",
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(storedOr(await lookUp(attempt, io), attempt), async ({ processor }) => {
      const { shift4_charge_id: charge = "", shift4_customer_id: customer = "" } = processor;
      const { answer, final } = await kit.sendUntilFinal(io, () =>
        attempt.mode === "charge" ? requests.refund(attempt, io.settings, charge) : requests.deleteCustomer(io.settings, customer),
      );
      if (attempt.mode === "tokenize") return final && answer !== null && kit.isGone(answer);
      if (final && responses.isSentBack(answer)) return true;
      if (answer !== null) await kit.nextKey(io, attempt.notes);
      return false;
    }),
});

/** Refusals of a card are kept under the idempotency key like successes, and tell what became of a first try. */
const BY_KEY: kit.KeyRule = { effect: "money", recorded: ({ status }) => status === 200 || status === 402 };

async function charge(order: Order, io: Shift4Io): Promise<Outcome> {
  const answer = await kit.sendWithKey(io, () => requests.charge(order, io.settings), BY_KEY);
  return kit.isOutcome(answer) ? answer : follow(order, io, responses.readCharge(answer, order));
}

/** Reads a charge that is still at work until it is decided. */
async function follow(subject: Subject, io: Shift4Io, first: ChargeState): Promise<Outcome> {
  if (first.outcome !== "pending") return first;
  await io.note({ charge: first.id });
  const read = async () => {
    const answer = await kit.ask(io, requests.readCharge(io.settings, first.id));
    const state = answer?.status === 200 ? responses.readCharge(answer, subject) : first;
    return state.outcome === "pending" ? undefined : state;
  };
  return (await kit.poll(io, read, POLL_MS)) ?? kit.unknown("Shift4 is still processing the payment");
}

async function tokenize(order: Order, io: Shift4Io): Promise<Outcome> {
  const created = await kit.sendWithKey(io, () => requests.createCustomer(order, io.settings), BY_KEY);
  const stored = kit.isOutcome(created) ? created : responses.readCustomer(created);
  if (kit.isOutcome(stored)) return stored.outcome === "declined" ? stored : kit.LOST_STORE;
  await io.note(stored);
  if (!io.settings.options.verify) return kept(stored);
  const answer = await kit.sendWithKey(io, () => requests.hold(order, io.settings, stored), BY_KEY);
  const held = kit.isOutcome(answer) ? answer : await follow(order, io, responses.readCharge(answer, order));
  return verified(order, io, held, stored);
}

/** A verified card stays stored and its hold is released; a refused one is taken out of the vendor's keeping again. */
async function verified(subject: Subject, io: Shift4Io, held: Outcome, stored: { customer: string; card: string }): Promise<Outcome> {
  if (held.outcome === "unknown") return held;
  if (held.outcome === "declined")
    return kit.refusedCard(held, await kit.isDone(io, requests.deleteCustomer(io.settings, stored.customer), kit.isGone));
  const released = held.capture === "captured" || (await isReleased(subject, io, held.processor["shift4_charge_id"] ?? ""));
  return kept(stored, released ? undefined : "the card is stored; the hold that verified it was not released and will lapse");
}

async function isReleased(subject: Subject, io: Shift4Io, hold: string): Promise<boolean> {
  const { answer, final } = await kit.sendUntilFinal(io, () => requests.release(subject, io.settings, hold));
  return final && responses.isSentBack(answer);
}

/** A card whose ids were noted is stored, also where the hold that was to verify it is not there. */
function storedOr(found: LookUpResult, { notes: { customer, card } }: AttemptTrace): LookUpResult {
  const isStored = found.outcome === "absent" && found.mayBeStored && customer !== undefined && card !== undefined;
  return isStored ? kept({ customer, card }) : found;
}

const kept = ({ customer, card }: { customer: string; card: string }, reason?: string): Outcome =>
  kit.approved({ shift4_customer_id: customer, shift4_card_id: card }, { reason });

/** The attempt's one charge, by its id where that is known, else by its metadata; for a stored card the hold that verified it. */
async function lookUp(attempt: AttemptTrace, io: Shift4Io): Promise<LookUpResult> {
  const { customer, card } = attempt.notes;
  if (attempt.mode === "tokenize" && (customer === undefined || card === undefined)) return kit.perhapsStored;
  if (attempt.mode === "tokenize" && !io.settings.options.verify) return kept({ customer: customer ?? "", card: card ?? "" });
  const known = attempt.notes["shift4_charge_id"] ?? attempt.notes["charge"];
  const mine =
    known === undefined ? await listed(attempt, io) : responses.readKnown(await io.send(requests.readCharge(io.settings, known)), known);
  if (mine === null) return kit.unknown("Shift4 did not answer the look-up, or there are too many payments to look through");
  const states = mine.map((item) => responses.chargeState(item, attempt));
  const found = kit.theStanding(states.map((state) => (state.outcome === "pending" ? kit.pending : state)));
  if (attempt.mode === "charge") return found;
  if (found.outcome === "absent") return kit.perhapsStored;
  if (found.outcome !== "approved" && found.outcome !== "declined") return found;
  return verified(attempt, io, found, { customer: customer ?? "", card: card ?? "" });
}

function listed(attempt: AttemptTrace, io: Shift4Io) {
  return kit.allPages(undefined, async (cursor: string | undefined) =>
    responses.readPage(await io.send(requests.listCharges(attempt, io.settings, cursor)), attempt),
  );
}
