import type { AttemptTrace, Declined, LookUpResult, Order, Outcome, Unknown, VoidResult } from "../contract.ts";
import { defineGateway } from "../kit/index.ts";
import type { Io } from "../kit/index.ts";
import { SETTINGS, cancel, makeToken, pay, readStatusOf, refund, settingsFault } from "./requests.ts";
import type { Subject } from "./requests.ts";
import { readQueued, readStatus, readToken } from "./responses.ts";
import type { Reading } from "./responses.ts";

const DEADLINE_MS = 90_000;
/** Pauses between polls; the last one goes on. */
const PAUSES_MS: readonly number[] = [1_000, 2_000, 3_000, 5_000];
const LONG_PAUSE_MS = 5_000;
/** This long after it was sent an unknown payment has not arrived: the same body with the same id is sent again. */
const ARRIVES_WITHIN_MS = 30_000;
/** No repeat begins later, so that it can still be followed before the deadline. */
const LAST_REPEAT_MS = DEADLINE_MS - ARRIVES_WITHIN_MS;

/** ecommpay Gate API v2: every payment is queued, its outcome is polled; all messages are signed. */
export const gateway = defineGateway({
  name: "ecommpay",
  settings: SETTINGS,
  capabilities: {
    idempotency: "refuse",
    lookUp: "by reference",
    voidBy: "reference",
    absenceIsProofAfterMs: DEADLINE_MS + ARRIVES_WITHIN_MS,
    authorizeOnly: false,
    oneAttempt: false,
    moto: true,
    verifiesOnTokenize: true,
    token: "a card kept for the customer whose id is the session's, found by the payment id",
    needsAddress: false,
    takesBillingAddress: false,
    connectedAccountOption: null,
    processorFields: {
      charge: ["ecommpay_payment_id", "ecommpay_operation_id"],
      tokenize: ["ecommpay_payment_id", "ecommpay_operation_id"],
      transactionId: "ecommpay_payment_id",
    },
    deadlineMs: DEADLINE_MS,
  },
  sandbox: { project_id: "12345", secret_key: "demo-secret-key" },
  checkSettings: settingsFault,
  documentation:
    "At ecommpay itself 4000 0000 0000 0119 is approved and only a later debit of the stored card declines, and 4111 1111 1111 1111 declines. In the simulator the common table wins for the first; the second declines in both.",
  charge: submit,
  tokenize,
  lookUp,
  void: undo,
});

function unknown(reason: string): Unknown {
  return { outcome: "unknown", reason };
}

const isOpen = ({ outcome }: Reading) => outcome === "pending" || outcome === "absent" || outcome === "unknown";

/** Sends the payment and follows it to its end. */
async function submit(order: Order, io: Io<typeof SETTINGS>): Promise<Outcome> {
  const reading = await follow(order, io);
  return reading.outcome === "not kept" ? notKept(reading.approved.processor) : close(order, io, reading);
}

/** As `submit`; a card that the verification did not keep is kept by a request of its own while it is still there. */
async function tokenize(order: Order, io: Io<typeof SETTINGS>): Promise<Outcome> {
  const reading = await follow(order, io);
  if (reading.outcome !== "not kept") return close(order, io, reading);
  const token = readToken(await io.send(makeToken(order, io.settings)));
  // Nobody can find this token again by the payment's id: the merchant gets it with the status webhook.
  return token === null
    ? notKept(reading.approved.processor)
    : { ...reading.approved, webhookProcessor: { ...reading.approved.webhookProcessor, token } };
}

function notKept(processor: Declined["processor"]): Declined {
  return { outcome: "declined", code: "gateway_misconfigured", message: null, processor, reason: "the project keeps no cards" };
}

/** The payment's final reading. A lost answer is no matter: the id decides, and a second request with it cannot take twice. */
async function follow(order: Order, io: Io<typeof SETTINGS>): Promise<Exclude<Reading, { outcome: "pending" | "absent" }>> {
  const begunMs = io.clock.monotonic();
  const first = readQueued(await io.send(pay(order, io.settings)));
  if (first.outcome === "declined") return first;
  let sentMs = io.clock.monotonic();
  for (let round = 0; await io.wait(PAUSES_MS[round] ?? LONG_PAUSE_MS); round++) {
    const reading = readStatus(await io.send(readStatusOf(order, io.settings)), order, io.settings);
    if (reading.outcome !== "pending" && reading.outcome !== "absent" && reading.outcome !== "unknown") return reading;
    const nowMs = io.clock.monotonic();
    const lost = reading.outcome === "absent" && nowMs - sentMs >= ARRIVES_WITHIN_MS;
    if (!lost || nowMs - begunMs > LAST_REPEAT_MS) continue;
    // Whatever it is answered: taken in once, or refused because the first one had arrived.
    await io.send(pay(order, io.settings));
    sentMs = nowMs;
  }
  return unknown("the vendor has not settled the payment in time");
}

type Ended = Exclude<Reading, { outcome: "pending" | "absent" | "not kept" }>;

/** What a final reading means; money that must not stay is given back first. */
async function close(subject: Subject, io: Io<typeof SETTINGS>, reading: Ended): Promise<Outcome> {
  if (reading.outcome === "given back") return reading.verdict;
  if (reading.outcome !== "give back") return reading;
  const done = await giveBack(subject, io, reading.amountMinor);
  return done ? reading.verdict : unknown("money that must not stay could not be given back");
}

/** Refunds the amount, or releases the hold, and follows that to its end. */
async function giveBack(subject: Subject, io: Io<typeof SETTINGS>, amountMinor: number | "hold"): Promise<boolean> {
  const request = amountMinor === "hold" ? cancel(subject, io.settings) : refund(subject, io.settings, amountMinor);
  if (readQueued(await io.send(request)).outcome !== "queued") return false;
  for (let round = 0; await io.wait(PAUSES_MS[round] ?? LONG_PAUSE_MS); round++) {
    const reading = readStatus(await io.send(readStatusOf(subject, io.settings)), subject, io.settings);
    if (reading.outcome === "given back") return true;
  }
  return false;
}

async function lookUp(attempt: AttemptTrace, io: Io<typeof SETTINGS>): Promise<LookUpResult> {
  const reading = readStatus(await io.send(readStatusOf(attempt, io.settings)), attempt, io.settings);
  if (reading.outcome === "pending" || reading.outcome === "absent") return reading;
  return reading.outcome === "not kept" ? notKept(reading.approved.processor) : close(attempt, io, reading);
}

/** A refund; a kept card cannot be taken out by this interface. */
async function undo(attempt: AttemptTrace, io: Io<typeof SETTINGS>): Promise<VoidResult> {
  const reading = readStatus(await io.send(readStatusOf(attempt, io.settings)), attempt, io.settings);
  if (isOpen(reading) && reading.outcome !== "absent") return unknown("what there is to void is not known");
  if (reading.outcome !== "approved" && reading.outcome !== "give back") return { outcome: "nothing to void" };
  if (attempt.mode === "tokenize") return unknown("a stored card cannot be removed here");
  const amount = reading.outcome === "approved" ? attempt.amountMinor : reading.amountMinor;
  return (await giveBack(attempt, io, amount)) ? { outcome: "voided" } : unknown("the payment could not be refunded");
}
