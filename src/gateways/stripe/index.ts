import type { AttemptTrace, Declined, GatewayRequest, LookUpResult, Order, Outcome, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import type { Intent } from "./requests.ts";
import * as responses from "./responses.ts";
import type { IntentState } from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

const DEADLINE_MS = 60_000;
/** An intent that is still at work is read again this often. */
const POLL_MS = [2_000];

/** Stripe API v1: PaymentMethod and PaymentIntent for a charge; PaymentMethod, Customer and SetupIntent to store a card. */
export const gateway = kit.defineGateway({
  name: "stripe",
  settings: requests.SETTINGS,
  capabilities: {
    idempotency: "replay",
    absenceIsProofAfterMs: 120_000,
    token: "a PaymentMethod attached to a Customer",
    connectedAccountOption: "platform",
    processorFields: {
      charge: "receipt_url stripe_charge_id stripe_payment_intent_id",
      tokenize: "payment_method_id stripe_customer_id",
      transactionId: "stripe_charge_id",
    },
    deadlineMs: DEADLINE_MS,
  },
  sandbox: { secret_key: "sk_test_simulator" },
  checkSettings: requests.keyFault,
  supportHeader: "request-id",
  documentation:
    "Stripe's support must turn on two things for the account, also in test mode: raw card data (with proof of PCI DSS compliance) and MOTO " +
    "for telephone payments (or set moto to false: the issuer may then demand authentication, which a call cannot give). Unconfirmed: " +
    "whether a connected account needs both itself, how a payment is refused for want of MOTO (any refused request that names moto is taken for it), " +
    "the code of a demand for authentication in every version, and the longest description. At Stripe itself 4000 0000 0000 0259 is approved and disputed later: lost answers " +
    "exist in the simulator only.",
  refusalOf(sum) {
    const amount = sum.mode === "charge" ? requests.stripeAmount(sum) : 0;
    if (amount === null) return "Stripe takes no such part of this currency's unit";
    return amount > requests.LARGEST ? "Stripe takes amounts of eight digits at the most" : null;
  },
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(await lookUp(attempt, io), async ({ processor, capture }) => {
      const reverse = () => requests.reverse(attempt, io.settings, processor, capture);
      const { answer, final } = await kit.sendUntilFinal(io, reverse, responses.judge);
      if (answer === null) return false;
      if (final && responses.isReversed(answer, attempt.mode)) return true;
      // Of what was refunded after all Stripe refuses to refund any more.
      await kit.nextKey(io, attempt.notes);
      return false;
    }),
});

async function charge(order: Order, io: Io): Promise<Outcome> {
  const amount = kit.unrefused(requests.stripeAmount(order));
  const paymentMethod = await makePaymentMethod(order, io);
  if (kit.isOutcome(paymentMethod)) return paymentMethod;
  return confirm(order, io, "payment_intent", () => requests.createPaymentIntent(order, io.settings, amount, paymentMethod));
}

async function tokenize(order: Order, io: Io): Promise<Outcome> {
  const paymentMethod = await makePaymentMethod(order, io);
  if (kit.isOutcome(paymentMethod)) return paymentMethod;
  const customer = await create(io, "customer", () => requests.createCustomer(order, io.settings));
  if (kit.isOutcome(customer)) return customer;
  await io.note({ payment_method: paymentMethod, customer });
  const outcome = await confirm(order, io, "setup_intent", () => requests.createSetupIntent(order, io.settings, customer, paymentMethod));
  if (outcome.outcome !== "declined") return outcome;
  const isRemoved = await kit.isDone(io, requests.deleteCustomer(order, io.settings, customer), kit.isGone);
  return isRemoved ? outcome : { reason: "a customer without a card is left at Stripe: it could not be removed", ...outcome };
}

async function makePaymentMethod(order: Order, io: Io): Promise<string | Declined> {
  if (order.connectedAccount !== null && !io.settings.options.platform)
    return kit.declined("gateway_misconfigured", { reason: "stripe_account needs `platform` in the project's stripe settings" });
  return create(io, "payment_method", () => requests.createPaymentMethod(order, io.settings));
}

/** A step that moves no money: its object's id, or a refusal. */
async function create(io: Io, kind: "payment_method" | "customer", build: () => GatewayRequest): Promise<string | Declined> {
  const answer = await kit.sendWithKey(io, build, { effect: "nothing", judge: responses.judge });
  return kit.isOutcome(answer) ? answer : responses.readCreated(answer, kind);
}

/** The step that takes the money or stores the card. */
async function confirm(order: Order, io: Io, intent: Intent, build: () => GatewayRequest): Promise<Outcome> {
  const recorded = ({ status }: kit.Answered) => status === 200 || status === 402;
  const answer = await kit.sendWithKey(io, build, { effect: "money", judge: responses.judge, recorded });
  return kit.isOutcome(answer) ? answer : follow(order, io, intent, responses.readAnswer(answer, intent, order));
}

/** Follows an intent to its end: polls while it is at work, cancels what waits for something a call cannot give. */
async function follow(subject: Subject, io: Io, intent: Intent, first: IntentState): Promise<Outcome> {
  if (first.outcome === "processing") await io.note({ [intent]: first.id });
  const state = first.outcome === "processing" ? await kit.poll(io, () => reread(subject, io, intent, first.id), POLL_MS) : first;
  if (state === null) return kit.unknown("Stripe is still processing the payment");
  if (state.outcome !== "waiting") return state;
  const cancel = requests.cancelIntent(subject, io.settings, intent, state.id, io.random.uuid());
  return (await kit.isDone(io, cancel, responses.isCancelled)) || !state.mayMove
    ? state.refusal
    : kit.unknown("an intent that waits could not be cancelled");
}

/** An intent's state by now; undefined while it is still at work, or cannot be read. */
async function reread(subject: Subject, io: Io, intent: Intent, id: string) {
  const answer = await kit.ask(io, requests.readIntent(subject, io.settings, intent, id));
  const state = answer && responses.judge(answer) === "final" ? responses.readAnswer(answer, intent, subject) : null;
  return state === null || state.outcome === "processing" ? undefined : state;
}

/** What the attempt left at Stripe: its one intent, by the noted id or by the metadata it carries. */
async function lookUp(attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  const intent = attempt.mode === "charge" ? "payment_intent" : "setup_intent";
  const followUp = (state: IntentState) => (state.outcome === "processing" ? kit.pending : follow(attempt, io, intent, state));
  const noted = attempt.notes[intent];
  if (noted !== undefined) {
    const answer = await kit.ask(io, requests.readIntent(attempt, io.settings, intent, noted));
    return answer?.status === 200
      ? followUp(responses.readAnswer(answer, intent, attempt))
      : kit.unknown("Stripe did not answer the look-up");
  }
  const mine = await kit.allPages(undefined, async (cursor: string | undefined) =>
    responses.readPage(await io.send(requests.listIntents(attempt, io.settings, intent, DEADLINE_MS, cursor)), intent, attempt),
  );
  if (mine === null) return kit.unknown("Stripe did not answer the look-up, or there are too many payments to look through");
  return kit.theOnly(mine, (only) => followUp(responses.readIntentObject(only, intent, attempt)));
}
