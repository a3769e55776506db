import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const MERCHANT = { name: "simulator1", transactionKey: "simulatorKey0001" };
const CARD = { cardNumber: "4111111111111111", expirationDate: "2060-03", cardCode: "123" };
const at = "POST /xml/v1/request.api";

const call = (method: string, members: object): Sent => ({
  at,
  body: { [method]: { merchantAuthentication: MERCHANT, refId: "ref", ...members } },
});
let invoices = 0;
const payment = (members: object = {}): Sent =>
  call("createTransactionRequest", {
    transactionRequest: {
      transactionType: "authCaptureTransaction",
      amount: "49.95",
      currencyCode: "USD",
      payment: { creditCard: CARD },
      order: { invoiceNumber: `wrong-${++invoices}`, description: "Invoice" },
      ...members,
    },
  });
const idOf = async (send: Send, members: object = {}) =>
  (JSON.parse((await send(payment(members))).text.slice(1)) as { transactionResponse: { transId: string } }).transactionResponse.transId;
const following = (transactionType: string, refTransId: string): Sent =>
  call("createTransactionRequest", { transactionRequest: { transactionType, amount: "49.95", refTransId } });
const customer = (): object => ({
  merchantCustomerId: `c-${++invoices}`,
  paymentProfiles: [{ customerType: "individual", billTo: { zip: "44628" }, payment: { creditCard: CARD } }],
});

const T = "createTransactionRequest.transactionRequest";
const P = "createCustomerProfileRequest";

