import type { AttemptTrace, Approved, GatewayRequest, Order, ProcessorFields } from "../contract.ts";
import { describeSettings, formBody, isMoto, scaledAmount, securityCode } from "../kit/index.ts";
import type { FormFields, SettingsOf } from "../kit/index.ts";

export const SETTINGS = describeSettings({
  hosts: { test: "https://api.stripe.com", live: "https://api.stripe.com" },
  credentials: {
    secret_key: {
      secret: true,
      meaning: "secret key (sk_...) or restricted key (rk_...), Developers > API keys; with `platform` the platform's key",
    },
  },
  options: {
    platform: {
      values: [true, false],
      default: false,
      meaning: "the key is a Connect platform's: sessions may name a connected account (stripe_account)",
    },
    moto: {
      values: [true, false],
      default: true,
      meaning: "mark telephone payments as MOTO; needs a switch that Stripe's support turns on",
    },
  },
});
type Settings = SettingsOf<typeof SETTINGS>;

/** From this version on a PaymentIntent has `latest_charge`; later ones drop `payment_method_types`. Never the account's default. */
const VERSION = "2022-11-15";
const REQUEST_TIMEOUT_MS = 20_000;

/** Which attempt a request belongs to: an order, or what is left of one. */
export type Subject = Pick<AttemptTrace, "sessionId" | "attempt" | "mode" | "connectedAccount" | "currency" | "amountMinor">;

/** The stored kinds of object that carry an attempt: one takes the money, the other stores the card. */
export type Intent = "payment_intent" | "setup_intent";

/** Steps of an attempt; each has its own idempotency key, so that a repeat can never start another. */
type Step = "pm" | "cus" | "pi" | "si" | "cancel" | "refund";

function headers(settings: Settings, subject: Subject, step?: Step): Record<string, string> {
  return {
    Authorization: `Bearer ${settings.credentials.secret_key.reveal()}`,
    "Stripe-Version": VERSION,
    Accept: "application/json",
    ...(subject.connectedAccount && { "Stripe-Account": subject.connectedAccount }),
    ...(step && {
      "Idempotency-Key": `${subject.sessionId}-${step}-${subject.attempt}`,
      "Content-Type": "application/x-www-form-urlencoded",
    }),
  };
}

function post(settings: Settings, subject: Subject, step: Step, path: string, fields: FormFields): GatewayRequest {
  return {
    method: "POST",
    url: `${settings.endpoint}${path}`,
    headers: headers(settings, subject, step),
    body: formBody(fields),
    timeoutMs: REQUEST_TIMEOUT_MS,
  };
}

function get(settings: Settings, subject: Subject, pathAndQuery: string): GatewayRequest {
  return { method: "GET", url: `${settings.endpoint}${pathAndQuery}`, headers: headers(settings, subject), timeoutMs: REQUEST_TIMEOUT_MS };
}

/** What `lookUp` finds an attempt by. */
function metadata(subject: Subject): FormFields {
  return [
    ["metadata[session_id]", subject.sessionId],
    ["metadata[attempt]", subject.attempt],
  ];
}

function moto(settings: Settings, order: Order): FormFields {
  return isMoto(order, settings) ? [["payment_method_options[card][moto]", true]] : [];
}

/**
 * Stripe counts the ISO zero-decimal currencies ISK and UGX in hundredths, and takes amounts with three decimals only when
 * the last one is 0; null for others.
 */
export function stripeAmount({ amountMinor, currency }: Pick<Subject, "amountMinor" | "currency">): number | null {
  if (currency === "ISK" || currency === "UGX") return scaledAmount({ amountMinor, currency }, 2);
  return scaledAmount({ amountMinor, currency }, 2) === null ? null : amountMinor;
}

/** Step 1 of both modes: the card becomes a PaymentMethod; no money moves. */
export function createPaymentMethod(order: Order, settings: Settings): GatewayRequest {
  const { card } = order;
  return post(settings, order, "pm", "/v1/payment_methods", [
    ["type", "card"],
    ["card[number]", card.number],
    ["card[exp_month]", card.expMonth],
    ["card[exp_year]", card.expYear],
    ["card[cvc]", securityCode(card)],
    ["billing_details[name]", card.cardholderName],
    ["billing_details[address][postal_code]", card.postalCode],
  ]);
}

