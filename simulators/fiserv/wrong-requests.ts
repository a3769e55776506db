import { createHmac, randomUUID } from "node:crypto";
import { written } from "../kit/wrong-requests.ts";
import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const KEY = "EXAMPLEapiKEY0001";

/** The vendor's signature: the digest itself in base64, or its hexadecimal digits in base64. */
export function signatureOf(id: string, time: string, body: string, { isHex = false, secret = "EXAMPLEsecret42" } = {}): string {
  const digest = createHmac("sha256", secret).update(KEY + id + time + body);
  return isHex ? Buffer.from(digest.digest("hex")).toString("base64") : digest.digest("base64");
}

/** The four headers, each time with a new nonce; any that the request brings stay. */
export function sign(sent: Sent, how: { isHex?: boolean; secret?: string } = {}): Sent {
  const { "Client-Request-Id": id = randomUUID(), Timestamp: time = String(Date.now()), ...others } = sent.headers ?? {};
  const body = /^(GET|DELETE) /.test(sent.at) ? "" : written(sent);
  const own = { "Api-Key": KEY, "Client-Request-Id": id, Timestamp: time, "Message-Signature": signatureOf(id, time, body, how) };
  return { ...sent, headers: { ...own, ...others } };
}

export const NA = "/gateway/v2";
export const EMEA = "/sandbox/ipp/payments-gateway/v2";
export const CARD = {
  number: "4111111111111111",
  securityCode: "123",
  expiryDate: { month: "03", year: "60" },
  cardholderName: "Ada Byron",
};
const ADDRESS = { address1: "14 Main Street", city: "Pecan Springs", region: "TX", postalCode: "44628", country: "USA" };
const post = (path: string, body: object, base = NA): Sent => ({
  at: `POST ${base}${path}`,
  body: structuredClone(body) as Record<string, unknown>,
});
/** The sheet's sale, under a reference of its own. */
export function sale(more: object = {}, { base = NA, reference = randomUUID() }: { base?: string; reference?: string } = {}): Sent {
  const order = { orderId: reference, billing: { name: "Ada Byron", address: ADDRESS }, additionalDetails: { comments: "Invoice 1001" } };
  const about = { requestType: "PaymentCardSaleTransaction", storeId: "12345500000", merchantTransactionId: reference };
  const money = { transactionOrigin: "MOTO", transactionAmount: { total: "49.95", currency: "USD" } };
  return post("/payments", { ...about, ...money, order, paymentMethod: { paymentCard: CARD }, ...more }, base);
}
export const withCard = (number: string) => ({ paymentMethod: { paymentCard: { ...CARD, number } } });
export const HOLD = { requestType: "PaymentCardPreAuthTransaction" };
export const tokenize = (more: object = {}, base = NA): Sent =>
  post(
    "/payment-tokens",
    {
      requestType: "PaymentCardPaymentTokenizationRequest",
      storeId: "12345500000",
      merchantTransactionId: randomUUID(),
      paymentCard: CARD,
      billingAddress: ADDRESS,
      createToken: { reusable: true, declineDuplicates: false },
      accountVerification: true,
      ...more,
    },
    base,
  );
export const tokenSale = (value: string, more: object = {}): Sent =>
  post("/payments", {
    requestType: "PaymentTokenSaleTransaction",
    transactionAmount: { total: "49.95", currency: "USD" },
    paymentMethod: { paymentToken: { value } },
    storedCredentials: { sequence: "SUBSEQUENT", scheduled: false, initiator: "MERCHANT" },
    ...more,
  });
