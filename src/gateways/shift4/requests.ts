import type { AttemptTrace, GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

const MERCHANT_ACCOUNT = [/^ma_[A-Za-z0-9_-]{1,64}$/, "a merchant account such as ma_2kqjYZmhRXgMRPqxuKnGPmEj"] as const;

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://api.shift4.com", live: "https://api.shift4.com" },
  credentials: {
    secret_key: kit.secret("secret key (sk_... or pr_...) of dev.shift4.com; the key decides between test and live"),
    merchant_account_id: kit.plainText(
      "merchant account (ma_...) for telephone payments: the account, not the request, is boarded for telephone orders",
      { optional: true, form: MERCHANT_ACCOUNT },
    ),
    merchant_account_id_widget: kit.plainText("merchant account (ma_...) for payments in the widget", {
      optional: true,
      form: MERCHANT_ACCOUNT,
    }),
  },
  options: {
    verify: kit.flag(true, "before a card is stored, hold one unit of money on it and release it at once: storing alone asks no issuer"),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

const REQUEST_TIMEOUT_MS = 60_000;
/** Held and released again to have the issuer asked, minor units. */
export const VERIFICATION_MINOR = 100;

/** The amount as the vendor counts it: as ISO 4217 does, but for UGX in hundredths. */
export const amountOf = ({ amountMinor, currency }: Pick<Subject, "amountMinor" | "currency">): number =>
  currency === "UGX" ? amountMinor * 100 : amountMinor;

/** Steps of an attempt; each has its own idempotency key, so that a repeat can never start another. */
type Step = "charge" | "customer" | "hold" | "release" | `refund${string}`;

const authorization = ({ credentials }: Settings) => ({ Authorization: kit.basicAuth(credentials.secret_key) });

function post(settings: Settings, subject: Subject, step: Step, path: string, body: kit.JsonBody): GatewayRequest {
  const type = { "Content-Type": "application/json", Accept: "application/json" };
  const headers = { ...authorization(settings), ...type, "Idempotency-Key": `${subject.sessionId}-${step}-${subject.attempt}` };
  return kit.request("POST", settings.endpoint + path, headers, kit.jsonBody(body), REQUEST_TIMEOUT_MS);
}

const bare = (settings: Settings, method: "GET" | "DELETE", pathAndQuery: string): GatewayRequest =>
  kit.request(method, settings.endpoint + pathAndQuery, { ...authorization(settings), Accept: "application/json" }, undefined, 20_000);

/** What `lookUp` finds an attempt by. Values are texts: the vendor's metadata holds nothing else. */
const metadata = ({ sessionId, attempt }: Subject): kit.JsonBody => ({ sessionId, attempt: String(attempt) });

function merchantAccount({ channel }: Order, { credentials }: Settings): { merchantAccountId?: string } {
  const account = channel === "voice" ? credentials.merchant_account_id : credentials.merchant_account_id_widget;
  return account ? { merchantAccountId: account.reveal() } : {};
}

function card(order: Order): kit.JsonBody {
  const { zip } = kit.holderOf(order, kit.unicodeText, { zip: 20 });
  const { number, expMonth, expYear, cardholderName } = order.card;
  return {
    number,
    expMonth,
    expYear,
    cvc: kit.securityCode(order.card),
    cardholderName: kit.optionalText(kit.unicodeText, cardholderName, 255),
    addressZip: zip,
    fraudCheckData: order.customerIp === null ? undefined : { ipAddress: order.customerIp },
  };
}

/** Takes the money at once. */
export const charge = (order: Order, settings: Settings): GatewayRequest =>
  post(settings, order, "charge", "/charges", {
    amount: amountOf(order),
    currency: order.currency,
    description: kit.optionalText(kit.unicodeText, order.description, 255),
    captured: true,
    card: card(order),
    ...merchantAccount(order, settings),
    metadata: metadata(order),
  });

/** Stores the card with a customer of its own. The vendor wants an e-mail address: this one never delivers (RFC 2606). */
export const createCustomer = (order: Order, settings: Settings): GatewayRequest =>
  post(settings, order, "customer", "/customers", {
    email: `session-${order.sessionId.replaceAll("-", "").slice(0, 20)}@payments.invalid`,
    description: kit.optionalText(kit.unicodeText, order.card.cardholderName, 255),
    card: card(order),
    metadata: metadata(order),
  });

/** Asks the issuer about a stored card by a hold that `release` gives back. */
export const hold = (order: Order, settings: Settings, { customer, card: cardId }: { customer: string; card: string }): GatewayRequest =>
  post(settings, order, "hold", "/charges", {
    amount: VERIFICATION_MINOR,
    currency: order.currency,
    captured: false,
    customerId: customer,
    card: cardId,
    ...merchantAccount(order, settings),
    metadata: metadata(order),
  });

/** Sends a charge back: no more than is left of it is taken, so that a second refund of the whole is refused. */
export const refund = (subject: AttemptTrace, settings: Settings, chargeId: string): GatewayRequest =>
  post(settings, subject, `refund${kit.keyEnd(subject.notes)}`, "/refunds", { chargeId, amount: amountOf(subject) });

/** Releases a hold. */
export const release = (subject: Subject, settings: Settings, chargeId: string): GatewayRequest =>
  post(settings, subject, "release", "/refunds", { chargeId });

export const readCharge = (settings: Settings, id: string): GatewayRequest => bare(settings, "GET", `/charges/${id}`);

/** A page of the charges made since shortly before the attempt began, newest first: metadata cannot be searched for. */
export function listCharges(attempt: AttemptTrace, settings: Settings, after?: string): GatewayRequest {
  const since = Math.floor((attempt.startedAtMs - kit.CLOCKS_APART_MS) / 1000);
  const cursor = after === undefined ? "" : `&startingAfterId=${after}`;
  return kit.listed(bare(settings, "GET", `/charges?created%5Bgte%5D=${since}&limit=100${cursor}`));
}

/** Removes a customer and the card that is stored with it. */
export const deleteCustomer = (settings: Settings, customer: string): GatewayRequest => bare(settings, "DELETE", `/customers/${customer}`);

/** What is wrong with the settings, or null. */
export function settingsFault({ credentials, environment }: Settings): string | null {
  const key = credentials.secret_key.reveal();
  if (/^p[uk]_/.test(key)) return "secret_key holds a public key (pu_... or pk_...); the secret key is needed";
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) return "secret_key has a blank in it, or characters that no key has";
  const isTest = key.includes("_test_");
  if (isTest !== (environment === "test"))
    return `secret_key is a ${isTest ? "test" : "live"} key, but these are the ${environment} settings`;
  return null;
}
