import { basicOf } from "../kit/wrong-requests.ts";
import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

let references = 0;
const headers = { Authorization: basicOf("TEST", "TEST") };

/** The sheet's worked examples. */
export const CARD = { card_holder: "Jane Smith", card_number: "5123456789012346", card_expiry: "09/2060", cvv: "123" };
const PURCHASE = {
  amount: 2500,
  currency: "AUD",
  customer_ip: "203.0.113.10",
  capture: true,
  metadata: { session: "4f0c6f0e", description: "Invoice 1001" },
  extra: { ecm: "21", card_on_file: false },
};
export const reference = (): string => `ps-4f0c6f0e8d3b4d2a9c1e5a7b6c8d9e0f-${++references}`;
export const post = (path: string, body: object = {}): Sent => ({
  at: `POST /v1.0${path}`,
  headers,
  body: structuredClone(body) as Record<string, unknown>,
});
export const ask = (path: string): Sent => ({ at: `GET /v1.0${path}`, headers });
export const purchase = (more: object = {}): Sent => post("/purchases", { ...PURCHASE, ...CARD, reference: reference(), ...more });
export const store = (more: object = {}): Sent => post("/credit_cards", { ...CARD, ...more });
export const idOf = async (send: Send, sent: Sent): Promise<string> => (await send(sent)).json.response.id;
export const storedPurchase = async (send: Send, more: object = {}): Promise<Sent> =>
  post("/purchases", {
    amount: 2500,
    currency: "AUD",
    reference: reference(),
    customer_ip: "203.0.113.10",
    card_token: (await send(store(more))).json.response.token,
    extra: { ecm: "32", card_on_file: true, stored_credential_indicator: "S" },
  });

