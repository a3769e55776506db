import type { AttemptTrace, Declined, GatewayAnswer, LookUpResult, Order, Outcome, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";
import type { PaymentState } from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;
/** A payment that is neither at work nor missing. */
type Settled = Exclude<PaymentState, { outcome: "pending" | "absent" }>;

const DEADLINE_MS = 90_000;
/** This long after it was sent an unknown payment has not arrived: the same body with the same id is sent again. */
const ARRIVES_WITHIN_MS = 30_000;
/** No repeat begins later, so that it can still be followed before the deadline. */
const LAST_REPEAT_MS = DEADLINE_MS - ARRIVES_WITHIN_MS;

/** The vendor's own programs count these in hundredths. */
const DECIMALS = kit.uncertainDecimals("BHD IQD JOD KWD LYD OMR TND");

/** ecommpay Gate API v2: every payment is queued, its outcome is polled; all messages are signed. */
export const gateway = kit.defineGateway({
  name: "ecommpay",
  settings: requests.SETTINGS,
  capabilities: {
    idempotency: "refuse",
    absenceIsProofAfterMs: responses.FINAL_AFTER_MS,
    token: "a card kept for the customer whose id is the session's, found by the payment id",
    processorFields: { charge: "ecommpay_payment_id ecommpay_operation_id", tokenize: "ecommpay_payment_id ecommpay_operation_id" },
    deadlineMs: DEADLINE_MS,
  },
  sandbox: { project_id: "12345", secret_key: "demo-secret-key", ip_address: "203.0.113.10" },
  refusalOf: DECIMALS.refusalOf,
  documentation:
    "The account manager enables MO/TO for telephone payments and, to store cards, card verification and tokens; where the project lists " +
    "addresses, this service's own must be among them. A later charge of a stored card names the same customer id, the session's. " +
    "Unconfirmed: the amount 0 of a verification, the name of its operation and whether it keeps the card, the members of a token's answer, a post code without " +
    "a street, a made-up payer's address, the longest texts and payment id, how refused requests look (3041 and 3061 above all), whether payment.sum shows a " +
    "part, and how long a payment in the browser stays open that waits for 3-D Secure, which the project may switch off. " +
    "At ecommpay itself 4000 0000 0000 0119 is approved and only a later debit of the stored card declines, and 4111 1111 1111 1111 " +
    "declines. In the simulator the common table wins for the first; the second declines in both. " +
    DECIMALS.note +
    "A refund whose answer was lost, and that no look-up shows, is not sent again: the payment stays on the list of unmatched ones.",
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    // A kept card cannot be taken out by this interface.
    kit.reversal(await lookUp(attempt, io), async () => attempt.mode === "charge" && released(attempt, io, attempt.amountMinor)),
});

async function charge(order: Order, io: Io): Promise<Outcome> {
  const payerIp = kit.payerIpOf(order, io);
  return kit.isOutcome(payerIp) ? payerIp : closed(order, io, await follow(order, io, payerIp));
}

/** As a charge; a card that the verification did not keep is kept by a request of its own while it is still there. */
async function tokenize(order: Order, io: Io): Promise<Outcome> {
  const payerIp = kit.payerIpOf(order, io);
  if (kit.isOutcome(payerIp)) return payerIp;
  const state = await follow(order, io, payerIp);
  if (state.outcome !== "not kept") return closed(order, io, state);
  const { approved } = state;
  const token = responses.readToken(await io.send(requests.makeToken(order, io.settings, payerIp)));
  // Nobody can find this token again by the payment's id: the merchant gets it with the status webhook.
  return token === undefined ? notKept(approved) : { ...approved, webhookProcessor: { ...approved.webhookProcessor, token } };
}

const notKept = ({ processor }: { processor: Declined["processor"] }) =>
  kit.declined("gateway_misconfigured", { processor, reason: "the project keeps no cards" });

/** The payment's final state. A lost answer is no matter: the id decides, and a second request with it cannot take twice. */
async function follow(order: Order, io: Io, payerIp: string): Promise<Settled> {
  const begunMs = io.clock.monotonic();
  const trace = { ...order, startedAtMs: io.clock.now() };
  const answer = await io.send(requests.pay(order, io.settings, payerIp));
  const queued = responses.readQueued(answer);
  if (queued.outcome === "declined") return queued;
  if (responses.isFault(answer)) await io.note({ [kit.REFUSED_AS]: "processing_error" });
  let sentMs = io.clock.monotonic();
  const state = await kit.poll(io, async () => {
    const seen = await stateOf(trace, io);
    if (seen.outcome !== "pending" && seen.outcome !== "absent" && seen.outcome !== "unknown") return seen;
    const nowMs = io.clock.monotonic();
    if (seen.outcome === "absent" && nowMs - sentMs >= ARRIVES_WITHIN_MS && nowMs - begunMs <= LAST_REPEAT_MS) {
      // Whatever it is answered: taken in once, or refused because the first one had arrived.
      await io.send(requests.pay(order, io.settings, payerIp));
      sentMs = nowMs;
    }
    return undefined;
  });
  return state ?? kit.unknown("the vendor has not settled the payment in time");
}

async function stateOf(attempt: Subject & { startedAtMs: number }, io: Io): Promise<PaymentState> {
  const ageMs = io.clock.now() - attempt.startedAtMs;
  return responses.readStatus(await io.send(requests.readStatusOf(attempt, io.settings)), attempt, io.settings, ageMs);
}

/** What a final state means; money that must not stay is sent back first. */
async function closed(subject: kit.Noted<Subject>, io: Io, state: Settled): Promise<Outcome> {
  if (state.outcome === "not kept") return notKept(state.approved);
  return state.outcome === "excess" ? kit.releasedFirst(state.refusal, () => released(subject, io, state.amount)) : state;
}

/**
 * Refunds the amount, or releases the hold, and follows that to its end. A refund that was queued, or may have been, is not sent again:
 * the vendor does not say that it would refuse the second. One that it shows to have been declined is.
 */
async function released(subject: kit.Noted<Subject>, io: Io, amount: number | "hold"): Promise<boolean> {
  const ask = () => io.send(requests.release(subject, io.settings, amount));
  const read = () => io.send(requests.readStatusOf(subject, io.settings));
  let notes = subject.notes ?? {};
  if (amount === "hold") {
    if (responses.readQueued(await ask()).outcome !== "queued") return false;
  } else {
    if (Object.keys(notes).length > 0) notes = await withoutDeclined(subject, io, notes, await read());
    if (!(await kit.refundOnce(io, ask, responses.readReversal, notes))) return false;
  }
  const done = await kit.poll(io, async () => {
    const answer = await read();
    if (responses.isReturned(answer, subject, io.settings)) return true;
    return (await withoutDeclined(subject, io, notes, answer)) === notes ? undefined : false;
  });
  return done ?? false;
}

const DECLINED_REFUNDS = "refunds_declined";

/** The notes, without the refund that was sent, where the vendor shows a declined one more than when it was. */
async function withoutDeclined(subject: Subject, io: Io, notes: AttemptTrace["notes"], answer: GatewayAnswer): Promise<typeof notes> {
  const declined = responses.declinedRefunds(answer, subject, io.settings);
  if (declined <= Number(notes[DECLINED_REFUNDS] ?? 0)) return notes;
  const changed = { [DECLINED_REFUNDS]: String(declined), refund: "refused", reversal: "refused" };
  await io.note(changed);
  return { ...notes, ...changed };
}

async function lookUp(attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  const state = await stateOf(attempt, io);
  return state.outcome === "pending" || state.outcome === "absent" ? state : closed(attempt, io, state);
}
