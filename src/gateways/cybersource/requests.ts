import type { CardBrand } from "#src/kernel/card.ts";
import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { signedHeaders } from "./signature.ts";

const standIn = (what: string) =>
  kit.plainText(`${what} sent for payers, who give none; accounts without relaxed address requirements want it`, { optional: true });

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://apitest.cybersource.com", live: "https://api.cybersource.com" },
  credentials: {
    merchant_id: kit.plainText("organisation id of the merchant that is charged", {
      form: [/^[A-Za-z0-9_]{1,50}$/, "letters, digits and underscores such as acme_shop01"],
    }),
    key_id: kit.secret("id of the REST shared secret, Business Center > Payment Configuration > Key Management", {
      form: [/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/, "a UUID"],
    }),
    shared_secret: kit.secret("the REST shared secret itself, Base64 of 44 characters; it expires after three years", {
      form: [/^[A-Za-z0-9+/]{43}=$/, "Base64 of 32 bytes"],
    }),
    portfolio_id: kit.plainText("the parent organisation whose meta key signs, where one is used", { optional: true }),
    billing_street: standIn("street"),
    billing_city: standIn("city"),
    billing_state: standIn("state or province, two letters,"),
    billing_zip: standIn("postal code"),
    billing_country: kit.plainText("country sent with a payer's postal code, two letters", {
      optional: true,
      form: [/^[A-Z]{2}$/, "a country of two capital letters"],
    }),
    billing_email: standIn("e-mail address"),
    base_url: kit.plainText(
      "https address of another region in place of the vendor's usual one: https://api.in.cybersource.com for India",
      {
        optional: true,
        form: [/^https:\/\/([a-z0-9-]+\.)+cybersource\.com\/?$/, "an https address of cybersource.com without a path"],
      },
    ),
  },
  options: {
    auth_type: kit.oneOf(["jwt", "http_signature"], "how requests are signed; the vendor is giving http_signature up"),
  },
});
export type Settings = kit.SettingsOf<typeof SETTINGS>;
type Signer = Pick<kit.Io<typeof SETTINGS>, "settings" | "clock" | "random">;

const TIMEOUT_MS = 60_000;
const CARD_TYPES: Readonly<Partial<Record<CardBrand, string>>> = {
  visa: "001",
  mastercard: "002",
  amex: "003",
  discover: "004",
  diners: "005",
  jcb: "007",
  maestro: "042",
  elo: "054",
  unionpay: "062",
};

function request(method: "GET" | "POST", path: string, by: Signer, json?: kit.JsonBody): GatewayRequest {
  const body = json === undefined ? undefined : kit.jsonBody(json);
  const { host } = new URL(by.settings.endpoint);
  const headers = {
    Accept: "application/hal+json;charset=utf-8",
    ...(body && { "Content-Type": "application/json;charset=utf-8" }),
    ...signedHeaders({ method, host, path, body }, by.settings, by),
  };
  return kit.request(method, by.settings.endpoint + path, headers, body, TIMEOUT_MS);
}

/**
 * The attempt at the vendor, 30 letters and digits: 28 of the session's hex digits and the attempt's number. A search takes it without
 * quotes, and as `transactionId` it reaches a payment whose id was lost.
 */
export const codeOf = ({ sessionId, attempt }: Pick<Subject, "sessionId" | "attempt">): string =>
  `${sessionId.replaceAll("-", "").slice(0, 28)}${String(attempt % 100).padStart(2, "0")}`;

const amountDetails = (amountMinor: number, currency: string) => ({ totalAmount: kit.decimalAmount({ amountMinor, currency }), currency });

const card = ({ card }: Order): kit.JsonBody => ({
  number: card.number,
  expirationMonth: card.expMonth,
  expirationYear: card.expYear,
  securityCode: kit.securityCode(card),
  type: kit.brandName(card, CARD_TYPES),
});

/** Nine digits of the United States need their dash, six characters of Canada their blank. */
const postalCode = (zip: string | undefined): string | undefined =>
  zip?.replace(/^([0-9]{5})([0-9]{4})$/, "$1-$2").replace(/^([A-Za-z][0-9][A-Za-z]) ?([0-9][A-Za-z][0-9])$/, "$1 $2");

