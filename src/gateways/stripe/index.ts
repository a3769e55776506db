import type { AttemptTrace, Declined, LookUpResult, Order, Outcome } from "../contract.ts";
import {
  absent,
  allPages,
  declined,
  defineGateway,
  isOutcome,
  pending,
  poll,
  reversal,
  sendUntilFinal,
  sendWithKey,
  unknown,
} from "../kit/index.ts";
import type { Io } from "../kit/index.ts";
import * as requests from "./requests.ts";
import type { Intent, Subject } from "./requests.ts";
import * as responses from "./responses.ts";
import type { IntentState } from "./responses.ts";

type StripeIo = Io<typeof requests.SETTINGS>;

const DEADLINE_MS = 60_000;
/** An intent that is still at work is read again this often. */
const POLL_MS = [2_000];

/** Stripe API v1: PaymentMethod and PaymentIntent for a charge; PaymentMethod, Customer and SetupIntent to store a card. */
export const gateway = defineGateway({
  name: "stripe",
  settings: requests.SETTINGS,
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
  sandbox: { secret_key: "sk_test_simulator" },
  checkSettings: requests.keyFault,
  supportHeader: "request-id",
  documentation: "At Stripe itself 4000 0000 0000 0259 is approved and disputed later: lost answers exist in the simulator only.",
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    reversal(await lookUp(attempt, io), async ({ processor, capture }) => {
      const { answer, final } = await sendUntilFinal(io, () => requests.reverse(attempt, io.settings, processor, capture), responses.judge);
      return final && (answer?.status === 200 || (attempt.mode === "tokenize" && answer?.status === 404));
    }),
});

async function charge(order: Order, io: StripeIo): Promise<Outcome> {
  const amount = requests.stripeAmount(order);
  if (amount === null) return declined("gateway_misconfigured", { reason: "Stripe takes no thousandths of this currency" });
  const paymentMethod = await makePaymentMethod(order, io);
  if (isOutcome(paymentMethod)) return paymentMethod;
  await io.note({ payment_method: paymentMethod });
  return confirm(order, io, "payment_intent", () => requests.createPaymentIntent(order, io.settings, amount, paymentMethod));
}

async function tokenize(order: Order, io: StripeIo): Promise<Outcome> {
  const paymentMethod = await makePaymentMethod(order, io);
  if (isOutcome(paymentMethod)) return paymentMethod;
  const customer = await create(io, "customer", () => requests.createCustomer(order, io.settings));
  if (isOutcome(customer)) return customer;
  await io.note({ payment_method: paymentMethod, customer });
  const outcome = await confirm(order, io, "setup_intent", () => requests.createSetupIntent(order, io.settings, customer, paymentMethod));
  if (outcome.outcome === "declined") await io.send(requests.deleteCustomer(order, io.settings, customer));
  return outcome;
}

async function makePaymentMethod(order: Order, io: StripeIo): Promise<string | Declined> {
  if (order.connectedAccount !== null && !io.settings.options.platform) {
    return declined("gateway_misconfigured", { reason: "stripe_account needs `platform` in the project's stripe settings" });
  }
  return create(io, "payment_method", () => requests.createPaymentMethod(order, io.settings));
}

/** A step that moves no money: its object's id, or a refusal. */
async function create(
  io: StripeIo,
  kind: "payment_method" | "customer",
  build: Parameters<typeof sendWithKey>[1],
): Promise<string | Declined> {
  const answer = await sendWithKey(io, build, { effect: "nothing", judge: responses.judge });
  if (!isOutcome(answer)) return responses.readCreated(answer, kind);
  return answer.outcome === "declined" ? answer : declined("gateway_unavailable");
}

/** The step that takes the money or stores the card. */
async function confirm(order: Order, io: StripeIo, intent: Intent, build: Parameters<typeof sendWithKey>[1]): Promise<Outcome> {
  const answer = await sendWithKey(io, build, {
    effect: "money",
    judge: responses.judge,
    recorded: ({ status }) => status === 200 || status === 402,
  });
  return isOutcome(answer) ? answer : follow(order, io, intent, responses.readAnswer(answer, intent, order));
}

/** Follows an intent to its end: polls while it is at work, cancels what waits for something a call cannot give. */
async function follow(subject: Subject, io: StripeIo, intent: Intent, first: IntentState): Promise<Outcome> {
  let state: IntentState | null = first;
  if (first.outcome === "processing") {
    await io.note({ [intent]: first.id });
    state = await poll(
      io,
      async () => {
        const answer = await io.send(requests.readIntent(subject, io.settings, intent, first.id));
        const read =
          answer.kind === "answered" && responses.judge(answer) === "final" ? responses.readAnswer(answer, intent, subject) : first;
        return read.outcome === "processing" ? undefined : read;
      },
      POLL_MS,
    );
  }
  if (state === null || state.outcome === "processing") return unknown("Stripe is still processing the payment");
  if (state.outcome !== "waiting") return state;
  await io.send(requests.cancelIntent(subject, io.settings, intent, state.id));
  return state.refusal;
}

/** What the attempt left at Stripe: its one intent, by the noted id or by the metadata it carries. */
async function lookUp(attempt: AttemptTrace, io: StripeIo): Promise<LookUpResult> {
  const intent = attempt.mode === "charge" ? "payment_intent" : "setup_intent";
  const noted = attempt.notes[intent];
  if (noted !== undefined) {
    const answer = await io.send(requests.readIntent(attempt, io.settings, intent, noted));
    if (answer.kind !== "answered" || answer.status !== 200) return unknown("Stripe did not answer the look-up");
    return found(attempt, io, intent, responses.readAnswer(answer, intent, attempt));
  }
  const mine = await allPages(undefined, async (cursor: string | undefined) =>
    responses.readPage(await io.send(requests.listIntents(attempt, io.settings, intent, DEADLINE_MS, cursor)), intent, attempt),
  );
  if (mine === null) return unknown("Stripe did not answer the look-up, or there are too many payments to look through");
  const [only, ...others] = mine;
  if (only === undefined) return absent;
  if (others.length > 0) return unknown("more than one intent carries this attempt");
  return found(attempt, io, intent, responses.readIntentObject(only, intent, attempt));
}

async function found(attempt: AttemptTrace, io: StripeIo, intent: Intent, state: IntentState): Promise<LookUpResult> {
  return state.outcome === "processing" ? pending : follow(attempt, io, intent, state);
}
