import type { AccessToken, GatewayIo, GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://apis.sandbox.globalpay.com", live: "https://apis.globalpay.com" },
  sideHosts: { eu: { test: "https://apis.sandbox.eu.globalpay.com", live: "https://apis.eu.globalpay.com" } },
  credentials: {
    app_id: kit.plainText("app id, developer portal > Apps", {
      form: [/^[A-Za-z0-9]{1,64}$/, "an app id: it has letters and digits only"],
    }),
    app_key: kit.secret("app key, shown once with the app; it is never sent"),
    account_name: kit.plainText("transaction account; transaction_processing, or the first one of the app, when left out", {
      optional: true,
    }),
    country: kit.plainText("country of the merchant, two letters; US when left out", {
      optional: true,
      form: [/^[A-Z]{2}$/, "a country of two letters"],
    }),
  },
  options: {
    region: kit.oneOf(["global", "eu"], "eu keeps the data in the European Union, on hosts of its own"),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

const VERSION = "2021-03-22";
/** What the vendor's own libraries wait for. */
const TIMEOUT_MS = 65_000;
const TOKEN_SECONDS = 3_600;

const baseOf = ({ endpoint, side, options }: Settings) => `${options.region === "eu" ? side.eu : endpoint}/ucp`;

/** Steps of an attempt; each has its own idempotency key, at most 50 characters. */
type Step = "pay" | "verify" | "verify2" | "store" | TakeBack;
type TakeBack = "reverse" | `refund${string}`;
const keyOf = ({ reference }: Pick<Subject, "reference">, step: Step) => `${reference}-${step}`;

const bearer = ({ token }: AccessToken) => ({ Authorization: `Bearer ${token.reveal()}`, "X-GP-Version": VERSION });

const post = (settings: Settings, token: AccessToken, key: string, path: string, body: kit.JsonBody): GatewayRequest =>
  kit.postJson(baseOf(settings) + path, body, { ...bearer(token), "x-gp-idempotency": key }, TIMEOUT_MS);

/** The app's secret is the SHA-512 of a fresh nonce and the key. */
export function askForToken(settings: Settings, { random }: Pick<GatewayIo, "random">): GatewayRequest {
  const { app_id, app_key } = settings.credentials;
  const nonce = random.uuid();
  const secret = kit.hash("sha512", [nonce, app_key], "hex");
  const body = { app_id: app_id.reveal(), nonce, secret, grant_type: "client_credentials", seconds_to_expire: TOKEN_SECONDS };
  return kit.postJson(`${baseOf(settings)}/accesstoken`, body, { "X-GP-Version": VERSION });
}

/** The two accounts that a token grants: one for transactions and verifications, one for stored cards. */
const transactionAccount = ({ credentials }: Settings, { grants }: AccessToken) => ({
  account_name: credentials.account_name?.reveal() ?? grants["transaction_name"] ?? "transaction_processing",
  account_id: credentials.account_name ? undefined : grants["transaction_id"],
});
const tokenAccount = ({ grants }: AccessToken) => ({
  account_name: grants["token_name"] ?? "tokenization",
  account_id: grants["token_id"],
});

const clean = (text: string | null, limit: number) => kit.optionalText(kit.unicodeText, text, limit);

function paymentMethod(order: Order): kit.JsonBody {
  const { card } = order;
  const cvv = kit.securityCode(card);
  return {
    entry_mode: order.channel === "voice" ? "PHONE" : "ECOM",
    name: clean(card.cardholderName, 50),
    card: {
      ...digits(order),
      cvv,
      cvv_indicator: cvv ? "PRESENT" : "NOT_PRESENT",
      avs_postal_code: clean(card.postalCode, 50),
    },
  };
}

const digits = ({ card }: Order) => ({ number: card.number, expiry_month: card.expMonth, expiry_year: kit.expiry(card, "YY") });
const countryOf = ({ credentials }: Settings) => credentials.country?.reveal() ?? "US";

/** Takes the money at once. */
export const sale = (order: Order, settings: Settings, token: AccessToken) =>
  post(settings, token, keyOf(order, "pay"), "/transactions", {
    ...transactionAccount(settings, token),
    channel: "CNP",
    type: "SALE",
    capture_mode: "AUTO",
    amount: String(order.amountMinor),
    currency: order.currency,
    country: countryOf(settings),
    reference: order.reference,
    description: clean(order.description, 50),
    // One of IPv6 is refused, and the payment with it.
    ip_address: kit.ipv4Of(order),
    payment_method: paymentMethod(order),
  });

/** Has the issuer verify the card for no money: storing alone asks nobody. */
export const verify = (order: Order, settings: Settings, token: AccessToken, step: "verify" | "verify2") =>
  post(settings, token, keyOf(order, step), "/verifications", {
    ...transactionAccount(settings, token),
    channel: "CNP",
    currency: order.currency,
    country: countryOf(settings),
    reference: order.reference,
    payment_method: paymentMethod(order),
  });

/** Stores the card for any number of later charges. */
export const store = (order: Order, settings: Settings, token: AccessToken) =>
  post(settings, token, keyOf(order, "store"), "/payment-methods", {
    ...tokenAccount(token),
    reference: order.reference,
    name: clean(order.card.cardholderName, 100),
    usage_mode: "MULTIPLE",
    card: digits(order),
  });

export const readTransaction = (settings: Settings, token: AccessToken, id: string) =>
  kit.get(`${baseOf(settings)}/transactions/${encodeURIComponent(id)}`, bearer(token));

/** The transactions of our reference, made on the attempt's day or later. */
export function findTransactions(subject: Subject, settings: Settings, token: AccessToken, startedAtMs: number): GatewayRequest {
  const day = new Date(startedAtMs - 86_400_000).toISOString().slice(0, 10);
  const account = encodeURIComponent(transactionAccount(settings, token).account_name);
  const query = `reference=${encodeURIComponent(subject.reference)}&from_time_created=${day}&page=1&page_size=5&account_name=${account}`;
  return kit.get(`${baseOf(settings)}/transactions?${query}`, bearer(token));
}

/** Takes a payment back before settlement (`reverse`), or gives it back afterwards. */
export const takeBack = (subject: Subject, settings: Settings, token: AccessToken, id: string, step: TakeBack) =>
  post(settings, token, keyOf(subject, step), `/transactions/${encodeURIComponent(id)}/${step === "reverse" ? "reversal" : "refund"}`, {
    amount: String(subject.amountMinor),
  });
