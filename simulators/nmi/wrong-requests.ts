import type { WrongRequests } from "../kit/wrong-requests.ts";

const SALE = {
  security_key: "key",
  type: "sale",
  amount: "12.34",
  currency: "USD",
  ccnumber: "4242424242424242",
  ccexp: "1060",
  cvv: "999",
  zip: "77777",
};
const transact = (body: Record<string, string>) => ({ at: "POST /api/transact.php", body, format: "form" as const });
let orders = 0;
const sale = (more: Record<string, string> = {}) => transact({ ...SALE, orderid: `wrong-${++orders}`, ...more });
const validate = (more: Record<string, string> = {}) => sale({ type: "validate", amount: "0.00", customer_vault: "add_customer", ...more });

export const wrongRequests: WrongRequests = {
  // Every answer has status 200, so the text is the code; REFID changes each time.
  codeOf: ({ status, text }) => {
    if (status !== 200) return String(status);
    const words =
      /<error_response>(.*)<\/error_response>/.exec(text)?.[1] ?? (text.startsWith("response=1&") || text.startsWith("<") ? null : text);
    return words === null ? null : decodeURIComponent(/responsetext=([^&]*)/.exec(words)?.[1] ?? words).replace(/ REFID:\d+$/, "");
  },
  requests: {
    "a sale": () => sale(),
    "a check that stores": () => validate(),
    "a stored card": () => transact({ security_key: "key", customer_vault: "add_customer", ccnumber: SALE.ccnumber, ccexp: "1060" }),
    "a sale with a stored card": async (send) => {
      const id = /customer_vault_id=(\d+)/.exec((await send(validate())).text)?.[1] ?? "";
      const { security_key, type, amount } = SALE;
      return transact({ security_key, type, amount, customer_vault_id: id, stored_credential_indicator: "used", initiated_by: "merchant" });
    },
    "a void": async (send) => {
      const id = /transactionid=(\d+)/.exec((await send(sale())).text)?.[1] ?? "";
      return transact({ security_key: "key", type: "void", transactionid: id });
    },
    "a look-up": () => ({ at: "POST /api/query.php", body: { security_key: "key", order_id: "none" }, format: "form" }),
  },
  cases: [
    ["a sale", { path: "/api/transact" }, "404"],
    ["a sale", { method: "PUT" }, "405"],
    ["a sale", { "header:Content-Type": "application/json" }, "Authentication Failed"],
    ["a sale", { security_key: undefined }, "Authentication Failed"],
    ["a sale", { security_key: "wrongKey" }, "Specified API key not found"],
    ["a sale", { security_key: " key" }, "Specified API key not found"],
    ["a sale", { security_key: undefined, username: "wrong", password: "x" }, "Authenticated user is invalid"],
    ["a sale", { type: "pay" }, /^Invalid type/],
    ["a sale", { order_id: "x" }, "unknown parameter: order_id"],
    ["a sale", { payment: "check" }, /^Invalid payment/],
    ["a sale", { ccnumber: "4111111111111112" }, "Invalid Credit Card Number"],
    ["a sale", { ccnumber: "4111 1111 1111 1111" }, "Invalid Credit Card Number"],
    ["a sale", { ccnumber: undefined }, "Invalid Credit Card Number"],
    ["a sale", { ccexp: "10/60" }, /expiration/],
    ["a sale", { ccexp: "1360" }, /expiration/],
    ["a sale", { ccexp: undefined }, /expiration date is missing/],
    ["a sale", { ccexp: "0120" }, /expired/],
    ["a sale", { cvv: "" }, /^Invalid cvv/],
    ["a sale", { cvv: "12345" }, /^Invalid cvv/],
    ["a sale", { amount: "12.3" }, /^Invalid amount/],
    ["a sale", { amount: "0.00" }, "Invalid amount"],
    ["a sale", { amount: undefined }, "Invalid amount"],
    ["a sale", { currency: "ZZZ" }, /^Invalid currency/],
    ["a sale", { currency: "usd" }, /^Invalid currency/],
    ["a sale", { country: "USA" }, /^Invalid country/],
    ["a sale", { country: "ZZ" }, /^Invalid country/],
    ["a sale", { country: "US", state: "ZZ" }, "Invalid state"],
    ["a sale", { state: "Texas" }, /^Invalid state/],
    ["a sale", { country: "US", zip: "SW1A 1AA" }, "Invalid zip"],
    ["a sale", { email: "ada" }, /^Invalid email/],
    ["a sale", { ipaddress: "::1" }, /^Invalid ipaddress/],
    ["a sale", { ipaddress: "300.1.1.1" }, /^Invalid ipaddress/],
    ["a sale", { dup_seconds: "9999999" }, /^Invalid dup_seconds/],
    ["a sale", { processor_id: "nobody" }, /^Invalid processor_id/],
    ["a sale", { industry: "telephone" }, /^Invalid industry/],
    ["a sale", { orderid: "x".repeat(33) }, /^Invalid orderid/],
    ["a sale", { order_description: "für" }, /^Invalid order_description/],
    ["a sale", { merchant_defined_field_21: "x" }, "unknown parameter: merchant_defined_field_21"],
    ["a sale", { initiated_by: "nobody" }, /^Invalid initiated_by/],
    ["a sale", { customer_vault_id: "unknown" }, "Invalid Customer Vault Id"],
    ["a check that stores", { amount: "1.00" }, "Invalid amount for validate"],
    ["a check that stores", { customer_vault_id: "v1", customer_id: "c1" }, "customer_id and customer_vault_id differ"],
    ["a stored card", { amount: "1.00" }, "unknown parameter: amount"],
    ["a stored card", { ccexp: undefined }, "The expiration date is missing"],
    ["a sale with a stored card", { ccnumber: "4111111111111111", ccexp: "1060" }, "A card and a Customer Vault Id were given"],
    ["a sale with a stored card", { stored_credential_indicator: undefined }, "stored_credential_indicator is missing"],
    ["a void", { transactionid: "12345" }, "Transaction was not found"],
    ["a void", { transactionid: undefined }, /^Invalid transactionid/],
    ["a void", { type: "refund" }, "Only settled transactions can be refunded"],
    ["a void", { type: "capture" }, /cannot be captured/],
    ["a look-up", { security_key: "wrong" }, "Specified API key not found"],
    ["a look-up", { orderid: "x" }, "unknown parameter: orderid"],
    ["a look-up", { report_type: "everything" }, /^Invalid report_type/],
  ],
};
