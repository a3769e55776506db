import { randomUUID } from "node:crypto";
import type { ReceivedAnswer, Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const HEADERS = {
  "user-id": "11ef69fdc8fd8db2b07213de",
  "user-api-key": "11ef9c5897f42ac2a072e521",
  "developer-id": "bEgKPZos",
};
const LOCATION = "11ef69fdc684ae30b436c55b";
const CARD = {
  account_number: "5454545454545454",
  exp_date: "0960",
  account_holder_name: "Jane Smith",
  billing_address: { postal_code: "48375", street: "1 Main St", city: "Novi", state: "MI", country: "USA" },
};

export const sign = (sent: Sent): Sent => ({ ...sent, headers: { ...HEADERS, ...sent.headers } });
const post = (path: string, body: object): Sent => ({ at: `POST /v1${path}`, body: structuredClone(body) as Record<string, unknown> });
/** The sheet's sale, under a reference of its own; or another transaction with a typed card. */
export function keyed(more: object = {}, type = "sale"): Sent {
  const reference = randomUUID();
  const about = { transaction_api_id: `ps-${reference}`, order_number: reference.replaceAll("-", ""), location_id: LOCATION };
  const order = { product_transaction_id: "11ef69fdc6debc2cb1af505c", description: "Invoice 1001" };
  return post(`/transactions/cc/${type}/keyed`, { transaction_amount: 2500, ...about, ...order, ...CARD, cvv: "999", ...more });
}
export const check = (more: object = {}): Sent => keyed({ transaction_amount: undefined, ...more }, "avs-only");
export const store = (more: object = {}): Sent =>
  post("/tokens/cc", {
    location_id: LOCATION,
    ...CARD,
    token_api_id: `ps-${randomUUID()}`,
    title: "Voice 4f0c6f0e",
    run_avs: true,
    ...more,
  });
export const storePrevious = (id: string): Sent =>
  post("/tokens/previous-transaction", { location_id: LOCATION, previous_transaction_id: id });
export const later = (token: string, more: object = {}): Sent =>
  post("/transactions/cc/sale/token", {
    transaction_amount: 2500,
    token_id: token,
    location_id: LOCATION,
    transaction_api_id: `ps-${randomUUID()}`,
    ...more,
  });
export const change = (id: string, verb: "void" | "refund" | "auth-complete", body: object = {}): Sent => ({
  at: `${verb === "void" ? "PUT" : "PATCH"} /v1/transactions/${id}/${verb}`,
  body: body as Record<string, unknown>,
});
export const listed = (reference: string, operator = "="): Sent => {
  const filter = { key: "transaction_api_id", operator, value: reference };
  const query = new URLSearchParams(Object.entries(filter).map(([name, value]) => [`filter_by[0][${name}]`, value]));
  return { at: `GET /v1/transactions?${query.toString()}` };
};

export const idOf = async (send: Send, sent = keyed()): Promise<string> => (await send(sent)).json.data.id as string;
const HOLD = "auth-only";

export function codeOf({ status, json }: ReceivedAnswer): string | null {
  if (json?.type === "Error") return `${json.statusCode} ${json.detail}`;
  if (json?.data?.status_code === 301) return `${status} 301 ${json.data.reason_code_id}`;
  return null;
}

export const wrongRequests: WrongRequests = {
  codeOf,
  sign,
  requests: {
    "a sale": () => keyed(),
    "a hold": () => keyed({}, HOLD),
    "a check": () => check(),
    "a token": () => store(),
    "a token of a check": async (send) => storePrevious(await idOf(send, check())),
    "a later sale": async (send) => later(await idOf(send, store())),
    "a later sale by our id": async (send) => {
      const token = (await send(store())).json.data.token_api_id as string;
      return later("", { token_id: undefined, token_api_id: token });
    },
    "a void": async (send) => change(await idOf(send), "void"),
    "a capture": async (send) => change(await idOf(send, keyed({}, HOLD)), "auth-complete", { transaction_amount: 2500 }),
    "a list": () => listed("ps-none"),
    "a list by JSON": () => ({
      at: `GET /v1/transactions?filter_by=${encodeURIComponent('[{"key":"last_four","operator":"=","value":"5454"}]')}`,
    }),
    "a transaction": async (send) => ({ at: `GET /v1/transactions/${await idOf(send)}` }),
    "a token's deletion": async (send) => ({ at: `DELETE /v1/tokens/${await idOf(send, store())}` }),
  },
  cases: [
    ["a sale", { "header:user-id": undefined }, "401 Unauthorized"],
    ["a sale", { "header:user-id": "wrong" }, "401 Unauthorized"],
    ["a sale", { "header:user-api-key": undefined }, "401 Unauthorized"],
    ["a sale", { "header:user-api-key": "wrong897f42ac2a072e521000" }, "401 Unauthorized"],
    ["a sale", { "header:developer-id": undefined }, "401 Unauthorized"],
    ["a sale", { "header:Content-Type": "text/plain" }, "400 Invalid request payload JSON format"],
    ["a sale", { body: "{" }, "400 Invalid request payload JSON format"],
    ["a sale", { path: "/transactions/cc/sale/keyed" }, "404 Not Found"],
    ["a sale", { method: "PUT" }, "405 Method Not Allowed"],
    ["a sale", { transaction_amount: undefined }, '412 "transaction_amount" is required'],
    ["a sale", { transaction_amount: 0 }, /^412 "transaction_amount" /],
    ["a sale", { transaction_amount: 25.5 }, '412 "transaction_amount" must be an integer'],
    ["a sale", { transaction_amount: 1_000_000_000 }, /^412 "transaction_amount" /],
    ["a sale", { account_number: undefined }, '412 "account_number" is required'],
    ["a sale", { account_number: "5454545454545455" }, '412 "account_number" must be a credit card'],
    ["a sale", { account_number: "54545454545454" }, '412 "account_number" must be a credit card'],
    ["a sale", { account_number: 5454 }, '412 "account_number" must be a string'],
    ["a sale", { exp_date: "09/60" }, /^412 "exp_date" /],
    ["a sale", { exp_date: "1360" }, /^412 "exp_date" /],
    ["a sale", { exp_date: "0920" }, "201 301 1622"],
    ["a sale", { cvv: "12345" }, /^412 "cvv" /],
    ["a sale", { cvv: "1234" }, "201 301 1656"],
    ["a sale", { account_holder_name: "x".repeat(33) }, /^412 "account_holder_name" /],
    ["a sale", { "billing_address.postal_code": "48" }, /^412 "billing_address.postal_code" /],
    ["a sale", { "billing_address.postal_code": "48375_1" }, /^412 "billing_address.postal_code" /],
    ["a sale", { "billing_address.street": "1 Main (rear)" }, /^412 "billing_address.street" /],
    ["a sale", { "billing_address.city": "x".repeat(37) }, /^412 "billing_address.city" /],
    ["a sale", { "billing_address.country": "US" }, /^412 "billing_address.country" /],
    ["a sale", { "billing_address.phone": "+15550001111" }, /^412 "billing_address.phone" /],
    ["a sale", { description: "" }, '412 "description" must not be empty'],
    ["a sale", { description: "x".repeat(65) }, /^412 "description" /],
    ["a sale", { order_number: "x".repeat(33) }, /^412 "order_number" /],
    ["a sale", { transaction_api_id: "x".repeat(65) }, /^412 "transaction_api_id" /],
    ["a sale", { location_id: undefined }, '412 "location_id" is required'],
    ["a sale", { location_id: "shop" }, /^412 "location_id" /],
    ["a sale", { product_transaction_id: "moto" }, /^412 "product_transaction_id" /],
    ["a sale", { currency: "USD" }, '412 "currency" is not allowed'],
    ["a sale", { allow_partial_authorization_override: "false" }, /^412 "allow_partial_authorization_override" /],
    ["a sale", { transaction_amount: 601 }, "201 301 1601"],
    ["a sale", { transaction_amount: 622 }, "201 301 1622"],
    ["a sale", { account_number: "4000000000009995" }, "201 301 1616"],
    ["a hold", { transaction_amount: -1 }, /^412 "transaction_amount" /],
    ["a check", { transaction_amount: 100 }, /^412 "transaction_amount" /],
    ["a check", { account_number: "4000000000000127" }, "201 301 1656"],
    ["a token", { cvv: "999" }, '412 "cvv" is not allowed'],
    ["a token", { transaction_amount: 1 }, '412 "transaction_amount" is not allowed'],
    ["a token", { title: "x".repeat(17) }, /^412 "title" /],
    ["a token", { exp_date: "0920" }, '412 "exp_date" must be a future date'],
    ["a token", { account_number: "4000000000000002" }, "412 Account verification failed"],
    ["a token of a check", { previous_transaction_id: "31ef000000000000000000aa" }, '412 "previous_transaction_id" is invalid'],
    ["a later sale", { token_id: "31ef000000000000000000aa" }, '412 "token_id" is not found'],
    ["a later sale", { token_id: undefined }, '412 "token_api_id" is not found'],
    ["a later sale by our id", { token_api_id: "none" }, '412 "token_api_id" is not found'],
    ["a void", { path: "/v1/transactions/abc123/void" }, /^412 "transaction_id" with value "abc123" fails to match/],
    ["a void", { path: "/v1/transactions/31ef000000000000000000aa/void" }, "404 Not Found"],
    ["a capture", { transaction_amount: 2501 }, "412 Transaction is in the wrong state"],
    ["a list", { "query:filter_by[0][operator]": "is" }, /^412 "filter_by/],
    ["a list", { "query:filter_by[0][key]": "card" }, /^412 "filter_by/],
    ["a list", { "query:filter_by[0][value]": undefined }, /^412 "filter_by/],
    ["a list by JSON", { "query:filter_by": '{"key":1}' }, /^412 "filter_by/],
    ["a list by JSON", { "query:filter_by": '[{"key":"last_four"}]' }, /^412 "filter_by/],
    ["a transaction", { path: "/v1/transactions/31ef000000000000000000aa" }, "404 Not Found"],
    ["a token's deletion", { path: "/v1/tokens/31ef000000000000000000aa" }, "404 Not Found"],
  ],
};
