import { outgoingPortFault } from "#src/kernel/outgoing-port.ts";
import type { Secret } from "#src/kernel/secret.ts";
import type { GatewayRequest, Order } from "../contract.ts";
import * as kit from "../kit/index.ts";

/** The endpoint is the merchant's own, a credential; the vendor's host does not exist. */
export const SETTINGS = kit.describeSettings({
  hosts: { test: "", live: "" },
  credentials: {
    url: kit.plainText("https address of the merchant's endpoint"),
    signing_secret: kit.secret(
      "key of the X-Signature header, whsec_...; `apply` makes one and prints it once where the file has none; [new, old] signs with both while it is rolled",
      { generated: true, previous: "previous_signing_secret" },
    ),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

/** Total time from the first byte sent to the last byte of the answer (R-250). */
export const ANSWER_TIMEOUT_MS = 30_000;
const LONGEST_ANSWER = 64 * 1024;
const LEAST_SECRET = 32;

/** The one request of an attempt: the card and its session, signed (docs/interface.md, Card forwarding). */
export function forwardCard(order: Order, settings: Settings, nowMs: number): GatewayRequest {
  const { card } = order;
  const body = kit.jsonBody({
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
      cvv: kit.securityCode(card) ?? null,
      cardholder_name: card.cardholderName,
      postal_code: card.postalCode,
      brand: card.brand,
      last4: card.last4,
    },
  });
  const headers = {
    "Content-Type": "application/json",
    Accept: "application/json",
    "Accept-Encoding": "identity",
    "X-Signature": signature(signingSecrets(settings), Math.floor(nowMs / 1000), body),
  };
  return { ...kit.request("POST", settings.credentials.url.reveal(), headers, body, ANSWER_TIMEOUT_MS), maxBytes: LONGEST_ANSWER };
}

/** `t=<unix seconds>,v1=<hex>`, one v1 for each secret while they roll (R-240, R-241, R-262). */
function signature(secrets: readonly Secret[], seconds: number, body: Uint8Array): string {
  const signatures = secrets.map((secret) => `v1=${kit.hmac("sha256", secret, [`${seconds}.`, body], "hex")}`);
  return [`t=${seconds}`, ...signatures].join(",");
}

const signingSecrets = ({ credentials }: Settings): Secret[] =>
  [credentials.signing_secret, credentials.previous_signing_secret].filter((secret) => secret !== undefined);

/** One sentence on what is wrong with the project's address or secrets, or null (R-244, R-261, R-262). */
export function settingsFault(settings: Settings): string | null {
  const weak = signingSecrets(settings).some((secret) => secret.reveal().replace(/^whsec_/, "").length < LEAST_SECRET);
  return addressFault(settings) ?? portFault(settings) ?? (weak ? `signing_secret is shorter than ${LEAST_SECRET} characters` : null);
}

function portFault({ credentials }: Settings): string | null {
  const fault = outgoingPortFault(new URL(credentials.url.reveal()));
  return fault && `url ${fault}`;
}

/** Why the address may not be sent card data, or null: plain HTTP never may (R-244). */
export function addressFault({ credentials }: Settings): string | null {
  const address = credentials.url.reveal();
  const url = URL.parse(address);
  if (url === null) return "url is not an absolute https address";
  if (url.protocol !== "https:") return "url must begin with https: card data is never sent over plain HTTP";
  if (url.username !== "" || url.password !== "") return "url must not hold a user name or password";
  return address.includes("#") ? "url must not have a fragment (#...)" : null;
}
