import type { Secret } from "#src/kernel/secret.ts";
import type { AttemptTrace, Declined, LookUpResult, Order, Outcome, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";
import type { ChargeState } from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

/**
 * Clover Ecommerce API v1: the card becomes a token on one host, the token a charge or a customer's card on the other.
 * Length: three steps with a repeat each, refusals that may hide a payment which stands, cards verified by a hold, and a look-up
 * by pages of a list whose order the vendor does not promise.
 */
export const gateway = kit.defineGateway({
  name: "clover",
  settings: requests.SETTINGS,
  capabilities: {
    // A key replays the same body alone, and the token in it differs with each attempt's run.
    idempotency: "refuse",
    absenceIsProofAfterMs: 180_000,
    token: "a customer made for the session",
    processorFields: { charge: "clover_charge_id", tokenize: "clover_customer_id" },
    deadlineMs: 90_000,
  },
  sandbox: {
    public_key: "9f1c2b7e5d6a4c0f8a213b6d2c1e0f9a",
    private_key: "ab86a5e8-48f3-b3bd-8c45-d415e9867833",
    ip_address: "203.0.113.10",
  },
  documentation:
    "US and Canadian dollars. The merchant must be enabled for the API with card data and, to store cards, for multi-pay tokens. Stored " +
    "cards appear in the merchant's customer list under an address of customer_email_domain. Unconfirmed: whether storing alone asks " +
    "the issuer, that a refund releases a hold, how long an idempotency key is remembered, that the newest charges come first in a list, and " +
    "that a telephone payment may name this service's own address as the payer's.",
  refusalOf: ({ currency }) => (requests.CURRENCIES.includes(currency) ? null : "Clover takes US and Canadian dollars alone"),
  charge,
  tokenize,
  lookUp: async (attempt, io) => (await search(attempt, io)).found,
  void: async (attempt, io) => {
    const { found, notes } = await search(attempt, io);
    // A card whose ids were noted is stored, also where the hold that was to verify it is not there.
    const isStored = found.outcome === "absent" && found.mayBeStored && notes["customer"] !== undefined;
    return kit.reversal(isStored ? kept(notes["customer"] ?? "") : found, async ({ processor }) => {
      if (attempt.mode === "charge") return refunded({ ...attempt, notes }, io, processor["clover_charge_id"] ?? "");
      return isRemoved(io, notes["customer"] ?? "", notes["source"]);
    });
  },
});

/** What every attempt needs: the payer's address, then the card's token. Asking for one moves nothing, so it may be asked for again. */
async function prepared(order: Order, io: Io): Promise<{ payerIp: string; token: Secret } | Declined> {
  if (order.amountMinor > requests.LARGEST) return kit.declined("limit_exceeded", { reason: "Clover takes at most 999,999.99" });
  const payerIp = kit.payerIpOf(order, io);
  if (kit.isOutcome(payerIp)) return payerIp;
  const answer = await kit.sendWithKey(io, () => requests.token(order, io.settings), { effect: "nothing", judge: responses.judge });
  const token = kit.isOutcome(answer) ? answer : responses.readToken(answer);
  return kit.isOutcome(token) ? token : { payerIp, token };
}

async function charge(order: Order, io: Io): Promise<Outcome> {
  const ready = await prepared(order, io);
  return kit.isOutcome(ready) ? ready : pay(order, io, ready.token, ready.payerIp);
}

const BY_KEY: kit.KeyRule = { effect: "money", judge: responses.judge, recorded: responses.isRecorded };

/** Charges a token, or holds a little on a stored card. */
async function pay(order: Order, io: Io, source: Secret | string, payerIp: string): Promise<Outcome> {
  const answer = await kit.sendWithKey(io, () => requests.charge(order, io.settings, source, payerIp), BY_KEY);
  if (kit.isOutcome(answer)) return answer;
  const state = await follow(order, io, responses.readCharge(answer, order));
  // What a duplicate names is the first one, which stands: it is looked up.
  const isRefusal = state.outcome === "declined" && answer.status !== 200 && !kit.isDuplicate(state);
  return isRefusal ? confirmed(order, io, state) : state;
}

/** Reads a charge that is still at work until it is decided, and sends back a part that must not stay. */
async function follow(order: kit.Noted<Subject>, io: Io, first: ChargeState): Promise<Outcome> {
  if (first.outcome === "partial") {
    const refusal = kit.declined("insufficient_funds", { reason: "only a part was approved; it was sent back" });
    return kit.releasedFirst(refusal, () => refunded(order, io, first.id));
  }
  if (first.outcome !== "pending") return first;
  await io.note({ charge: first.id });
  const decided = await kit.poll(io, async () => {
    const answer = await kit.ask(io, requests.readCharge(io.settings, first.id));
    const state = answer?.status === 200 ? responses.readCharge(answer, order) : first;
    return state.outcome === "pending" ? undefined : state;
  });
  return decided === null ? kit.unknown("Clover is still processing the payment") : follow(order, io, decided);
}

/**
 * A refusal that names its charge may hide one that stands: a fraud rule rejects after the approval, and the vendor's own void of it
 * can fail. So the charge is read, and sent back when it was paid.
 */
async function confirmed(order: Order, io: Io, refusal: Declined): Promise<Declined | Unknown> {
  const id = refusal.processor["clover_charge_id"];
  if (id === undefined) return refusal;
  const { answer, final } = await kit.sendUntilFinal(io, () => requests.readCharge(io.settings, id));
  if (answer === null || !final || ![200, 404].includes(answer.status)) return kit.unknown("a refused charge that could not be read again");
  const state = answer.status === 404 ? refusal : responses.readCharge(answer, order);
  if (state.outcome === "declined" || isReleased(order, state)) return refusal;
  if (state.outcome === "approved" || state.outcome === "partial") return kit.releasedFirst(refusal, () => refunded(order, io, id));
  return kit.unknown("a refused charge that may stand");
}

async function refunded(subject: kit.Noted<Pick<Subject, "reference">>, io: Io, id: string): Promise<boolean> {
  const end = kit.keyEnd(subject.notes);
  const { answer, final } = await kit.sendUntilFinal(io, () => requests.refund(subject, io.settings, id, end));
  if (responses.hasFailed(answer)) await kit.nextKey(io, subject.notes);
  return final && responses.isSentBack(answer, id);
}

async function tokenize(order: Order, io: Io): Promise<Outcome> {
  const ready = await prepared(order, io);
  if (kit.isOutcome(ready)) return ready;
  const create = () => requests.createCustomer(order, io.settings, ready.token);
  const answer = await kit.sendWithKey(io, create, BY_KEY);
  const stored = kit.isOutcome(answer) ? answer : responses.readCustomer(answer);
  if (kit.isOutcome(stored)) return stored.outcome === "declined" ? stored : kit.LOST_STORE;
  await io.note({ ...stored });
  if (!io.settings.options.verify) return kept(stored.customer);
  return verified(order, io, await pay(order, io, stored.customer, ready.payerIp), stored);
}

/** What verified a card and was sent back reads as captured: nothing of it is left. */
const isReleased = ({ mode }: Pick<Subject, "mode">, state: ChargeState): boolean =>
  mode === "tokenize" && state.outcome === "approved" && state.capture === "captured";

const kept = (customer: string, reason?: string): Outcome => kit.approved({ clover_customer_id: customer }, { reason });

/** A verified card stays stored and its hold is released; a refused one is taken out of the vendor's keeping again. */
async function verified(subject: kit.Noted<Subject>, io: Io, held: Outcome, { customer, source }: responses.Stored): Promise<Outcome> {
  if (held.outcome === "unknown") return held;
  if (held.outcome === "declined") {
    // A duplicate is looked up, and the first one may have verified the card.
    if (kit.isDuplicate(held)) return { ...held, processor: {} };
    return kit.refusedCard(held, await isRemoved(io, customer, source));
  }
  const released = isReleased({ mode: "tokenize" }, held) || (await refunded(subject, io, held.processor["clover_charge_id"] ?? ""));
  return kept(customer, released ? undefined : "the card is stored; the dollar that verified it was not sent back (a hold will lapse)");
}

/** Takes the stored card away from its customer; one that is not there any more was taken away before. */
const isRemoved = async (io: Io, customer: string, source: string | undefined): Promise<boolean> =>
  source !== undefined && kit.isDone(io, requests.deleteSource(io.settings, customer, source), kit.isGone);

/** What is found of the attempt, and its notes with the key that the next refund has. */
async function search(attempt: AttemptTrace, io: Io): Promise<{ found: LookUpResult; notes: AttemptTrace["notes"] }> {
  const { customer } = attempt.notes;
  const ended = (found: LookUpResult) => ({ found, notes: attempt.notes });
  if (attempt.mode === "tokenize" && customer === undefined) return ended(kit.perhapsStored);
  if (attempt.mode === "tokenize" && !io.settings.options.verify) return ended(kept(customer ?? ""));
  const listed = await kit.allPages(undefined, async (cursor: string | undefined) =>
    responses.readPage(await io.send(requests.listCharges(io.settings, cursor)), attempt),
  );
  // A page may begin with the charge that the last one ended with.
  const mine = listed && [...new Map(listed.map((item) => [item["id"], item])).values()];
  if (mine === null) return ended(kit.unknown("Clover did not answer the look-up, or there are too many payments to look through"));
  const fallen = Math.max(0, ...mine.map(responses.fallenRefunds));
  const notes = await kit.keyPast(fallen, io, attempt.notes);
  return { found: await stateOf(mine, { ...attempt, notes }, io), notes };
}

/** By our reference, among the charges since shortly before the attempt began; for a stored card the hold that verified it. */
async function stateOf(mine: readonly kit.JsonObject[], attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  const { customer, source } = attempt.notes;
  const states = await kit.each(mine, async (item): Promise<LookUpResult> => {
    const state = responses.chargeState(item, attempt);
    return state.outcome === "pending" ? kit.pending : follow(attempt, io, state);
  });
  const found = kit.theStanding(states);
  if (attempt.mode === "charge") return found;
  if (found.outcome === "absent") return kit.perhapsStored;
  if (found.outcome !== "approved" && found.outcome !== "declined") return found;
  return verified(attempt, io, found, { customer: customer ?? "", ...(source !== undefined && { source }) });
}