export const wrongRequests: WrongRequests = {
  // Everything is answered with status 200: the reason of the transaction, else the code of the whole.
  codeOf: ({ status, text }) => {
    if (status !== 200) return String(status);
    const { messages, transactionResponse } = JSON.parse(text.slice(1)) as {
      messages: { message: { code: string }[] };
      transactionResponse?: { errors?: { errorCode: string }[] };
    };
    const code = messages.message[0]?.code ?? "";
    const reason = transactionResponse?.errors?.[0]?.errorCode;
    return reason !== undefined ? `${code} ${reason}` : code.startsWith("I") ? null : code;
  },
  requests: {
    "a payment": () => payment(),
    "a payment with a stored card": async (send) => {
      const { text } = await send(call(P, { profile: customer() }));
      const made = JSON.parse(text.slice(1)) as { customerProfileId: string; customerPaymentProfileIdList: string[] };
      const paymentProfile = { paymentProfileId: made.customerPaymentProfileIdList[0] };
      return call("createTransactionRequest", {
        transactionRequest: {
          transactionType: "authCaptureTransaction",
          amount: `25.${String(++invoices % 100).padStart(2, "0")}`,
          profile: { customerProfileId: made.customerProfileId, paymentProfile },
        },
      });
    },
    "a capture": async (send) => following("priorAuthCaptureTransaction", await idOf(send, { transactionType: "authOnlyTransaction" })),
    "a void": async (send) => following("voidTransaction", await idOf(send)),
    "a customer profile": () => call(P, { profile: customer(), validationMode: "liveMode" }),
    "a test": () => call("authenticateTestRequest", {}),
    "a list": () =>
      call("getUnsettledTransactionListRequest", {
        sorting: { orderBy: "submitTimeUTC", orderDescending: true },
        paging: { limit: "1000", offset: "1" },
      }),
    "a list of batches": () =>
      call("getSettledBatchListRequest", { firstSettlementDate: "2026-11-20T10:00:00Z", lastSettlementDate: "2026-11-22T10:00:00Z" }),
  },
  cases: [
    ["a test", { path: "/" }, "404"],
    ["a test", { method: "PUT" }, "405"],
    ["a test", { "header:content-type": "application/x-www-form-urlencoded" }, "E00002"],
    ["a test", { body: "" }, "E00003"],
    ["a test", { body: "[]" }, "E00003"],
    ["a test", { body: "{" }, "E00003"],
    ["a test", { body: "{}" }, "E00003"],
    ["a test", { body: '{"a":{},"b":{}}' }, "E00003"],
    ["a test", { body: '{"unknownRequest":{}}' }, "E00003"],
    ["a test", { "authenticateTestRequest.merchantAuthentication": undefined }, "E00003"],
    ["a test", { "authenticateTestRequest.merchantAuthentication": { transactionKey: "y", name: "x" } }, "E00003"],
    ["a test", { "authenticateTestRequest.merchantAuthentication.transactionKey": "17-characters-key" }, "E00003"],
    ["a test", { "authenticateTestRequest.merchantAuthentication.transactionKey": "wrongKey" }, "E00007"],
    ["a test", { "authenticateTestRequest.merchantAuthentication.name": "expired1" }, "E00008"],
    ["a payment", { "createTransactionRequest.transactionRequest": undefined }, "E00003"],
    ["a payment", { [`${T}.transactionType`]: "charge" }, "E00003"],
    ["a payment", { [`${T}.extra`]: "1" }, "E00003"],
    ["a payment", { [`${T}.terminalNumber`]: "1" }, "E00003"],
    ["a payment", { [`${T}.order`]: { description: "d", invoiceNumber: "1" } }, "E00003"],
    ["a payment", { [`${T}.order.invoiceNumber`]: "x".repeat(21) }, "E00003"],
    ["a payment", { [`${T}.order.description`]: "x".repeat(256) }, "E00003"],
    ["a payment", { [`${T}.order.description`]: "a\u0000b" }, "E00003"],
    ["a payment", { [`${T}.order.description`]: "half \ud800 a pair" }, "E00003"],
    ["a payment", { [`${T}.billTo`]: { zip: "44628", firstName: "Ada" } }, "E00003"],
    ["a payment", { [`${T}.billTo`]: { zip: "4".repeat(21) } }, "E00003"],
    ["a payment", { [`${T}.customerIP`]: "2001:db8::7" }, "E00003"],
    ["a payment", { [`${T}.retail`]: { marketType: "10" } }, "E00003"],
    ["a payment", { [`${T}.retail`]: { marketType: "2" } }, "E00027 87"],
    ["a payment", { [`${T}.retail`]: { marketType: "7" } }, "E00027 85"],
    ["a payment", { [`${T}.amount`]: "4,95" }, "E00003"],
    ["a payment", { [`${T}.amount`]: "0.00" }, "E00027 5"],
    ["a payment", { [`${T}.amount`]: "49.955" }, "E00027 5"],
    ["a payment", { [`${T}.currencyCode`]: "XYZ" }, "E00027 39"],
    ["a payment", { [`${T}.currencyCode`]: "EUR" }, "E00027 39"],
    ["a payment", { [`${T}.payment`]: undefined }, "E00027 33"],
    ["a payment", { [`${T}.payment`]: {} }, "E00027 33"],
    ["a payment", { [`${T}.payment.creditCard.cardNumber`]: "4".repeat(17) }, "E00003"],
    ["a payment", { [`${T}.payment.creditCard.cardNumber`]: "4111111111111112" }, "E00027 6"],
    ["a payment", { [`${T}.payment.creditCard.expirationDate`]: "2060-13" }, "E00027 7"],
    ["a payment", { [`${T}.payment.creditCard.expirationDate`]: "2020-10" }, "E00027 8"],
    ["a payment", { [`${T}.payment.creditCard.expirationDate`]: undefined }, "E00003"],
    ["a payment", { [`${T}.payment.creditCard`]: { expirationDate: "2060-03", cardNumber: "4111111111111111" } }, "E00003"],
    ["a payment", { [`${T}.payment.creditCard.cardCode`]: "12" }, "E00003"],
    ["a payment", { [`${T}.transactionSettings`]: { setting: [{ settingName: "surprise", settingValue: "1" }] } }, "E00003"],
    ["a payment", { [`${T}.transactionSettings`]: { setting: [{ settingName: "duplicateWindow" }] } }, "E00003"],
    ["a payment", { [`${T}.transactionSettings`]: { setting: [{ settingName: "duplicateWindow", settingValue: "28801" }] } }, "E00027 33"],
    ["a payment", { "createTransactionRequest.refId": "x".repeat(21) }, "E00003"],
    ["a payment with a stored card", { [`${T}.profile.customerProfileId`]: "1" }, "E00040"],
    ["a payment with a stored card", { [`${T}.profile.paymentProfile.paymentProfileId`]: "1" }, "E00040"],
    ["a payment with a stored card", { [`${T}.profile.paymentProfile`]: undefined }, "E00003"],
    ["a payment with a stored card", { [`${T}.billTo`]: { zip: "44628" } }, "E00093"],
    [
      "a payment with a stored card",
      {
        [T]: {
          transactionType: "authCaptureTransaction",
          amount: "1.00",
          payment: { creditCard: CARD },
          profile: { customerProfileId: "1", paymentProfile: { paymentProfileId: "1" } },
        },
      },
      "E00091",
    ],
    ["a capture", { [`${T}.amount`]: "49.96" }, "E00027 5"],
    ["a capture", { [`${T}.refTransId`]: "1" }, "E00027 16"],
    ["a void", { [`${T}.refTransId`]: "1" }, "E00027 16"],
    ["a void", { [`${T}.transactionType`]: "refundTransaction" }, "E00027 54"],
    ["a customer profile", { [`${P}.profile`]: { description: "" } }, "E00041"],
    ["a customer profile", { [`${P}.profile.paymentProfiles`]: undefined }, "E00013"],
    ["a customer profile", { [`${P}.profile.paymentProfiles[0].payment`]: undefined }, "E00003"],
    ["a customer profile", { [`${P}.profile.merchantCustomerId`]: "x".repeat(21) }, "E00003"],
    ["a customer profile", { [`${P}.validationMode`]: "deadMode" }, "E00003"],
    ["a customer profile", { [`${P}.profile.paymentProfiles[0].payment.creditCard.cardNumber`]: "4111111111111112" }, "E00027"],
    ["a list", { "getUnsettledTransactionListRequest.paging.limit": "1001" }, "E00003"],
    ["a list", { "getUnsettledTransactionListRequest.sorting.orderBy": "amount" }, "E00003"],
    ["a list of batches", { "getSettledBatchListRequest.lastSettlementDate": "2026-12-31T10:00:00Z" }, "E00003"],
    ["a list of batches", { "getSettledBatchListRequest.firstSettlementDate": "yesterday" }, "E00003"],
  ],
};
