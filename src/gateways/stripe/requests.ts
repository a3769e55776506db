import type { AttemptTrace, Approved, GatewayRequest, Order, ProcessorFields, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://api.stripe.com", live: "https://api.stripe.com" },
  credentials: {
    secret_key: kit.secret("secret key (sk_...) or restricted key (rk_...), Developers > API keys; with `platform` the platform's key", {
      form: [/^[spr]k_(test|live)_[A-Za-z0-9_]+$/, "a Stripe secret key (sk_test_..., sk_live_..., rk_test_... or rk_live_...)"],
    }),
  },
  options: {
    platform: kit.flag(false, "the key is a Connect platform's: sessions may name a connected account (stripe_account)"),
    moto: kit.flag(true, "mark telephone payments as MOTO; needs a switch that Stripe's support turns on"),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

/** From this version on a PaymentIntent has `latest_charge`; later ones drop `payment_method_types`. Never the account's default. */
const VERSION = "2022-11-15";
const REQUEST_TIMEOUT_MS = 20_000;

/** The stored kinds of object that carry an attempt: one takes the money, the other stores the card. */
export type Intent = "payment_intent" | "setup_intent";

/** Steps of an attempt; each has its own idempotency key, so that a repeat can never start another. */
type Step = "pm" | "cus" | "pi" | "si" | `cancel${string}` | `refund${string}`;

const headers = (settings: Settings, { connectedAccount }: Subject): Record<string, string> => ({
  Authorization: `Bearer ${settings.credentials.secret_key.reveal()}`,
  "Stripe-Version": VERSION,
  Accept: "application/json",
  ...(connectedAccount && { "Stripe-Account": connectedAccount }),
});

function post(settings: Settings, subject: Subject, step: Step, path: string, fields: kit.FormFields): GatewayRequest {
  const key = { "Idempotency-Key": `${subject.sessionId}-${step}-${subject.attempt}` };
  return kit.postForm(`${settings.endpoint}${path}`, fields, { ...headers(settings, subject), ...key }, REQUEST_TIMEOUT_MS);
}

const get = (settings: Settings, subject: Subject, pathAndQuery: string) =>
  kit.get(`${settings.endpoint}${pathAndQuery}`, headers(settings, subject), REQUEST_TIMEOUT_MS);

/** What the look-up finds an attempt by. */
const metadata = ({ sessionId, attempt }: Subject) => ({ session_id: sessionId, attempt });

/** What both intents say of the card: it is one, and how it was given. */
const cardOf = (order: Order, settings: Settings, paymentMethod: string) => ({
  payment_method: paymentMethod,
  payment_method_types: ["card"],
  payment_method_options: kit.isMoto(order, settings) ? { card: { moto: true } } : null,
});

/** In the units that Stripe counts. */
export const LARGEST = 99_999_999;

/**
 * Stripe counts the ISO zero-decimal currencies ISK and UGX in hundredths, MGA in whole ones, and takes amounts with three decimals
 * only when the last one is 0; null for what there is no room for.
 */
export function stripeAmount(subject: Pick<Subject, "amountMinor" | "currency">): number | null {
  if (subject.currency === "MGA") return kit.scaledAmount(subject, 0);
  const hundredths = kit.scaledAmount(subject, 2);
  return subject.currency === "ISK" || subject.currency === "UGX" || hundredths === null ? hundredths : subject.amountMinor;
}

/** Step 1 of both modes: the card becomes a PaymentMethod; no money moves. */
export const createPaymentMethod = (order: Order, settings: Settings) =>
  post(settings, order, "pm", "/v1/payment_methods", {
    type: "card",
    card: { number: order.card.number, exp_month: order.card.expMonth, exp_year: order.card.expYear, cvc: kit.securityCode(order.card) },
    billing_details: { name: order.card.cardholderName, address: { postal_code: order.card.postalCode } },
  });

/** Charge, step 2: takes the money at once. A demand for 3-D Secure comes back as an error, not as a hanging intent. */
export const createPaymentIntent = (order: Order, settings: Settings, amount: number, paymentMethod: string) =>
  post(settings, order, "pi", "/v1/payment_intents", {
    amount,
    currency: order.currency.toLowerCase(),
    confirm: true,
    capture_method: "automatic",
    ...cardOf(order, settings, paymentMethod),
    description: order.description,
    metadata: metadata(order),
    error_on_requires_action: true,
    expand: ["latest_charge"],
  });

/** Tokenize, step 2. */
export const createCustomer = (order: Order, settings: Settings) =>
  post(settings, order, "cus", "/v1/customers", {
    name: order.card.cardholderName,
    description: order.description,
    metadata: metadata(order),
  });

/** Tokenize, step 3: Stripe asks the issuer and attaches the PaymentMethod to the customer. */
export const createSetupIntent = (order: Order, settings: Settings, customer: string, paymentMethod: string) =>
  post(settings, order, "si", "/v1/setup_intents", {
    confirm: true,
    customer,
    ...cardOf(order, settings, paymentMethod),
    usage: "off_session",
    metadata: metadata(order),
    expand: ["latest_attempt"],
  });

const expansion = (intent: Intent, prefix = "") =>
  `expand%5B%5D=${prefix}${intent === "payment_intent" ? "latest_charge" : "latest_attempt"}`;

export const readIntent = (subject: Subject, settings: Settings, intent: Intent, id: string) =>
  get(settings, subject, `/v1/${intent}s/${id}?${expansion(intent)}`);

/**
 * One page, newest first, of the intents made while the attempt ran. Listing sees a new object at once; Stripe's search
 * lags by a minute.
 */
export function listIntents(attempt: AttemptTrace, settings: Settings, intent: Intent, ranMs: number, after?: string): GatewayRequest {
  const from = Math.floor((attempt.startedAtMs - kit.CLOCKS_APART_MS) / 1000);
  const to = Math.ceil((attempt.startedAtMs + ranMs + kit.CLOCKS_APART_MS) / 1000);
  const cursor = after === undefined ? "" : `&starting_after=${after}`;
  const query = `created%5Bgte%5D=${from}&created%5Blte%5D=${to}&limit=100${cursor}&${expansion(intent, "data.")}`;
  return kit.listed(get(settings, attempt, `/v1/${intent}s?${query}`));
}

/** Ends an intent that took no money and never will. `keyEnd`: another one each time, so that an earlier fault is not what it is answered. */
export const cancelIntent = (subject: Subject, settings: Settings, intent: Intent, id: string, keyEnd: string) =>
  post(settings, subject, `cancel${keyEnd}`, `/v1/${intent}s/${id}/cancel`, []);

/** Removes the customer and with it every card stored on it. Also tidies up after a refused tokenization. */
export const deleteCustomer = (subject: Subject, settings: Settings, customer: string) =>
  kit.remove(`${settings.endpoint}/v1/customers/${customer}`, headers(settings, subject), 5_000);

/** Sends back what an approved attempt took or stored. */
export function reverse(attempt: AttemptTrace, settings: Settings, taken: ProcessorFields, capture: Approved["capture"]): GatewayRequest {
  const end = kit.keyEnd(attempt.notes);
  const { stripe_payment_intent_id: payment = "", stripe_customer_id: customer = "" } = taken;
  if (attempt.mode === "tokenize") return deleteCustomer(attempt, settings, customer);
  if (capture === "authorized") return cancelIntent(attempt, settings, "payment_intent", payment, end);
  return post(settings, attempt, `refund${end}`, "/v1/refunds", { payment_intent: payment, metadata: metadata(attempt) });
}

/** Why the key is not one for these settings, or null. */
export function keyFault({ credentials, environment }: Settings): string | null {
  const [, prefix, kind] = /^([spr]k)_(test|live)_/.exec(credentials.secret_key.reveal()) ?? [];
  if (prefix === "pk") return "secret_key holds a publishable key (pk_...); the secret key (sk_...) or a restricted one (rk_...) is needed";
  return kind === environment ? null : `secret_key is a ${kind} key, but these are the ${environment} settings`;
}
