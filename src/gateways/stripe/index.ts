import { Secret } from "#src/kernel/secret.ts";
import type { AttemptTrace, Declined, Gateway, GatewayIo, LookUpResult, Order, Outcome, Unknown, VoidResult } from "../contract.ts";
import { sendUntilFinal } from "../kit/repeat.ts";
import {
  cancelIntent,
  createCustomer,
  createPaymentIntent,
  createPaymentMethod,
  createSetupIntent,
  deleteCustomer,
  keyFault,
  listIntents,
  readIntent,
  refundPayment,
} from "./requests.ts";
import type { Intent, Subject } from "./requests.ts";
import { judge, readAnswer, readCreated, readIntentObject, readPage } from "./responses.ts";
import type { Reading } from "./responses.ts";

const DEADLINE_MS = 60_000;
/** An intent that is still at work is read again this often, for as long as the attempt lasts. */
const POLL_MS = 2_000;
/** A page holds 100 intents; more than this many pages in one attempt's minutes is no longer looked through. */
const MOST_PAGES = 20;

/** Stripe API v1: PaymentMethod and PaymentIntent for a charge; PaymentMethod, Customer and SetupIntent to store a card. */
export const stripe: Gateway = {
  name: "stripe",
  capabilities: {
    idempotency: "replay",
    lookUp: "by reference",
    voidBy: "reference",
    absenceIsProofAfterMs: 120_000,
    authorizeOnly: false,
    oneAttempt: false,
    moto: true,
    verifiesOnTokenize: true,
    token: "a PaymentMethod attached to a Customer",
    needsAddress: false,
    takesBillingAddress: false,
    connectedAccountOption: "platform",
    processorFields: {
      charge: ["receipt_url", "stripe_charge_id", "stripe_payment_intent_id"],
      tokenize: ["payment_method_id", "stripe_customer_id"],
      transactionId: "stripe_charge_id",
    },
    deadlineMs: DEADLINE_MS,
  },
  credentialFields: [
    {
      name: "secret_key",
      secret: true,
      required: true,
      meaning: "secret key (sk_...) or restricted key (rk_...), Developers > API keys; with `platform` the platform's key",
    },
  ],
  credentialsIn: "credentials",
  optionFields: [
    {
      name: "platform",
      values: [true, false],
      default: false,
      meaning: "the key is a Connect platform's: sessions may name a connected account (stripe_account)",
    },
    {
      name: "moto",
      values: [true, false],
      default: true,
      meaning: "mark telephone payments as MOTO; needs a switch that Stripe's support turns on",
    },
  ],
  hosts: { test: "https://api.stripe.com", live: "https://api.stripe.com" },
  sandboxCredentials: () => ({ secret_key: new Secret("sk_test_simulator") }),
  checkSettings: (settings) => keyFault(settings.credentials["secret_key"], settings.environment),
  charge,
  tokenize,
  lookUp,
  void: undo,
};

async function charge(order: Order, io: GatewayIo): Promise<Outcome> {
  const paymentMethod = await makePaymentMethod(order, io);
  if (typeof paymentMethod !== "string") return paymentMethod;
  await io.note({ payment_method: paymentMethod });
  return confirm(order, io, "payment_intent", () => createPaymentIntent(order, io.settings, paymentMethod));
}

async function tokenize(order: Order, io: GatewayIo): Promise<Outcome> {
  const paymentMethod = await makePaymentMethod(order, io);
  if (typeof paymentMethod !== "string") return paymentMethod;
  const customer = await harmless(io, "customer", () => createCustomer(order, io.settings));
  if (typeof customer !== "string") return customer;
  await io.note({ payment_method: paymentMethod, customer });
  const outcome = await confirm(order, io, "setup_intent", () => createSetupIntent(order, io.settings, customer, paymentMethod));
  if (outcome.outcome === "declined") await io.send(deleteCustomer(order, io.settings, customer));
  return outcome;
}

async function makePaymentMethod(order: Order, io: GatewayIo): Promise<string | Declined> {
  if (order.connectedAccount !== null && io.settings.options["platform"] !== true) {
    return refusal("gateway_misconfigured", "stripe_account needs `platform` in the project's stripe settings");
  }
  return harmless(io, "payment_method", () => createPaymentMethod(order, io.settings));
}

/** A step that moves no money: whatever goes wrong, nothing was charged and the verdict is certain. */
async function harmless(io: GatewayIo, kind: "payment_method" | "customer", build: Parameters<typeof sendUntilFinal>[1]) {
  const { answer } = await sendUntilFinal(io, build, judge);
  return answer === null || answer.status === 429 ? refusal("gateway_unavailable") : readCreated(answer, kind);
}