/** Charge, step 2: takes the money at once. A demand for 3-D Secure comes back as an error, not as a hanging intent. */
export function createPaymentIntent(order: Order, settings: Settings, amount: number, paymentMethod: string): GatewayRequest {
  return post(settings, order, "pi", "/v1/payment_intents", [
    ["amount", amount],
    ["currency", order.currency.toLowerCase()],
    ["confirm", true],
    ["capture_method", "automatic"],
    ["payment_method", paymentMethod],
    ["payment_method_types[0]", "card"],
    ...moto(settings, order),
    ["description", order.description],
    ...metadata(order),
    ["error_on_requires_action", true],
    ["expand[0]", "latest_charge"],
  ]);
}

/** Tokenize, step 2. */
export function createCustomer(order: Order, settings: Settings): GatewayRequest {
  return post(settings, order, "cus", "/v1/customers", [
    ["name", order.card.cardholderName],
    ["description", order.description],
    ...metadata(order),
  ]);
}

/** Tokenize, step 3: Stripe asks the issuer and attaches the PaymentMethod to the customer. */
export function createSetupIntent(order: Order, settings: Settings, customer: string, paymentMethod: string): GatewayRequest {
  return post(settings, order, "si", "/v1/setup_intents", [
    ["confirm", true],
    ["customer", customer],
    ["payment_method", paymentMethod],
    ["payment_method_types[0]", "card"],
    ["usage", "off_session"],
    ...moto(settings, order),
    ...metadata(order),
    ["expand[0]", "latest_attempt"],
  ]);
}

export function readIntent(subject: Subject, settings: Settings, intent: Intent, id: string): GatewayRequest {
  return get(settings, subject, `/v1/${intent}s/${id}?${expansion(intent, "")}`);
}

/**
 * One page, newest first, of the intents made while the attempt ran. Listing sees a new object at once; Stripe's search
 * lags by a minute. The margins allow for the difference between the database's clock and Stripe's.
 */
export function listIntents(attempt: AttemptTrace, settings: Settings, intent: Intent, ranMs: number, after?: string): GatewayRequest {
  const from = Math.floor(attempt.startedAtMs / 1000) - 60;
  const to = Math.ceil((attempt.startedAtMs + ranMs) / 1000) + 60;
  const cursor = after === undefined ? "" : `&starting_after=${after}`;
  const query = `created%5Bgte%5D=${from}&created%5Blte%5D=${to}&limit=100${cursor}&${expansion(intent, "data.")}`;
  return get(settings, attempt, `/v1/${intent}s?${query}`);
}

function expansion(intent: Intent, prefix: string): string {
  return `expand%5B%5D=${prefix}${intent === "payment_intent" ? "latest_charge" : "latest_attempt"}`;
}

/** Ends an intent that took no money and never will. */
export function cancelIntent(subject: Subject, settings: Settings, intent: Intent, id: string): GatewayRequest {
  return post(settings, subject, "cancel", `/v1/${intent}s/${id}/cancel`, []);
}

/** Sends back what an approved attempt took or stored. */
export function reverse(
  attempt: AttemptTrace,
  settings: Settings,
  processor: ProcessorFields,
  capture: Approved["capture"],
): GatewayRequest {
  const { stripe_payment_intent_id: payment = "", stripe_customer_id: customer = "" } = processor;
  if (attempt.mode === "tokenize") return deleteCustomer(attempt, settings, customer);
  if (capture === "authorized") return cancelIntent(attempt, settings, "payment_intent", payment);
  return post(settings, attempt, "refund", "/v1/refunds", [["payment_intent", payment], ...metadata(attempt)]);
}

/** Removes the customer and with it every card stored on it. Also tidies up after a refused tokenization. */
export function deleteCustomer(subject: Subject, settings: Settings, customer: string): GatewayRequest {
  return { ...get(settings, subject, `/v1/customers/${customer}`), method: "DELETE", timeoutMs: 5_000 };
}

/** What is wrong with a secret key for this environment, or null. */
export function keyFault({ credentials, environment }: Settings): string | null {
  const text = credentials.secret_key.reveal();
  if (text.startsWith("pk_"))
    return "secret_key holds a publishable key (pk_...); the secret key (sk_...) or a restricted one (rk_...) is needed";
  const kind = /^[sr]k_(test|live)_[A-Za-z0-9_]+$/.exec(text)?.[1];
  if (kind === undefined) return "secret_key is not a Stripe secret key (sk_test_..., sk_live_..., rk_test_... or rk_live_...)";
  return kind === environment ? null : `secret_key is a ${kind} key, but these are the ${environment} settings`;
}
