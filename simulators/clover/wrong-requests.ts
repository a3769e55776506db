import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const PUBLIC_KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
export const PRIVATE_KEY = "ab86a5e8-48f3-b3bd-8c45-d415e9867833";
let keys = 0;

/** The sheet's worked examples. */
export const CARD = {
  number: "4242424242424242",
  exp_month: "10",
  exp_year: "2060",
  cvv: "123",
  brand: "VISA",
  first6: "424242",
  last4: "4242",
  name: "Ada Lovelace",
  address_line1: "415 N Mathilda Ave",
  address_city: "Sunnyvale",
  address_state: "CA",
  address_zip: "94085",
  address_country: "US",
};
const CHARGE = {
  amount: 1234,
  currency: "usd",
  ecomind: "moto",
  capture: true,
  description: "Invoice 42",
  external_reference_id: "9f1c2b7e5d6a",
  metadata: { session: "9f1c2b7e-5d6a-4c0f-8a21-3b6d2c1e0f9a" },
};
const CUSTOMER = {
  ecomind: "moto",
  email: "9f1c2b7e@customers.example.com",
  firstName: "Ada",
  lastName: "Lovelace",
  name: "Ada Lovelace",
  phone: "+15551234567",
};

/** A POST with the private key, under a new idempotency key. */
export const post = (path: string, body: object = {}, method = "POST"): Sent => ({
  at: `${method} ${path}`,
  headers: {
    Authorization: `Bearer ${PRIVATE_KEY}`,
    "idempotency-key": `5f0c2b7e-0000-4c0f-8a21-${++keys}`,
    "x-forwarded-for": "203.0.113.10",
  },
  body: structuredClone(body) as Record<string, unknown>,
});
export const ask = (path: string, method = "GET"): Sent => ({
  at: `${method} ${path}`,
  headers: { Authorization: `Bearer ${PRIVATE_KEY}` },
});
export const token = (more: object = {}): Sent => ({
  at: "POST /v1/tokens",
  headers: { apikey: PUBLIC_KEY, "User-Agent": "PaySession/1.0" },
  body: { card: { ...CARD, ...more } },
});
const idOf = async (send: Send, sent: Sent): Promise<string> => (await send(sent)).json.id;
export const charge = async (send: Send, more: object = {}, number = CARD.number): Promise<Sent> =>
  post("/v1/charges", {
    ...CHARGE,
    source: await idOf(send, token({ number, brand: undefined, first6: undefined, last4: undefined })),
    ...more,
  });
export const customer = async (send: Send, more: object = {}): Promise<Sent> =>
  post("/v1/customers", { ...CUSTOMER, source: await idOf(send, token()), ...more });
export const storedCharge = async (send: Send): Promise<Sent> =>
  post("/v1/charges", {
    amount: 1234,
    currency: "usd",
    source: await idOf(send, await customer(send)),
    stored_credentials: { sequence: "SUBSEQUENT", is_scheduled: false, initiator: "MERCHANT" },
  });

