import type { AttemptTrace, GatewayRequest, Order } from "../contract.ts";
import { BASE_URL, NumberOf, describeSettings, jsonBody } from "../kit/index.ts";
import type { JsonBody, SettingsOf } from "../kit/index.ts";
import { sign } from "./signature.ts";

/** Test and live differ by the project alone. */
export const SETTINGS = describeSettings({
  hosts: { test: "https://api.ecommpay.com", live: "https://api.ecommpay.com" },
  credentials: {
    project_id: { secret: false, wholeNumber: true, meaning: "number of the project, Dashboard > Projects" },
    secret_key: { secret: true, meaning: "key that signs the project's messages, Dashboard > Projects, as printed" },
    ip_address: {
      secret: false,
      optional: true,
      meaning: "public address of this service: sent as the payer's with telephone payments, which have none",
    },
    base_url: BASE_URL,
  },
});
export type Settings = SettingsOf<typeof SETTINGS>;

const REQUEST_TIMEOUT_MS = 30_000;
const LONGEST_DESCRIPTION = 100;
/** The vendor demands a name; the caller is not always asked for one. */
const NAMELESS = "CARDHOLDER";
/** The vendor demands the payer's address; a telephone has none. */
const NO_ADDRESS = "127.0.0.1";
/** Telephone order; 1 would be mail order. */
const TELEPHONE_ORDER = 2;

/** Which attempt a request belongs to: an order, or what is left of one. */
export type Subject = Pick<AttemptTrace, "sessionId" | "reference" | "mode" | "amountMinor" | "currency">;

type Members = Readonly<Record<string, JsonBody | undefined>>;

/** A signed request; the signature stands beside the project's id, in the part of the body named `signedIn`. */
function post(settings: Settings, path: string, signedIn: string, parts: Readonly<Record<string, Members>>): GatewayRequest {
  const project = { project_id: Number(settings.credentials.project_id.reveal()) };
  const body = { ...parts, [signedIn]: { ...project, ...parts[signedIn] } };
  const signature = sign(body, settings.credentials.secret_key);
  return {
    method: "POST",
    url: `${settings.endpoint}${path}`,
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: jsonBody({ ...body, [signedIn]: { ...body[signedIn], signature } }),
    timeoutMs: REQUEST_TIMEOUT_MS,
  };
}

function general({ reference }: Subject): Members {
  return { payment_id: reference };
}

/** One customer for each session: tokens are bound to it, and the vendor's duplicate rules compare it. */
function customer(order: Order, settings: Settings): Members {
  const address = order.customerIp ?? settings.credentials.ip_address?.reveal() ?? NO_ADDRESS;
  return { id: order.sessionId, ip_address: address };
}

function card({ card }: Order): Members {
  return {
    pan: card.number,
    year: new NumberOf(card.expYear),
    month: new NumberOf(card.expMonth),
    card_holder: card.cardholderName?.toWellFormed() ?? NAMELESS,
  };
}

function description(text: string | null): string | undefined {
  return text === null ? undefined : Array.from(text.toWellFormed()).slice(0, LONGEST_DESCRIPTION).join("") || undefined;
}

/** Takes the money, or asks the issuer about the card for no money and keeps it. The answer only says "accepted". */
export function pay(order: Order, settings: Settings): GatewayRequest {
  const stores = order.mode === "tokenize";
  const { cvv, postalCode } = order.card;
  return post(settings, `/v2/payment/card/${stores ? "account_verification" : "sale"}`, "general", {
    general: general(order),
    customer: customer(order, settings),
    payment: {
      amount: stores ? 0 : order.amountMinor,
      currency: order.currency,
      description: description(order.description),
      moto_type: order.channel === "voice" ? TELEPHONE_ORDER : undefined,
    },
    card: { ...card(order), cvv: cvv.length > 0 ? cvv : undefined, save: stores ? true : undefined },
    ...(postalCode !== null && { avs_data: { avs_post_code: postalCode } }),
  });
}

/** Keeps a verified card that the project does not keep by itself; nobody is asked. */
export function makeToken(order: Order, settings: Settings): GatewayRequest {
  return post(settings, "/v2/customer/card/tokenize", "customer", { customer: customer(order, settings), card: card(order) });
}

export function readStatusOf(subject: Subject, settings: Settings): GatewayRequest {
  return post(settings, "/v2/payment/status", "general", { general: general(subject) });
}

/** Gives back `amountMinor` of what a sale took. */
export function refund(subject: Subject, settings: Settings, amountMinor: number): GatewayRequest {
  return post(settings, "/v2/payment/card/refund", "general", {
    general: general(subject),
    payment: { amount: amountMinor, currency: subject.currency, description: "Refund" },
  });
}

/** Releases an authorization that no sale should have left. */
export function cancel(subject: Subject, settings: Settings): GatewayRequest {
  return post(settings, "/v2/payment/card/cancel", "general", { general: general(subject) });
}

/** What is wrong with a project's settings, or null. */
export function settingsFault(settings: Settings): string | null {
  const { project_id: project, secret_key: key } = settings.credentials;
  if (!/^[1-9][0-9]{0,14}$/.test(project.reveal())) return "project_id is not a whole number such as 12345";
  if (!/^[\x21-\x7e]+$/.test(key.reveal())) return "secret_key is empty or has blanks";
  return null;
}
