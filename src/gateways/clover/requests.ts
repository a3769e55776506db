import type { Secret } from "#src/kernel/secret.ts";
import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://scl-sandbox.dev.clover.com", live: "https://scl.clover.com" },
  sideHosts: { token: { test: "https://token-sandbox.dev.clover.com", live: "https://token.clover.com" } },
  credentials: {
    public_key: kit.secret("public token of the Ecommerce API tokens (integration type API) in the merchant's dashboard", {
      form: [/^[0-9a-fA-F]{32}$/, "a public token of 32 hex digits"],
    }),
    private_key: kit.secret("private token of the same pair", {
      form: [/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/, "a private token of the form of a UUID"],
    }),
    merchant_id: kit.plainText("merchant id of 13 letters and digits, for display", { optional: true }),
    customer_email_domain: kit.plainText(
      "domain of the e-mail addresses that stored cards' customers are given, payments.invalid when left out",
      { optional: true, form: [/^[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+$/, "a domain such as customers.example.com"] },
    ),
    ip_address: kit.plainText("public IPv4 address of this service, sent for telephone payments; SIP_PUBLIC_HOST when left out", {
      optional: true,
      form: [/^\d{1,3}(\.\d{1,3}){3}$/, "an IPv4 address"],
    }),
  },
  options: {
    verify: kit.flag(true, "when a card is stored, hold one dollar on it and release it at once: storing alone may ask no issuer"),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

const [TOKEN_TIMEOUT_MS, PAYMENT_TIMEOUT_MS, READ_TIMEOUT_MS] = [20_000, 60_000, 20_000];
/** Largest amount that the vendor takes, in cents. */
export const LARGEST = 99_999_999;
export const CURRENCIES: readonly string[] = ["USD", "CAD"];
/** Held and released again to have the issuer asked, in cents. */
export const VERIFICATION_MINOR = 100;

/** The attempt in the vendor's field for settlement records: twelve letters or digits, and unlike the session's own no two alike. */
export const externalReference = ({ reference }: Pick<Subject, "reference">) => kit.shortReference(reference, 12);

const bearer = ({ credentials }: Settings) => ({ Authorization: `Bearer ${credentials.private_key.reveal()}` });

/** Under a key of the step's own: the same request again can never act twice. */
const post = (settings: Settings, { reference }: Pick<Subject, "reference">, step: string, body: kit.JsonBody, headers = {}) =>
  kit.postJson(
    `${settings.endpoint}/v1/${step}`,
    body,
    { ...bearer(settings), "idempotency-key": kit.uuidReference(`${reference}-${step}`), ...headers },
    PAYMENT_TIMEOUT_MS,
  );

/** Turns the card into a token for one use; no bank is asked. */
export function token(order: Order, { side, credentials }: Settings): GatewayRequest {
  const { card } = order;
  const { name, zip } = kit.holderOf(order, kit.unicodeText, { name: 127, zip: 10 });
  return kit.postJson(
    `${side.token}/v1/tokens`,
    {
      card: {
        number: card.number,
        exp_month: card.expMonth,
        exp_year: card.expYear,
        cvv: kit.securityCode(card),
        name,
        address_zip: zip,
      },
    },
    { apikey: credentials.public_key.reveal(), "User-Agent": "Voicetill/1.0" },
    TOKEN_TIMEOUT_MS,
  );
}

/** `moto`: the payer did not type the card himself. */
const ecomind = ({ channel }: Order) => (channel === "voice" ? "moto" : "ecom");

/** Takes the money at once; for a card that is stored with a customer, holds a little of it. */
export const charge = (order: Order, settings: Settings, source: Secret | string, payerIp: string) =>
  post(
    settings,
    order,
    "charges",
    {
      amount: order.mode === "charge" ? order.amountMinor : VERIFICATION_MINOR,
      currency: order.currency.toLowerCase(),
      source,
      ecomind: ecomind(order),
      capture: order.mode === "charge",
      description: kit.optionalText(kit.unicodeText, order.description, 255),
      external_reference_id: externalReference(order),
      metadata: { session: order.sessionId, attempt: String(order.attempt) },
    },
    { "x-forwarded-for": payerIp },
  );

/** A customer of its own for each card. The vendor demands an e-mail address; nobody gave one. */
export function createCustomer(order: Order, settings: Settings, source: Secret): GatewayRequest {
  const { firstName, lastName, name } = kit.holderOf(order, kit.unicodeText, { firstName: 64, lastName: 64, name: 127 });
  const domain = settings.credentials.customer_email_domain?.reveal() ?? "payments.invalid";
  return post(settings, order, "customers", {
    ecomind: ecomind(order),
    email: `${externalReference(order)}@${domain}`,
    firstName,
    lastName,
    name,
    source,
  });
}

const read = (settings: Settings, path: string) => kit.get(`${settings.endpoint}/v1/${path}`, bearer(settings), READ_TIMEOUT_MS);

export const readCharge = (settings: Settings, id: string) => read(settings, `charges/${id}`);

/** Charges on a page of the list, the most that the vendor gives. */
export const PAGE = 100;

/** A page of the newest charges: there is no search by reference, and no filter by time is relied on, which could hide one. */
export const listCharges = (settings: Settings, after: string | undefined) =>
  kit.listed(read(settings, `charges?limit=${PAGE}${after === undefined ? "" : `&starting_after=${after}`}`));

/** Sends the whole charge back; before settlement it acts as a void. */
export const refund = ({ reference }: Pick<Subject, "reference">, settings: Settings, id: string, keyEnd: string) =>
  post(settings, { reference: `${reference}${keyEnd}` }, "refunds", { charge: id, reason: "requested_by_customer" });

/** Takes the stored card away from its customer. */
export const deleteSource = (settings: Settings, customer: string, source: string): GatewayRequest =>
  kit.remove(`${settings.endpoint}/v1/customers/${customer}/sources/${source}`, bearer(settings), READ_TIMEOUT_MS);
