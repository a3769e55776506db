import { basicOf } from "../kit/wrong-requests.ts";
import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const headers = { Authorization: basicOf("test_examplemerchant", "B-qa2-0-0123456789abcdef"), Accept: "application/json" };
export const ACCOUNT = "/cardpayments/v1/accounts/89987201";
const PROFILES = "/customervault/v1/profiles";
let references = 0;
/** A reference that no other request has. */
export const newReference = (): string => `5b0c5b2e-3b1f-4c9e-9a55-${++references}`;

export const post = (path: string, body: object): Sent => ({
  at: `POST ${path}`,
  headers,
  body: structuredClone(body) as Record<string, unknown>,
});
export const ask = (path: string, method = "GET"): Sent => ({ at: `${method} ${path}`, headers });

const CARD = { cardNum: "4111111111111111", cardExpiry: { month: 5, year: 2060 } };
const PAYER = { profile: { firstName: "Jane", lastName: "Doe" }, billingDetails: { zip: "M5H 2N2", country: "CA" } };
/** The sheet's worked examples. */
export const auth = (more: object = {}, card: object = {}): Sent =>
  post(`${ACCOUNT}/auths`, {
    merchantRefNum: newReference(),
    amount: 1250,
    settleWithAuth: true,
    dupCheck: true,
    card: { ...CARD, cvv: "123", ...card },
    ...PAYER,
    entryMode: "MOTO",
    description: "Order 1234",
    ...more,
  });
export const verification = (more: object = {}, card: object = {}): Sent =>
  post(`${ACCOUNT}/verifications`, {
    merchantRefNum: newReference(),
    dupCheck: true,
    card: { ...CARD, cvv: "123", ...card },
    ...PAYER,
    storedCredential: { type: "ADHOC", occurrence: "INITIAL" },
    description: "Card registration",
    ...more,
  });
const STORED = { ...CARD, holderName: "Jane Doe", billingAddress: { zip: "M5H 2N2", country: "CA" } };
export const profile = (more: object = {}, card: object = {}): Sent =>
  post(PROFILES, {
    merchantCustomerId: newReference(),
    locale: "en_US",
    firstName: "Jane",
    lastName: "Doe",
    card: { ...STORED, ...card },
    ...more,
  });
