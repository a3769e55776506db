import { createHmac } from "node:crypto";
import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

type Body = Record<string, Record<string, unknown>>;

/** For bodies of two levels without lists: enough for what is sent here. */
export function signatureOf(body: object): string {
  const valueOf = (value: unknown) => (typeof value === "boolean" ? Number(value) : (value ?? "")) as string;
  const lines = Object.entries(body).flatMap(([part, members]: [string, unknown]) =>
    typeof members === "object" && members !== null
      ? Object.entries(members).map(([name, value]) => `${part}:${name}:${valueOf(value)}`)
      : [`${part}:${valueOf(members)}`],
  );
  return createHmac("sha512", "demo-secret-key")
    .update(
      lines
        .filter((line) => !/(^|:)signature:/.test(line))
        .sort()
        .join(";"),
    )
    .digest("base64");
}

/** The body with its signature where the endpoint wants it: in `general`, in `customer` or at the top. */
export function signed(sent: Sent): Sent {
  if (typeof sent.body !== "object") return sent;
  const body = structuredClone(sent.body) as Body;
  const place = body["general"] ?? (body["customer"]?.["project_id"] === undefined ? body : body["customer"]);
  if (typeof place === "object") place["signature"] = signatureOf(body);
  return { ...sent, body };
}

export const EXAMPLE: Body = {
  general: { project_id: 12345, payment_id: "ps-7f3a-01" },
  customer: { id: "cust-881", ip_address: "203.0.113.10" },
  payment: { amount: 1815, currency: "GBP", description: "Order 443", moto_type: 2 },
  card: { pan: "4000000000000077", year: 2030, month: 9, card_holder: "JANE DOE", cvv: "123" },
  avs_data: { avs_post_code: "SW1A 1AA" },
};

let payments = 0;
const general = () => ({ project_id: 12345, payment_id: `wrong-${++payments}` });
const pay = (operation: string, more: Body = {}): Sent => ({
  at: `POST /v2/payment/card/${operation}`,
  body: { ...EXAMPLE, general: general(), ...more },
});
/** A payment that was accepted, and what can be done about it. */
async function after(send: Send, operation: string, more: Body = {}): Promise<Body> {
  const sent = pay(operation, more);
  await send(sent);
  return { general: (sent.body as Body)["general"] as Record<string, unknown> };
}
const amount = { amount: 1815, currency: "GBP", description: "Back" };

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) => (status === 200 && json.status !== "error" ? null : `${status} ${json.code}`),
  sign: signed,
  requests: {
    "a sale": () => pay("sale"),
    "an authorization": () => pay("auth"),
    "a check": () => pay("account_verification", { payment: { ...EXAMPLE["payment"], amount: 0 } }),
    "a sale with all that may be said of a customer": () =>
      pay("sale", {
        customer: {
          ...EXAMPLE["customer"],
          phone: "441632960000",
          country: "GB",
          city: "London",
          state: "LND",
          street: "High Street",
          building: "1",
        },
        card: { ...EXAMPLE["card"], year: "2030", month: "09" },
      }),
    "a capture": async (send) => ({ at: "POST /v2/payment/card/capture", body: { ...(await after(send, "auth")), payment: amount } }),
    "a cancellation": async (send) => ({ at: "POST /v2/payment/card/cancel", body: { ...(await after(send, "auth")), payment: amount } }),
    "a refund": async (send) => ({ at: "POST /v2/payment/card/refund", body: { ...(await after(send, "sale")), payment: amount } }),
    "a token": () => {
      const { cvv: _cvv, ...card } = EXAMPLE["card"] as Record<string, unknown>;
      return { at: "POST /v2/customer/card/tokenize", body: { customer: { ...EXAMPLE["customer"], project_id: 12345 }, card } };
    },
    "a request's status": async (send) => ({
      at: "POST /v2/payment/status/request",
      body: { project_id: 12345, request_id: (await send(pay("sale"))).json.request_id },
    }),
  },
  cases: [
    ["a sale", { path: "/v2/payment" }, "404 702"],
    ["a sale", { method: "PUT" }, "404 702"],
    ["a sale", { "header:Content-Type": "text/plain" }, "422 2003"],
    ["a sale", { body: "{" }, "422 2003"],
    ["a sale", { body: "{}" }, "400 3262"],
    ["a sale", { body: JSON.stringify({ ...EXAMPLE, general: { ...general(), signature: "wrong" } }) }, "400 3261"],
    ["a sale", { "general.project_id": 77777 }, "400 2442"],
    ["a sale", { "general.project_id": "12345" }, "400 2004"],
    ["a sale", { "general.payment_id": "a b" }, "400 2004"],
    ["a sale", { "general.payment_id": undefined }, "400 2004"],
    ["a sale", { "customer.id": undefined }, "400 2004"],
    ["a sale", { "customer.ip_address": "home" }, "400 2004"],
    ["a sale", { "customer.phone": "+44 1632" }, "400 2004"],
    ["a sale", { "customer.country": "GBR" }, "400 2610"],
    ["a sale", { "customer.name": "Jane" }, "400 2004"],
    ["a sale", { "payment.amount": 18.15 }, "400 2004"],
    ["a sale", { "payment.amount": "1815" }, "400 2004"],
    ["a sale", { "payment.amount": 0 }, "400 2004"],
    ["a sale", { "payment.currency": "ZZZ" }, "400 3023"],
    ["a sale", { "payment.moto_type": 3 }, "400 2004"],
    ["a sale", { "payment.total": 1 }, "400 2004"],
    ["a sale", { "payment.description": "Card 4242 4242 4242 4242" }, "400 2004"],
    ["a sale", { "payment.description": "x".repeat(101) }, "400 2004"],
    ["a sale", { "card.pan": "4000 0000 0000 0077" }, "400 2004"],
    ["a sale", { "card.year": 30 }, "400 2004"],
    ["a sale", { "card.year": 2020 }, "400 3021"],
    ["a sale", { "card.month": 13 }, "400 3020"],
    ["a sale", { "card.card_holder": undefined }, "400 3162"],
    ["a sale", { "card.card_holder": "" }, "400 3161"],
    ["a sale", { "card.cvv": undefined }, "400 3141"],
    ["a sale", { "card.cvv": "1234" }, "400 3141"],
    ["a sale", { "card.pan": "371449635398431", "card.cvv": "123" }, "400 3141"],
    ["a sale", { "card.cvv": undefined, "card.pan": "5555555555554444", "payment.moto_type": undefined }, "400 3141"],
    ["a sale", { "card.save": "yes" }, "400 2004"],
    ["a sale", { card: undefined, token: "t" }, "400 2004"],
    ["a check", { "payment.amount": 1 }, "400 2004"],
    ["a capture", { "payment.amount": 1816 }, "400 3024"],
    ["a capture", { "payment.currency": "EUR" }, "400 3023"],
    ["a capture", { "general.payment_id": "none" }, "400 3061"],
    ["a cancellation", { "general.payment_id": "none" }, "400 3061"],
    ["a refund", { path: "/v2/payment/card/cancel" }, "400 3023"],
    ["a refund", { "payment.amount": 1816 }, "400 3024"],
    ["a refund", { "payment.description": undefined }, "400 2004"],
    ["a token", { "card.cvv": "123" }, "400 2004"],
    ["a token", { "card.month": 0 }, "400 3020"],
    ["a token", { path: "/v2/payment/card/sale/token" }, "400 2004"],
    ["a request's status", { request_id: "none" }, "400 3061"],
  ],
};
