import type { Secret } from "#src/kernel/secret.ts";
import type { GatewayRequest, GatewaySettings, Order } from "../contract.ts";
import { jsonBody } from "../kit/body.ts";
import { hmac } from "../kit/hmac.ts";

/** Total time from the first byte sent to the last byte of the answer (R-250). */
export const ANSWER_TIMEOUT_MS = 30_000;
const LONGEST_ANSWER = 64 * 1024;
const LEAST_SECRET = 32;

/** The one request of an attempt: the card and its session, signed (docs/interface.md, Card forwarding). */
export function forwardCard(order: Order, settings: GatewaySettings, nowMs: number): GatewayRequest {
  const { card } = order;
  const body = jsonBody({
    type: "payment_method.collected",
    session_id: order.sessionId,
    environment: settings.environment,
    mode: order.mode,
    amount: order.amountMinor,
    currency: order.currency,
    description: order.description,
    caller: order.caller,
    card: {
      number: card.number,
      exp_month: card.expMonth,
      exp_year: card.expYear,
      cvv: card.cvv.length > 0 ? card.cvv : null,
      cardholder_name: card.cardholderName,
      postal_code: card.postalCode,
      brand: card.brand,
      last4: card.last4,
    },
  });
  return {
    method: "POST",
    url: settings.credentials["url"]?.reveal() ?? "",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json",
      "Accept-Encoding": "identity",
      "X-Signature": signature(signingSecrets(settings), Math.floor(nowMs / 1000), body),
    },
    body,
    timeoutMs: ANSWER_TIMEOUT_MS,
    maxBytes: LONGEST_ANSWER,
  };
}

/** `t=<unix seconds>,v1=<hex>`, one v1 for each secret while they roll (R-240, R-241, R-262). */
function signature(secrets: readonly Secret[], seconds: number, body: Uint8Array): string {
  const signatures = secrets.map((secret) => `v1=${hmac("sha256", secret, [`${seconds}.`, body], "hex")}`);
  return [`t=${seconds}`, ...signatures].join(",");
}

function signingSecrets({ credentials }: GatewaySettings): Secret[] {
  return [credentials["signing_secret"], credentials["previous_signing_secret"]].filter((secret) => secret !== undefined);
}

/** True when the address may be sent card data: plain HTTP never may (R-244). */
export function isHttps(settings: GatewaySettings): boolean {
  return addressFault(settings.credentials["url"]) === null;
}

/** One sentence on what is wrong with the project's address or secrets, or null (R-244, R-261, R-262). */
export function settingsFault(settings: GatewaySettings): string | null {
  const secrets = signingSecrets(settings);
  if (secrets.length === 0) return "signing_secret is missing";
  const weak = secrets.some((secret) => secret.reveal().replace(/^whsec_/, "").length < LEAST_SECRET);
  return addressFault(settings.credentials["url"]) ?? (weak ? `signing_secret is shorter than ${LEAST_SECRET} characters` : null);
}

function addressFault(address: Secret | undefined): string | null {
  const url = URL.parse(address?.reveal() ?? "");
  if (url === null) return "url is not an absolute https address";
  if (url.protocol !== "https:") return "url must begin with https: card data is never sent over plain HTTP";
  if (url.username !== "" || url.password !== "") return "url must not hold a user name or password";
  return address?.reveal().includes("#") ? "url must not have a fragment (#...)" : null;
}
