import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

const HOSTS = { test: "https://api.sandbox.checkout.com", live: "https://api.checkout.com" } as const;

export const SETTINGS = kit.describeSettings({
  hosts: HOSTS,
  credentials: {
    secret_key: kit.secret("secret key (sk_sbox_... or sk_...) of the Dashboard, Developers > Keys"),
    prefix: kit.plainText(
      "first 8 characters of the client id without cli_, Developers > Settings: the account's own host; strongly advised",
      {
        optional: true,
        form: [/^(pl-)?[a-z0-9]{1,50}$/, "a prefix: letters and digits, as the Dashboard shows it"],
      },
    ),
    processing_channel_id: kit.plainText("processing channel (pc_...) of the payments, where the key serves more than one", {
      optional: true,
      form: [/^pc_\w{26}$/, "a processing channel: pc_ and 26 characters"],
    }),
  },
  options: {
    moto: kit.flag(true, "mark telephone payments as MOTO; needs a switch of the processing channel that Checkout.com turns on"),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

const TIMEOUT_MS = 60_000;
/** Characters of a reference that every card scheme takes are 30. */
const REFERENCE_LENGTH = 24;

/** Currencies that the vendor counts in whole units and in thousandths; all others in hundredths, whatever ISO 4217 says. */
const WHOLE = new Set("BIF CLF DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split(" "));
const THOUSANDTHS = new Set("BHD IQD JOD KWD LYD OMR TND".split(" "));

/**
 * The amount as the vendor counts it, nothing where the card is only stored; null when a decimal that is in use does not fit: the third
 * one is always 0.
 */
export function checkoutAmount(subject: Pick<Subject, "mode" | "amountMinor" | "currency">): number | null {
  if (subject.mode === "tokenize") return 0;
  if (THOUSANDTHS.has(subject.currency)) return subject.amountMinor % 10 === 0 ? subject.amountMinor : null;
  return kit.scaledAmount(subject, WHOLE.has(subject.currency) ? 0 : 2);
}

/** What the vendor is told of our reference. */
export const referenceOf = ({ reference }: Pick<Subject, "reference">): string => kit.shortReference(reference, REFERENCE_LENGTH);

/** The account's own host, unless the apply file says where to go. */
const baseOf = ({ endpoint, environment, credentials: { prefix } }: Settings): string =>
  prefix && endpoint === HOSTS[environment] ? endpoint.replace("://", `://${prefix.reveal()}.`) : endpoint;

const authorization = ({ credentials }: Settings) => ({ Authorization: `Bearer ${credentials.secret_key.reveal().trim()}` });

const post = (settings: Settings, path: string, key: string, body: kit.JsonBody): GatewayRequest =>
  kit.postJson(baseOf(settings) + path, body, { ...authorization(settings), "Cko-Idempotency-Key": key }, TIMEOUT_MS);

const read = (settings: Settings, path: string): GatewayRequest => kit.get(baseOf(settings) + path, authorization(settings), TIMEOUT_MS);

/** Charges the card, or with amount 0 has the issuer verify it and keeps it as a source. */
export function payment(order: Order, settings: Settings, amount: number): GatewayRequest {
  const isCharge = order.mode === "charge";
  const { name, zip } = kit.holderOf(order, kit.unicodeText, { name: 100, zip: 16 });
  const ipv4 = kit.ipv4Of(order);
  return post(settings, "/payments", order.reference, {
    source: {
      type: "card",
      number: order.card.number,
      expiry_month: new kit.NumberOf(order.card.expMonth),
      expiry_year: new kit.NumberOf(order.card.expYear),
      cvv: kit.securityCode(order.card),
      name,
      billing_address: zip === undefined ? undefined : { zip },
      store_for_future_use: !isCharge,
    },
    amount,
    currency: order.currency,
    payment_type: kit.isMoto(order, settings) ? "MOTO" : "Regular",
    ...(isCharge && { capture: true }),
    reference: referenceOf(order),
    description: kit.optionalText(kit.asciiText, order.description, 100),
    processing_channel_id: settings.credentials.processing_channel_id?.reveal(),
    "3ds": { enabled: false },
    ...(ipv4 !== undefined && { risk: { device: { network: { ipv4 } } } }),
    metadata: { session: order.sessionId },
  });
}

/** Payments under the attempt's reference, newest first. */
export const search = (subject: Subject, settings: Settings): GatewayRequest =>
  read(settings, `/payments?reference=${encodeURIComponent(referenceOf(subject))}&limit=10&skip=0`);

export const readPayment = (settings: Settings, id: string): GatewayRequest => read(settings, `/payments/${id}`);

/** What happened to a payment: the issuer's code of a decline stands there, and what became of a void or refund. */
export const readActions = (settings: Settings, id: string): GatewayRequest => read(settings, `/payments/${id}/actions`);

/** Voids what is not captured, refunds what is. `declined`: how many such were declined before. */
export const reverse = (subject: Subject, settings: Settings, id: string, declined: number): GatewayRequest =>
  post(settings, `/payments/${id}/reversals`, `${subject.reference}-reversal${declined > 0 ? `-${declined}` : ""}`, {
    reference: referenceOf(subject),
  });

/** Takes a stored card out of the vendor's keeping. */
export const deleteSource = (settings: Settings, id: string): GatewayRequest =>
  kit.remove(`${baseOf(settings)}/instruments/${id}`, authorization(settings), TIMEOUT_MS);

/** What is wrong with the settings, or null. */
export function settingsFault({ credentials, environment }: Settings): string | null {
  const key = credentials.secret_key.reveal().trim();
  if (key.startsWith("pk_")) return "secret_key holds a public key (pk_...); the secret key is needed";
  if (/^sk_(test_)?[0-9a-f]{8}-[0-9a-f]{4}-/.test(key))
    return "secret_key is a key of the previous platform (ABC), which takes no new payments here";
  if (!/^sk_[!-~]{8,}$/.test(key)) return "secret_key is not a secret key (sk_sbox_... or sk_...)";
  const isTest = key.startsWith("sk_sbox");
  if (isTest === (environment === "test")) return null;
  return `secret_key is a ${isTest ? "sandbox" : "live"} key, but these are the ${environment} settings`;
}
