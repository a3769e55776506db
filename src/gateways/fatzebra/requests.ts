import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://gateway.pmnts-sandbox.io", live: "https://gateway.pmnts.io" },
  credentials: {
    username: kit.plainText("merchant user of the gateway's API", { form: [/^[^\s:]{1,64}$/, "a user name without blanks and colons"] }),
    token: kit.secret("API token of that user; test and live differ", { form: [/^\S{1,255}$/, "a token without blanks"] }),
    ip_address: kit.plainText("public IPv4 address of this service, sent for telephone payments; SIP_PUBLIC_HOST when left out", {
      optional: true,
      form: [/^\d{1,3}(\.\d{1,3}){3}$/, "an IPv4 address"],
    }),
  },
  options: {
    verify: kit.flag(true, "store a card by holding one unit of money on it, released at once: storing alone asks no issuer"),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

const TIMEOUT_MS = 60_000;
const READ_TIMEOUT_MS = 20_000;
/** Held and released again to have the issuer asked, minor units. */
export const VERIFICATION_MINOR = 100;
/** What stands for a holder whose name was not asked for: an empty one is refused. */
const NAMELESS = "Cardholder";

const headers = ({ credentials }: Settings) => ({ Authorization: kit.basicAuth(credentials.username, credentials.token) });

const post = (settings: Settings, path: string, body: kit.JsonBody): GatewayRequest =>
  kit.postJson(`${settings.endpoint}/v1.0/${path}`, body, headers(settings), TIMEOUT_MS);

const cardOf = ({ card }: Order) => ({
  card_holder: kit.optionalText(kit.unicodeText, card.cardholderName, 255) ?? NAMELESS,
  card_number: card.number,
  card_expiry: kit.expiry(card, "MM/YYYY"),
  cvv: kit.securityCode(card),
});

/** A single telephone order, or one of the internet. */
const ecm = ({ channel }: Order) => (channel === "voice" ? "21" : "31");

/** Takes the money at once; for a card that is to be stored, holds a little of it. */
export function purchase(order: Order, settings: Settings, payerIp: string): GatewayRequest {
  const isCharge = order.mode === "charge";
  return post(settings, "purchases", {
    amount: isCharge ? order.amountMinor : VERIFICATION_MINOR,
    currency: order.currency,
    reference: order.reference,
    ...cardOf(order),
    customer_ip: payerIp,
    capture: isCharge,
    metadata: { session: order.sessionId, description: kit.optionalText(kit.unicodeText, order.description, 255) },
    extra: { ecm: ecm(order), card_on_file: !isCharge, stored_credential_indicator: isCharge ? undefined : "I" },
  });
}

/** Stores the card under our reference as its alias. Its form is checked, no issuer is asked. */
export const store = (order: Order, settings: Settings) =>
  post(settings, "credit_cards", { ...cardOf(order), alias: order.reference.slice(0, 64) });

/** The purchase of the attempt: the path takes our reference. */
export const readPurchase = ({ reference }: Pick<Subject, "reference">, settings: Settings) =>
  kit.get(`${settings.endpoint}/v1.0/purchases/${encodeURIComponent(reference)}`, headers(settings), READ_TIMEOUT_MS);

/** Before settlement; also releases a hold. */
export const voidPurchase = (settings: Settings, id: string) => post(settings, `purchases/void?id=${id}`, {});

/** After settlement. `declined`: how many such were declined before. */
export const refund = (
  { reference, amountMinor }: Pick<Subject, "reference" | "amountMinor">,
  settings: Settings,
  id: string,
  declined: number,
) => post(settings, "refunds", { transaction_id: id, amount: amountMinor, reference: `${reference}-r${declined + 1}` });
