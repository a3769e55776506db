import { basicOf } from "../kit/wrong-requests.ts";
import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const MID = "496160873888";
/** Enforces the security code, and no address. */
const MID_WITH_CODE = "496160873000";
const REST = "/cardconnect/rest";
const CARDSECURE = "/cardsecure/api/v1/ccn/tokenize";
const AUTHORIZATION = basicOf("exampleuser", "examplepass");
const headers = { Authorization: AUTHORIZATION };

/** The sheet's worked example of a sale. */
export const SALE = {
  merchid: MID,
  orderid: "ps-5b0c5b2e-3b1f-4c9e-9a55-0f3c7b1d2a10",
  account: "4788250000121443",
  expiry: "0560",
  cvv2: "123",
  amount: "12.50",
  currency: "USD",
  name: "JANE DOE",
  postal: "19406",
  country: "US",
  ecomind: "T",
  capture: "Y",
  tokenize: "N",
  receipt: "N",
};
const CHECK = { ...SALE, amount: "0", capture: undefined, profile: "Y", cof: "C", cofscheduled: "N", cofpermission: "Y" };
const CARD = { merchid: MID, account: SALE.account, expiry: "0560", name: "JANE DOE", postal: "19406", country: "US" };

export const post = (path: string, body: object): Sent => ({
  at: `POST ${REST}${path}`,
  headers,
  body: structuredClone(body) as Record<string, unknown>,
});
export const ask = (path: string, method = "GET"): Sent => ({ at: `${method} ${REST}${path}`, headers });
export const sale = (more: object = {}): Sent => post("/auth", { ...SALE, ...more });
export const check = (more: object = {}): Sent => post("/auth", { ...CHECK, ...more });
export const stored = async (send: Send, more: object = {}): Promise<Sent> => {
  const { profileid, acctid } = (await send(check())).json;
  const sent = { merchid: MID, profile: `${profileid}/${acctid}`, amount: "12.50", currency: "USD", orderid: "ps-later", ecomind: "E" };
  return post("/auth", { ...sent, cof: "M", cofscheduled: "N", capture: "Y", ...more });
};
export const follow = async (send: Send, verb: string, more: object = {}, original: object = {}): Promise<Sent> =>
  post(`/${verb}`, { merchid: MID, retref: (await send(sale(original))).json.retref, ...more });
