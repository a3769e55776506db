import { basicOf } from "../kit/wrong-requests.ts";
import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const OAUTH = { at: "POST /oauth2/v1/tokens/bearer", format: "form" as const };
const client = { Authorization: basicOf("ABclientid", "secret123") };
export const refresh = (refresh_token = "RT1-first"): Sent => ({
  ...OAUTH,
  headers: client,
  body: { grant_type: "refresh_token", refresh_token },
});

let requests = 0;
/** A request with an access token of its own and a new Request-Id. */
export async function request(send: Send, at: string, body: Record<string, unknown> = {}): Promise<Sent> {
  const token = (await send(refresh())).json.access_token as string;
  return { at, headers: { Authorization: `Bearer ${token}`, "Request-Id": `wrong-${++requests}` }, body };
}

export const CARD = {
  number: "4112344112344113",
  expMonth: "09",
  expYear: "2060",
  cvc: "123",
  name: "Jane Smith",
  address: { streetAddress: "1130 Kifer Rd", city: "Sunnyvale", region: "CA", country: "US", postalCode: "94086" },
};
const context = { mobile: false, isEcommerce: false };
export const CHARGE = { amount: "25.00", currency: "USD", capture: true, description: "Invoice 1001", card: CARD, context };
const charges = "POST /quickbooks/v4/payments/charges";
const idOf = async (send: Send, body: object = CHARGE) => (await send(await request(send, charges, { ...body }))).json.id as string;

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) => {
    if (status < 300) return null;
    const [error] = json.errors ?? [{ code: json.code ?? json.error }];
    return `${status} ${error.code}${error.detail === undefined ? "" : ` ${error.detail}`}`;
  },
  requests: {
    "a refresh": () => refresh(),
    "a charge": (send) => request(send, charges, structuredClone(CHARGE)),
    "a charge of a stored card": async (send) => {
      const { json } = await send(await request(send, `POST /quickbooks/v4/customers/c${++requests}/cards`, CARD));
      return request(send, charges, { amount: "25.00", currency: "USD", cardOnFile: json.id, context });
    },
    "a stored card": (send) => request(send, `POST /quickbooks/v4/customers/c${++requests}/cards`, structuredClone(CARD)),
    "a capture": async (send) => {
      const id = await idOf(send, { ...CHARGE, capture: false });
      return request(send, `${charges}/${id}/capture`, { amount: "37.50", context });
    },
    "a refund": async (send) => request(send, `${charges}/${await idOf(send)}/refunds`, { amount: "25.00" }),
    "a void": async (send) => {
      const made = await request(send, charges, CHARGE);
      await send(made);
      return request(send, `POST /quickbooks/v4/payments/txn-requests/${made.headers?.["Request-Id"]}/void`);
    },
    "a token": () => ({
      at: "POST /quickbooks/v4/payments/tokens",
      headers: { "Request-Id": `wrong-${++requests}` },
      body: { card: CARD },
    }),
  },
  cases: [
    ["a refresh", { "header:Authorization": undefined }, "401 invalid_client"],
    ["a refresh", { "header:Authorization": basicOf("wrong", "secret") }, "401 invalid_client"],
    ["a refresh", { grant_type: "password" }, "400 unsupported_grant_type"],
    ["a refresh", { refresh_token: "RT1-wrong" }, "400 invalid_grant"],
    ["a refresh", { refresh_token: undefined }, "400 invalid_request"],
    ["a charge", { "header:Authorization": undefined }, "401 AuthenticationFailed"],
    ["a charge", { "header:Authorization": "Bearer rubbish" }, "401 AuthenticationFailed"],
    ["a charge", { "header:Request-Id": undefined }, "400 PMT-4000 Request-Id"],
    ["a charge", { "header:Request-Id": "x".repeat(51) }, "400 PMT-4000 Request-Id"],
    ["a charge", { "header:Content-Type": "text/plain" }, "400 PMT-4000"],
    ["a charge", { body: "{" }, "400 PMT-4000"],
    ["a charge", { path: "/quickbooks/v4/payments/charge" }, "404 PMT-4002"],
    ["a charge", { method: "PUT" }, "405 PMT-4002"],
    ["a charge", { amount: 25 }, "400 PMT-4000 amount"],
    ["a charge", { amount: "25" }, "400 PMT-4000 amount"],
    ["a charge", { amount: "0.00" }, "400 PMT-4000 amount"],
    ["a charge", { amount: "100000.00" }, "400 PMT-4000 amount"],
    ["a charge", { amount: undefined }, "400 PMT-4000 amount"],
    ["a charge", { currency: "EUR" }, "400 PMT-4000 currency"],
    ["a charge", { capture: "yes" }, "400 PMT-4000 capture"],
    ["a charge", { reference: "1" }, "400 PMT-4000 reference"],
    ["a charge", { card: undefined }, "400 PMT-4000 card"],
    ["a charge", { cardOnFile: "1" }, "400 PMT-4000 card"],
    ["a charge", { "card.number": "4112344112344114" }, "400 PMT-4000 card.number"],
    ["a charge", { "card.number": "4000000000000001" }, "400 PMT-4000 card.number"],
    ["a charge", { "card.number": undefined }, "400 PMT-4000 card.number"],
    ["a charge", { "card.expMonth": "9" }, "400 PMT-4000 card.expMonth"],
    ["a charge", { "card.expYear": "60" }, "400 PMT-4000 card.expYear"],
    ["a charge", { "card.expYear": "2020" }, "400 PMT-4000 card.expYear"],
    ["a charge", { "card.cvc": 123 }, "400 PMT-4000 card.cvc"],
    ["a charge", { "card.name": "x".repeat(65) }, "400 PMT-4000 card.name"],
    ["a charge", { "card.name": "emulate=10301" }, "400 PMT-4000 card.number"],
    ["a charge", { "card.name": "emulate=10201" }, "400 PMT-6000"],
    ["a charge", { "card.address.region": "" }, "400 PMT-4000 card.address.region"],
    ["a charge", { "card.address.country": "USA" }, "400 PMT-4000 card.address.country"],
    ["a charge", { "card.address.zip": "94086" }, "400 PMT-4000 card.address.zip"],
    ["a charge", { context: undefined }, "400 PMT-4000 context"],
    ["a charge", { "context.isEcommerce": "moto" }, "400 PMT-4000 context.isEcommerce"],
    ["a charge of a stored card", { cardOnFile: "1" }, "400 PMT-4000 cardOnFile"],
    ["a stored card", { number: "4112344112344114" }, "400 PMT-4000 number"],
    ["a stored card", { expMonth: "13" }, "400 PMT-4000 expMonth"],
    ["a stored card", { card: CARD }, /^400 PMT-4000 card/],
    ["a capture", { amount: "37.51" }, "400 PMT-4000 amount"],
    ["a capture", { path: "/quickbooks/v4/payments/charges/ENONE/capture" }, "404 PMT-10305"],
    ["a refund", { amount: "25.01" }, "400 PMT-4000 amount"],
    ["a refund", { path: "/quickbooks/v4/payments/charges/ENONE/refunds" }, "404 PMT-10305"],
    ["a void", { path: "/quickbooks/v4/payments/txn-requests/none/void" }, "404 PMT-10305"],
    ["a void", { amount: "25.00" }, "400 PMT-4000 amount"],
    ["a token", { "card.cvc": "12" }, "400 PMT-4000 card.cvc"],
  ],
};
