import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

export const KEY = "sk_sbox_vyafhd3nyddbhrs6ks53gpx2mi5";
const PUBLIC_KEY = "pk_sbox_vyafhd3nyddbhrs6ks53gpx2mi5";
let keys = 0;

/** A POST under a new idempotency key. */
export const post = (path: string, body: object = {}, key = KEY): Sent => ({
  at: `POST ${path}`,
  headers: { Authorization: `Bearer ${key}`, "Cko-Idempotency-Key": `key-${++keys}` },
  body: structuredClone(body) as Record<string, unknown>,
});
export const ask = (path: string, method = "GET"): Sent => ({ at: `${method} ${path}`, headers: { Authorization: `Bearer ${KEY}` } });

const CARD = { number: "4242424242424242", expiry_month: 6, expiry_year: 2060, cvv: "100" };
const SOURCE = { type: "card", ...CARD, name: "Ada Lovelace", billing_address: { zip: "77777", country: "US" } };
/** The sheet's worked example. */
const PAYMENT = {
  amount: 1234,
  currency: "USD",
  payment_type: "MOTO",
  capture: true,
  reference: "9f1c2b7e5d6a4c0f8a21",
  description: "Invoice 42",
  processing_channel_id: "pc_zs5fqhybzc2e3jmq3efvybybpq",
  customer: { email: "ada@example.com", name: "Ada Lovelace" },
  "3ds": { enabled: false },
  metadata: { session: "3f6c0a5e" },
};
export const payment = (more: object = {}, source: object = {}): Sent =>
  post("/payments", { source: { ...SOURCE, store_for_future_use: false, ...source }, ...PAYMENT, ...more });
export const verification = (more: object = {}, source: object = {}): Sent =>
  payment({ amount: 0, capture: undefined, ...more }, { store_for_future_use: true, ...source });
export const storedPayment = async (send: Send, more: object = {}): Promise<Sent> => {
  const { json } = await send(verification());
  const initiated = { payment_type: "Unscheduled", merchant_initiated: true, previous_payment_id: json.id };
  return post("/payments", { ...PAYMENT, source: { type: "id", id: json.source.id }, ...initiated, ...more });
};
export const idOf = async (send: Send, sent: Sent): Promise<string> => (await send(sent)).json.id as string;
const held = (send: Send): Promise<string> => idOf(send, payment({ capture: false }));
const token = (): Sent => post("/tokens", { type: "card", ...CARD }, PUBLIC_KEY);
export const instrument = async (send: Send): Promise<Sent> =>
  post("/instruments", { type: "token", token: (await send(token())).json.token });
