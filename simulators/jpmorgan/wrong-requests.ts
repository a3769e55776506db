import { randomUUID } from "node:crypto";
import { basicOf } from "../kit/wrong-requests.ts";
import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const CLIENT = ["exampleClient", "exampleSecret"] as const;
export const tokenRequest = (): Sent => ({
  at: "POST /am/oauth2/alpha/access_token",
  headers: { Authorization: basicOf(...CLIENT) },
  body: { grant_type: "client_credentials", scope: "jpm:payments:sandbox" },
  format: "form",
});

/** A request under a token of its own, with a new request-id. */
export async function request(send: Send, at: string, body: Record<string, unknown> = {}): Promise<Sent> {
  const token = (await send(tokenRequest())).json.access_token as string;
  const headers = { Authorization: `Bearer ${token}`, "merchant-id": "998482157632", "request-id": randomUUID() };
  return { at, headers, ...(at.startsWith("GET") ? {} : { body: structuredClone(body) }) };
}

const card = { accountNumber: "4111111111111111", expiry: { month: 3, year: 2060 }, cvv: "123" };
const merchant = { merchantSoftware: { companyName: "Example Shop", productName: "Payment Sessions", version: "1.0" } };
export const PAYMENT = {
  captureMethod: "NOW",
  amount: 4995,
  currency: "USD",
  merchantOrderNumber: "3f6c0a5e9b1d4c7a8e21",
  merchant: { ...merchant, softMerchant: { merchantPurchaseDescription: "Invoice 1001" } },
  paymentMethodType: {
    card: { ...card, merchantSalesChannelName: "MAIL_ORDER_TELEPHONE_ORDER", accountNumberType: "PAN", isBillPayment: false },
  },
  accountHolder: { fullName: "Ada Byron", referenceId: "3f6c0a5e", billingAddress: { postalCode: "44628", countryCode: "USA" } },
  initiatorType: "CARDHOLDER",
  accountOnFile: "NOT_STORED",
  isAmountFinal: true,
  partialAuthorizationSupport: "NOT_SUPPORTED",
};
export const VERIFICATION = {
  currency: "USD",
  merchant,
  paymentMethodType: { card },
  accountHolder: {
    firstName: "Ada",
    lastName: "Byron",
    billingAddress: { postalCode: "44628", countryCode: "USA" },
    consumerProfileInfo: { consumerProfileRequestType: "CREATE" },
  },
  initiatorType: "CARDHOLDER",
  accountOnFile: "TO_BE_STORED",
};
const payments = "POST /api/v2/payments";
const paid = async (send: Send, more: object = {}) =>
  (await send(await request(send, payments, { ...PAYMENT, ...more }))).json.transactionId as string;

