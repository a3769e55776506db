import { createHash } from "node:crypto";
import { basicOf } from "../kit/wrong-requests.ts";
import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const KEY = "_ExampleKeyAAAABBBBCCCCDDDD12345";

/** The sheet's worked example of a header, or another key's, PIN's or seed's. */
export function authorization({ key = KEY, pin = "864213", seed = "k3p9q2r7s1t5v8w0" } = {}): Record<string, string> {
  return {
    Authorization: basicOf(
      key,
      `s2/${seed}/${createHash("sha256")
        .update(key + seed + pin)
        .digest("hex")}`,
    ),
  };
}

const post = (body: Record<string, unknown>, path = "transactions"): Sent => ({
  at: `POST /api/v2/${path}`,
  headers: authorization(),
  body: structuredClone(body),
});
const creditcard = {
  number: "4000100011112224",
  expiration: "0960",
  cardholder: "Ada Byron",
  cvc: "123",
  avs_street: "1234 Main",
  avs_zip: "12345",
};
const billing_address = {
  firstname: "Ada",
  lastname: "Byron",
  street: "1234 Main",
  city: "Springfield",
  state: "IL",
  postalcode: "12345",
  country: "USA",
};
export const SALE = {
  command: "sale",
  amount: "12.50",
  currency: "840",
  invoice: "5b0c5b2e3b",
  orderid: "5b0c5b2e-3b1f-4c9e-9a55-0f3c7b1d2a10",
  description: "Order 1234",
  creditcard,
  billing_address,
  clientip: "203.0.113.7",
  software: "simulated 1.0",
};
export const sale = (more: object = {}): Sent => post({ ...SALE, ...more });
export const follow = async (send: Send, command: string, more: object = {}, original: object = {}): Promise<Sent> =>
  post({ command, refnum: (await send(sale(original))).json.refnum, ...more });

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) => (status === 200 && json.error === undefined ? null : `${status} ${json.error_code ?? json.errorcode}`),
  requests: {
    "a sale": () => sale(),
    "a check": () => sale({ command: "authonly", amount: "0.00", save_card: true }),
    "a saved card": () => post({ command: "cc:save", creditcard }),
    "a sale with a saved card": async (send) => {
      const { savedcard } = (await send(post({ command: "cc:save", creditcard }))).json;
      return post({ command: "sale", amount: "12.50", orderid: "later", creditcard: { number: savedcard.key } });
    },
    "a sale in parts": () => sale({ amount_detail: { subtotal: "10.00", tax: "2.50" } }),
    "a void": (send) => follow(send, "void"),
    "a capture": (send) => follow(send, "cc:capture", {}, { command: "authonly" }),
    "a list": () => ({ at: "GET /api/v2/transactions?limit=100", headers: authorization() }),
    "a token": async (send) => post({ trankey: (await send(sale())).json.key }, "tokens"),
  },
  cases: [
    ["a sale", { "header:Authorization": undefined }, "401 21002"],
    ["a sale", { "header:Authorization": basicOf(KEY, "864213") }, "401 21002"],
    ["a sale", { "header:Authorization": authorization({ key: "wrongKeyAAAABBBBCCCC" })["Authorization"] }, "401 23"],
    ["a sale", { "header:Authorization": authorization({ pin: "1" })["Authorization"] }, "401 20008"],
    ["a sale", { "header:Authorization": authorization({ pin: "" })["Authorization"] }, "401 20010"],
    ["a sale", { "header:Authorization": authorization({ seed: "a/b" })["Authorization"] }, "401 21002"],
    ["a sale", { path: "/api/RATELIMT/transactions" }, "429 155"],
    ["a sale", { path: "/api/IPACCESS/transactions" }, "401 156"],
    ["a sale", { path: "/api/v2/transaction" }, "404 20001"],
    ["a sale", { method: "PUT" }, "405 20001"],
    ["a sale", { "header:content-type": "text/plain" }, "400 20001"],
    ["a sale", { body: "{" }, "400 20001"],
    ["a sale", { command: "pay" }, "200 20019"],
    ["a sale", { command: undefined }, "200 20019"],
    ["a sale", { amount: 12.5 }, "200 70"],
    ["a sale", { amount: "12.5" }, "200 70"],
    ["a sale", { amount: "99999.01" }, "200 70"],
    ["a sale", { amount: "0.00" }, "200 70"],
    ["a sale", { amount: undefined }, "200 70"],
    ["a sale", { currency: "USD" }, "200 20001"],
    ["a sale", { currency: "978" }, "200 59001"],
    ["a sale", { invoice: "5b0c5b2e3b1f" }, "200 20001"],
    ["a sale", { orderid: "x".repeat(65) }, "200 20001"],
    ["a sale", { clientip: "::1" }, "200 20001"],
    ["a sale", { metadata: {} }, "200 20001"],
    ["a sale", { ignore_duplicate: "yes" }, "200 20001"],
    ["a sale", { creditcard: undefined }, "200 11"],
    ["a sale", { "creditcard.number": "4000 1000 1111 2224" }, "200 11"],
    ["a sale", { "creditcard.number": "4000100011112225" }, "200 12"],
    ["a sale", { "creditcard.number": "tqb9-o076-tpfk-lb8l" }, "200 14"],
    ["a sale", { "creditcard.expiration": undefined }, "200 15"],
    ["a sale", { "creditcard.expiration": "1360" }, "200 16"],
    ["a sale", { "creditcard.expiration": "09/60" }, "200 16"],
    ["a sale", { "creditcard.expiration": "0120" }, "200 17"],
    ["a sale", { "creditcard.cvc": 123 }, "200 10116"],
    ["a sale", { "creditcard.avs_postalcode": "12345" }, "200 20001"],
    ["a sale", { "creditcard.number": "4000301411112224" }, "200 10139"],
    ["a sale", { "billing_address.country": "U.S." }, "200 20001"],
    ["a sale", { "billing_address.first_name": "Ada" }, "200 20001"],
    ["a sale", { traits: { stored_credential: "moto" } }, "200 20001"],
    ["a sale in parts", { "amount_detail.tax": "2.00" }, "200 71"],
    ["a saved card", { amount: "1.00" }, "200 20001"],
    ["a saved card", { "creditcard.number": "4000100011112225" }, "200 12"],
    ["a void", { refnum: "1" }, "200 47"],
    ["a void", { refnum: undefined }, "200 47"],
    ["a void", { command: "refund" }, "200 10128"],
    ["a void", { command: "cc:capture" }, "200 10128"],
    ["a capture", { amount: "12.51" }, "200 10128"],
    ["a list", { "query:limit": "0" }, "200 20001"],
    ["a list", { "query:orderid": "x" }, "200 20001"],
    ["a list", { path: "/api/v2/transactions/none" }, "404 47"],
    ["a token", { trankey: "none" }, "404 47"],
    ["a token", { trankey: undefined }, "400 20001"],
  ],
};
