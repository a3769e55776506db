import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://try.access.worldpay.com", live: "https://access.worldpay.com" },
  credentials: {
    username: kit.secret("user of the Access Worldpay APIs; Try and live each have their own"),
    password: kit.secret("that user's password"),
    entity: kit.plainText("entity that the payments belong to: default, or a number that begins with PO", {
      form: [/^[A-Za-z0-9][A-Za-z0-9 ]{0,31}$/, "an entity: at most 32 letters, digits and blanks"],
    }),
    narrative: kit.plainText("text on the card statement", {
      form: [/^[A-Za-z0-9 ,./-]{1,24}$/, "a statement text: at most 24 letters, digits, blanks and , . / -"],
    }),
  },
  options: {
    moto: kit.flag(true, "telephone payments go as channel moto, which the account must be enabled for; off: ecom"),
    cvc_not_matched: kit.oneOf(["enabled", "disabled"], "cancel a payment whose security code does not match, before it is settled"),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

const VERSION = "2024-06-01";
/** The vendor names no time-out; without a readable answer a payment is unknown. */
const TIMEOUT_MS = 60_000;
const QUERY_TIMEOUT_MS = 20_000;
const LARGEST_AMOUNT = 2 ** 31 - 1;
const QUERIES = "application/vnd.worldpay.payment-queries-v1.hal+json";
/** The older Card Payments API: its links are what a query gives to reverse a payment. It wants both headers, of a GET as well. */
const CARD_PAYMENTS = "application/vnd.worldpay.payments-v7+json";
const CARD_TYPES = { "Content-Type": CARD_PAYMENTS, Accept: CARD_PAYMENTS } as const;

export const isTooLarge = ({ amountMinor }: Subject): boolean => amountMinor > LARGEST_AMOUNT;

const authorization = ({ credentials }: Settings) => ({ Authorization: kit.basicAuth(credentials.username, credentials.password) });

/** The vendor's characters for an order reference; it takes no blanks. */
const orderReference = ({ description }: Order) =>
  kit.optionalText(
    (text, limit) =>
      kit
        .asciiText(text, limit)
        .replace(/[^-A-Za-z0-9_!@#$%()*=.:;?[\]{}~/+]+/g, "-")
        .slice(0, limit),
    description,
    64,
  );

/** What a payment and the verification of a card have in common; a card needs a name where it is stored. */
function payment(order: Order, settings: Settings, amount: number, more: { readonly [name: string]: kit.JsonBody }): GatewayRequest {
  const { card, customerIp } = order;
  const { credentials } = settings;
  const name = kit.optionalText(kit.unicodeText, card.cardholderName, 255);
  const body = {
    transactionReference: order.reference,
    merchant: { entity: credentials.entity },
    orderReference: orderReference(order),
    channel: kit.isMoto(order, settings) ? "moto" : "ecom",
    instruction: {
      method: "card",
      paymentInstrument: {
        type: "plain",
        cardHolderName: name ?? (order.mode === "tokenize" ? "Card Holder" : undefined),
        cardNumber: card.number,
        expiryDate: { month: new kit.NumberOf(card.expMonth), year: new kit.NumberOf(card.expYear) },
        cvc: kit.securityCode(card),
      },
      narrative: { line1: credentials.narrative },
      value: { currency: order.currency, amount },
      customer: customerIp === null ? undefined : { ipAddress: customerIp },
      ...more,
    },
  };
  const headers = { ...authorization(settings), "WP-Api-Version": VERSION };
  return kit.postJson(`${settings.endpoint}/api/payments`, body, headers, TIMEOUT_MS);
}

/** Takes the money at once. No address is sent, a ZIP alone cannot be: so nothing can be cancelled for it. */
export const sale = (order: Order, settings: Settings): GatewayRequest =>
  payment(order, settings, order.amountMinor, {
    settlement: { auto: true, cancelOn: { cvcNotMatched: settings.options.cvc_not_matched, avsNotMatched: "disabled" } },
  });

/** Each try has one of its own: a namespace takes a card once. */
export const namespaceOf = ({ reference }: Order, attempt: number): string => (attempt === 1 ? reference : `${reference}-${attempt}`);

/** Has the issuer verify the card for no money, and stores it in the namespace. */
export const verifyAndStore = (order: Order, settings: Settings, namespace: string): GatewayRequest =>
  payment(order, settings, 0, {
    customerAgreement: { type: "cardOnFile", storedCardUsage: "first" },
    tokenCreation: { type: "worldpay", namespace },
  });

/** All payments of our reference; it must be the only parameter. */
export const findPayments = ({ reference }: Subject, settings: Settings): GatewayRequest =>
  kit.get(
    `${settings.endpoint}/paymentQueries/payments?transactionReference=${encodeURIComponent(reference)}`,
    { ...authorization(settings), Accept: QUERIES },
    QUERY_TIMEOUT_MS,
  );

/** The events of our reference in the Card Payments API, which the vendor names for recovery. */
export const findEvents = ({ reference }: Subject, settings: Settings): GatewayRequest =>
  kit.get(
    `${settings.endpoint}/payments/events?transactionRef=${encodeURIComponent(reference)}&entity=${encodeURIComponent(settings.credentials.entity.reveal())}`,
    { ...authorization(settings), ...CARD_TYPES },
    QUERY_TIMEOUT_MS,
  );

/** One payment with the links that reverse it. */
export const readPayment = (id: string, settings: Settings): GatewayRequest =>
  kit.get(
    `${settings.endpoint}/paymentQueries/payments/${encodeURIComponent(id)}`,
    { ...authorization(settings), Accept: QUERIES },
    QUERY_TIMEOUT_MS,
  );

/** Follows a link of an answer: its path alone, so that credentials go nowhere else. */
const follow = (path: string, settings: Settings, headers: Readonly<Record<string, string>>): GatewayRequest =>
  kit.request("POST", settings.endpoint + path, { ...authorization(settings), ...headers }, new Uint8Array(0), TIMEOUT_MS);

/** Settles a payment that was only held. */
export const settle = (path: string, settings: Settings): GatewayRequest =>
  follow(path, settings, { "WP-Api-Version": VERSION, Accept: "application/json" });

/** Takes a payment back by a link of `readPayment`. */
export const reverse = (path: string, settings: Settings): GatewayRequest => follow(path, settings, CARD_TYPES);
