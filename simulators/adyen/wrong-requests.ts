import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const KEY =
  "AQEyhmfxKonIYxZGw0m/n3Q5qf3VaY9UCJ14XWZE03G/k2NFikzVGEiYj+4vtN01BchqAcwQwV1bDb7kfNy1WIxIIkxgBw==-JtQ5H0iXtu8rqQMD6iAb33gf2qZeGKGhrMyqLt2kZwQ=-example";
const MERCHANT = "YourCompanyMOTO";
export const SESSION = "9f1c2b7e-5d6a-4c0f-8a21-3b6d2c1e0f9a";
export const SHOPPER = `sess-${SESSION}`;
let keys = 0;

/** A POST under a new idempotency key. */
export const post = (path: string, body: object = {}): Sent => ({
  at: `POST /v72${path}`,
  headers: { "X-API-Key": KEY, "Idempotency-Key": `key-${++keys}` },
  body: structuredClone({ merchantAccount: MERCHANT, ...body }) as Record<string, unknown>,
});
export const ask = (path: string, method = "GET"): Sent => ({ at: `${method} /v72${path}`, headers: { "X-API-Key": KEY } });

export const CARD = {
  type: "scheme",
  number: "4111111111111111",
  expiryMonth: "03",
  expiryYear: "2030",
  cvc: "737",
  holderName: "Ada Lovelace",
};
/** The vendor's name for a field that is no word of ours. */
export const NUMBER = "houseNumberOrName";
const ADDRESS = {
  street: "1 Main St",
  [NUMBER]: "1",
  city: "San Mateo",
  stateOrProvince: "CA",
  postalCode: "94402",
  country: "US",
};
const returnUrl = "https://example.com/none";
/** The sheet's worked examples. */
export const CHARGE = {
  amount: { currency: "USD", value: 1234 },
  reference: SESSION,
  paymentMethod: CARD,
  shopperInteraction: "Moto",
  captureDelayHours: 0,
  returnUrl,
  billingAddress: ADDRESS,
  merchantOrderReference: SESSION,
  metadata: { session: SESSION },
};
export const TOKEN = {
  amount: { currency: "USD", value: 0 },
  reference: "tok-9f1c2b7e-5d6a",
  paymentMethod: CARD,
  shopperReference: SHOPPER,
  storePaymentMethod: true,
  recurringProcessingModel: "UnscheduledCardOnFile",
  shopperInteraction: "Moto",
  returnUrl,
};
export const charge = (more: object = {}): Sent => post("/payments", { ...CHARGE, ...more });
export const token = (more: object = {}): Sent => post("/payments", { ...TOKEN, ...more });
export const withCard = (more: object) => ({ paymentMethod: { ...CARD, ...more } });
export const hold = (): Sent => charge({ additionalData: { manualCapture: "true" } });
export const UNCHECKED = { paymentMethod: CARD, shopperReference: SHOPPER, recurringProcessingModel: "UnscheduledCardOnFile" };
export const STORED = `/storedPaymentMethods?merchantAccount=${MERCHANT}&shopperReference=${SHOPPER}`;
export const storedCharge = async (send: Send, more: object = {}): Promise<Sent> => {
  const storedPaymentMethodId: string = (await send(token())).json.additionalData["tokenization.storedPaymentMethodId"];
  return post("/payments", {
    amount: { currency: "USD", value: 1234 },
    reference: `${SESSION}-later`,
    paymentMethod: { type: "scheme", storedPaymentMethodId },
    shopperReference: SHOPPER,
    shopperInteraction: "ContAuth",
    recurringProcessingModel: "UnscheduledCardOnFile",
    captureDelayHours: 0,
    returnUrl,
    ...more,
  });
};
const pspOf = async (send: Send, sent: Sent): Promise<string> => (await send(sent)).json.pspReference;

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) =>
    json?.errorCode !== undefined
      ? `${status} ${json.errorCode}`
      : json?.resultCode === undefined || json.resultCode === "Authorised"
        ? null
        : `${status} ${json.resultCode} ${json.refusalReasonCode}`,
  requests: {
    "a charge": () => charge(),
    "a token": () => token(),
    "a charge of a stored card": (send) => storedCharge(send),
    "an unchecked store": () => post("/storedPaymentMethods", UNCHECKED),
    "a list": () => ask(STORED),
    "a removal": async (send) => {
      const { id } = (await send(post("/storedPaymentMethods", UNCHECKED))).json;
      return ask(STORED.replace("?", `/${id}?`), "DELETE");
    },
    "a capture": async (send) =>
      post(`/payments/${await pspOf(send, hold())}/captures`, { amount: { currency: "USD", value: 1234 }, reference: "cap-1" }),
    "a reversal": async (send) => post(`/payments/${await pspOf(send, charge())}/reversals`),
    "a cancellation": () => post("/cancels", { paymentReference: SESSION, reference: "cancel-1" }),
    "a replay": async (send) => {
      const first = charge();
      await send(first);
      return first;
    },
  },
  cases: [
    ["a charge", { "header:X-API-Key": undefined }, "401 000"],
    ["a charge", { "header:X-API-Key": "AQEwrong" }, "401 000"],
    ["a charge", { "header:X-API-Key": "sk_test_1" }, "401 000"],
    ["a charge", { "header:X-API-Key": "AQEnocards=" }, "403 010"],
    ["a charge", { "header:Content-Type": "text/plain" }, "400 702"],
    ["a charge", { "header:Idempotency-Key": "k".repeat(65) }, "400 702"],
    ["a charge", { body: "{" }, "400 702"],
    ["a charge", { path: "/v72/payment" }, "404 000"],
    ["a charge", { path: "/v80/payments" }, "404 000"],
    ["a charge", { method: "PUT" }, "405 000"],
    ["a charge", { merchantAccount: undefined }, "403 901"],
    ["a charge", { merchantAccount: "WrongCompany" }, "403 901"],
    ["a charge", { description: "Invoice 1001" }, "400 702"],
    ["a charge", { "paymentMethod.cvv": "737" }, "400 702"],
    ["a charge", { "amount.decimals": 2 }, "400 702"],
    ["a charge", { "amount.value": undefined }, "422 702"],
    ["a charge", { "amount.value": "1234" }, "422 702"],
    ["a charge", { "amount.value": 12.34 }, "422 702"],
    ["a charge", { "amount.value": -1 }, "422 702"],
    ["a charge", { "amount.currency": "usd" }, "422 702"],
    ["a charge", { reference: undefined }, "422 130"],
    ["a charge", { reference: "r".repeat(81) }, "422 130"],
    ["a charge", { returnUrl: undefined }, "422 14_030"],
    ["a charge", { returnUrl: `https://example.com/${"x".repeat(1024)}` }, "422 14_030"],
    ["a charge", { "paymentMethod.type": "card" }, "422 702"],
    ["a charge", { "paymentMethod.number": undefined }, "422 101"],
    ["a charge", { "paymentMethod.number": "4111111111111112" }, "422 101"],
    ["a charge", { "paymentMethod.number": "4111 1111 1111 1111" }, "422 101"],
    ["a charge", { "paymentMethod.number": "9111111111111111" }, /^422 10[17]$/],
    ["a charge", { "paymentMethod.number": "6200000000000005", "header:X-API-Key": "AQEnounionpay=" }, "500 905"],
    ["a charge", { "paymentMethod.expiryMonth": undefined }, "422 140"],
    ["a charge", { "paymentMethod.expiryMonth": "13" }, "422 129"],
    ["a charge", { "paymentMethod.expiryMonth": "3" }, "422 129"],
    ["a charge", { "paymentMethod.expiryYear": "30" }, "422 129"],
    ["a charge", { "paymentMethod.expiryYear": "2020" }, "200 Refused 6"],
    ["a charge", { "paymentMethod.cvc": "73" }, "422 103"],
    ["a charge", { "paymentMethod.cvc": "7373" }, "422 103"],
    ["a charge", { "paymentMethod.holderName": "CVC_DECLINED" }, "200 Refused 24"],
    ["a charge", { "paymentMethod.holderName": "ERROR" }, "200 Error 4"],
    ["a charge", { "additionalData.RequestedTestAcquirerResponseCode": "31" }, "200 Refused 31"],
    ["a charge", { "additionalData.manualCapture": true }, "422 702"],
    ["a charge", { shopperInteraction: "MOTO" }, "422 702"],
    ["a charge", { captureDelayHours: "0" }, "422 702"],
    ["a charge", { captureDelayHours: 673 }, "422 702"],
    ["a charge", { shopperIP: "nowhere" }, "422 702"],
    ["a charge", { shopperEmail: "Ada" }, "422 702"],
    ["a charge", { shopperStatement: "Invoice #1001" }, "422 702"],
    ["a charge", { shopperStatement: "a statement that is too long" }, "422 702"],
    ["a charge", { "billingAddress.city": undefined }, "422 104"],
    ["a charge", { "billingAddress.stateOrProvince": undefined }, "422 104"],
    ["a charge", { "billingAddress.stateOrProvince": "California" }, "422 104"],
    ["a charge", { "billingAddress.postalCode": "94402-1234" }, "422 104"],
    ["a charge", { "billingAddress.country": "USA" }, "422 104"],
    ["a charge", { "metadata.session": "x".repeat(81) }, "422 177"],
    ["a charge", { "metadata.a_name_of_more_than_20": "x" }, "422 177"],
    ["a charge", { shopperName: { firstName: "Ada" } }, "422 702"],
    ["a charge", { "authenticationData.attemptAuthentication": "sometimes" }, "422 702"],
    ["a token", { shopperReference: undefined }, "422 702"],
    ["a token", { shopperReference: "ab" }, "422 702"],
    ["a token", { storePaymentMethod: "true" }, "422 702"],
    ["a token", { recurringProcessingModel: "Unscheduled" }, "422 702"],
    ["a charge of a stored card", { shopperReference: "sess-another" }, "422 702"],
    ["a charge of a stored card", { merchantAccount: "AnotherAccount" }, "422 702"],
    ["a charge of a stored card", { "paymentMethod.storedPaymentMethodId": "NONE" }, "422 702"],
    ["a charge of a stored card", { "paymentMethod.number": "4111111111111111" }, "422 101"],
    ["a charge of a stored card", { recurringProcessingModel: undefined }, "422 702"],
    ["an unchecked store", { amount: { currency: "USD", value: 0 } }, "400 702"],
    ["an unchecked store", { shopperReference: undefined }, "422 702"],
    ["a list", { "query:shopperReference": undefined }, "422 702"],
    ["a list", { "query:merchantAccount": undefined }, "403 901"],
    ["a removal", { "query:shopperReference": "sess-another" }, "422 702"],
    ["a capture", { amount: undefined }, "422 702"],
    ["a reversal", { path: "/v72/payments/993617895204576J/reversals" }, "422 167"],
    ["a reversal", { amount: { currency: "USD", value: 1 } }, "400 702"],
    ["a cancellation", { paymentReference: undefined }, "422 702"],
    ["a replay", { "amount.value": 1235 }, "422 704"],
  ],
};
