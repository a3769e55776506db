import { createHmac, randomUUID } from "node:crypto";
import { written } from "../kit/wrong-requests.ts";
import type { Sent, WrongRequests } from "../kit/wrong-requests.ts";

const SECRET = "whsec_c2ltdWxhdG9yIHNlY3JldCBvZiBjYXJkIGZvcndhcmRpbmc=";

export const BODY = {
  type: "payment_method.collected",
  session_id: "3f6c0a5e-9b1d-4c7a-8e21-5d0f7b6a1c22",
  environment: "test",
  mode: "tokenize",
  amount: 0,
  currency: "USD",
  description: null,
  caller: "+15550001111",
  card: {
    number: "4242424242424242",
    exp_month: "03",
    exp_year: "2060",
    cvv: "123",
    cardholder_name: null,
    postal_code: "44628",
    brand: "visa",
    last4: "4242",
  },
};

/** The request with the signature of its body; `time` in seconds. */
export function signed(sent: Sent, time = Math.floor(Date.now() / 1000)): Sent {
  const hash = createHmac("sha256", SECRET)
    .update(`${time}.${written(sent)}`)
    .digest("hex");
  return { ...sent, headers: { ...sent.headers, "X-Signature": `t=${time},v1=${hash}` } };
}

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) => (status === 200 ? null : `${status} ${json.error}`),
  requests: {
    // A session of its own each time: the session's id is the idempotency key.
    "a card": () => ({ at: "POST /", body: { ...BODY, session_id: randomUUID() }, isSecure: true }),
  },
  sign: (sent) => signed(sent),
  cases: [
    ["a card", { isSecure: false }, "403 card data came over plain HTTP"],
    ["a card", { method: "PUT" }, "405 only POST is taken"],
    ["a card", { path: "/cards" }, "404 no such page"],
    ["a card", { "header:Content-Type": "text/plain" }, "415 the content type is not application/json"],
    ["a card", { "header:X-Signature": undefined }, "401 the signature does not fit"],
    ["a card", { "header:X-Signature": "t=1,v1=00" }, "401 the signature does not fit"],
    [
      "a card",
      { session_id: BODY.session_id, "header:X-Signature": signed({ at: "POST /", body: BODY }, 1).headers?.["X-Signature"] },
      "401 the signature is too old",
    ],
    ["a card", { body: "{" }, "400 the body is not JSON"],
    ["a card", { body: "[]" }, "400 type is required"],
    ["a card", { extra: 1 }, "400 extra is unknown"],
    ["a card", { type: "payment" }, /^400 type must be one of/],
    ["a card", { session_id: "1" }, "400 session_id must be a UUID"],
    ["a card", { environment: "sandbox" }, /^400 environment must be one of/],
    ["a card", { mode: "authorize" }, /^400 mode must be one of/],
    ["a card", { amount: 1.5 }, "400 amount must be an integer"],
    ["a card", { amount: "0" }, "400 amount must be an integer"],
    ["a card", { amount: -1 }, /^400 amount must be 0 to/],
    ["a card", { currency: "ZZZ" }, "400 currency must be an ISO 4217 currency"],
    ["a card", { description: 7 }, "400 description must be a string"],
    ["a card", { caller: undefined }, "400 caller is required"],
    ["a card", { caller: "0155" }, "400 caller must be E.164"],
    ["a card", { card: null }, "400 card must be an object or a list"],
    ["a card", { "card.pin": "1234" }, "400 card.pin is unknown"],
    ["a card", { "card.number": "4242424242424241", "card.last4": "4241" }, "400 card.number is no card number"],
    ["a card", { "card.number": 4242424242424242 }, "400 card.number must be a string"],
    ["a card", { "card.exp_month": "3" }, "400 card.exp_month must be two digits"],
    ["a card", { "card.exp_year": "60" }, "400 card.exp_year must be four digits"],
    ["a card", { "card.cvv": "12" }, "400 card.cvv must have 3 to 4 digits"],
    ["a card", { "card.last4": "1111" }, "400 card.last4 does not fit card.number"],
    ["a card", { "card.brand": "amex" }, "400 card.brand does not fit card.number"],
  ],
};
