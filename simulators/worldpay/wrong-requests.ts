import { basicOf } from "../kit/wrong-requests.ts";
import type { ReceivedAnswer, Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

export const JSON_HEADERS = {
  Authorization: basicOf("ExampleUser01", "ExamplePass01"),
  Accept: "application/json",
  "WP-Api-Version": "2024-06-01",
};
const QUERY_HEADERS = { Authorization: JSON_HEADERS.Authorization, Accept: "application/vnd.worldpay.payment-queries-v1.hal+json" };
const CARD_PAYMENTS = "application/vnd.worldpay.payments-v7+json";
const CARD_HEADERS = { Authorization: JSON_HEADERS.Authorization, Accept: CARD_PAYMENTS, "Content-Type": CARD_PAYMENTS };

let references = 0;
const newReference = () => `3f6c0a5e-9b1d-4c7a-8e21-${++references}`;
export const CARD = {
  type: "plain",
  cardHolderName: "Ada Byron",
  cardNumber: "4000000000002701",
  expiryDate: { month: 5, year: 2060 },
  cvc: "555",
};
const ADDRESS = { address1: "14 Main Street", city: "Pecan Springs", postalCode: "44628", state: "TX", countryCode: "US" };
/** The sheet's worked examples: `instruction` replaces members of it. */
const CHARGE = {
  method: "card",
  paymentInstrument: CARD,
  narrative: { line1: "Example Store" },
  value: { currency: "USD", amount: 1250 },
  settlement: { auto: true, cancelOn: { cvcNotMatched: "enabled", avsNotMatched: "disabled" } },
};
const post = (instruction: object): Sent => ({
  at: "POST /api/payments",
  headers: JSON_HEADERS,
  body: structuredClone({ transactionReference: newReference(), merchant: { entity: "default" }, channel: "moto", instruction }),
});
export const charge = (instruction: object = {}): Sent => post({ ...CHARGE, ...instruction });
export const store = (instruction: object = {}): Sent =>
  post({
    ...CHARGE,
    settlement: undefined,
    value: { currency: "USD", amount: 0 },
    customerAgreement: { type: "cardOnFile", storedCardUsage: "first" },
    tokenCreation: { type: "worldpay", namespace: newReference() },
    ...instruction,
  });
export const storedCharge = (paymentInstrument: object): Sent =>
  charge({ paymentInstrument, customerAgreement: { type: "cardOnFile", storedCardUsage: "subsequent" }, settlement: { auto: true } });
export const ask = (path: string): Sent => ({ at: `GET ${path}`, headers: path.startsWith("/payments/") ? CARD_HEADERS : QUERY_HEADERS });
/** An action's link, followed: absolute ones of the Payments API, relative ones of the Card Payments API. */
export const follow = (href: string): Sent =>
  href.startsWith("/") ? { at: `POST ${href}`, headers: CARD_HEADERS } : { at: `POST ${new URL(href).pathname}`, headers: JSON_HEADERS };
const hold = async (send: Send): Promise<ReceivedAnswer["json"]> => (await send(charge({ settlement: undefined }))).json;
const tokenOf = async (send: Send): Promise<{ href: string; tokenId: string }> => (await send(store())).json.token;

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) => {
    if (status < 400)
      return ["refused", "fraudHighRisk", "sentForCancellation"].includes(json.outcome as string) ? (json.outcome as string) : null;
    const [child] = json.validationErrors ?? [];
    const where = child === undefined ? (json.headerName ?? "") : `${child.errorName} ${child.jsonPath}`;
    return `${status} ${child === undefined ? json.errorName : ""}${where === "" ? "" : ` ${where}`}`.replace("  ", " ");
  },
  requests: {
    "a charge": () => charge(),
    "a charge with an address": () => charge({ paymentInstrument: { ...CARD, billingAddress: ADDRESS } }),
    "a store": () => store(),
    "a charge of a stored card": async (send) => storedCharge({ type: "token", href: (await tokenOf(send)).href }),
    "a settlement": async (send) => follow((await hold(send))._actions.settlePayment.href as string),
    "a partial settlement": async (send) => ({
      ...follow((await hold(send))._actions.partiallySettlePayment.href as string),
      body: { reference: "part", value: { amount: 100, currency: "USD" } },
    }),
    "a refund": async (send) => follow((await send(charge())).json._actions.refundPayment.href as string),
    "a look-up": () => ask("/paymentQueries/payments?transactionReference=none"),
    "a look-up by id": async (send) => ask(`/paymentQueries/payments/${(await send(charge())).json.paymentId}`),
    "an events look-up": async (send) =>
      ask(`/payments/events?transactionRef=${(await send(charge())).json.transactionReference}&entity=default`),
  },
  cases: [
    ["a charge", { "header:Authorization": undefined }, "401 accessDenied"],
    ["a charge", { "header:Authorization": "Bearer ExampleUser01" }, "401 accessDenied"],
    ["a charge", { "header:Authorization": basicOf("wrongUser", "ExamplePass01") }, "401 accessDenied"],
    ["a charge", { "header:Authorization": basicOf("ExampleUser01", "wrongPass") }, "401 accessDenied"],
    ["a charge", { "header:WP-Api-Version": undefined }, "406 headerIsMissing WP-Api-Version"],
    ["a charge", { "header:WP-Api-Version": "2023-01-01" }, "406 headerHasInvalidValue WP-Api-Version"],
    ["a charge", { "header:Accept": undefined }, "406 headerIsMissing Accept"],
    ["a charge", { "header:Content-Type": "text/plain" }, "415 headerHasInvalidValue Content-Type"],
    ["a charge", { body: "{" }, "400 bodyIsNotJson"],
    ["a charge", { body: "" }, "400 bodyIsEmpty"],
    ["a charge", { path: "/payments" }, "404 endpointNotFound"],
    ["a charge", { method: "PUT" }, "404 endpointNotFound"],
    ["a charge", { transactionReference: undefined }, "400 fieldIsMissing $.transactionReference"],
    ["a charge", { transactionReference: "with blank" }, "400 fieldHasInvalidValue $.transactionReference"],
    ["a charge", { transactionReference: "x".repeat(65) }, "400 fieldHasInvalidValue $.transactionReference"],
    ["a charge", { orderReference: "back`quote" }, "400 fieldHasInvalidValue $.orderReference"],
    ["a charge", { merchant: undefined }, "400 fieldIsMissing $.merchant.entity"],
    ["a charge", { "merchant.entity": "wrong entity" }, "400 entityIsNotConfigured"],
    ["a charge", { "merchant.entity": "x".repeat(33) }, "400 fieldHasInvalidValue $.merchant.entity"],
    ["a charge", { channel: "phone" }, "400 fieldHasInvalidValue $.channel"],
    ["a charge", { "instruction.threeDS": { type: "integrated" } }, "400 fieldIsNotAllowed $.channel"],
    ["a charge", { description: "Invoice 1001" }, "400 fieldIsNotAllowed $.description"],
    ["a charge", { "instruction.channel": "moto" }, "400 fieldIsNotAllowed $.instruction.channel"],
    ["a charge", { "instruction.method": "visa" }, "400 fieldHasInvalidValue $.instruction.method"],
    ["a charge", { "instruction.paymentInstrument.type": "card/plain" }, "400 fieldHasInvalidValue $.instruction.paymentInstrument.type"],
    [
      "a charge",
      { "instruction.paymentInstrument.cardNumber": undefined },
      "400 fieldIsMissing $.instruction.paymentInstrument.cardNumber",
    ],
    [
      "a charge",
      { "instruction.paymentInstrument.cardNumber": 4_000_000 },
      "400 fieldMustBeString $.instruction.paymentInstrument.cardNumber",
    ],
    ["a charge", { "instruction.paymentInstrument.cardNumber": "4000000000002702" }, /^400 fieldHasInvalidValue .*cardNumber$/],
    ["a charge", { "instruction.paymentInstrument.cardNumber": "4000 0000 0000 2701" }, /^400 fieldHasInvalidValue .*cardNumber$/],
    ["a charge", { "instruction.paymentInstrument.expiryDate.month": "05" }, /^400 fieldMustBeNumber .*expiryDate.month$/],
    ["a charge", { "instruction.paymentInstrument.expiryDate.month": 13 }, /^400 fieldHasInvalidValue .*expiryDate.month$/],
    ["a charge", { "instruction.paymentInstrument.expiryDate.year": 60 }, /^400 fieldHasInvalidValue .*expiryDate.year$/],
    ["a charge", { "instruction.paymentInstrument.expiryDate.year": 2020 }, "refused"],
    ["a charge", { "instruction.paymentInstrument.cvc": "12" }, /^400 fieldHasInvalidValue .*cvc$/],
    ["a charge", { "instruction.paymentInstrument.cvc": 555 }, /^400 fieldMustBeString .*cvc$/],
    ["a charge", { "instruction.paymentInstrument.cvc": "444" }, "sentForCancellation"],
    ["a charge", { "instruction.paymentInstrument.cardHolderName": "" }, /^400 fieldHasInvalidValue .*cardHolderName$/],
    ["a charge", { "instruction.paymentInstrument.cardHolderName": "ERROR" }, "500 internalErrorOccurred"],
    ["a charge", { "instruction.paymentInstrument.cardHolderName": "REFUSED51" }, "refused"],
    ["a charge", { "instruction.paymentInstrument.cardHolderName": "fs-highRisk" }, "fraudHighRisk"],
    ["a charge", { "instruction.paymentInstrument.billingAddress": { postalCode: "44628" } }, /^400 fieldIsMissing .*address1$/],
    ["a charge with an address", { "instruction.paymentInstrument.billingAddress.city": "" }, /^400 fieldHasInvalidValue .*city$/],
    [
      "a charge with an address",
      { "instruction.paymentInstrument.billingAddress.postalCode": undefined },
      /^400 fieldIsMissing .*postalCode$/,
    ],
    ["a charge with an address", { "instruction.paymentInstrument.billingAddress.countryCode": "USA" }, /^400 .*Value .*countryCode$/],
    ["a charge with an address", { "instruction.paymentInstrument.billingAddress.address1": "x".repeat(81) }, /^400 .*Value .*address1$/],
    ["a charge", { "instruction.narrative": undefined }, "400 fieldIsMissing $.instruction.narrative.line1"],
    ["a charge", { "instruction.narrative.line1": "Ada's Store" }, "400 fieldHasInvalidValue $.instruction.narrative.line1"],
    ["a charge", { "instruction.narrative.line1": "x".repeat(25) }, "400 fieldHasInvalidValue $.instruction.narrative.line1"],
    ["a charge", { "instruction.narrative.line2": "" }, "400 fieldHasInvalidValue $.instruction.narrative.line2"],
    ["a charge", { "instruction.value.amount": "1250" }, "400 fieldMustBeNumber $.instruction.value.amount"],
    ["a charge", { "instruction.value.amount": 12.5 }, "400 fieldMustBeNumber $.instruction.value.amount"],
    ["a charge", { "instruction.value.amount": 2_147_483_648 }, "400 integerIsTooLarge $.instruction.value.amount"],
    ["a charge", { "instruction.value.amount": -1 }, "400 fieldHasInvalidValue $.instruction.value.amount"],
    ["a charge", { "instruction.value.currency": "usd" }, "400 fieldHasInvalidValue $.instruction.value.currency"],
    ["a charge", { "instruction.value.amount": 0 }, "400 fieldIsNotAllowed $.instruction.settlement.auto"],
    ["a charge", { "instruction.settlement.auto": "true" }, "400 fieldHasInvalidValue $.instruction.settlement.auto"],
    ["a charge", { "instruction.settlement.auto": undefined }, "400 fieldIsMissing $.instruction.settlement.auto"],
    ["a charge", { "instruction.settlement.cancelOn.cvcNotMatched": true }, /^400 fieldHasInvalidValue .*cvcNotMatched$/],
    ["a charge", { "instruction.customer": { phone: "+15550001111" } }, "400 fieldHasInvalidValue $.instruction.customer.phone"],
    ["a store", { "instruction.paymentInstrument.cardHolderName": undefined }, /^400 fieldIsMissing .*cardHolderName$/],
    ["a store", { "instruction.settlement": { auto: true } }, "400 fieldIsNotAllowed $.instruction.settlement.auto"],
    ["a store", { "instruction.tokenCreation.type": "vendor" }, "400 fieldHasInvalidValue $.instruction.tokenCreation.type"],
    ["a store", { "instruction.tokenCreation.namespace": "_private" }, "400 fieldHasInvalidValue $.instruction.tokenCreation.namespace"],
    ["a store", { "instruction.customerAgreement.storedCardUsage": undefined }, /^400 fieldIsMissing .*storedCardUsage$/],
    ["a store", { "instruction.customerAgreement.type": "stored" }, "400 fieldHasInvalidValue $.instruction.customerAgreement.type"],
    ["a charge of a stored card", { "instruction.paymentInstrument.href": "https://try.access.worldpay.com/tokens/none" }, /^400 .*href$/],
    [
      "a charge of a stored card",
      { "instruction.paymentInstrument.tokenId": "999709551605500" },
      "400 fieldIsNotAllowed $.instruction.paymentInstrument.href",
    ],
    [
      "a charge of a stored card",
      { "instruction.paymentInstrument.cardNumber": "4000000000002701" },
      /^400 fieldIsNotAllowed .*cardNumber$/,
    ],
    ["a charge of a stored card", { "instruction.tokenCreation": { type: "worldpay" } }, /^400 fieldIsNotAllowed .*tokenCreation.type$/],
    ["a settlement", { path: "/api/payments/none/settlements" }, "404 endpointNotFound"],
    ["a partial settlement", { "value.amount": 1251 }, "400 actionIsNotAllowed"],
    ["a partial settlement", { value: undefined }, "400 fieldIsMissing $.value.amount"],
    ["a refund", { "header:WP-Api-Version": undefined }, "406 headerIsMissing WP-Api-Version"],
    ["a look-up", { "header:Accept": "application/json" }, "406 headerHasInvalidValue Accept"],
    ["a look-up", { "query:pageSize": "20" }, "400 fieldIsMissing $.startDate"],
    ["a look-up by id", { path: "/paymentQueries/payments/none" }, "404 paymentNotFound"],
    ["an events look-up", { "query:transactionRef": "none" }, "404 paymentNotFound"],
    ["an events look-up", { "query:entity": undefined }, "400 fieldIsMissing $.entity"],
    ["an events look-up", { "header:Accept": "application/json" }, "406 headerHasInvalidValue Accept"],
    ["an events look-up", { "header:Content-Type": "application/json" }, "415 headerHasInvalidValue Content-Type"],
  ],
};
