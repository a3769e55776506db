import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://checkout-test.adyen.com", live: "https://{live_url_prefix}-checkout-live.adyenpayments.com" },
  credentials: {
    api_key: kit.secret("API key (AQE...), Customer Area > Developers > API credentials; it needs the API PCI Payments role", {
      // Its last part holds any visible character.
      form: [/^AQE[!-~]+$/, "an Adyen API key (AQE...)"],
    }),
    merchant_account: kit.plainText("merchant account, such as YourCompanyECOM", {
      form: [/^[A-Za-z0-9_-]{1,80}$/, "the name of a merchant account"],
    }),
    moto_merchant_account: kit.plainText("merchant account for telephone orders: Adyen wants a separate one", {
      optional: true,
      form: [/^[A-Za-z0-9_-]{1,80}$/, "the name of a merchant account"],
    }),
    live_url_prefix: kit.plainText("live only: the company's own part of the host name, Customer Area > Developers > API URLs", {
      optional: true,
    }),
  },
  options: {
    moto: kit.flag(true, "mark telephone payments as MOTO, on the account for telephone orders where there is one"),
    zip_check: kit.flag(true, "send the ZIP code for address verification; Adyen wants a whole address, so the rest of it says N/A"),
    no_3d_secure: kit.flag(false, "widget: ask Adyen for no 3-D Secure, where the merchant may do so; a call never has one"),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

/** v71 has the same paths for all that is used here. */
const VERSION = "v72";
/** Required by the schema, for telephone orders too; nobody is ever sent there. */
const RETURN_URL = "https://example.com/none";
const REQUEST_TIMEOUT_MS = 20_000;
/** Decimals of the currencies that Adyen counts other than ISO 4217 does. */
const decimalsOf = kit.wordTable({ CLP: 2, CVE: 0, IDR: 0, ISK: 2 });

/** Steps of an attempt; each has its own idempotency key, so that a repeat can never start another. */
type Step = "payment" | "reversal" | "cancel";

const addressOf = ({ endpoint, environment }: Settings, path: string) =>
  `${endpoint}${environment === "live" ? "/checkout" : ""}/${VERSION}${path}`;
const keyOf = ({ credentials }: Settings) => ({ "X-API-Key": credentials.api_key.reveal() });

function post(settings: Settings, { reference }: Pick<Subject, "reference">, step: Step, path: string, body: kit.JsonBody): GatewayRequest {
  const key = { "Idempotency-Key": kit.uuidReference(`${reference}-${step}`) };
  return kit.postJson(addressOf(settings, path), body, { ...keyOf(settings), ...key }, REQUEST_TIMEOUT_MS);
}

/** The amount as Adyen counts it; null when it has a part that Adyen has no place for. */
export function amountOf(subject: Pick<Subject, "amountMinor" | "currency">): number | null {
  const decimals = decimalsOf(subject.currency);
  return decimals === undefined ? subject.amountMinor : kit.scaledAmount(subject, decimals);
}

/** Where the order is charged: telephone orders on an account of their own. */
export function merchantAccount(order: Order, settings: Settings): string {
  const { merchant_account: usual, moto_merchant_account: moto } = settings.credentials;
  return ((kit.isMoto(order, settings) ? moto : undefined) ?? usual).reveal();
}

/** Whose the stored card is at Adyen. A later charge must name it, so it can be made of the session's id alone. */
export const shopperReference = ({ sessionId }: Pick<Subject, "sessionId">): string => `sess-${sessionId}`;

/** The ZIP code in an address that is otherwise not known: all five members are required, ZZ is no country. */
function billingAddress(order: Order, { options }: Settings): kit.JsonBody | undefined {
  const { zip } = kit.holderOf(order, kit.asciiText, { zip: 10 });
  if (zip === undefined || !options.zip_check) return undefined;
  const others = ["street", "houseNumberOrName", "city"].map((name) => [name, "N/A"] as const);
  return { ...Object.fromEntries(others), postalCode: zip, country: "ZZ" };
}

/** What a charge and a store have alike. */
function payment(order: Order, settings: Settings, value: number, more: Readonly<Record<string, kit.JsonBody>>): GatewayRequest {
  const { number, expMonth, expYear, cardholderName } = order.card;
  const holderName = kit.optionalText(kit.unicodeText, cardholderName, 50);
  const description = kit.optionalText(kit.unicodeText, order.description, 80);
  return post(settings, order, "payment", "/payments", {
    amount: { currency: order.currency, value },
    merchantAccount: merchantAccount(order, settings),
    reference: order.reference,
    paymentMethod: {
      type: "scheme",
      number,
      expiryMonth: expMonth,
      expiryYear: expYear,
      cvc: kit.securityCode(order.card),
      holderName,
    },
    shopperInteraction: kit.isMoto(order, settings) ? "Moto" : "Ecommerce",
    ...more,
    returnUrl: RETURN_URL,
    billingAddress: billingAddress(order, settings),
    shopperIP: order.customerIp ?? undefined,
    authenticationData: order.channel === "widget" && settings.options.no_3d_secure ? { attemptAuthentication: "never" } : undefined,
    merchantOrderReference: order.sessionId,
    metadata: { session: order.sessionId, description },
  });
}

/** Takes the money: captured at once, whatever the account's own setting is. */
export const charge = (order: Order, settings: Settings, value: number): GatewayRequest =>
  payment(order, settings, value, { captureDelayHours: 0 });

/** Stores the card: an authorisation of nothing, by which the issuer checks it. */
export const store = (order: Order, settings: Settings): GatewayRequest =>
  payment(order, settings, 0, {
    shopperReference: shopperReference(order),
    storePaymentMethod: true,
    recurringProcessingModel: "UnscheduledCardOnFile",
  });

/** Cancels or refunds, whichever applies. */
export const reverse = (subject: Subject, settings: Settings, account: string, pspReference: string): GatewayRequest =>
  post(settings, subject, "reversal", `/payments/${pspReference}/reversals`, { merchantAccount: account });

/** Cancels by our reference what Adyen may have taken and not captured yet; only a webhook tells whether there was anything. */
export const cancel = (subject: Subject, settings: Settings, account: string): GatewayRequest =>
  post(settings, subject, "cancel", "/cancels", {
    merchantAccount: account,
    paymentReference: subject.reference,
    reference: `cancel-${subject.reference}`,
  });

const ofShopper = (subject: Subject, account: string) =>
  new URLSearchParams({ merchantAccount: account, shopperReference: shopperReference(subject) }).toString();

export const listStored = (subject: Subject, settings: Settings, account: string): GatewayRequest =>
  kit.get(addressOf(settings, `/storedPaymentMethods?${ofShopper(subject, account)}`), keyOf(settings), REQUEST_TIMEOUT_MS);

export const deleteStored = (subject: Subject, settings: Settings, account: string, id: string): GatewayRequest =>
  kit.remove(addressOf(settings, `/storedPaymentMethods/${id}?${ofShopper(subject, account)}`), keyOf(settings), REQUEST_TIMEOUT_MS);
