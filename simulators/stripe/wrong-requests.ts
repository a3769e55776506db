import type { Send, WrongRequests } from "../kit/wrong-requests.ts";

const headers = { Authorization: "Bearer sk_test_x", "Stripe-Version": "2022-11-15" };
const post = (path: string, body: Record<string, string>) => ({ at: `POST /v1${path}`, headers, body, format: "form" as const });
const CARD = { type: "card", "card[number]": "4242424242424242", "card[exp_month]": "3", "card[exp_year]": "2060", "card[cvc]": "123" };
const newMethod = async (send: Send) => (await send(post("/payment_methods", CARD))).json.id as string;
const newCustomer = async (send: Send) => (await send(post("/customers", { name: "Ada" }))).json.id as string;
const confirmed = { confirm: "true", "payment_method_types[0]": "card" };
const newPayment = async (send: Send, more: Record<string, string> = {}) =>
  post("/payment_intents", { amount: "4995", currency: "usd", payment_method: await newMethod(send), ...confirmed, ...more });

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) => (status === 200 ? null : `${status} ${json.error.code ?? json.error.type}`),
  requests: {
    "a PaymentMethod": () => post("/payment_methods", CARD),
    "a payment": newPayment,
    "a customer": () => post("/customers", { name: "Ada" }),
    "a setup": async (send) =>
      post("/setup_intents", { ...confirmed, customer: await newCustomer(send), payment_method: await newMethod(send) }),
    "a list": () => ({ at: "GET /v1/payment_intents?limit=10", headers }),
    "a refund": async (send) => post("/refunds", { payment_intent: (await send(await newPayment(send))).json.id }),
    "a capture": async (send) => {
      const held = (await send(await newPayment(send, { capture_method: "manual" }))).json.id as string;
      return post(`/payment_intents/${held}/capture`, {});
    },
    "a cancellation": async (send) => {
      const held = (await send(await newPayment(send, { capture_method: "manual" }))).json.id as string;
      return post(`/payment_intents/${held}/cancel`, {});
    },
  },
  cases: [
    ["a payment", { "header:Authorization": undefined }, "401 invalid_request_error"],
    ["a payment", { "header:Authorization": "Bearer pk_test_x" }, "401 secret_key_required"],
    ["a payment", { "header:Authorization": "Bearer sk_test_wrong" }, "401 invalid_request_error"],
    ["a payment", { "header:Authorization": "Bearer sk_live_x" }, "401 invalid_request_error"],
    ["a payment", { "header:Authorization": "Bearer sk_test_expired" }, "401 api_key_expired"],
    ["a payment", { "header:Stripe-Version": undefined }, "400 invalid_request_error"],
    ["a payment", { "header:Stripe-Version": "2026-09-30.endive" }, "400 invalid_request_error"],
    ["a payment", { "header:Stripe-Account": "acct_wrong" }, "403 account_invalid"],
    ["a payment", { "header:Stripe-Account": "acct_1Other" }, "400 resource_missing"],
    ["a payment", { "header:Content-Type": "application/json" }, "400 invalid_request_error"],
    ["a payment", { "header:Idempotency-Key": "k".repeat(256) }, "400 idempotency_key_invalid"],
    ["a payment", { path: "/v1/charge" }, "404 invalid_request_error"],
    ["a payment", { body: "amount=%zz" }, "400 invalid_request_error"],
    ["a payment", { return_ur: "x" }, "400 parameter_unknown"],
    ["a payment", { "payment_method_options[card][mot]": "true" }, "400 parameter_unknown"],
    ["a payment", { statement_descriptor: "SHOP" }, "400 parameter_unknown"],
    ["a payment", { statement_descriptor_suffix: "x".repeat(23) }, "400 parameter_invalid"],
    ["a payment", { amount: undefined }, "400 parameter_missing"],
    ["a payment", { amount: "49.95" }, "400 parameter_invalid_integer"],
    ["a payment", { amount: "49" }, "400 amount_too_small"],
    ["a payment", { amount: "100000000" }, "400 amount_too_large"],
    ["a payment", { currency: "USD" }, "400 parameter_invalid"],
    ["a payment", { currency: "zzz" }, "400 parameter_invalid"],
    ["a payment", { currency: "kwd", amount: "1001" }, "400 parameter_invalid_integer"],
    ["a payment", { currency: "isk", amount: "5050" }, "400 parameter_invalid_integer"],
    ["a payment", { confirm: "yes" }, "400 parameter_invalid"],
    ["a payment", { confirm: undefined, error_on_requires_action: "true" }, "400 parameter_invalid"],
    ["a payment", { confirm: undefined, "payment_method_options[card][moto]": "true" }, "400 parameter_unknown"],
    ["a payment", { payment_method: undefined }, "400 parameter_missing"],
    ["a payment", { payment_method: "pm_none" }, "400 resource_missing"],
    ["a payment", { customer: "cus_none" }, "400 resource_missing"],
    ["a payment", { description: "" }, "400 parameter_invalid_empty"],
    ["a payment", { "expand[0]": "customer" }, "400 parameter_invalid"],
    ["a payment", { "metadata[x]": "y".repeat(501) }, "400 parameter_invalid"],
    ["a payment", { [`metadata[${"k".repeat(41)}]`]: "y" }, "400 metadata_key_too_long"],
    [
      "a payment",
      Object.fromEntries(Array.from({ length: 51 }, (_none, index) => [`metadata[k${index}]`, "x"])),
      "400 metadata_too_many_keys",
    ],
    ["a PaymentMethod", { type: "us_bank_account" }, "400 parameter_invalid"],
    ["a PaymentMethod", { "card[number]": undefined }, "400 parameter_missing"],
    ["a PaymentMethod", { "card[number]": "4242424242424241" }, "402 incorrect_number"],
    ["a PaymentMethod", { "card[number]": "4242 4242 4242 4242" }, "402 invalid_number"],
    ["a PaymentMethod", { "card[exp_month]": "13" }, "402 invalid_expiry_month"],
    ["a PaymentMethod", { "card[exp_month]": "March" }, "400 parameter_invalid_integer"],
    ["a PaymentMethod", { "card[exp_year]": "1970" }, "402 invalid_expiry_year"],
    ["a PaymentMethod", { "card[cvc]": "99" }, "402 invalid_cvc"],
    ["a PaymentMethod", { "card[cvc]": "1234" }, "402 invalid_cvc"],
    ["a PaymentMethod", { "card[name]": "Ada" }, "400 parameter_unknown"],
    ["a PaymentMethod", { "billing_details[address][zip]": "44628" }, "400 parameter_unknown"],
    ["a PaymentMethod", { "billing_details[address][country]": "USA" }, "400 parameter_invalid"],
    ["a PaymentMethod", { "billing_details[address][country]": "ZZ" }, "400 parameter_invalid"],
    ["a PaymentMethod", { "billing_details[email]": "ada" }, "400 parameter_invalid"],
    ["a customer", { nam: "Ada" }, "400 parameter_unknown"],
    ["a setup", { error_on_requires_action: "true" }, "400 parameter_unknown"],
    ["a setup", { usage: "later" }, "400 parameter_invalid"],
    ["a setup", { customer: "cus_none" }, "400 resource_missing"],
    ["a list", { "query:limit": "101" }, "400 parameter_invalid"],
    ["a list", { "query:created[since]": "1" }, "400 parameter_unknown"],
    ["a list", { "query:creatd[gte]": "1" }, "400 parameter_unknown"],
    ["a list", { "query:created[gte]": "yesterday" }, "400 parameter_invalid_integer"],
    ["a list", { "query:metadata[session_id]": "s-1" }, "400 parameter_unknown"],
    ["a list", { "query:starting_after": "pi_none" }, "400 resource_missing"],
    ["a refund", { amount: "4996" }, "400 amount_too_large"],
    ["a refund", { payment_intent: "pi_none" }, "400 resource_missing"],
    ["a refund", { payment_intent: undefined }, "400 parameter_missing"],
    ["a refund", { reason: "mistake" }, "400 parameter_invalid"],
    ["a capture", { amount_to_capture: "5000" }, "400 amount_too_large"],
    ["a capture", { path: "/v1/payment_intents/pi_none/capture" }, "404 resource_missing"],
    ["a cancellation", { cancellation_reason: "whim" }, "400 parameter_invalid"],
  ],
};