function refusal(code: Declined["code"], reason?: string): Declined {
  return { outcome: "declined", code, message: null, processor: {}, ...(reason && { reason }) };
}

/** The step that takes the money or stores the card. */
async function confirm(order: Order, io: GatewayIo, intent: Intent, build: Parameters<typeof sendUntilFinal>[1]): Promise<Outcome> {
  const { answer, final, doubt } = await sendUntilFinal(io, build, judge);
  if (!final) return doubt ? unknown("Stripe's answer was lost") : refusal("gateway_unavailable");
  if (answer === null) return unknown("Stripe's answer was lost");
  const recorded = answer.status === 200 || answer.status === 402;
  // After a lost try only an answer that Stripe keeps under the key tells what became of the first one.
  if (doubt && !recorded) return unknown("a lost answer, then a refusal that says nothing about it");
  return settle(order, io, intent, readAnswer(answer, intent, order));
}

/** Follows an intent to its end: polls while it is at work, cancels what waits for something a call cannot give. */
async function settle(subject: Subject, io: GatewayIo, intent: Intent, first: Reading): Promise<Outcome> {
  let reading = first;
  while (reading.outcome === "processing") {
    await io.note({ [intent]: reading.id });
    if (!(await io.wait(POLL_MS))) return unknown("Stripe is still processing the payment");
    const answer = await io.send(readIntent(subject, io.settings, intent, reading.id));
    if (answer.kind === "answered" && judge(answer) === "final") reading = readAnswer(answer, intent, subject);
  }
  if (reading.outcome !== "cancel") return reading;
  await io.send(cancelIntent(subject, io.settings, intent, reading.id));
  return reading.verdict;
}

function unknown(reason: string): Unknown {
  return { outcome: "unknown", reason };
}

function intentOf(attempt: AttemptTrace): Intent {
  return attempt.mode === "charge" ? "payment_intent" : "setup_intent";
}

/** What the attempt left at Stripe: its one intent, by the noted id or by the metadata it carries. */
async function find(attempt: AttemptTrace, io: GatewayIo): Promise<Reading | { outcome: "absent" }> {
  const intent = intentOf(attempt);
  const noted = attempt.notes[intent];
  if (noted !== undefined) {
    const answer = await io.send(readIntent(attempt, io.settings, intent, noted));
    if (answer.kind !== "answered" || answer.status !== 200) return unknown("Stripe did not answer the look-up");
    return readAnswer(answer, intent, attempt);
  }
  const found = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await io.send(listIntents(attempt, io.settings, intent, DEADLINE_MS, cursor));
    const list = answer.kind === "answered" ? readPage(answer, intent, attempt) : null;
    if (list === null) return unknown("Stripe did not answer the look-up");
    found.push(...list.mine);
    if (list.next === null) {
      const [only, ...others] = found;
      if (only === undefined) return { outcome: "absent" };
      return others.length > 0 ? unknown("more than one intent carries this attempt") : readIntentObject(only, intent, attempt);
    }
    cursor = list.next;
  }
  return unknown("too many payments to look through");
}

async function lookUp(attempt: AttemptTrace, io: GatewayIo): Promise<LookUpResult> {
  const reading = await find(attempt, io);
  if (reading.outcome === "absent") return reading;
  if (reading.outcome === "processing") return { outcome: "pending" };
  return settle(attempt, io, intentOf(attempt), reading);
}

async function undo(attempt: AttemptTrace, io: GatewayIo): Promise<VoidResult> {
  const reading = await find(attempt, io);
  if (reading.outcome === "absent" || reading.outcome === "declined") return { outcome: "nothing to void" };
  if (reading.outcome === "unknown" || reading.outcome === "processing") return unknown("what there is to void is not known");
  const { settings } = io;
  const { answer, final } = await sendUntilFinal(io, () => undoing(reading, attempt, settings), judge);
  const gone = attempt.mode === "tokenize" && answer?.status === 404;
  return final && (answer?.status === 200 || gone) ? { outcome: "voided" } : unknown("the payment could not be voided");
}

function undoing(reading: Extract<Reading, { outcome: "approved" | "cancel" }>, attempt: AttemptTrace, settings: GatewayIo["settings"]) {
  if (reading.outcome === "cancel") return cancelIntent(attempt, settings, intentOf(attempt), reading.id);
  const { stripe_payment_intent_id: payment = "", stripe_customer_id: customer = "" } = reading.processor;
  if (attempt.mode === "tokenize") return deleteCustomer(attempt, settings, customer);
  return reading.capture === "authorized"
    ? cancelIntent(attempt, settings, "payment_intent", payment)
    : refundPayment(attempt, settings, payment);
}