const NO_CURRENCY = /^400 Currency \S+ is not valid for this merchant\. Permitted currencies: AUD,/;

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) =>
    json.successful === true && json.response.successful !== false ? null : `${status} ${json.errors[0] ?? json.response.message}`,
  requests: {
    "a purchase": () => purchase(),
    "a hold": () => purchase({ capture: false }),
    "a stored card": () => store(),
    "a purchase with a stored card": (send) => storedPurchase(send),
    "a capture": async (send) => post(`/purchases/${await idOf(send, purchase({ capture: false }))}/capture`, { amount: 2500 }),
    "a void": async (send) => post(`/purchases/void?id=${await idOf(send, purchase())}`),
    "a void by its body": async (send) => post("/purchases/void", { id: await idOf(send, purchase()) }),
    "a refund": async (send) => post("/refunds", { transaction_id: await idOf(send, purchase()), amount: 2500, reference: reference() }),
    "a look-up": async (send) => {
      const sent = purchase();
      await send(sent);
      return ask(`/purchases/${(sent.body as { reference: string }).reference}`);
    },
    "a purchase sent again": async (send) => {
      const first = purchase();
      await send(first);
      return first;
    },
  },
  cases: [
    ["a purchase", { "header:Authorization": undefined }, "401 Invalid Login"],
    ["a purchase", { "header:Authorization": basicOf("TEST", "wrong") }, "401 Invalid Login"],
    ["a purchase", { "header:Authorization": basicOf("wrong", "TEST") }, "401 Invalid Login"],
    ["a purchase", { "header:Authorization": "Bearer TEST" }, "401 Invalid Login"],
    ["a purchase", { "header:Content-Type": "application/x-www-form-urlencoded" }, "400 The request body is not valid JSON"],
    ["a purchase", { body: "{" }, "400 The request body is not valid JSON"],
    ["a purchase", { path: "/purchases" }, "404 Not Found"],
    ["a purchase", { method: "PUT" }, "405 Method not allowed"],
    ["a purchase", { amount: undefined }, "400 Amount can't be blank"],
    ["a purchase", { amount: 0 }, "400 Amount is invalid"],
    ["a purchase", { amount: 25.5 }, "400 Amount is invalid"],
    ["a purchase", { amount: "2500" }, "400 Amount is invalid"],
    ["a purchase", { currency: "aud" }, NO_CURRENCY],
    ["a purchase", { currency: "XXX" }, NO_CURRENCY],
    ["a purchase", { currency: "XYZ" }, NO_CURRENCY],
    ["a purchase", { reference: undefined }, "400 Reference can't be blank"],
    ["a purchase", { reference: "x".repeat(256) }, "400 Reference is invalid"],
    ["a purchase", { card_holder: undefined }, "422 Card Holder is required"],
    ["a purchase", { card_holder: "" }, "422 Card Holder is invalid"],
    ["a purchase", { card_number: undefined }, "422 Card Number is required"],
    ["a purchase", { card_number: "5123456789012345" }, "422 Card number is invalid"],
    ["a purchase", { card_number: "5123 4567 8901 2346" }, "422 Card number is invalid"],
    ["a purchase", { card_expiry: undefined }, "422 Expiry date can't be blank"],
    ["a purchase", { card_expiry: "09/60" }, "422 Expiry date is invalid"],
    ["a purchase", { card_expiry: "13/2060" }, "422 Expiry date is invalid"],
    ["a purchase", { card_expiry: "09/2020" }, "422 Expiry date has expired"],
    ["a purchase", { cvv: undefined }, "422 CVV is required"],
    ["a purchase", { cvv: 123 }, "422 CVV is invalid"],
    ["a purchase", { cvv: "1234" }, "422 CVV is invalid"],
    ["a purchase", { customer_ip: undefined }, "400 Customer ip can't be blank"],
    ["a purchase", { customer_ip: "2001:db8::1" }, "400 Customer ip is invalid"],
    ["a purchase", { capture: "true" }, "400 capture must be true or false"],
    ["a purchase", { description: "Invoice 1001" }, "400 description is unknown"],
    ["a purchase", { "metadata.session": 4 }, "400 metadata.session must be a string"],
    ["a purchase", { "metadata.order": { id: "4" } }, /^400 metadata.order/],
    ["a purchase", { "extra.ecm": "41" }, "400 extra.ecm must be two figures"],
    ["a purchase", { "extra.ecm": 21 }, "400 extra.ecm must be a string"],
    ["a purchase", { "extra.auth_reason": "U" }, /^400 extra.auth_reason must be one of/],
    ["a purchase", { "extra.stored_credential_indicator": "R" }, /^400 extra.stored_credential_indicator must be/],
    ["a purchase", { "extra.sli": "05", "extra.xid": "MzM=" }, "422 Extra/cavv is required for SLI 05"],
    ["a purchase", { "extra.threeds_version": "7" }, "400 Extra/threeds version is not valid"],
    ["a purchase", { card_number: "4557012345678902" }, "200 Declined"],
    ["a purchase", { card_number: "4000000000009995" }, "200 Insufficient Funds"],
    ["a hold", { billing_address: { email: "Jane" } }, "400 billing_address.email must be an e-mail address"],
    ["a stored card", { card_holder: undefined }, "422 Card Holder is required"],
    ["a stored card", { card_number: "4242424242424241" }, "422 Card number is invalid"],
    ["a stored card", { card_expiry: "2060-09" }, "422 Expiry date is invalid"],
    ["a stored card", { cvv: undefined }, "422 CVV is required"],
    ["a stored card", { customer_id: "C-1" }, "400 customer_id must be a customer's id"],
    ["a stored card", { reference: "ps-1" }, "400 reference is unknown"],
    ["a purchase with a stored card", { card_token: "66ox2h1e2x93495ynv3o" }, "422 Card token is invalid"],
    ["a purchase with a stored card", { card_token: undefined }, "422 Card Holder is required"],
    ["a capture", { amount: 2501 }, "422 Not Captured"],
    ["a capture", { amount: undefined }, "400 Amount can't be blank"],
    ["a capture", { path: "/v1.0/purchases/071-P-NONE/capture" }, "404 Could not find Purchase"],
    ["a void", { "query:id": "123" }, "404 Purchase Not Found"],
    ["a void", { "query:id": undefined }, "404 Purchase Not Found"],
    ["a void by its body", { id: "071-P-NONE" }, "404 Purchase Not Found"],
    ["a refund", { transaction_id: undefined }, "400 Invalid credit card for unmatched refund"],
    ["a refund", { transaction_id: "071-P-NONE" }, "404 Could not find Purchase"],
    ["a refund", { amount: 2501 }, "400 Amount is invalid"],
    ["a refund", { reference: undefined }, "400 Reference can't be blank"],
    ["a look-up", { path: "/v1.0/purchases/ps-none" }, "404 Could not find Purchase"],
    ["a purchase sent again", { amount: 2501 }, "422 Reference has already been taken"],
    ["a purchase sent again", { card_number: "4242424242424242" }, "422 Reference has already been taken"],
  ],
};
