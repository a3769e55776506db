import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

/** Every id of the vendor: hex digits, with dashes or without. */
export const ID = /^[0-9a-fA-F-]{24,36}$/;
const ID_FORM = [ID, "24 to 36 hex digits and dashes such as 11ef69fdc684ae30b436c55b"] as const;

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://api.sandbox.fortis.tech", live: "https://api.fortis.tech" },
  credentials: {
    user_id: kit.secret("id of the API user", { form: ID_FORM }),
    user_api_key: kit.secret("that user's API key", { form: [/^[\x21-\x7e]{8,64}$/, "a key: it is too short or long, or has blanks"] }),
    developer_id: kit.secret("developer id, one for the sandbox and another for live", {
      form: [/^[A-Za-z0-9_-]{4,36}$/, "a developer id such as bEgKPZos"],
    }),
    location_id: kit.plainText("location that takes the payments", { form: ID_FORM }),
    product_transaction_id: kit.plainText("the location's product of industry moto, for telephone payments; left out, its default", {
      optional: true,
      form: ID_FORM,
    }),
    product_transaction_id_widget: kit.plainText("the product of industry ecommerce, for payments in the widget; left out, the same one", {
      optional: true,
      form: ID_FORM,
    }),
    currency: kit.plainText("currency of the products, which a request cannot name; USD when left out", {
      optional: true,
      form: [/^[A-Z]{3}$/, "a currency of three capital letters"],
    }),
  },
  options: {
    verify: kit.flag(true, "before a card is stored, have the issuer check address and security code without an amount; fees may apply"),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

const TIMEOUT_MS = 60_000;

/** A product has one currency, and takes any amount as if it were in it. */
export const isCurrencyOf = ({ credentials }: Settings, { currency }: Pick<Order, "currency">) =>
  currency === (credentials.currency?.reveal() ?? "USD");

function request(settings: Settings, method: GatewayRequest["method"], path: string, body?: kit.JsonBody): GatewayRequest {
  const { user_id: user, user_api_key: key, developer_id: developer } = settings.credentials;
  const headers = {
    "user-id": user.reveal(),
    "user-api-key": key.reveal(),
    "developer-id": developer.reveal(),
    Accept: "application/json",
    ...(body !== undefined && { "Content-Type": "application/json" }),
  };
  return kit.request(method, `${settings.endpoint}/v1${path}`, headers, body === undefined ? undefined : kit.jsonBody(body), TIMEOUT_MS);
}

/** The product decides between telephone and internet: the request has no mark of its own. */
function productOf({ channel }: Order, { credentials }: Settings): kit.JsonBody | undefined {
  const { product_transaction_id: voice, product_transaction_id_widget: widget } = credentials;
  return channel === "voice" ? (voice ?? widget) : (widget ?? voice);
}

/** The card and its holder, without the security code. */
function holder(order: Order): { [name: string]: kit.JsonBody | undefined } {
  const { zip } = kit.holderOf(order, kit.asciiText, { zip: 10 });
  const isPostalCode = zip !== undefined && /^[A-Za-z0-9\s-]{3,10}$/.test(zip);
  return {
    account_number: order.card.number,
    exp_date: kit.expiry(order.card, "MMYY"),
    account_holder_name: kit.optionalText(kit.asciiText, order.card.cardholderName, 32),
    billing_address: isPostalCode ? { postal_code: zip } : undefined,
  };
}

function keyed(order: Order, settings: Settings, transactionApiId: string): { [name: string]: kit.JsonBody | undefined } {
  const { account_number, exp_date, ...more } = holder(order);
  return {
    transaction_api_id: transactionApiId,
    order_number: orderNumber(order),
    location_id: settings.credentials.location_id,
    product_transaction_id: productOf(order, settings),
    description: kit.optionalText(kit.asciiText, order.description, 64),
    account_number,
    exp_date,
    cvv: kit.securityCode(order.card),
    ...more,
  };
}

/** At most 32 characters: 30 of the session's hex digits and the attempt's number. */
const orderNumber = ({ sessionId, attempt }: Subject | Order) =>
  `${sessionId.replaceAll("-", "").slice(0, 30)}${String(attempt % 100).padStart(2, "0")}`;

/** Takes the money at once, the whole of it or nothing. */
export const sale = (order: Order, settings: Settings) =>
  request(settings, "POST", "/transactions/cc/sale/keyed", {
    transaction_amount: order.amountMinor,
    ...keyed(order, settings, order.reference),
    allow_partial_authorization_override: false,
  });

/** Has the issuer check the card; no money moves. `transactionApiId` is new each time: a used one may be refused. */
export const verify = (order: Order, settings: Settings, transactionApiId: string) =>
  request(settings, "POST", "/transactions/cc/avs-only/keyed", keyed(order, settings, transactionApiId));

/** Stores the card that a transaction was made with. */
export const storeVerified = (settings: Settings, transactionId: string) =>
  request(settings, "POST", "/tokens/previous-transaction", {
    location_id: settings.credentials.location_id,
    previous_transaction_id: transactionId,
  });

/** Stores a card that nobody was asked about: it has no security code. `tokenApiId` is new each time. */
export const store = (order: Order, settings: Settings, tokenApiId: string) =>
  request(settings, "POST", "/tokens/cc", {
    location_id: settings.credentials.location_id,
    ...holder(order),
    token_api_id: tokenApiId,
    title: `Voice ${order.sessionId.slice(0, 8)}`,
  });

export const deleteToken = (settings: Settings, id: string) => request(settings, "DELETE", `/tokens/${id}`);

/** The transactions of an id of ours. */
export function find({ reference }: Pick<Subject, "reference">, settings: Settings): GatewayRequest {
  const filter = { key: "transaction_api_id", operator: "=", value: reference };
  const query = Object.entries(filter).map(([name, value]) => `filter_by%5B0%5D%5B${name}%5D=${encodeURIComponent(value)}`);
  return request(settings, "GET", `/transactions?${query.join("&")}`);
}

/** Takes a sale back before settlement. */
export const voidSale = (settings: Settings, id: string) => request(settings, "PUT", `/transactions/${id}/void`, {});

/** Sends a settled sale back, or the part of it that was taken. */
export const refund = (amountMinor: number, settings: Settings, id: string) =>
  request(settings, "PATCH", `/transactions/${id}/refund`, { transaction_amount: amountMinor });
