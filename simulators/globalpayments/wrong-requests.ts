import { createHash } from "node:crypto";
import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const VERSION = { "X-GP-Version": "2021-03-22" };
const APP_ID = "ExampleAppId00000000000000000001";

export function tokenRequest(more: Record<string, unknown> = {}): Sent {
  const nonce = "2026-01-15T10:30:00.000Z";
  const secret = createHash("sha512").update(`${nonce}ExampleAppKey0001`).digest("hex");
  return {
    at: "POST /ucp/accesstoken",
    headers: VERSION,
    body: { app_id: APP_ID, nonce, secret, grant_type: "client_credentials", seconds_to_expire: 3600, ...more },
  };
}

let requests = 0;
/** A request under a token of its own, with a new idempotency key. */
export async function request(send: Send, at: string, body: Record<string, unknown> = {}): Promise<Sent> {
  const token = (await send(tokenRequest())).json.token as string;
  return {
    at,
    headers: { ...VERSION, Authorization: `Bearer ${token}`, "x-gp-idempotency": `key-${++requests}` },
    body: structuredClone(body),
  };
}

const card = {
  number: "4263970000005262",
  expiry_month: "05",
  expiry_year: "60",
  cvv: "123",
  cvv_indicator: "PRESENT",
  avs_postal_code: "12345",
};
export const SALE = {
  account_name: "transaction_processing",
  channel: "CNP",
  type: "SALE",
  capture_mode: "AUTO",
  amount: "1250",
  currency: "USD",
  country: "US",
  reference: "5b0c5b2e-3b1f-4c9e-9a55-0f3c7b1d2a10",
  description: "Order 1234",
  order: { reference: "5b0c5b2e3b" },
  payment_method: { entry_mode: "PHONE", name: "Ada Byron", card },
};
export const METHOD = {
  account_name: "tokenization",
  reference: "0a3c7c0e-9b5e",
  name: "Ada Byron",
  usage_mode: "MULTIPLE",
  card: { number: card.number, expiry_month: "05", expiry_year: "60" },
};
const { type: _type, capture_mode: _mode, amount: _amount, description: _description, ...VERIFICATION } = SALE;
const transactions = "POST /ucp/transactions";
const idOf = async (send: Send, more: object = {}) =>
  (await send(await request(send, transactions, { ...SALE, ...more }))).json.id as string;

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) => (status === 200 ? null : `${status} ${json.detailed_error_code}`),
  requests: {
    "a token": () => tokenRequest(),
    "a sale": (send) => request(send, transactions, SALE),
    "a sale with a stored card": async (send) => {
      const { id } = (await send(await request(send, "POST /ucp/payment-methods", METHOD))).json as { id: string };
      const stored_credential = { model: "UNSCHEDULED", sequence: "SUBSEQUENT" };
      return request(send, transactions, { ...SALE, initiator: "MERCHANT", stored_credential, payment_method: { entry_mode: "ECOM", id } });
    },
    "a verification": (send) => request(send, "POST /ucp/verifications", VERIFICATION),
    "a payment method": (send) => request(send, "POST /ucp/payment-methods", METHOD),
    "a capture": async (send) =>
      request(send, `${transactions}/${await idOf(send, { capture_mode: "LATER" })}/capture`, { amount: "1250" }),
    "a reversal": async (send) => request(send, `${transactions}/${await idOf(send)}/reversal`, { amount: "1250" }),
    "a report": (send) =>
      request(
        send,
        "GET /ucp/transactions?reference=5b0c5b2e-3b1f&from_time_created=2026-01-01&page=1&page_size=5&account_name=transaction_processing",
      ),
  },
  cases: [
    ["a token", { "header:X-GP-Version": undefined }, "400 40005"],
    ["a token", { app_id: "WrongAppId0000000000000000000001" }, "403 40004"],
    ["a token", { app_id: "short" }, "403 40004"],
    ["a token", { nonce: "another" }, "403 40004"],
    ["a token", { secret: "ABC" }, "400 40213"],
    ["a token", { grant_type: "password" }, "400 40213"],
    ["a token", { seconds_to_expire: 59 }, "400 40213"],
    ["a token", { seconds_to_expire: 604_801 }, "400 40213"],
    ["a token", { interval_to_expire: "2_HOURS" }, "400 40213"],
    ["a sale", { "payment_method.card.expiry_month": undefined }, "400 40005"],
    ["a sale", { "header:Authorization": undefined }, "401 40001"],
    ["a sale", { "header:Authorization": "Bearer rubbish" }, "401 40001"],
    ["a sale", { "header:X-GP-Version": "2020-12-22" }, "400 40213"],
    ["a sale", { "header:x-gp-idempotency": "x".repeat(51) }, "400 40213"],
    ["a sale", { "header:content-type": "text/plain" }, "415 40006"],
    ["a sale", { body: "{" }, "400 40006"],
    ["a sale", { path: "/ucp/transaction" }, "404 40008"],
    ["a sale", { method: "PUT" }, "405 40008"],
    ["a sale", { account_name: undefined }, "400 40007"],
    ["a sale", { account_name: "tokenization" }, "403 40212"],
    ["a sale", { account_id: "TRA_none" }, "403 40212"],
    ["a sale", { channel: "CNPX" }, "400 40213"],
    ["a sale", { type: "REFUND" }, "403 40212"],
    ["a sale", { amount: undefined }, "400 40005"],
    ["a sale", { amount: 1250 }, "400 40213"],
    ["a sale", { amount: "12.50" }, "400 40213"],
    ["a sale", { amount: "0" }, "400 40213"],
    ["a sale", { currency: "ZZZ" }, "400 40213"],
    ["a sale", { currency: "XXX" }, "400 40041"],
    ["a sale", { country: "USA" }, "400 40213"],
    ["a sale", { reference: "short" }, "400 40213"],
    ["a sale", { reference: "x".repeat(51) }, "400 40213"],
    ["a sale", { description: "" }, "400 40213"],
    ["a sale", { description: "x".repeat(51) }, "400 40213"],
    ["a sale", { ip_address: "::1" }, "400 40213"],
    ["a sale", { metadata: "x" }, "400 40213"],
    ["a sale", { payment_method: undefined }, "400 40005"],
    ["a sale", { "payment_method.entry_mode": "TELEPHONE" }, "400 40213"],
    ["a sale", { "payment_method.name": "x".repeat(51) }, "400 40213"],
    ["a sale", { "payment_method.card.number": undefined }, "400 40005"],
    ["a sale", { "payment_method.card.number": "4263970000005263" }, "400 40090"],
    ["a sale", { "payment_method.card.number": "4263 9700 0000 5262" }, "400 40090"],
    ["a sale", { "payment_method.card.number": "4009830000001985" }, "502 50013"],
    ["a sale", { "payment_method.card.number": "4009830000001985", currency: "XXX" }, "502 50024"],
    ["a sale", { "payment_method.card.expiry_month": "13" }, "400 40090"],
    ["a sale", { "payment_method.card.expiry_year": "2060" }, "400 40090"],
    ["a sale", { "payment_method.card.expiry_year": "20" }, "400 40090"],
    ["a sale", { "payment_method.card.cvv": "1234" }, "400 40085"],
    ["a sale", { "payment_method.card.cvv": "12" }, "400 40085"],
    ["a sale", { "payment_method.card.cvv": undefined }, "400 40213"],
    ["a sale", { "payment_method.card.zip": "12345" }, "400 40213"],
    ["a sale with a stored card", { "payment_method.id": "PMT_31087d9c-e68c-4389-9f13-39378e166ea5" }, "404 40116"],
    ["a sale with a stored card", { "payment_method.card": card }, "400 40213"],
    ["a sale with a stored card", { "stored_credential.model": "LATER" }, "400 40213"],
    ["a verification", { amount: "0" }, "400 40213"],
    ["a payment method", { account_name: "transaction_processing" }, "403 40212"],
    ["a payment method", { "card.number": undefined }, "400 40005"],
    ["a payment method", { usage_mode: "ONCE" }, "400 40213"],
    ["a capture", { amount: "1251" }, "400 40214"],
    ["a capture", { path: "/ucp/transactions/TRN_none/capture" }, "404 40008"],
    ["a reversal", { amount: "1000" }, "400 40214"],
    ["a reversal", { reversal_reason: "WHIM" }, "400 40213"],
    ["a report", { "query:from_time_created": "yesterday" }, "400 40213"],
    ["a report", { "query:referenc": "x" }, "400 40213"],
  ],
};