export const grant = (more: object = {}): Sent => ({
  at: "POST /connect/token",
  format: "form",
  body: { grant_type: "client_credentials", client_id: "ack_example", client_secret: "a-long-text", scope: "gateway", ...more },
});

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) =>
    status < 400
      ? json?.approved === false
        ? json.response_code
        : null
      : `${status} ${json?.error_codes?.[0] ?? json?.error_type ?? json?.error ?? ""}`.trim(),
  requests: {
    "a sale": () => payment(),
    "a verification": () => verification(),
    "a sale to a stored card": (send) => storedPayment(send),
    "a capture": async (send) => post(`/payments/${await held(send)}/captures`, { amount: 1234, capture_type: "Final" }),
    "a void": async (send) => post(`/payments/${await held(send)}/voids`, { reference: "undo" }),
    "a refund": async (send) => post(`/payments/${await idOf(send, payment())}/refunds`, { amount: 1234 }),
    "a reversal": async (send) => post(`/payments/${await idOf(send, payment())}/reversals`),
    "a look-up": () => ask("/payments?reference=9f1c2b7e5d6a4c0f8a21&limit=10&skip=0"),
    "a reading": async (send) => ask(`/payments/${await idOf(send, payment())}`),
    "its actions": async (send) => ask(`/payments/${await idOf(send, payment())}/actions`),
    "a token": token,
    "an instrument": instrument,
    "a deletion": async (send) => ask(`/instruments/${await idOf(send, await instrument(send))}`, "DELETE"),
    "an access token": () => grant(),
    "a sale with an access token": async (send) => {
      const { access_token } = (await send(grant())).json;
      return { ...payment(), headers: { Authorization: `Bearer ${access_token}` } };
    },
  },
  cases: [
    ["a sale", { "header:Authorization": undefined }, "401"],
    ["a sale", { "header:Authorization": KEY }, "401"],
    ["a sale", { "header:Authorization": "Bearer sk_sbox_wrongd3nyddbhrs6ks53gpx2mi5" }, "401"],
    ["a sale", { "header:Authorization": "Bearer sk_vyafhd3nyddbhrs6ks53gpx2mi5" }, "401"],
    ["a sale", { "header:Authorization": "Bearer sk_test_3f6c0a5e-9b1d-4c7a-8e21-5d0f7b6a1c22" }, "401"],
    ["a sale", { "header:Authorization": `Bearer ${PUBLIC_KEY}` }, "401"],
    ["a sale", { "header:Content-Type": "text/plain" }, "415"],
    ["a sale", { body: "{" }, "422 request_invalid"],
    ["a sale", { method: "PUT" }, "405"],
    ["a sale", { path: "/v1/payments" }, "404"],
    ["a sale", { source: undefined }, "422 payment_source_required"],
    ["a sale", { "source.type": "token" }, "422 payment_source_invalid"],
    ["a sale", { "source.number": undefined }, "422 card_number_required"],
    ["a sale", { "source.number": "42424242424242424" }, "422 card_number_invalid"],
    ["a sale", { "source.number": "4242 4242 4242 4242" }, "422 card_number_invalid"],
    ["a sale", { "source.expiry_month": 13 }, "422 card_expiry_month_invalid"],
    ["a sale", { "source.expiry_month": undefined }, "422 card_expiry_month_required"],
    ["a sale", { "source.expiry_year": 60 }, "422 card_expiry_year_invalid"],
    ["a sale", { "source.expiry_year": 2010 }, "422 card_expired"],
    ["a sale", { "source.cvv": "12" }, "422 cvv_invalid"],
    ["a sale", { "source.cvv": "1234" }, "422 cvv_invalid"],
    ["a sale", { "source.cvv": 100 }, "422 cvv_invalid"],
    ["a sale", { "source.billing_address.country": "USA" }, "422 address_country_invalid"],
    ["a sale", { "source.billing_address.zip": "7".repeat(51) }, "422 address_zip_invalid"],
    ["a sale", { "source.store_for_future_use": "false" }, "422 store_for_future_use_invalid"],
    ["a sale", { amount: undefined }, "422 amount_required"],
    ["a sale", { amount: "1234" }, "422 amount_invalid"],
    ["a sale", { amount: 12.34 }, "422 amount_invalid"],
    ["a sale", { amount: -1 }, "422 amount_invalid"],
    ["a sale", { currency: "CLP" }, "422 amount_invalid"],
    ["a sale", { currency: "KWD", amount: 1001 }, "422 amount_invalid"],
    ["a sale", { currency: undefined }, "422 currency_required"],
    ["a sale", { currency: "usd" }, "422 currency_invalid"],
    ["a sale", { payment_type: "Moto" }, "422 payment_type_invalid"],
    ["a sale", { capture: "true" }, "422 capture_invalid"],
    ["a sale", { reference: "r".repeat(51) }, "422 reference_invalid"],
    ["a sale", { reference: "r".repeat(31), "source.number": "378282246310005", "source.cvv": "1000" }, "422 reference_invalid"],
    ["a sale", { description: "d".repeat(101) }, "422 description_invalid"],
    ["a sale", { description: "a\tb" }, "422 description_invalid"],
    ["a sale", { processing_channel_id: undefined }, "422 processing_channel_id_required"],
    ["a sale", { processing_channel_id: "zs5fqhybzc2e3jmq3efvybybpq" }, "422 processing_channel_id_invalid"],
    ["a sale", { processing_channel_id: "pc_wrongybzc2e3jmq3efvybybpq" }, "422 processing_channel_id_invalid"],
    ["a sale", { "customer.email": "ada" }, "422 customer_email_invalid"],
    ["a sale", { "3ds.enabled": "false" }, "422 enabled_invalid"],
    ["a sale", { risk: { device: { network: { ipv4: "203.0.113" } } } }, "422 ipv4_invalid"],
    ["a sale", { billing_descriptor: { name: "n".repeat(26) } }, "422 name_invalid"],
    ["a sale", { metadata: { session: 1 } }, "422 session_invalid"],
    ["a sale", { moto: true }, "422 request_invalid"],
    ["a sale", { merchant_initiated: true }, "422 previous_payment_id_required"],
    ["a sale", { amount: 1005 }, "20005"],
    ["a sale", { amount: 1051 }, "20051"],
    ["a sale", { "source.number": "4000000000009987" }, "30043"],
    ["a verification", { "source.number": "4000000000000127" }, "200N7"],
    ["a sale to a stored card", { "source.id": undefined }, /^422 id_required/],
    ["a sale to a stored card", { "source.id": "src_nica37p5k7aufhs3rsv2te7xye" }, "422 source_id_invalid"],
    ["a sale to a stored card", { "source.number": "4242424242424242" }, "422 request_invalid"],
    ["a sale to a stored card", { previous_payment_id: undefined }, "422 previous_payment_id_required"],
    ["a capture", { amount: 1235 }, "422 amount_exceeds_balance"],
    ["a capture", { path: "/payments/pay_none/captures" }, "404"],
    ["a refund", { amount: 1235 }, "422 amount_exceeds_balance"],
    ["a reversal", { path: "/payments/pay_none/reversals" }, "404"],
    ["a look-up", { "query:reference": undefined }, "422 reference_required"],
    ["a look-up", { "query:limit": "101" }, "422 limit_invalid"],
    ["a reading", { path: "/payments/pay_none" }, "404"],
    ["a token", { "header:Authorization": `Bearer ${KEY}` }, "401"],
    ["a token", { number: "4242424242424241" }, "422 card_number_invalid"],
    ["an instrument", { token: "tok_vyafhd3nyddbhrs6ks53gpx2mi" }, "422 token_invalid"],
    ["a deletion", { path: "/instruments/src_none" }, "404"],
    ["an access token", { client_id: "ack_wrong" }, "400 invalid_client"],
    ["an access token", { client_secret: undefined }, "400 invalid_client"],
  ],
};
