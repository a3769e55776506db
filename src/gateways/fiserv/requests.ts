import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

const OPAQUE = [/^[\x21-\x7e]{8,255}$/, "8 characters of ASCII or more without blanks"] as const;

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://cert.api.firstdata.com", live: "https://prod.api.firstdata.com" },
  sideHosts: { emea: { test: "https://prod.emea.api.fiservapps.com", live: "https://prod.emea.api.fiservapps.com" } },
  credentials: {
    api_key: kit.secret("API key of the app in Fiserv's developer portal", { form: OPAQUE }),
    api_secret: kit.secret("the app's API secret: requests are signed with it", { form: OPAQUE }),
    store_id: kit.plainText("which store takes the payment, where one app serves several; at most 20 digits", {
      optional: true,
      wholeNumber: true,
      form: [/^[0-9]{1,20}$/, "a number of at most 20 digits"],
    }),
    region: kit.plainText(
      "argentina, brazil, germany, india or northamerica; left out, the vendor's North American host without a Region header",
      { optional: true, form: [/^(argentina|brazil|germany|india|northamerica)$/, "argentina, brazil, germany, india or northamerica"] },
    ),
  },
  options: {
    telephone_origin: kit.oneOf(
      ["MOTO", "PHONE", "ECOM"],
      "how telephone payments are marked: MOTO, PHONE for stores whose set-up tells mail and telephone apart, ECOM for stores without either",
    ),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

/** Regions outside North America have a portal of their own; both share one contract. */
const PATH = "/gateway/v2";
const EMEA_PATH = { test: "/sandbox/ipp/payments-gateway/v2", live: "/ipp/payments-gateway/v2" };

/** What signs a request: the vendor refuses a Client-Request-Id that it has seen, and a Timestamp older than five minutes. */
type Signer = Pick<kit.Io<typeof SETTINGS>, "settings" | "clock" | "random">;

function request(by: Signer, method: GatewayRequest["method"], path: string, body?: kit.JsonBody): GatewayRequest {
  const { api_key: key, api_secret: secret, region } = by.settings.credentials;
  const bytes = body === undefined ? undefined : kit.jsonBody(body);
  const [id, timestamp] = [by.random.uuid(), String(by.clock.now())];
  const headers = {
    Accept: "application/json",
    "Content-Type": "application/json",
    "Api-Key": key.reveal(),
    "Client-Request-Id": id,
    Timestamp: timestamp,
    "Message-Signature": kit.hmac("sha256", secret, [key, id, timestamp, bytes ?? ""], "base64"),
    ...(region && { Region: region.reveal() }),
  };
  return kit.request(method, baseOf(by.settings) + path, headers, bytes);
}

function baseOf({ endpoint, side, environment, credentials: { region } }: Settings): string {
  const isEmea = region !== undefined && region.reveal() !== "northamerica";
  return isEmea ? side.emea + EMEA_PATH[environment] : endpoint + PATH;
}

const storeOf = ({ settings: { credentials } }: Signer) => ({ storeId: credentials.store_id?.reveal() });
const storeQuery = ({ settings: { credentials } }: Signer) => (credentials.store_id ? `?storeId=${credentials.store_id.reveal()}` : "");

const paymentCard = ({ card }: Order): kit.JsonBody => ({
  number: card.number,
  securityCode: kit.securityCode(card),
  expiryDate: { month: card.expMonth, year: kit.expiry(card, "YY") },
  cardholderName: kit.optionalText(kit.unicodeText, card.cardholderName, 96),
});

/** Limits of the vendor's billing address; undefined when nothing of it is known. */
function billing(order: Order): { name: string | undefined; address: { [key: string]: kit.JsonBody | undefined } | undefined } {
  const { name, street, city, state, zip, country } = kit.holderOf(order, kit.unicodeText, {
    name: 96,
    street: 96,
    city: 96,
    state: 96,
    zip: 24,
    country: 32,
  });
  const address = { address1: street, city, region: state, postalCode: zip, country };
  return { name, address: Object.values(address).some(Boolean) ? address : undefined };
}

/** The digits of a number: major units with two places, as the vendor's own samples write them. */
const totalOf = (order: Order) => kit.jsonNumber(kit.unrefused(kit.twoPlaces(order)));

/** Authorizes and captures in one step. `orderId` and `merchantTransactionId` are the attempt's: a second card has others. */
export function sale(order: Order, by: Signer): GatewayRequest {
  const { name, address } = billing(order);
  const comments = kit.optionalText(kit.unicodeText, order.description, 1024);
  return request(by, "POST", "/payments", {
    requestType: "PaymentCardSaleTransaction",
    ...storeOf(by),
    merchantTransactionId: order.reference,
    transactionOrigin: order.channel === "voice" ? by.settings.options.telephone_origin : "ECOM",
    transactionAmount: { total: totalOf(order), currency: order.currency },
    order: {
      orderId: order.reference,
      ...((name ?? address) && { billing: { name, address } }),
      ip: order.customerIp ?? undefined,
      ...(comments && { additionalDetails: { comments } }),
    },
    paymentMethod: { paymentCard: paymentCard(order) },
  });
}

/** Stores the card after a zero-amount verification. It moves no money and may be sent again. */
export const createToken = (order: Order, by: Signer): GatewayRequest =>
  request(by, "POST", "/payment-tokens", {
    requestType: "PaymentCardPaymentTokenizationRequest",
    ...storeOf(by),
    merchantTransactionId: order.reference,
    paymentCard: paymentCard(order),
    billingAddress: billing(order).address,
    createToken: { reusable: true, declineDuplicates: false },
    accountVerification: true,
  });

/** Takes a stored card out of the vendor's keeping. */
export const deleteToken = (by: Signer, token: string): GatewayRequest =>
  request(by, "DELETE", `/payment-tokens/${encodeURIComponent(token)}${storeQuery(by)}`);

/** A payment by the vendor's id, or by our `merchantTransactionId`. */
export const readPayment = (by: Signer, id: string): GatewayRequest =>
  request(by, "GET", `/payments/${encodeURIComponent(id)}${storeQuery(by)}`);

/** Everything that was done under the attempt's order, returns too. */
export const readOrder = ({ reference }: Subject, by: Signer): GatewayRequest =>
  request(by, "GET", `/orders/${encodeURIComponent(reference)}${storeQuery(by)}`);

/** Takes a sale back on the day it was made. */
export const voidPayment = (by: Signer, id: string): GatewayRequest =>
  request(by, "POST", `/payments/${id}`, { requestType: "VoidTransaction", ...storeOf(by) });

/** Gives a settled sale back. */
export const returnPayment = (subject: Subject, by: Signer, id: string): GatewayRequest =>
  request(by, "POST", `/payments/${id}`, {
    requestType: "ReturnTransaction",
    ...storeOf(by),
    transactionAmount: { total: kit.jsonNumber(kit.unrefused(kit.twoPlaces(subject))), currency: subject.currency },
  });
