import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { sign } from "./signature.ts";

/** Test and live differ by the project alone. */
export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://api.ecommpay.com", live: "https://api.ecommpay.com" },
  credentials: {
    project_id: kit.plainText("number of the project, Dashboard > Projects", {
      wholeNumber: true,
      form: [/^[1-9][0-9]{0,14}$/, "a whole number such as 12345"],
    }),
    secret_key: kit.secret("key that signs the project's messages, Dashboard > Projects, as printed", {
      form: [/^[\x21-\x7e]+$/, "a key: it is empty or has blanks"],
    }),
    ip_address: kit.plainText("public address of this service, sent as the payer's with telephone payments; SIP_PUBLIC_HOST when absent", {
      optional: true,
    }),
    base_url: kit.BASE_URL,
  },
});
export type Settings = kit.SettingsOf<typeof SETTINGS>;

const REQUEST_TIMEOUT_MS = 30_000;
const LONGEST_DESCRIPTION = 100;
const LONGEST_NAME = 64;
/** The vendor demands a name in Latin letters; the caller is not always asked for one. */
const NAMELESS = "CARDHOLDER";
/** Telephone order; 1 would be mail order. */
const TELEPHONE_ORDER = 2;

type Members = Readonly<Record<string, kit.JsonBody | undefined>>;

/** A signed request; the signature stands beside the project's id, in the part of the body named `signedIn`. */
function post(settings: Settings, path: string, signedIn: string, parts: Readonly<Record<string, Members>>): GatewayRequest {
  const project = { project_id: Number(settings.credentials.project_id.reveal()) };
  const body = { ...parts, [signedIn]: { ...project, ...parts[signedIn] } };
  const signed = { ...body, [signedIn]: { ...body[signedIn], signature: sign(body, settings.credentials.secret_key) } };
  return kit.postJson(`${settings.endpoint}${path}`, signed, {}, REQUEST_TIMEOUT_MS);
}

const general = ({ reference }: Subject): Members => ({ payment_id: reference });

/** One customer for each session: tokens are bound to it, and the vendor's duplicate rules compare it. */
const customer = ({ sessionId }: Order, payerIp: string): Members => ({ id: sessionId, ip_address: payerIp });

const card = ({ card: { number, expYear, expMonth, cardholderName } }: Order): Members => ({
  pan: number,
  year: new kit.NumberOf(expYear),
  month: new kit.NumberOf(expMonth),
  card_holder: kit.latinName(cardholderName ?? "", LONGEST_NAME) ?? NAMELESS,
});

/** Takes the money, or asks the issuer about the card for no money and keeps it. The answer only says "accepted". */
export function pay(order: Order, settings: Settings, payerIp: string): GatewayRequest {
  const stores = order.mode === "tokenize";
  return post(settings, `/v2/payment/card/${stores ? "account_verification" : "sale"}`, "general", {
    general: general(order),
    customer: customer(order, payerIp),
    payment: {
      amount: stores ? 0 : order.amountMinor,
      currency: order.currency,
      description: kit.optionalText(kit.unicodeText, order.description, LONGEST_DESCRIPTION),
      moto_type: order.channel === "voice" ? TELEPHONE_ORDER : undefined,
    },
    card: { ...card(order), cvv: kit.securityCode(order.card), save: stores ? true : undefined },
    ...(order.card.postalCode !== null && { avs_data: { avs_post_code: order.card.postalCode } }),
  });
}

/** Keeps a verified card that the project does not keep by itself; nobody is asked. */
export const makeToken = (order: Order, settings: Settings, payerIp: string) =>
  post(settings, "/v2/customer/card/tokenize", "customer", { customer: customer(order, payerIp), card: card(order) });

export const readStatusOf = (subject: Subject, settings: Settings) =>
  post(settings, "/v2/payment/status", "general", { general: general(subject) });

/** Sends back `amount` minor units of what a sale took, or releases an authorization that no sale should have left. */
export function release(subject: Subject, settings: Settings, amount: number | "hold"): GatewayRequest {
  const parts = { general: general(subject) };
  if (amount === "hold") return post(settings, "/v2/payment/card/cancel", "general", parts);
  const payment = { amount, currency: subject.currency, description: "Refund" };
  return post(settings, "/v2/payment/card/refund", "general", { ...parts, payment });
}
