import type { Secret } from "#src/kernel/secret.ts";
import type { AccessToken, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

const OAUTH = "https://oauth.platform.intuit.com";

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://sandbox.api.intuit.com", live: "https://api.intuit.com" },
  sideHosts: { oauth: { test: OAUTH, live: OAUTH } },
  credentials: {
    client_id: kit.plainText("client id of the Intuit app, Keys & OAuth: the development keys for test, the production keys for live"),
    client_secret: kit.secret("client secret of the same keys"),
    refresh_token: kit.secret(
      "refresh token that the merchant's authorization gave (scope com.intuit.quickbooks.payment); renewed by itself",
      {
        rotates: true,
      },
    ),
    realm_id: kit.plainText("company id, for display", { optional: true }),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

const PAYMENTS = "/quickbooks/v4/payments";
const REQUEST_TIMEOUT_MS = 20_000;

/** The attempt's Request-Id, Intuit's idempotency key and our only reference; the requests about it have their own. */
export const requestId = ({ reference }: Pick<Subject, "reference">, step = "") => kit.shortReference(reference + step, 32);

/** The customer that holds the attempt's card: any id will do, and one of its own keeps a card from being stored twice in one. */
export const customerId = ({ sessionId, attempt }: Pick<Subject, "sessionId" | "attempt">) => `${sessionId.replaceAll("-", "")}-${attempt}`;

/** Swaps the refresh token for an access token and the next refresh token. */
export const refresh = ({ credentials, side }: Settings, refreshToken: Secret) =>
  kit.postForm(
    `${side.oauth}/oauth2/v1/tokens/bearer`,
    { grant_type: "refresh_token", refresh_token: refreshToken },
    { Authorization: kit.basicAuth(credentials.client_id, credentials.client_secret), Accept: "application/json" },
    REQUEST_TIMEOUT_MS,
  );

const bearer = ({ token }: AccessToken) => ({ Authorization: `Bearer ${token.reveal()}` });

const post = ({ endpoint }: Settings, token: AccessToken, id: string, path: string, body: kit.JsonBody) =>
  kit.postJson(endpoint + path, body, { ...bearer(token), "Request-Id": id }, REQUEST_TIMEOUT_MS);

const cardOf = ({ card }: Order) => ({
  number: card.number,
  expMonth: card.expMonth,
  expYear: card.expYear,
  cvc: kit.securityCode(card),
  name: kit.optionalText(kit.unicodeText, card.cardholderName, 64),
  address: card.postalCode === null ? undefined : { postalCode: card.postalCode },
});

/** Takes the money at once. `context` is demanded; the channel is known by `isEcommerce` alone. */
export const charge = (order: Order, settings: Settings, token: AccessToken) =>
  post(settings, token, requestId(order), `${PAYMENTS}/charges`, {
    amount: kit.decimalAmount(order),
    currency: order.currency,
    capture: true,
    description: kit.optionalText(kit.unicodeText, order.description, 255),
    card: cardOf(order),
    context: { mobile: false, isEcommerce: order.channel === "widget" },
  });

export const storeCard = (order: Order, settings: Settings, token: AccessToken) =>
  post(settings, token, requestId(order), `/quickbooks/v4/customers/${customerId(order)}/cards`, cardOf(order));

/** Releases what the charge with the attempt's Request-Id took, while it is not settled. */
export const voidCharge = (subject: Subject, settings: Settings, token: AccessToken, keyEnd = "") =>
  post(settings, token, requestId(subject, `-void${keyEnd}`), `${PAYMENTS}/txn-requests/${requestId(subject)}/void`, {});

/** Sends back a charge whose id is known; Intuit decides whether that is a void or a refund. */
export const refund = (subject: Subject, settings: Settings, token: AccessToken, chargeId: string, keyEnd: string) => {
  const id = requestId(subject, `-refund${keyEnd}`);
  return post(settings, token, id, `${PAYMENTS}/charges/${chargeId}/refunds`, { amount: kit.decimalAmount(subject) });
};

export const readCharge = ({ endpoint }: Settings, token: AccessToken, chargeId: string) =>
  kit.get(`${endpoint}${PAYMENTS}/charges/${chargeId}`, bearer(token), REQUEST_TIMEOUT_MS);

const cardsUrl = (subject: Subject, { endpoint }: Settings) => `${endpoint}/quickbooks/v4/customers/${customerId(subject)}/cards`;

export const listCards = (subject: Subject, settings: Settings, token: AccessToken) =>
  kit.get(cardsUrl(subject, settings), bearer(token), REQUEST_TIMEOUT_MS);

export const deleteCard = (subject: Subject, settings: Settings, token: AccessToken, id: string) =>
  kit.remove(`${cardsUrl(subject, settings)}/${id}`, bearer(token), REQUEST_TIMEOUT_MS);
