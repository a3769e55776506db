import { createHash, createHmac, randomUUID } from "node:crypto";
import { written } from "../kit/wrong-requests.ts";
import type { ReceivedAnswer, Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const KEY_ID = "0f0e0d0c-0b0a-4908-8706-050403020100";
const HOST = "apitest.cybersource.com";
const SECRET = "RVhBTVBMRS1ub3QtYS1yZWFsLXNoYXJlZC1rZXktMDE=";

interface How {
  way?: "jwt" | "http_signature";
  /** Whom the signature speaks for where a parent organisation signs. */
  portfolio?: string;
  merchant?: string;
  secret?: string;
  date?: string;
  claims?: Readonly<Record<string, unknown>>;
  target?: string;
}

const macOf = (text: string, secret: string, encoding: "base64" | "base64url"): string =>
  createHmac("sha256", Buffer.from(secret, "base64")).update(text).digest(encoding);
export const digestOf = (body: string): string => createHash("sha256").update(body).digest("base64");

/** The Signature header's last value, over the lines in the vendor's order; a null digest for requests without a body. */
export function signatureOf(
  at: string,
  digest: string | null,
  date: string,
  { merchant = "examplemid", portfolio = merchant, secret = SECRET, target = "request-target" }: How = {},
): string {
  const [method = "", path = ""] = at.split(" ");
  const lines = [`host: ${HOST}`, `date: ${date}`, `${target}: ${method.toLowerCase()} ${path}`];
  const digestLine = digest === null ? [] : [`digest: SHA-256=${digest}`];
  return macOf([...lines, ...digestLine, `v-c-merchant-id: ${portfolio}`].join("\n"), secret, "base64");
}

/** The token over these claims, in their order. */
export function jwtOf(claims: object, secret = SECRET): string {
  const parts = [{ alg: "HS256", typ: "JWT", kid: KEY_ID }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
  return [...parts, macOf(parts.join("."), secret, "base64url")].join(".");
}

/** Signs a request, as JWT unless told otherwise. */
export function sign(sent: Sent, how: How = {}): Sent {
  const { merchant = "examplemid", portfolio = merchant, secret = SECRET, target = "request-target" } = how;
  const [method = "", path = ""] = sent.at.split(" ");
  const digest = /^(GET|DELETE)$/.test(method) ? null : digestOf(written(sent));
  if (how.way === "http_signature") {
    const date = how.date ?? new Date().toUTCString();
    const names = `host date ${target} ${digest === null ? "" : "digest "}v-c-merchant-id`;
    const signature = `keyid="${KEY_ID}", algorithm="HmacSHA256", headers="${names}", signature="${signatureOf(sent.at, digest, date, how)}"`;
    const headers = {
      "v-c-merchant-id": merchant,
      Date: date,
      ...(digest !== null && { Digest: `SHA-256=${digest}` }),
      Signature: signature,
    };
    return { ...sent, headers: { ...headers, ...sent.headers } };
  }
  const iat = Math.floor(Date.now() / 1000);
  const claims = {
    ...(digest !== null && { digest, "digest-algorithm": "SHA-256" }),
    iat,
    exp: iat + 120,
    "request-host": HOST,
    "request-resource-path": path,
    "request-method": method.toLowerCase(),
    iss: portfolio,
    jti: randomUUID(),
    "v-c-jwt-version": "2",
    "v-c-merchant-id": merchant,
    ...how.claims,
  };
  return { ...sent, headers: { Authorization: `Bearer ${jwtOf(claims, secret)}`, ...sent.headers } };
}

const CARD = { number: "4111111111111111", expirationMonth: "10", expirationYear: "2060", securityCode: "999", type: "001" };
const post = (path: string, body: object): Sent => ({ at: `POST ${path}`, body: structuredClone(body) as Record<string, unknown> });
/** The sheet's sale; `card` and `about` are laid over it. */
export function sale({
  code = randomUUID(),
  card = {},
  amount = "12.34",
  capture = true,
  comments,
}: { code?: string; card?: object; amount?: string; capture?: boolean; comments?: string } = {}): Sent {
  return post("/pts/v2/payments", {
    clientReferenceInformation: { code, transactionId: code.replaceAll("-", "").slice(0, 30), ...(comments !== undefined && { comments }) },
    processingInformation: { capture, commerceIndicator: "moto" },
    paymentInformation: { card: { ...CARD, ...card } },
    orderInformation: {
      amountDetails: { totalAmount: amount, currency: "USD" },
      billTo: { firstName: "Ada", lastName: "Lovelace", postalCode: "77777", country: "US" },
    },
  });
}
export function store(card: object = {}): Sent {
  const { body, at } = sale({ amount: "0.00", capture: false, card });
  const tokens = { actionList: ["TOKEN_CREATE"], actionTokenTypes: ["instrumentIdentifier"] };
  const authorizationOptions = { initiator: { type: "customer", credentialStoredOnFile: true } };
  return {
    at,
    body: { ...(body as object), processingInformation: { capture: false, commerceIndicator: "moto", ...tokens, authorizationOptions } },
  };
}
export const later = (id: string, amount = "12.34"): Sent =>
  post("/pts/v2/payments", {
    clientReferenceInformation: { code: randomUUID() },
    processingInformation: {
      capture: true,
      commerceIndicator: "internet",
      authorizationOptions: {
        initiator: {
          type: "merchant",
          storedCredentialUsed: true,
          merchantInitiatedTransaction: { previousTransactionId: "123456789619999", reason: "7" },
        },
      },
    },
    paymentInformation: { instrumentIdentifier: { id }, card: { expirationMonth: "10", expirationYear: "2060", type: "001" } },
    orderInformation: { amountDetails: { totalAmount: amount, currency: "USD" } },
  });
export const identifier = (number = CARD.number): Sent => post("/tms/v1/instrumentidentifiers", { card: { number } });
export const search = (code: string, more: object = {}): Sent =>
  post("/tss/v2/searches", {
    save: false,
    name: "lookup",
    timezone: "UTC",
    query: `clientReferenceInformation.code:${code} AND submitTimeUtc:[NOW/DAY-7DAYS TO NOW/DAY+1DAY}`,
    offset: 0,
    limit: 100,
    sort: "id:asc,submitTimeUtc:asc",
    ...more,
  });
const money = { amountDetails: { totalAmount: "12.34", currency: "USD" } };
export const BODIES = {
  voids: {},
  captures: { orderInformation: money },
  refunds: { orderInformation: money },
  reversals: { reversalInformation: { ...money, reason: "answer lost" } },
};
export const follow = (id: string, verb: keyof typeof BODIES): Sent =>
  post(`/pts/v2/payments/${id}/${verb}`, { clientReferenceInformation: { code: "back" }, ...BODIES[verb] });
/** By our own identifier of the transaction. */
export const reverse = (code: string, verb: "voids" | "reversals"): Sent =>
  post(`/pts/v2/${verb}`, { clientReferenceInformation: { transactionId: code.replaceAll("-", "").slice(0, 30) }, ...BODIES[verb] });

const idOf = async (send: Send, sent = sale()): Promise<string> => (await send(sent)).json.id as string;

/** The reason; of a refused transaction the processor's. */
export function codeOf({ status, json }: ReceivedAnswer): string | null {
  if (json?.response !== undefined) return `${status} ${json.response.rmsg}`;
  if (status >= 400) return `${status} ${json.reason}${json.details === undefined ? "" : ` ${json.details[0].field}`}`;
  return json?.errorInformation === undefined ? null : `${status} ${json.status} ${json.errorInformation.reason}`;
}

export const wrongRequests: WrongRequests = {
  codeOf,
  // What is signed as a case wants it stays so.
  sign: (sent) => (sent.headers?.["Signature"] === undefined && sent.headers?.["Authorization"] === undefined ? sign(sent) : sent),
  requests: {
    "a sale": () => sale(),
    "a sale by HTTP Signature": () => sign(sale(), { way: "http_signature" }),
    "a sale of a meta key": () => sign(sale(), { portfolio: "exampleportfolio" }),
    "a sale of a meta key by HTTP Signature": () => sign(sale(), { portfolio: "exampleportfolio", way: "http_signature" }),
    "a sale by HTTP Signature in the older form": () => sign(sale(), { way: "http_signature", target: "(request-target)" }),
    "a hold": () => sale({ capture: false }),
    "a stored card": () => store(),
    "a later sale": async (send) => later((await send(store())).json.tokenInformation.instrumentIdentifier.id as string),
    "an instrument identifier": () => identifier(),
    "a void": async (send) => follow(await idOf(send), "voids"),
    "a refund": async (send) => follow(await idOf(send), "refunds"),
    "a capture": async (send) => follow(await idOf(send, sale({ capture: false })), "captures"),
    "a reversal": async (send) => follow(await idOf(send, sale({ capture: false })), "reversals"),
    "a void after a time-out": async (send) => {
      const code = randomUUID();
      await send(sale({ code }));
      return reverse(code, "voids");
    },
    "a search": () => search("9f1c2b7e5d6a4c0f8a21"),
    "a transaction": async (send) => ({ at: `GET /tss/v2/transactions/${await idOf(send)}` }),
  },
  cases: [
    ["a sale", { "header:Authorization": undefined }, "401 Authentication Failed"],
    ["a sale", { "header:Authorization": "Bearer a.b.c" }, "401 Authentication Failed"],
    ["a sale by HTTP Signature", { "header:Digest": undefined }, "401 Authentication Failed"],
    ["a sale by HTTP Signature", { "header:Date": "Fri, 20 Nov 2020 22:00:00 GMT" }, "401 Authentication Failed"],
    ["a sale by HTTP Signature", { "header:v-c-merchant-id": "another" }, "401 Authentication Failed"],
    ["a sale by HTTP Signature", { "orderInformation.amountDetails.totalAmount": "12.35" }, "401 Authentication Failed"],
    ["a sale by HTTP Signature", { path: "/pts/v2/payments?a=b" }, "401 Authentication Failed"],
    ["a sale by HTTP Signature in the older form", { "header:Signature": 'keyid="x"' }, "401 Authentication Failed"],
    ["a sale of a meta key", { "orderInformation.amountDetails.totalAmount": "12.35" }, "401 Authentication Failed"],
    ["a sale of a meta key by HTTP Signature", { "header:v-c-merchant-id": "wrong_shop" }, "401 Authentication Failed"],
    ["a sale", { "header:Content-Type": "text/plain" }, "415 Content type is not supported"],
    ["a sale", { "header:Accept": "text/html" }, "406 Not Acceptable"],
    ["a sale", { body: "{" }, "400 INVALID_DATA"],
    ["a sale", { path: "/pts/v3/payments" }, "404 Resource not found"],
    ["a sale", { method: "PUT" }, "405 Method Not Allowed"],
    ["a sale", { "clientReferenceInformation.code": undefined }, "400 MISSING_FIELD clientReferenceInformation.code"],
    ["a sale", { "clientReferenceInformation.code": "x".repeat(51) }, "400 INVALID_DATA clientReferenceInformation.code"],
    ["a sale", { "clientReferenceInformation.transactionId": "x".repeat(31) }, "400 INVALID_DATA clientReferenceInformation.transactionId"],
    ["a sale", { "clientReferenceInformation.comments": "Zahlung für" }, "400 INVALID_DATA clientReferenceInformation.comments"],
    ["a sale", { "processingInformation.capture": "true" }, "400 INVALID_DATA processingInformation.capture"],
    ["a sale", { "processingInformation.commerceIndicator": "MOTO" }, "400 INVALID_DATA processingInformation.commerceIndicator"],
    ["a sale", { "paymentInformation.card.number": undefined }, "400 MISSING_FIELD paymentInformation.card.number"],
    ["a sale", { "paymentInformation.card.number": "4111 1111 1111 1111" }, "400 INVALID_DATA paymentInformation.card.number"],
    ["a sale", { "paymentInformation.card.number": "4111111111111112" }, "201 DECLINED INVALID_ACCOUNT"],
    ["a sale", { "paymentInformation.card.expirationYear": "2020" }, "201 DECLINED EXPIRED_CARD"],
    ["a sale", { "paymentInformation.card.expirationYear": "60" }, "400 INVALID_DATA paymentInformation.card.expirationYear"],
    ["a sale", { "paymentInformation.card.expirationMonth": "13" }, "400 INVALID_DATA paymentInformation.card.expirationMonth"],
    ["a sale", { "paymentInformation.card.securityCode": "1234" }, "400 INVALID_DATA paymentInformation.card.securityCode"],
    ["a sale", { "paymentInformation.card.type": "002" }, "400 CARD_TYPE_NOT_ACCEPTED paymentInformation.card.type"],
    ["a sale", { "paymentInformation.card.type": "visa" }, "400 INVALID_DATA paymentInformation.card.type"],
    ["a sale", { "orderInformation.amountDetails.totalAmount": 12.34 }, "400 INVALID_DATA orderInformation.amountDetails.totalAmount"],
    ["a sale", { "orderInformation.amountDetails.totalAmount": "12.345" }, "400 INVALID_DATA orderInformation.amountDetails.totalAmount"],
    ["a sale", { "orderInformation.amountDetails.totalAmount": "0.00" }, "400 INVALID_AMOUNT orderInformation.amountDetails.totalAmount"],
    ["a sale", { "orderInformation.amountDetails.currency": undefined }, "400 MISSING_FIELD orderInformation.amountDetails.currency"],
    ["a sale", { "orderInformation.amountDetails.currency": "usd" }, "400 INVALID_DATA orderInformation.amountDetails.currency"],
    ["a sale", { "orderInformation.billTo.postalCode": "7777" }, "400 INVALID_DATA orderInformation.billTo.postalCode"],
    ["a sale", { "orderInformation.billTo.country": "USA" }, "400 INVALID_DATA orderInformation.billTo.country"],
    ["a sale", { "orderInformation.billTo.administrativeArea": "Texas" }, "400 INVALID_DATA orderInformation.billTo.administrativeArea"],
    ["a sale", { "orderInformation.billTo.firstName": "x".repeat(61) }, "400 INVALID_DATA orderInformation.billTo.firstName"],
    ["a sale", { "deviceInformation.ipAddress": "here" }, "400 INVALID_DATA deviceInformation.ipAddress"],
    ["a sale", { "orderInformation.amountDetails.totalAmount": "2000.00" }, "502 SYSTEM_ERROR"],
    ["a sale", { "clientReferenceInformation.comments": "AVS_FAILED" }, "201 DECLINED AVS_FAILED"],
    [
      "a sale",
      { "clientReferenceInformation.comments": "AUTHORIZED_RISK_DECLINED" },
      "201 AUTHORIZED_RISK_DECLINED DECISION_PROFILE_REJECT",
    ],
    ["a sale", { "paymentInformation.card.number": "4000000000009995" }, "201 DECLINED INSUFFICIENT_FUND"],
    ["a stored card", { "paymentInformation.card.number": "4000000000000127" }, "201 DECLINED CVN_NOT_MATCH"],
    ["a stored card", { "processingInformation.actionList": ["TOKEN"] }, "400 INVALID_DATA processingInformation.actionList[0]"],
    ["a stored card", { "processingInformation.capture": true }, "400 INVALID_AMOUNT orderInformation.amountDetails.totalAmount"],
    [
      "a later sale",
      { "paymentInformation.instrumentIdentifier.id": "7010000000016241119" },
      "400 INVALID_DATA paymentInformation.instrumentIdentifier.id",
    ],
    ["a later sale", { "paymentInformation.card.expirationYear": undefined }, "400 MISSING_FIELD paymentInformation.card.expirationYear"],
    [
      "a later sale",
      { "processingInformation.authorizationOptions.initiator.merchantInitiatedTransaction.previousTransactionID": "1" },
      "400 INVALID_DATA processingInformation.authorizationOptions.initiator.merchantInitiatedTransaction.previousTransactionID",
    ],
    ["an instrument identifier", { "card.number": "4111111111111112" }, "400 INVALID_DATA card.number"],
    ["an instrument identifier", { "header:profile-id": "profile" }, "400 INVALID_DATA header profile-id"],
    ["a void", { path: "/pts/v2/payments/1/voids" }, "400 INVALID_PAYMENT_ID"],
    ["a void", { clientReferenceInformation: undefined }, "400 MISSING_FIELD clientReferenceInformation.code"],
    ["a refund", { "orderInformation.amountDetails.totalAmount": "12.35" }, "400 INVALID_DATA"],
    ["a capture", { "orderInformation.amountDetails.totalAmount": "12.35" }, "400 NOT_CAPTURABLE"],
    ["a reversal", { reversalInformation: undefined }, "400 MISSING_FIELD reversalInformation.amountDetails.totalAmount"],
    ["a reversal", { "reversalInformation.amountDetails.totalAmount": "1.00" }, "400 AUTH_ALREADY_REVERSED"],
    ["a void after a time-out", { "clientReferenceInformation.transactionId": "none" }, "400 INVALID_PAYMENT_ID"],
    [
      "a void after a time-out",
      { clientReferenceInformation: { code: "x" } },
      "400 MISSING_FIELD clientReferenceInformation.transactionId",
    ],
    ["a search", { query: "clientReferenceInformation.code=1" }, "400 INVALID_DATA query"],
    ["a search", { query: "submitTimeUtc:[yesterday TO NOW]" }, "400 INVALID_DATA query"],
    ["a search", { timezone: "Mars" }, "400 INVALID_DATA timezone"],
    ["a search", { limit: "100" }, "400 INVALID_DATA limit"],
    ["a transaction", { path: "/tss/v2/transactions/1" }, "404 Transaction not found"],
  ],
};