export const lookUp = (orderid: string, end = "/1"): Sent => ask(`/inquireByOrderid/${encodeURIComponent(orderid)}/${MID}${end}`);

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) =>
    status === 200 && (json?.respstat === "C" || json?.respcode === "26")
      ? `${json.respproc} ${json.respcode}`
      : status === 200
        ? null
        : `${status}${json?.errorcode ? ` ${json.errorcode}` : ""}`,
  requests: {
    "a sale": () => sale(),
    "a sale where the code is enforced": () => sale({ merchid: MID_WITH_CODE }),
    "a sale by PUT": () => ({ ...sale(), at: `PUT ${REST}/auth` }),
    "a sale of a token": async (send) => sale({ account: (await send(sale())).json.token }),
    "a check": () => check(),
    "a profile": () => post("/profile", { ...CARD, cofpermission: "Y", defaultacct: "Y" }),
    "a sale of a stored card": (send) => stored(send),
    "a removal": async (send) => {
      const { profileid, acctid } = (await send(check({ name: "GOES AGAIN" }))).json;
      return ask(`/profile/${profileid}/${acctid}/${MID}`, "DELETE");
    },
    "a capture": (send) => follow(send, "capture", { amount: "12.50" }, { capture: "N" }),
    "a void": (send) => follow(send, "void"),
    "a void by order id": async (send) => {
      await send(sale({ orderid: "ps-to-void" }));
      return post("/voidByOrderId", { merchid: MID, orderid: "ps-to-void" });
    },
    "a look-up": async (send) => {
      await send(sale({ orderid: "ps-to-find" }));
      return lookUp("ps-to-find");
    },
    "a merchant": () => ask(`/inquireMerchant/${MID}`),
    "a check of the credentials": () => ({ at: `PUT ${REST}/`, headers, body: { merchid: MID } }),
    "a token": () => ({ at: `POST ${CARDSECURE}`, body: { account: "4444333322221111", expiry: "0560", cvv: "123" } }),
  },
  cases: [
    ["a sale", { "header:Authorization": undefined }, "401"],
    ["a sale", { "header:Authorization": basicOf("exampleuser") }, "401"],
    ["a sale", { "header:Authorization": basicOf("exampleuser", "wrong") }, "401"],
    ["a sale", { "header:Authorization": "Bearer examplepass" }, "401"],
    ["a sale", { "header:Content-Type": "text/plain" }, "400 49"],
    ["a sale", { body: "{" }, "400 49"],
    ["a sale", { path: "/cardconnect/auth" }, "404"],
    ["a sale", { method: "PATCH" }, "405"],
    ["a sale", { merchid: undefined }, "PPS 21"],
    ["a sale", { merchid: "MID-1" }, "PPS 21"],
    ["a sale", { merchid: "49616087388849616" }, "PPS 21"],
    ["a sale", { account: undefined }, "PPS 11"],
    ["a sale", { account: "4788 2500 0012 1443" }, "PPS 11"],
    ["a sale", { account: "478825000012" }, "PPS 11"],
    ["a sale", { account: 4788250000121443 }, "400 49"],
    ["a sale", { account: "4788250000121444" }, "PPS 13"],
    ["a sale", { account: "6200000000000005" }, "PPS 33"],
    ["a sale", { account: "9999999999999999" }, "PPS 98"],
    ["a sale", { amount: undefined }, "PPS 43"],
    ["a sale", { amount: 12.5 }, "400 49"],
    ["a sale", { amount: "12.500" }, "PPS 43"],
    ["a sale", { amount: "-12.50" }, "PPS 43"],
    ["a sale", { amount: "12,50" }, "PPS 43"],
    ["a sale", { amount: "123456789012.50" }, "PPS 43"],
    ["a sale", { expiry: undefined }, "PPS 15"],
    ["a sale", { expiry: "05/60" }, "PPS 15"],
    ["a sale", { expiry: "1360" }, "PPS 15"],
    ["a sale", { expiry: "0520" }, "PPS 16"],
    ["a sale", { cvv2: "12" }, "PPS 14"],
    ["a sale", { cvv2: "12a" }, "PPS 14"],
    ["a sale", { cvv2: "" }, "PPS 14"],
    ["a sale", { cvv2: 123 }, "400 49"],
    ["a sale", { currency: "usd" }, "PPS 31"],
    ["a sale", { currency: "840" }, "PPS 31"],
    ["a sale", { currency: "EUR" }, "PPS 32"],
    ["a sale", { orderid: "x".repeat(51) }, "PPS 34"],
    ["a sale", { name: "J".repeat(31) }, "PPS 34"],
    ["a sale", { name: "JOSÉ" }, "PPS 34"],
    ["a sale", { address: "1 Rue de l’Église" }, "PPS 34"],
    ["a sale", { postal: "19406-1234" }, "PPS 17"],
    ["a sale", { postal: "1940" }, "PPS 17"],
    ["a sale", { postal: "SW1A1AA" }, "PPS 17"],
    ["a sale", { country: "USA" }, "PPS 34"],
    ["a sale", { ecomind: "M" }, "PPS 34"],
    ["a sale", { capture: true }, "PPS 34"],
    ["a sale", { cvv: "123" }, "PPS 34"],
    ["a sale", { Account: "4788250000121443" }, "PPS 34"],
    ["a sale", { description: "Order 1234" }, "PPS 34"],
    ["a sale", { cofpermission: "Y" }, "PPS 34"],
    ["a sale", { userfields: [{ udf0: "x".repeat(4001) }] }, "PPS 34"],
    ["a sale", { email: "jane" }, "PPS 34"],
    ["a sale", { account: "4387751111111053" }, "FNOR NU"],
    ["a sale", { account: "4000000000000127" }, "FNOR C2"],
    ["a sale", { amount: "1005.00" }, "FNOR 05"],
    ["a sale", { amount: "100500" }, "FNOR 05"],
    ["a sale where the code is enforced", { cvv2: undefined }, "PPS 38"],
    ["a sale by PUT", { amount: undefined }, "PPS 43"],
    ["a sale of a token", { expiry: undefined }, "PPS 15"],
    ["a check", { cof: undefined }, "PPS 34"],
    ["a check", { profile: "YES" }, "PPS 34"],
    ["a check", { account: "4000000000009987" }, "FNOR 60"],
    ["a profile", { account: "4788250000121444" }, "PPS 13"],
    ["a profile", { cvv2: "123" }, "PPS 34"],
    ["a profile", { expiry: undefined }, "PPS 15"],
    ["a sale of a stored card", { cof: undefined }, "PPS 34"],
    ["a sale of a stored card", { account: "4788250000121443" }, "PPS 34"],
    ["a sale of a stored card", { profile: "16700875781344019340/1" }, "PPS 96"],
    ["a sale of a stored card", { merchid: "496160873889" }, "PPS 96"],
    ["a removal", { path: `${REST}/profile/16700875781344019340/1/${MID}` }, "PPS 96"],
    ["a capture", { amount: "12.51" }, "PPS 43"],
    ["a void", { retref: undefined }, "PPS 29"],
    ["a void", { retref: "363652261392" }, "PPS 29"],
    ["a void", { merchid: "496160873889" }, "PPS 29"],
    ["a void", { path: `${REST}/refund` }, "PPS 28"],
    ["a void", { path: `${REST}/capture` }, "PPS 26"],
    ["a void by order id", { orderid: "ps-none" }, "PPS 29"],
    ["a void by order id", { orderid: undefined }, "PPS 34"],
    ["a look-up", { path: `${REST}/inquireByOrderid/ps-none/${MID}/1` }, "PPS 29"],
    ["a look-up", { path: `${REST}/inquireByOrderid/ps-to-find/496160873889/1` }, "PPS 29"],
    ["a look-up", { "header:Authorization": undefined }, "401"],
    ["a merchant", { path: `${REST}/inquireMerchant/MID` }, "PPS 21"],
    ["a check of the credentials", { merchid: undefined }, "PPS 21"],
    ["a token", { account: "4444333322221112" }, "400 54"],
    ["a token", { account: undefined }, "400 52"],
    ["a token", { unique: "true" }, "400 53"],
  ],
};