const CARD = "paymentMethodType.card";

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) =>
    status === 200 ? null : `${status} ${json?.validationErrors?.[0]?.entity ?? json?.responseCode ?? json?.error}`,
  requests: {
    "a token": tokenRequest,
    "a payment": (send) => request(send, payments, PAYMENT),
    "a verification": (send) => request(send, "POST /api/v2/verifications", VERIFICATION),
    "a look-up": async (send) => {
      const payment = await request(send, payments, PAYMENT);
      await send(payment);
      return request(send, `GET /api/v2/payments?requestIdentifier=${payment.headers?.["request-id"] ?? ""}`);
    },
    "a refund": async (send) =>
      request(send, "POST /api/v2/refunds", {
        merchant,
        amount: 4995,
        currency: "USD",
        paymentMethodType: { transactionReference: { transactionReferenceId: await paid(send) } },
      }),
    "a capture": async (send) =>
      request(send, `POST /api/v2/payments/${await paid(send, { captureMethod: "MANUAL" })}/captures`, { captureMethod: "NOW" }),
    "a void": async (send) => request(send, `PATCH /api/v2/payments/${await paid(send, { captureMethod: "MANUAL" })}`, { isVoid: true }),
  },
  cases: [
    ["a token", { "header:Authorization": undefined }, "401 invalid_client"],
    ["a token", { "header:Authorization": basicOf("wrongClient", "exampleSecret") }, "401 invalid_client"],
    ["a token", { grant_type: "password" }, "400 invalid_request"],
    ["a token", { scope: undefined }, "400 invalid_request"],
    ["a payment", { "header:Authorization": undefined }, "401 UNAUTHORIZED"],
    ["a payment", { "header:Authorization": "Bearer eyUnknown" }, "401 UNAUTHORIZED"],
    ["a payment", { "header:merchant-id": undefined }, "403 UNAUTHORIZED"],
    ["a payment", { "header:merchant-id": "1" }, "403 UNAUTHORIZED"],
    ["a payment", { "header:request-id": undefined }, "400 request-id"],
    ["a payment", { "header:request-id": "1" }, "400 request-id"],
    ["a payment", { "header:Content-Type": "text/plain" }, "400 VALIDATION_ERROR"],
    ["a payment", { body: "{" }, "400 VALIDATION_ERROR"],
    ["a payment", { method: "PUT" }, "405 NOT_FOUND"],
    ["a payment", { path: "/api/v2/payment" }, "404 NOT_FOUND"],
    ["a payment", { amount: undefined }, "400 amount"],
    ["a payment", { amount: "4995" }, "400 amount"],
    ["a payment", { amount: 49.95 }, "400 amount"],
    ["a payment", { currency: undefined }, "400 currency"],
    ["a payment", { currency: "ZZZ" }, "400 currency"],
    ["a payment", { captureMethod: "LATER" }, "400 captureMethod"],
    ["a payment", { merchantOrderNumber: "3f6c0a5e-9b1d-4c7a-8e21" }, "400 merchantOrderNumber"],
    ["a payment", { "merchant.merchantSoftware.companyName": undefined }, "400 merchant.merchantSoftware.companyName"],
    ["a payment", { [`${CARD}.accountNumber`]: 4_111_111_111_111_111 }, `400 ${CARD}.accountNumber`],
    ["a payment", { [`${CARD}.accountNumber`]: "4111111111111112" }, `400 ${CARD}.accountNumber`],
    ["a payment", { [`${CARD}.expiry.month`]: "03" }, `400 ${CARD}.expiry.month`],
    ["a payment", { [`${CARD}.expiry.month`]: 13 }, `400 ${CARD}.expiry.month`],
    ["a payment", { [`${CARD}.expiry.year`]: 60 }, `400 ${CARD}.expiry.year`],
    ["a payment", { [`${CARD}.expiry.year`]: 2020 }, `400 ${CARD}.expiry`],
    ["a payment", { [`${CARD}.cvv`]: 123 }, `400 ${CARD}.cvv`],
    ["a payment", { [`${CARD}.cvv`]: "" }, `400 ${CARD}.cvv`],
    ["a payment", { [`${CARD}.cvv`]: "1234" }, `400 ${CARD}.cvv`],
    ["a payment", { [`${CARD}.merchantSalesChannelName`]: "PHONE" }, `400 ${CARD}.merchantSalesChannelName`],
    ["a payment", { [`${CARD}.cardholder`]: "Ada" }, `400 ${CARD}.cardholder`],
    ["a payment", { "accountHolder.billingAddress.countryCode": "US" }, "400 accountHolder.billingAddress.countryCode"],
    ["a payment", { "accountHolder.billingAddress.postalCode": "1 2 3" }, "400 accountHolder.billingAddress.postalCode"],
    ["a payment", { "accountHolder.fullName": "Ada" }, "400 accountHolder.fullName"],
    ["a payment", { "accountHolder.fullName": "A".repeat(71) }, "400 accountHolder.fullName"],
    ["a payment", { "accountHolder.referenceId": randomUUID() }, "400 accountHolder.referenceId"],
    ["a verification", { "accountHolder.referenceId": randomUUID() }, "400 accountHolder.referenceId"],
    ["a payment", { accountOnFile: "KEPT" }, "400 accountOnFile"],
    ["a payment", { isAmountFinal: "true" }, "400 isAmountFinal"],
    ["a verification", { amount: 0 }, "400 amount"],
    ["a verification", { captureMethod: "NOW" }, "400 captureMethod"],
    ["a verification", { "accountHolder.firstName": undefined }, "400 accountHolder.firstName"],
    ["a verification", { "accountHolder.lastName": undefined }, "400 accountHolder.lastName"],
    ["a verification", { [`${CARD}.merchantSalesChannelName`]: "INTERNET" }, `400 ${CARD}.merchantSalesChannelName`],
    ["a look-up", { "query:requestIdentifier": undefined }, "400 requestIdentifier"],
    ["a look-up", { "query:requestIdentifier": randomUUID() }, "404 NOT_FOUND"],
    ["a refund", { amount: 5000 }, "412 INVALID_DATA"],
    ["a refund", { currency: "EUR" }, "400 currency"],
    ["a refund", { "paymentMethodType.transactionReference.transactionReferenceId": "none" }, "404 NOT_FOUND"],
    ["a capture", { amount: 5000 }, "412 INVALID_DATA"],
    ["a void", { isVoid: false }, "400 isVoid"],
  ],
};