const tooMuch = Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`m${index}`, "x".repeat(90)]));

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) => (status === 200 ? null : `${status} ${json.error?.code ?? json.message.slice(4)}`),
  requests: {
    "a token": () => token(),
    "a charge": (send) => charge(send),
    "a hold": (send) => charge(send, { capture: false }),
    "a customer": (send) => customer(send),
    "a charge of a stored card": storedCharge,
    "a capture": async (send) => post(`/v1/charges/${await idOf(send, await charge(send, { capture: false }))}/capture`, { amount: 1234 }),
    "a refund": async (send) =>
      post("/v1/refunds", { charge: await idOf(send, await charge(send)), amount: 1234, reason: "requested_by_customer" }),
    "a change": async (send) => post(`/v1/customers/${await idOf(send, await customer(send))}`, { name: "Ada King" }, "PUT"),
    "a removal": async (send) => {
      const { id, sources } = (await send(await customer(send))).json;
      return ask(`/v1/customers/${id}/sources/${sources.data[0]}`, "DELETE");
    },
    "a look-up": async (send) => ask(`/v1/charges/${await idOf(send, await charge(send))}`),
    "a list": () => ask("/v1/charges?created.gte=1764000000000&limit=100"),
    "a replay": async (send) => {
      const first = await charge(send);
      await send(first);
      return first;
    },
    "the public key": () => ask("/pakms/apikey"),
  },
  cases: [
    ["a token", { "header:apikey": undefined }, "401 Unauthorized"],
    ["a token", { "header:apikey": "wrong" }, "401 Unauthorized"],
    ["a token", { "header:apikey": PRIVATE_KEY }, "403 Forbidden"],
    ["a token", { "header:apikey": "expired" }, "401 api_key_expired"],
    ["a token", { "header:User-Agent": undefined }, "400 invalid_request"],
    ["a token", { "header:Content-Type": "application/x-www-form-urlencoded" }, "400 invalid_request"],
    ["a token", { body: "{" }, "400 invalid_request"],
    ["a token", { card: undefined }, "400 invalid_request"],
    ["a token", { "card.number": undefined }, "400 invalid_request"],
    ["a token", { "card.number": "4242424242424241" }, "400 invalid_number"],
    ["a token", { "card.number": "4242 4242 4242 4242" }, "400 invalid_number"],
    ["a token", { "card.number": 4242 }, "400 invalid_number"],
    ["a token", { "card.encrypted_pan": "bm90aGluZw==" }, "400 invalid_request"],
    ["a token", { "card.exp_month": "13" }, "400 invalid_expiry_month"],
    ["a token", { "card.exp_month": 10 }, "400 invalid_expiry_month"],
    ["a token", { "card.exp_year": "060" }, "400 invalid_expiry_year"],
    ["a token", { "card.exp_year": "2020" }, "400 expired_card"],
    ["a token", { "card.cvv": undefined }, "400 invalid_request"],
    ["a token", { "card.cvv": "12" }, "400 invalid_cvc"],
    ["a token", { "card.cvv": "1234" }, "400 invalid_cvc"],
    ["a token", { "card.brand": "visa" }, "400 invalid_card_type"],
    ["a token", { "card.address_country": "USA" }, "400 invalid_request"],
    ["a token", { "card.zip": "94085" }, "400 invalid_request"],
    ["a charge", { "header:Authorization": undefined }, "401 Unauthorized"],
    ["a charge", { "header:Authorization": "Bearer wrong" }, "401 Unauthorized"],
    ["a charge", { "header:Authorization": `Bearer ${PUBLIC_KEY}` }, "403 Forbidden"],
    ["a charge", { "header:x-forwarded-for": undefined }, /^400 Bad Request: x-forwarded-for/],
    ["a charge", { "header:x-forwarded-for": "payer.example" }, /^400 Bad Request: x-forwarded-for/],
    ["a charge", { path: "/v1/charge" }, "404 Not Found"],
    ["a charge", { method: "PATCH" }, "405 Method Not Allowed"],
    ["a charge", { amount: undefined }, "400 invalid_request"],
    ["a charge", { amount: 0 }, "400 invalid_charge_amount"],
    ["a charge", { amount: "1234" }, "400 invalid_charge_amount"],
    ["a charge", { amount: 12.34 }, "400 invalid_charge_amount"],
    ["a charge", { amount: 100_000_000 }, "400 amount_too_large"],
    ["a charge", { tip_amount: 99_999_999 }, "400 amount_too_large"],
    ["a charge", { currency: "USD" }, "400 invalid_request"],
    ["a charge", { currency: "eur" }, "400 invalid_request"],
    ["a charge", { source: undefined }, "400 invalid_request"],
    ["a charge", { source: "4242424242424242" }, "400 invalid_request"],
    ["a charge", { source: "clv_1TSTnone" }, "404 resource_missing"],
    ["a charge", { source: "NOSUCHPERSONX" }, "404 resource_missing"],
    ["a charge", { ecomind: "phone" }, "400 invalid_request"],
    ["a charge", { captured: true }, "400 invalid_request"],
    ["a charge", { capture: "true" }, "400 invalid_request"],
    ["a charge", { external_reference_id: "9f1c2b7e5d6a4" }, "400 invalid_request"],
    ["a charge", { external_reference_id: "9f1c2b7e-5d6" }, "400 invalid_request"],
    ["a charge", { metadata: tooMuch }, "400 invalid_request"],
    ["a charge", { "metadata.session": 1 }, "400 invalid_request"],
    ["a charge", { receipt_email: "Ada" }, "400 email_invalid"],
    ["a charge", { "stored_credentials.sequence": "LAST" }, "400 invalid_request"],
    ["a hold", { "header:x-forwarded-for": "" }, /^400 Bad Request: x-forwarded-for/],
    ["a customer", { email: undefined }, "400 invalid_request"],
    ["a customer", { email: "Ada Lovelace" }, "400 email_invalid"],
    ["a customer", { source: undefined }, "400 invalid_request"],
    ["a customer", { source: "clv_1TSTnone" }, "404 resource_missing"],
    ["a customer", { ecomind: "retail" }, "400 invalid_request"],
    ["a charge of a stored card", { "stored_credentials.initiator": "SHOP" }, "400 invalid_request"],
    ["a capture", { amount: 1235 }, "400 invalid_charge_amount"],
    ["a capture", { "header:x-forwarded-for": undefined }, /^400 Bad Request: x-forwarded-for/],
    ["a capture", { path: "/v1/charges/NOSUCHCHARGEX/capture" }, "404 resource_missing"],
    ["a refund", { charge: undefined }, "400 invalid_request"],
    ["a refund", { charge: "NOSUCHCHARGEX" }, "404 resource_missing"],
    ["a refund", { amount: 1235 }, "400 invalid_charge_amount"],
    ["a refund", { reason: "mistake" }, "400 invalid_request"],
    ["a change", { path: "/v1/customers/NOSUCHPERSONX" }, "404 resource_missing"],
    ["a removal", { path: "/v1/customers/NOSUCHPERSONX/sources/NONE" }, "404 resource_missing"],
    ["a look-up", { path: "/v1/charges/NOSUCHCHARGEX" }, "404 resource_missing"],
    ["a list", { "query:limit": "101" }, "400 invalid_request"],
    ["a list", { "query:created.gte": "1764000000" }, "400 invalid_request"],
    ["a list", { "query:starting_after": "NOSUCHCHARGEX" }, "404 resource_missing"],
    ["a replay", { amount: 1235 }, "400 idempotency_error"],
    ["a replay", { "header:idempotency-key": "5f0c2b7e-another-key" }, "400 token_already_used"],
    ["the public key", { "header:Authorization": "Bearer wrong" }, "401 Unauthorized"],
  ],
};