/** What the payer gave, and the merchant's stand-ins for the rest. */
function billTo(order: Order, { credentials }: Settings): kit.JsonBody | undefined {
  const { firstName, lastName, zip } = kit.holderOf(order, kit.asciiText, { firstName: 60, lastName: 60, zip: 10 });
  const to = {
    firstName,
    lastName,
    address1: credentials.billing_street,
    locality: credentials.billing_city,
    administrativeArea: credentials.billing_state,
    postalCode: postalCode(zip) ?? credentials.billing_zip,
    country: credentials.billing_country,
    email: credentials.billing_email,
  };
  return Object.values(to).some((part) => part !== undefined) ? to : undefined;
}

function payment(
  order: Order,
  settings: Settings,
  processing: Readonly<Record<string, kit.JsonBody>>,
  amountMinor: number,
  transactionId: string,
): kit.JsonBody {
  const { capture, ...more } = processing;
  return {
    clientReferenceInformation: { code: codeOf(order), transactionId, comments: kit.optionalText(kit.asciiText, order.description, 255) },
    processingInformation: { capture, commerceIndicator: order.channel === "voice" ? "moto" : "internet", ...more },
    paymentInformation: { card: card(order) },
    orderInformation: { amountDetails: amountDetails(amountMinor, order.currency), billTo: billTo(order, settings) },
    deviceInformation: order.customerIp === null ? undefined : { ipAddress: order.customerIp },
  };
}

/** Takes the money at once. */
export const sale = (order: Order, by: Signer) =>
  request("POST", "/pts/v2/payments", by, payment(order, by.settings, { capture: true }, order.amountMinor, codeOf(order)));

const STORING: Readonly<Record<string, kit.JsonBody>> = {
  capture: false,
  actionList: ["TOKEN_CREATE"],
  actionTokenTypes: ["instrumentIdentifier"],
  authorizationOptions: { initiator: { type: "customer", credentialStoredOnFile: true } },
};

/** Has the issuer asked by an authorization of nothing, and keeps the number. `transactionId` is new each time: a processor may refuse a used one. */
export const store = (order: Order, by: Signer, transactionId: string) =>
  request("POST", "/pts/v2/payments", by, payment(order, by.settings, STORING, 0, transactionId));

/** How far back a search looks; what began before that is not shown by it. */
export const SEARCHED_DAYS = 7;

/** Payments by our code. */
export const search = (subject: Subject, by: Signer) =>
  request("POST", "/tss/v2/searches", by, {
    save: false,
    name: "lookup",
    timezone: "UTC",
    query: `clientReferenceInformation.code:${codeOf(subject)} AND submitTimeUtc:[NOW/DAY-${SEARCHED_DAYS}DAYS TO NOW/DAY+1DAY}`,
    offset: 0,
    limit: 100,
    sort: "id:asc,submitTimeUtc:asc",
  });

/** Takes a sale back before settlement. Its own code differs, so that a search for the attempt finds the payment alone. */
export const voidSale = (subject: Subject, by: Signer, id: string) =>
  request("POST", `/pts/v2/payments/${id}/voids`, by, { clientReferenceInformation: { code: `${codeOf(subject)}v` } });

/** Sends a settled sale back. */
export const refund = (subject: Subject, by: Signer, id: string) =>
  request("POST", `/pts/v2/payments/${id}/refunds`, by, {
    clientReferenceInformation: { code: `${codeOf(subject)}r` },
    orderInformation: { amountDetails: amountDetails(subject.amountMinor, subject.currency) },
  });

/** Releases what an authorization holds: a part, or what the vendor's own rules refused after the issuer had approved. */
export const release = (subject: Subject, by: Signer, id: string, amountMinor: number) =>
  request("POST", `/pts/v2/payments/${id}/reversals`, by, {
    clientReferenceInformation: { code: `${codeOf(subject)}x` },
    reversalInformation: { amountDetails: amountDetails(amountMinor, subject.currency), reason: "the payment was refused" },
  });