export const tokenAuth = async (send: Send, more: object = {}): Promise<Sent> => {
  const { json } = await send(profile());
  const sale = { merchantRefNum: newReference(), amount: 1250, settleWithAuth: true, dupCheck: true };
  const storedCredential = { type: "ADHOC", occurrence: "SUBSEQUENT" };
  return post(`${ACCOUNT}/auths`, { ...sale, card: { paymentToken: json.cards[0].paymentToken }, storedCredential, ...more });
};
export const settlementOf = async (send: Send): Promise<string> => (await send(auth())).json.settlements[0].id as string;
const held = async (send: Send): Promise<string> => (await send(auth({ settleWithAuth: false }))).json.id as string;
const idOf = async (send: Send, sent: Sent): Promise<string> => (await send(sent)).json.id as string;
export const cancellation = (id: string): Sent => ({ at: `PUT ${ACCOUNT}/settlements/${id}`, headers, body: { status: "CANCELLED" } });
export const follow = (): object => ({ merchantRefNum: newReference(), amount: 1250 });

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) => {
    if (status < 400) return null;
    const [fault] = json.error.fieldErrors ?? [];
    return `${status} ${json.error.code}${fault === undefined ? "" : ` ${fault.field}`}`;
  },
  requests: {
    "a sale": () => auth(),
    "a verification": () => verification(),
    "a profile": () => profile(),
    "a profile alone": () => profile({ card: undefined }),
    "a second card": async (send) => post(`${PROFILES}/${await idOf(send, profile())}/cards`, { ...STORED, cardNum: "5191330000004415" }),
    "a sale to a stored card": (send) => tokenAuth(send),
    "a recurring sale": (send) =>
      tokenAuth(send, { storedCredential: { type: "RECURRING", occurrence: "SUBSEQUENT", initialTransactionId: "2b48475a" } }),
    "a settlement": async (send) => post(`${ACCOUNT}/auths/${await held(send)}/settlements`, follow()),
    "a release": async (send) => post(`${ACCOUNT}/auths/${await held(send)}/voidauths`, follow()),
    "a cancellation": async (send) => cancellation(await settlementOf(send)),
    "a look-up": () => ask(`${ACCOUNT}/auths?merchantRefNum=none&limit=10`),
    "a reading": async (send) => ask(`${ACCOUNT}/auths/${await idOf(send, auth())}`),
    "a profile's look-up": async (send) => {
      const { json } = await send(profile());
      return ask(`${PROFILES}?merchantCustomerId=${json.merchantCustomerId}`);
    },
    "a profile's cards": async (send) => ask(`${PROFILES}/${await idOf(send, profile())}?fields=addresses,cards`),
    "a deletion": async (send) => ask(`${PROFILES}/${await idOf(send, profile())}`, "DELETE"),
    "a monitor": () => ask("/cardpayments/monitor"),
  },
  cases: [
    ["a sale", { "header:Authorization": undefined }, "401 5279"],
    ["a sale", { "header:Authorization": "Bearer test_examplemerchant" }, "401 5279"],
    ["a sale", { "header:Authorization": basicOf("test_wrongmerchant", "B-qa2-0-0123") }, "401 5279"],
    ["a sale", { "header:Authorization": basicOf("test_examplemerchant", "B-qa2-wrong") }, "401 5279"],
    ["a sale", { "header:Authorization": basicOf("test_examplemerchant") }, "401 5279"],
    ["a sale", { "header:Accept": "text/html" }, "406 5271"],
    ["a sale", { "header:Content-Type": "text/plain" }, "400 5023"],
    ["a sale", { body: "{" }, "400 5023"],
    ["a sale", { method: "PATCH" }, "405 5281"],
    ["a sale", { path: "/paymenthub/v1/payments" }, "404 5273"],
    ["a sale", { path: "/cardpayments/v1/accounts/main/auths" }, "404 5269"],
    ["a sale", { path: "/cardpayments/v1/accounts/1001076700/auths" }, "403 5270"],
    ["a sale", { description: "c/o Jane" }, "400 5023"],
    ["a sale", { "profile.lastName": 'Doe "Dee"' }, "400 5023"],
    ["a sale", { "billingDetails.street": "1 Main St; Unit 2" }, "400 5023"],
    ["a sale", { merchantRefNum: undefined }, "400 5068 merchantRefNum"],
    ["a sale", { merchantRefNum: "r".repeat(256) }, "400 5068 merchantRefNum"],
    ["a sale", { amount: undefined }, "400 5068 amount"],
    ["a sale", { amount: "1250" }, "400 5068 amount"],
    ["a sale", { amount: 12.5 }, "400 5068 amount"],
    ["a sale", { amount: 0 }, "400 5068 amount"],
    ["a sale", { amount: 100_000_000_000 }, "400 5068 amount"],
    ["a sale", { currencyCode: "USD" }, "400 5068 currencyCode"],
    ["a sale", { settleWithAuth: "true" }, "400 5068 settleWithAuth"],
    ["a sale", { dupCheck: "true" }, "400 5068 dupCheck"],
    ["a sale", { card: undefined }, "400 5068 card.cardNum"],
    ["a sale", { "card.cardNum": "4111 1111 1111 1111" }, "400 5068 card.cardNum"],
    ["a sale", { "card.cardNum": "4111111111111112" }, "400 3002"],
    ["a sale", { "card.cardExpiry.month": "05" }, "400 5068 card.cardExpiry.month"],
    ["a sale", { "card.cardExpiry.month": 13 }, "400 5068 card.cardExpiry.month"],
    ["a sale", { "card.cardExpiry.year": 60 }, "400 5068 card.cardExpiry.year"],
    ["a sale", { "card.cardExpiry.year": 2020 }, "400 3006"],
    ["a sale", { "card.cvv": "12" }, "400 5068 card.cvv"],
    ["a sale", { "card.cvv": 123 }, "400 5068 card.cvv"],
    ["a sale", { "card.cvv": "1234" }, "400 3005"],
    ["a sale", { "card.holderName": "Jane Doe" }, "400 5068 card.holderName"],
    ["a sale", { "card.paymentToken": "Ct0RrnyIs4lizeH" }, "400 5068 card.cardNum"],
    ["a sale", { "profile.firstName": "J".repeat(81) }, "400 5068 profile.firstName"],
    ["a sale", { "billingDetails.zip": "12345678901" }, "400 5068 billingDetails.zip"],
    ["a sale", { "billingDetails.country": "Canada" }, "400 5068 billingDetails.country"],
    ["a sale", { "billingDetails.state": "Ontario" }, "400 5068 billingDetails.state"],
    ["a sale", { customerIp: "localhost" }, "400 5068 customerIp"],
    ["a sale", { description: "d".repeat(256) }, "400 5068 description"],
    ["a sale", { keywords: Array.from({ length: 11 }, () => "k") }, "400 5068 keywords"],
    ["a sale", { merchantDescriptor: { dynamicDescriptor: "d".repeat(21) } }, "400 5068 merchantDescriptor.dynamicDescriptor"],
    ["a sale", { entryMode: "TELEPHONE" }, "400 5068 entryMode"],
    ["a sale", { storedCredential: { type: "ADHOC" }, recurring: "INITIAL" }, "400 5068 recurring"],
    ["a sale", { storedCredential: { type: "CARD" } }, "400 5068 storedCredential.type"],
    ["a sale", { amount: 11 }, "402 3022"],
    ["a sale", { amount: 24 }, "402 3007"],
    ["a sale", { amount: 6 }, "500 1007"],
    ["a sale", { "card.cardNum": "4000000000000127" }, "402 3019"],
    ["a sale", { path: "/cardpayments/v1/accounts/1002158492/auths", billingDetails: undefined }, "400 3004"],
    ["a verification", { amount: 0 }, "400 5068 amount"],
    ["a verification", { settleWithAuth: true }, "400 5068 settleWithAuth"],
    ["a verification", { "card.cvv": undefined }, "400 5068 card.cvv"],
    ["a verification", { "card.cardNum": "4000000000000002" }, "402 3014"],
    ["a profile", { merchantCustomerId: undefined }, "400 5068 merchantCustomerId"],
    ["a profile", { merchantCustomerId: "m".repeat(101) }, "400 5068 merchantCustomerId"],
    ["a profile", { locale: undefined }, "400 5068 locale"],
    ["a profile", { locale: "en" }, "400 5068 locale"],
    ["a profile", { "card.cvv": "123" }, "400 5068 card.cvv"],
    ["a profile", { "card.holderName": undefined }, "400 5068 card.holderName"],
    ["a profile", { "card.cardNum": undefined }, "400 5068 card.cardNum"],
    ["a profile", { "card.cardNum": "4111111111111112" }, "400 7508"],
    ["a profile", { "card.billingAddress.country": undefined }, "400 5068 card.billingAddress.country"],
    ["a profile", { "card.billingAddress.zip": undefined }, "400 5068 card.billingAddress.zip"],
    ["a second card", { cardNum: "4111111111111111" }, "409 7503"],
    ["a second card", { cardExpiry: undefined }, "400 5068 cardExpiry.month"],
    ["a second card", { path: `${PROFILES}/none/cards` }, "404 5269"],
    ["a sale to a stored card", { storedCredential: undefined }, "400 5068 card.cvv"],
    ["a sale to a stored card", { "storedCredential.occurrence": undefined }, "400 5068 card.cvv"],
    ["a sale to a stored card", { "card.paymentToken": "PnCQ1xyGCB4sOEq" }, "400 5502"],
    ["a sale to a stored card", { "card.paymentToken": "CnCQ1xyGCB4sOEq" }, "400 5501"],
    ["a recurring sale", { "storedCredential.initialTransactionId": undefined }, "400 5068 storedCredential.initialTransactionId"],
    ["a settlement", { amount: 1251 }, "402 3502"],
    ["a release", { amount: 1 }, "400 5068 amount"],
    ["a release", { merchantRefNum: undefined }, "400 5068 merchantRefNum"],
    ["a cancellation", { status: "VOIDED" }, "400 5068 status"],
    ["a cancellation", { path: `${ACCOUNT}/settlements/none` }, "404 5269"],
    ["a look-up", { "query:merchantRefNum": undefined }, "400 5068 merchantRefNum"],
    ["a look-up", { "query:limit": "51" }, "400 5068 limit"],
    ["a look-up", { "query:startDate": "yesterday" }, "400 5068 startDate"],
    ["a reading", { path: `${ACCOUNT}/auths/none` }, "404 5269"],
    ["a profile's look-up", { "query:merchantCustomerId": "none" }, "404 5269"],
    ["a profile's cards", { "query:fields": "all" }, "400 5068 fields"],
    ["a deletion", { path: `${PROFILES}/none` }, "404 5269"],
  ],
};
