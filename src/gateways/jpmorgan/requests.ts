import type { AccessToken, GatewayIo, GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

/**
 * Length: two ways to ask for a token, each with credentials and hosts of its own, two resources, and states that are read again.
 */

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://api-ms-test.payments.jpmorgan.com", live: "https://api-ms.payments.jpmorgan.com" },
  sideHosts: {
    token: { test: "https://idag2.jpmorganchase.com", live: "https://idag2.jpmorganchase.com" },
    // The portal's mock: canned answers, reached with a client secret instead of a certificate.
    mock: { test: "https://api-mock.payments.jpmorgan.com", live: "https://api-ms.payments.jpmorgan.com" },
    mockToken: { test: "https://id.payments.jpmorgan.com", live: "https://idag2.jpmorganchase.com" },
  },
  credentials: {
    client_id: kit.plainText("OAuth client id of the onboarding mail, CC-000000-D00000-000000-TEST"),
    merchant_id: kit.plainText("merchant id, 8 to 12 digits", { wholeNumber: true, form: [/^[0-9]{8,12}$/, "8 to 12 digits"] }),
    private_key: kit.secret("RSA private key (PEM) of the certificate that was uploaded to J.P. Morgan", {
      optional: true,
      form: [/^-----BEGIN (RSA )?PRIVATE KEY-----[\s\S]+-----END (RSA )?PRIVATE KEY-----\s*$/, "an RSA private key in PEM form"],
    }),
    certificate_thumbprint: kit.plainText("SHA-1 thumbprint of that certificate, 40 hex digits", {
      optional: true,
      form: [/^[0-9A-F]{40}$/i, "40 hex digits"],
    }),
    resource_id: kit.plainText(
      "resource id of the onboarding mail, JPMC:URI:RS-...-HelixAPIEntitlementsCAT-PROD; left out, the documented one",
      { optional: true },
    ),
    client_secret: kit.secret("in place of key and thumbprint: a portal project's secret, for the vendor's mock alone", { optional: true }),
    base_url: kit.plainText("https address of the API where the onboarding mail names another than the documented one, without a path", {
      optional: true,
    }),
    token_url: kit.plainText(
      "address that access tokens are asked for at, and their audience, where the mail names another than the documented one",
      { optional: true, form: [/^https:\/\/[A-Za-z0-9.-]+(:[0-9]+)?\/[\w./~-]+$/, "an https address"] },
    ),
    company_name: kit.plainText("company name in merchantSoftware; Voicetill when left out", { optional: true }),
    product_name: kit.plainText("product name in merchantSoftware; Payment Sessions when left out", { optional: true }),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

const TOKEN_PATH = "/adfs/oauth2/token";
/** The token's audience stays the vendor's address, whatever endpoint replaces the host. */
const audienceOf = ({ credentials, environment }: Settings) =>
  credentials.token_url?.reveal() ?? SETTINGS.sideHosts.token[environment] + TOKEN_PATH;
const tokenUrlOf = (settings: Settings) =>
  settings.side.token === SETTINGS.sideHosts.token[settings.environment] ? audienceOf(settings) : settings.side.token + TOKEN_PATH;
const RESOURCES = {
  test: "JPMC:URI:RS-000000-00000-HelixAPIEntitlementsCAT-PROD",
  live: "JPMC:URI:RS-000000-00000-HelixAPIEntitlements-PROD",
};
const ASSERTION_SECONDS = 300;
/** J.P. Morgan gives a payment up after 70 s. */
const READ_TIMEOUT_MS = 80_000;

/** Where an attempt's request went: a payment takes money, a verification stores a card. */
type Resource = "payments" | "verifications";

const isMock = ({ credentials }: Settings) => credentials.client_secret !== undefined;

/** Client credentials: a signed assertion (RFC 7523), or for the mock a client secret. */
export function askForToken(settings: Settings, { clock, random }: Pick<GatewayIo, "clock" | "random">): GatewayRequest {
  const {
    client_id: id,
    client_secret: secret,
    private_key: key,
    certificate_thumbprint: thumbprint,
    resource_id: resource,
  } = settings.credentials;
  const accept = { Accept: "application/json" };
  if (secret) {
    const url = `${settings.side.mockToken}/am/oauth2/alpha/access_token`;
    const fields = { grant_type: "client_credentials", scope: "jpm:payments:sandbox" };
    return kit.postForm(url, fields, { ...accept, Authorization: kit.basicAuth(id, secret) });
  }
  if (!key || !thumbprint) throw new Error("checkSettings let a project without a key through");
  const now = Math.floor(clock.now() / 1000);
  const claims = {
    iss: id.reveal(),
    sub: id.reveal(),
    aud: audienceOf(settings),
    jti: random.uuid(),
    iat: now,
    exp: now + ASSERTION_SECONDS,
  };
  const fields = {
    grant_type: "client_credentials",
    client_id: id,
    resource: resource ?? RESOURCES[settings.environment],
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: kit.signedJwt({ typ: "JWT", alg: "RS256", kid: thumbprint.reveal().toUpperCase() }, claims, key),
  };
  return kit.postForm(tokenUrlOf(settings), fields, accept);
}

/** Whose request it is, and what the vendor is to call it. */
export interface By {
  settings: Settings;
  token: AccessToken;
  requestId: string;
}

function request({ settings, token: { token }, requestId }: By, method: GatewayRequest["method"], path: string, body?: kit.JsonBody) {
  const url = `${isMock(settings) ? settings.side.mock : settings.endpoint}/api/v2${path}`;
  const headers = {
    Authorization: `Bearer ${token.reveal()}`,
    "merchant-id": settings.credentials.merchant_id.reveal(),
    "request-id": requestId,
    Accept: "application/json",
    ...(body !== undefined && { "Content-Type": "application/json" }),
  };
  return kit.request(method, url, headers, body === undefined ? undefined : kit.jsonBody(body), READ_TIMEOUT_MS);
}

const merchantSoftware = ({ settings: { credentials } }: By): kit.JsonBody => ({
  companyName: credentials.company_name?.reveal() ?? "Voicetill",
  productName: credentials.product_name?.reveal() ?? "Payment Sessions",
  version: "1.0",
});

function card(order: Order): { [key: string]: kit.JsonBody | undefined } {
  const { number, expMonth, expYear } = order.card;
  return {
    accountNumber: number,
    expiry: { month: new kit.NumberOf(expMonth), year: new kit.NumberOf(expYear) },
    cvv: kit.securityCode(order.card),
  };
}

/** The vendor takes countries of three letters, and no postal code of two; the caller's ZIP alone is of the United States. */
function billingAddress(order: Order): kit.JsonBody | undefined {
  const { zip } = kit.holderOf(order, kit.asciiText, { zip: 12 });
  return zip === undefined || zip.length < 3 ? undefined : { postalCode: zip, countryCode: "USA" };
}

/** Ours in at most 22 letters and digits: 20 of the session's hex digits and the attempt's number. */
export const orderNumber = ({ sessionId, attempt }: Pick<Subject, "sessionId" | "attempt">): string =>
  `${sessionId.replaceAll("-", "").slice(0, 20)}${String(attempt % 100).padStart(2, "0")}`;

/** The vendor takes 4 to 70 characters. */
function fullName({ card: { cardholderName } }: Order): string | undefined {
  const name = kit.asciiText(cardholderName ?? "", 70);
  return name.length < 4 ? undefined : name;
}

/** Takes the money at once. `requestId` is what a lost answer is found by. */
export function pay(order: Order, by: By): GatewayRequest {
  const description = kit.optionalText(kit.asciiText, order.description, 100);
  return request(by, "POST", "/payments", {
    captureMethod: "NOW",
    amount: order.amountMinor,
    currency: order.currency,
    merchantOrderNumber: orderNumber(order),
    merchant: {
      merchantSoftware: merchantSoftware(by),
      ...(description && { softMerchant: { merchantPurchaseDescription: description } }),
    },
    paymentMethodType: {
      card: {
        ...card(order),
        merchantSalesChannelName: order.channel === "voice" ? "MAIL_ORDER_TELEPHONE_ORDER" : "INTERNET",
        accountNumberType: "PAN",
        isBillPayment: false,
      },
    },
    accountHolder: {
      fullName: fullName(order),
      referenceId: orderNumber(order),
      billingAddress: billingAddress(order),
    },
    initiatorType: "CARDHOLDER",
    accountOnFile: "NOT_STORED",
    isAmountFinal: true,
    partialAuthorizationSupport: "NOT_SUPPORTED",
  });
}

/** Has the issuer verify the card and stores it as a consumer profile. A profile needs two names, even of a caller who gave none. */
export function verifyAndStore(order: Order, by: By): GatewayRequest {
  const { first, last } = kit.splitName(kit.asciiText(order.card.cardholderName ?? "", 60));
  return request(by, "POST", "/verifications", {
    currency: order.currency,
    merchant: { merchantSoftware: merchantSoftware(by) },
    paymentMethodType: { card: card(order) },
    accountHolder: {
      firstName: first || last || "Card",
      lastName: last || "Holder",
      referenceId: orderNumber(order),
      billingAddress: billingAddress(order),
      consumerProfileInfo: { consumerProfileRequestType: "CREATE" },
    },
    initiatorType: "CARDHOLDER",
    accountOnFile: "TO_BE_STORED",
  });
}

/** What became of the request with this id; its own request has an id of its own. */
export const findByRequest = (by: By, resource: Resource, lost: string): GatewayRequest =>
  request(by, "GET", `/${resource}?requestIdentifier=${encodeURIComponent(lost)}`);

export const readPayment = (by: By, id: string): GatewayRequest => request(by, "GET", `/payments/${encodeURIComponent(id)}`);

/** Releases what is not captured. */
export const release = (by: By, id: string): GatewayRequest =>
  request(by, "PATCH", `/payments/${encodeURIComponent(id)}`, { isVoid: true });

/** Sends a captured payment back: J.P. Morgan voids no payment that was captured at once. */
export const refund = (subject: Subject, by: By, id: string): GatewayRequest =>
  request(by, "POST", "/refunds", {
    merchant: { merchantSoftware: merchantSoftware(by) },
    amount: subject.amountMinor,
    currency: subject.currency,
    paymentMethodType: { transactionReference: { transactionReferenceId: id } },
  });

/** What is wrong with the settings beyond their forms, or null. */
export function settingsFault({ credentials, environment }: Settings): string | null {
  const { private_key: key, certificate_thumbprint: thumbprint, client_secret: secret } = credentials;
  if (secret && environment === "live")
    return "client_secret reaches the vendor's mock only; live needs private_key and certificate_thumbprint";
  if (secret && (key || thumbprint)) return "client_secret goes without private_key and certificate_thumbprint";
  return secret || (key && thumbprint) ? null : "private_key and certificate_thumbprint are needed, or client_secret for the vendor's mock";
}
