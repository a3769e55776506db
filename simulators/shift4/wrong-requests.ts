import { basicOf } from "../kit/wrong-requests.ts";
import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const KEY = "pr_test_EXAMPLE";
const SESSION = "3f6c0a5e-9b1d-4c7a-8e21-5d0f7b6a1c22";
let keys = 0;

/** A POST under a new idempotency key. */
export const post = (path: string, body: object = {}): Sent => ({
  at: `POST ${path}`,
  headers: { Authorization: basicOf(KEY), "Idempotency-Key": `key-${++keys}` },
  body: structuredClone(body) as Record<string, unknown>,
});
export const ask = (path: string, method = "GET"): Sent => ({ at: `${method} ${path}`, headers: { Authorization: basicOf(KEY) } });

export const CARD = {
  number: "4111111111111111",
  expMonth: "03",
  expYear: "2060",
  cvc: "123",
  cardholderName: "Ada Byron",
  addressLine1: "14 Main Street",
  addressCity: "Pecan Springs",
  addressState: "TX",
  addressZip: "44628",
  addressCountry: "US",
  fraudCheckData: { ipAddress: "203.0.113.7" },
};
const address = { line1: "14 Main Street", city: "Pecan Springs", state: "TX", zip: "44628", country: "US" };
/** The sheet's worked example. */
export const CHARGE = {
  amount: 4995,
  currency: "USD",
  description: "Invoice 1001",
  captured: true,
  card: CARD,
  billing: { name: "Ada Byron", address },
  metadata: { sessionId: SESSION, channel: "voice" },
};
const CUSTOMER = {
  email: "session-3f6c0a5e9b1d4c7a8e21@payments.invalid",
  description: "Ada Byron",
  card: CARD,
  metadata: { sessionId: SESSION },
};
export const charge = (more: object = {}): Sent => post("/charges", { ...CHARGE, ...more });
export const customer = (more: object = {}): Sent => post("/customers", { ...CUSTOMER, ...more });
export const withCard = (number: string, more: object = {}) => ({ card: { ...CARD, number, ...more } });
export const storedCharge = async (send: Send, more: object = {}): Promise<Sent> => {
  const { id, defaultCardId } = (await send(customer())).json;
  return post("/charges", { amount: 4995, currency: "USD", customerId: id, card: defaultCardId, type: "merchant_initiated", ...more });
};
const idOf = async (send: Send, sent: Sent): Promise<string> => (await send(sent)).json.id;

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) => (json.error === undefined ? null : `${status} ${json.error.code ?? json.error.message}`),
  requests: {
    "a charge": () => charge(),
    "a hold of nothing": () => charge({ amount: 0, captured: false }),
    "a customer": () => customer(),
    "a second card": async (send) => post(`/customers/${await idOf(send, customer())}/cards`, CARD),
    "a charge of a stored card": (send) => storedCharge(send),
    "a capture": async (send) => post(`/charges/${await idOf(send, charge({ captured: false }))}/capture`, { amount: 4995 }),
    "a refund": async (send) => post("/refunds", { chargeId: await idOf(send, charge()), amount: 4995 }),
    "an older refund": async (send) => post(`/charges/${await idOf(send, charge())}/refund`),
    "a release": async (send) => post(`/charges/${await idOf(send, charge({ captured: false }))}/refund`, { amount: 4995 }),
    "a look-up": async (send) => ask(`/charges/${await idOf(send, charge())}`),
    "a list": () => ask("/charges?created[gte]=1764000000&limit=100"),
    "a deletion": async (send) => ask(`/customers/${await idOf(send, customer())}`, "DELETE"),
    "a replay": async (send) => {
      const first = charge();
      await send(first);
      return first;
    },
  },
  cases: [
    ["a charge", { "header:Authorization": undefined }, "401 Provided API key is invalid"],
    ["a charge", { "header:Authorization": `Bearer ${KEY}` }, "401 Provided API key is invalid"],
    ["a charge", { "header:Authorization": basicOf("sk_test_wrong") }, "401 Provided API key is invalid"],
    ["a charge", { "header:Authorization": basicOf("pu_test_EXAMPLE") }, "401 Provided API key is invalid"],
    ["a charge", { "header:Authorization": basicOf("sk_live_EXAMPLE") }, "401 Provided API key is invalid"],
    ["a charge", { "header:Authorization": basicOf(KEY, "password") }, "401 Provided API key is invalid"],
    ["a charge", { "header:Content-Type": "text/plain" }, "400 Request body is not valid JSON"],
    ["a charge", { body: "{" }, "400 Request body is not valid JSON"],
    ["a charge", { path: "/v1/charges" }, "404 Unknown URL"],
    ["a charge", { method: "PUT" }, "405 Method not allowed"],
    ["a charge", { amount: undefined }, "400 amount is required"],
    ["a charge", { amount: "4995" }, "400 amount must be an integer"],
    ["a charge", { amount: 49.95 }, "400 amount must be an integer"],
    ["a charge", { amount: 0 }, "400 amount_too_low"],
    ["a charge", { amount: 1_000_000_000 }, "400 amount_too_high"],
    ["a charge", { currency: undefined }, "400 currency is required"],
    ["a charge", { currency: "USX" }, "400 currency must be an ISO 4217 currency"],
    ["a charge", { captured: "true" }, "400 captured must be true or false"],
    ["a charge", { moto: true }, "400 moto is unknown"],
    ["a charge", { type: "moto" }, /^400 type must be one of/],
    ["a charge", { card: undefined }, "400 card or customerId is required"],
    ["a charge", { card: "card_8P7OWXA5xiTS1ISnyZcum1KV" }, "400 card needs its customerId"],
    ["a charge", { card: "tok_8P7OWXA5xiTS1ISnyZcum1KV" }, "400 expired_token"],
    ["a charge", { card: "4111" }, /^400 card must be/],
    ["a charge", { "card.number": undefined }, "400 card.number is required"],
    ["a charge", { "card.number": "4111 1111 1111 1111" }, "402 invalid_number"],
    ["a charge", { "card.number": "4111111111111112" }, "402 invalid_number"],
    ["a charge", { "card.expMonth": 3 }, "400 card.expMonth must be a string"],
    ["a charge", { "card.expMonth": "13" }, "402 invalid_expiry_month"],
    ["a charge", { "card.expYear": "60" }, "402 invalid_expiry_year"],
    ["a charge", { "card.expYear": "2020" }, "402 expired_card"],
    ["a charge", { "card.cvc": "1234" }, "402 invalid_cvc"],
    ["a charge", { "card.cvc": "" }, "402 invalid_cvc"],
    ["a charge", { "card.addressCountry": "USA" }, /^400 card.addressCountry must be/],
    ["a charge", { "billing.address.country": "XX" }, /^400 billing.address.country must be/],
    ["a charge", { "metadata.sessionId": 1 }, "400 metadata.sessionId must be a string"],
    ["a charge", { merchantAccountId: "12345" }, /^400 merchantAccountId must be/],
    ["a charge", { description: "x".repeat(256) }, /^400 description must have/],
    ["a charge", { "card.number": "4024007118468684" }, "402 insufficient_funds"],
    ["a charge", { "card.number": "4929225021529113" }, "402 incorrect_zip"],
    ["a charge", { "card.number": "4532873294814636" }, "402 invalid_expiry_month"],
    ["a charge", { "card.number": "4000000000000069" }, "402 expired_card"],
    ["a customer", { email: undefined }, "400 email is required"],
    ["a customer", { email: "Ada" }, "400 email must be an e-mail address"],
    ["a customer", { "card.number": "4916487051294548" }, "402 expired_card"],
    ["a customer", { "card.number": "4024007102349866" }, "402 invalid_number"],
    ["a second card", { number: "4024007189368227" }, "402 invalid_cvc"],
    ["a second card", { expMonth: undefined }, "400 expMonth is required"],
    ["a second card", { path: "/customers/cust_none/cards" }, "404 Customer 'cust_none' does not exist"],
    ["a charge of a stored card", { customerId: undefined }, "400 card needs its customerId"],
    ["a charge of a stored card", { customerId: "cust_none" }, "404 Customer 'cust_none' does not exist"],
    ["a charge of a stored card", { card: "card_none" }, "404 Card 'card_none' does not exist"],
    ["a capture", { amount: 4996 }, "400 amount is greater than the charge amount"],
    ["a refund", { amount: 4996 }, "400 Invalid Refund data"],
    ["a refund", { chargeId: undefined }, "400 chargeId is required"],
    ["a refund", { chargeId: "char_none" }, "404 Charge 'char_none' does not exist"],
    ["a release", { amount: 100 }, "400 An uncaptured charge is refunded as a whole"],
    ["a look-up", { path: "/charges/char_none" }, "404 Charge 'char_none' does not exist"],
    ["a list", { "query:limit": "101" }, "400 limit must be 1 to 100"],
    ["a list", { "query:created[gte]": "yesterday" }, "400 created[gte] must be Unix seconds"],
    ["a list", { "query:startingAfterId": "char_none" }, "404 Charge 'char_none' does not exist"],
    ["a deletion", { path: "/customers/cust_none" }, "404 Customer 'cust_none' does not exist"],
    ["a replay", { amount: 4996 }, "400 Idempotent key used for request with different parameters."],
  ],
};