export const follow = async (send: Send, requestType: string, more: object = {}, original: object = {}): Promise<Sent> =>
  post(`/payments/${(await send(sale(original))).json.ipgTransactionId}`, { requestType, storeId: "12345500000", ...more });

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) =>
    json.error === undefined ? null : `${status} ${json.error.code} ${json.error.details?.[0].field ?? json.error.message}`,
  sign: (sent) => sign(sent),
  requests: {
    "a sale": () => sale(),
    "a sale in EMEA": () => sale({}, { base: EMEA }),
    "a hold": () => sale(HOLD),
    "a token": () => tokenize(),
    "a sale by token": async (send) => tokenSale((await send(tokenize())).json.paymentToken.value),
    "a capture": (send) => follow(send, "PostAuthTransaction", { transactionAmount: { total: "49.95", currency: "USD" } }, HOLD),
    "a void": (send) => follow(send, "VoidTransaction"),
    "a void of a hold": (send) => follow(send, "VoidPreAuthTransactions", {}, HOLD),
    "a return": (send) => follow(send, "ReturnTransaction", { transactionAmount: { total: "10.00", currency: "USD" } }),
    "a look-up": async (send) => ({ at: `GET ${NA}/payments/${(await send(sale())).json.merchantTransactionId}?storeId=12345500000` }),
    "an order": async (send) => ({ at: `GET ${NA}/orders/${(await send(sale())).json.orderId}?storeId=12345500000` }),
    "a token's deletion": async (send) => ({ at: `DELETE ${NA}/payment-tokens/${(await send(tokenize())).json.paymentToken.value}` }),
    "a second attempt": async (send) => {
      const first = sale(withCard("4000000000000002"), { reference: randomUUID() });
      const { orderId } = (await send(first)).json;
      return sale({ merchantTransactionId: `${orderId}-2`, order: { orderId: `${orderId}-2` } });
    },
  },
  cases: [
    ["a sale", { "header:Api-Key": undefined }, "401 401 Invalid ApiKey"],
    ["a sale", { "header:Api-Key": "wrongKEY0001" }, "401 401 Invalid ApiKey"],
    ["a sale", { "header:Message-Signature": undefined }, "401 401 Invalid Message-Signature"],
    ["a sale", { "header:Message-Signature": "SB9pQEUiy9UX/jdiTY5hvKuu7ZIA5IOPAd4FfvqbEKw=" }, "401 401 Invalid Message-Signature"],
    ["a sale", { "header:Timestamp": "1764000000000" }, "401 401 Invalid Timestamp"],
    ["a sale", { "header:Timestamp": "1764000000" }, "401 401 Invalid Timestamp"],
    ["a sale", { "header:Client-Request-Id": "1" }, "400 403 header Client-Request-Id"],
    ["a sale", { "header:Content-Type": "text/plain" }, "415 415 Unsupported media type"],
    ["a sale", { body: "{" }, "400 403 Request body is not valid JSON"],
    ["a sale", { path: "/payments" }, "404 404 Resource not found"],
    ["a sale", { method: "PUT" }, "404 404 Resource not found"],
    ["a sale", { requestType: undefined }, "400 403 requestType"],
    ["a sale", { requestType: "SaleTransaction" }, "400 403 requestType"],
    ["a sale", { storeId: "store" }, "400 403 storeId"],
    ["a sale", { merchantTransactionId: "x".repeat(41) }, "400 403 merchantTransactionId"],
    ["a sale", { transactionOrigin: "TELEPHONE" }, "400 403 transactionOrigin"],
    ["a sale", { "transactionAmount.total": undefined }, "400 403 transactionAmount.total"],
    ["a sale", { "transactionAmount.total": "49,95" }, "400 403 transactionAmount.total"],
    ["a sale", { "transactionAmount.total": "49.955" }, "400 403 transactionAmount.total"],
    ["a sale", { "transactionAmount.total": "0.00" }, "400 403 transactionAmount.total"],
    ["a sale", { "transactionAmount.currency": "USX" }, "400 403 transactionAmount.currency"],
    ["a sale", { "order.orderId": "x".repeat(101) }, "400 403 order.orderId"],
    ["a sale", { "order.ip": "here" }, "400 403 order.ip"],
    ["a sale", { "order.billing.address.postalCode": "9".repeat(25) }, "400 403 order.billing.address.postalCode"],
    ["a sale", { "order.additionalDetails.invoiceNumber": "x".repeat(49) }, "400 403 order.additionalDetails.invoiceNumber"],
    ["a sale", { comments: "Invoice 1001" }, "400 403 comments"],
    ["a sale", { "paymentMethod.paymentCard.number": undefined }, "400 403 paymentMethod.paymentCard.number"],
    ["a sale", { "paymentMethod.paymentCard.number": "4111 1111 1111 1111" }, "400 403 paymentMethod.paymentCard.number"],
    ["a sale", { "paymentMethod.paymentCard.number": "4111111111111112" }, /^409 2303 /],
    ["a sale", { "paymentMethod.paymentCard.expiryDate.year": "2060" }, "400 403 paymentMethod.paymentCard.expiryDate.year"],
    ["a sale", { "paymentMethod.paymentCard.expiryDate.year": "20" }, /^409 2304 /],
    ["a sale", { "paymentMethod.paymentCard.expiryDate.month": "3" }, "400 403 paymentMethod.paymentCard.expiryDate.month"],
    ["a sale", { "paymentMethod.paymentCard.securityCode": "12" }, "400 403 paymentMethod.paymentCard.securityCode"],
    ["a sale", { "paymentMethod.paymentCard.securityCode": "1234" }, "400 403 paymentMethod.paymentCard.securityCode"],
    ["a sale", { "paymentMethod.paymentCard.number": "4000000000009995" }, "422 51 Insufficient funds"],
    ["a sale in EMEA", { "paymentMethod.paymentCard.number": "4000000000000002" }, "422 01 Refer to card issuer"],
    ["a sale in EMEA", { path: `${EMEA}/payment` }, "404 404 Resource not found"],
    ["a token", { paymentCard: undefined }, "400 403 paymentCard.number"],
    ["a token", { accountVerification: "true" }, "400 403 accountVerification"],
    ["a token", { createToken: undefined }, "400 403 createToken"],
    ["a token", { "createToken.reusable": "yes" }, "400 403 createToken.reusable"],
    ["a token", { "paymentCard.number": "4000000000000127" }, "422 82 CVV validation failed"],
    ["a sale by token", { "paymentMethod.paymentToken.value": "none" }, "409 5433 The token does not exist."],
    ["a sale by token", { "storedCredentials.initiator": "US" }, "400 403 storedCredentials.initiator"],
    ["a capture", { "transactionAmount.total": "49.96" }, /^409 5008 /],
    ["a capture", { transactionAmount: undefined }, "400 403 transactionAmount.total"],
    ["a capture", { requestType: "VoidTransaction", transactionAmount: undefined }, /^409 5008 /],
    ["a void", { path: `${NA}/payments/1` }, "404 404 Transaction not found"],
    ["a void", { requestType: "VoidPreAuthTransactions" }, /^409 5008 /],
    ["a return", { "transactionAmount.total": "49.96" }, /^409 5008 /],
    ["a return", { "transactionAmount.currency": "EUR" }, /^409 10503 /],
    ["a return", { transactionAmount: undefined }, "400 403 transactionAmount.total"],
    ["a look-up", { path: `${NA}/payments/none` }, "404 404 Transaction not found"],
    ["an order", { path: `${NA}/orders/none` }, "404 404 Transaction not found"],
    ["a token's deletion", { path: `${NA}/payment-tokens/none` }, "404 404 Transaction not found"],
  ],
};
