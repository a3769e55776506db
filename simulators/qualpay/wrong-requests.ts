import { basicOf } from "../kit/wrong-requests.ts";
import type { Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

const KEY = "TEST1234567890";
const MERCHANT = 212_000_000_001;
export const SESSION = "9f1c2b7e-5d6a-4c0f-8a21-3b6d2c1e0f9a";

export const post = (path: string, body: object = {}): Sent => ({
  at: `POST ${path}`,
  headers: { Authorization: basicOf(KEY), Accept: "application/json" },
  body: structuredClone({ merchant_id: MERCHANT, developer_id: "PaySessionV1", ...body }) as Record<string, unknown>,
});
export const ask = (path: string): Sent => ({ at: `GET ${path}`, headers: { Authorization: basicOf(KEY) } });

const CARD = { card_number: "4111111111111111", exp_date: "1030", cvv2: "152", cardholder_name: "Ada Lovelace", avs_zip: "94402" };
/** The sheet's worked examples. */
const CHARGE = {
  amt_tran: 12.34,
  tran_currency: 840,
  ...CARD,
  avs_address: "123 Main St",
  moto_ecomm_ind: "1",
  purchase_id: "9f1c2b7e5d6a4c0f8a21",
  merch_ref_num: SESSION,
};
export const charge = (more: object = {}): Sent => post("/pg/sale", { ...CHARGE, ...more });
export const hold = (): Sent => post("/pg/auth", CHARGE);
export const verification = (more: object = {}): Sent =>
  post("/pg/verify", { ...CARD, moto_ecomm_ind: "1", tokenize: true, merch_ref_num: SESSION, ...more });
export const unchecked = (more: object = {}): Sent => post("/pg/tokenize", { ...CARD, ...more });
export const REPORT = "/platform/reporting/transaction-requests?count=100&order_on=tran_time&order_by=desc&page=0";
const idOf = async (send: Send, sent: Sent): Promise<string> => (await send(sent)).json.pg_id;
export const byCardId = (card_id: string, more: object = {}): Sent =>
  post("/pg/sale", { amt_tran: 12.34, tran_currency: 840, card_id, moto_ecomm_ind: "1", ...more });

export const wrongRequests: WrongRequests = {
  codeOf: ({ status, json }) =>
    json?.rcode === "000" || json?.code === 0 ? null : `${status} ${json?.rcode ?? json?.message ?? "unreadable"}`,
  requests: {
    "a charge": () => charge(),
    "a charge for a customer's card": async (send) => byCardId((await send(unchecked())).json.card_id),
    "a hold": () => hold(),
    "a verification": () => verification(),
    "a store": () => unchecked(),
    "a capture": async (send) => post(`/pg/capture/${await idOf(send, hold())}`, { amt_tran: 12.34 }),
    "a void": async (send) => post(`/pg/void/${await idOf(send, charge())}`),
    "an expiry of a token": async (send) => post("/pg/expireToken", { card_id: (await send(verification())).json.card_id }),
    "a report": () => ask(REPORT),
    "a look-up": async (send) => ask(`/platform/reporting/transactions/bypgid/${await idOf(send, charge())}`),
  },
  cases: [
    ["a charge", { "header:Authorization": undefined }, "401 101"],
    ["a charge", { "header:Authorization": basicOf("wrongKEY1234") }, "401 101"],
    ["a charge", { "header:Authorization": basicOf(KEY, "password") }, "401 101"],
    ["a charge", { "header:Authorization": `Bearer ${KEY}` }, "401 101"],
    ["a charge", { "header:Authorization": basicOf("NOPAYMENTS1234") }, "403 Not permitted"],
    ["a charge", { "header:Content-Type": "text/plain" }, "400 100"],
    ["a charge", { body: "{" }, "400 100"],
    ["a charge", { path: "/pg/charge" }, "404 100"],
    ["a charge", { method: "PUT" }, "405 100"],
    ["a charge", { merchant_id: undefined }, "400 100"],
    ["a charge", { merchant_id: "212000000001" }, "400 100"],
    ["a charge", { security_key: KEY }, "400 100"],
    ["a charge", { amt_tran: undefined }, "400 104"],
    ["a charge", { amt_tran: "12.34" }, "400 100"],
    ["a charge", { amt_tran: 12.345 }, "400 104"],
    ["a charge", { amt_tran: 0 }, "400 104"],
    ["a charge", { tran_currency: "840" }, "400 100"],
    ["a charge", { tran_currency: 999 }, "400 100"],
    ["a charge", { tran_currency: 392 }, "400 104"],
    ["a charge", { card_number: undefined }, "400 103"],
    ["a charge", { card_number: "4111111111111112" }, "400 108"],
    ["a charge", { card_number: "4111 1111 1111 1111" }, "400 108"],
    ["a charge", { card_number: 4_111_111_111_111_111 }, /^400 10[08]$/],
    ["a charge", { exp_date: undefined }, "400 107"],
    ["a charge", { exp_date: "1330" }, "400 107"],
    ["a charge", { exp_date: "10/30" }, "400 107"],
    ["a charge", { exp_date: "1020" }, "402 054"],
    ["a charge", { cvv2: "12345" }, "400 109"],
    ["a charge", { cvv2: "" }, "400 109"],
    ["a charge", { cardholder_name: "x".repeat(65) }, "400 109"],
    ["a charge", { avs_address: "123 Main Street North" }, "400 109"],
    ["a charge", { avs_zip: undefined }, "400 106"],
    ["a charge", { avs_zip: "94402-1234" }, "400 106"],
    ["a charge", { moto_ecomm_ind: "4" }, "400 100"],
    ["a charge", { moto_ecomm_ind: 1 }, "400 100"],
    ["a charge", { purchase_id: SESSION }, "400 109"],
    ["a charge", { merch_ref_num: "x".repeat(129) }, "400 109"],
    ["a charge", { customer_code: "x".repeat(18) }, "400 109"],
    ["a charge", { developer_id: "x".repeat(33) }, "400 109"],
    ["a charge", { duplicate_seconds: "300" }, "400 100"],
    ["a charge", { duplicate_seconds: 100_000 }, "400 100"],
    ["a charge", { loc_id: "00001" }, "400 109"],
    ["a charge", { profile_id: "2120000" }, "400 109"],
    ["a charge", { tokenize: "true" }, "400 100"],
    ["a charge", { customer: { customer_first_name: "Ada" } }, "400 100"],
    ["a charge", { dba_name: "Shop" }, "400 110"],
    ["a charge", { report_data: [] }, "400 100"],
    ["a charge", { card_number: "4000000000000127" }, "402 0N7"],
    ["a charge for a customer's card", { card_id: "86e1b00d9b0811e68df3069d8f743581" }, "400 103"],
    ["a hold", { amt_tran: -1 }, "400 104"],
    ["a verification", { amt_tran: 0 }, "400 100"],
    ["a verification", { purchase_id: "1" }, "400 100"],
    ["a verification", { duplicate_seconds: 300 }, "400 100"],
    ["a verification", { card_number: "4000000000009995" }, "402 051"],
    ["a store", { moto_ecomm_ind: "1" }, "400 100"],
    ["a store", { merch_ref_num: SESSION }, "400 100"],
    ["a store", { card_number: undefined }, "400 108"],
    ["a verification", { avs_zip: "K1A0B1" }, "400 106"],
    ["a store", { avs_zip: "K1A0B1" }, "400 106"],
    ["a store", { single_use: "no" }, "400 100"],
    ["a capture", { amt_tran: 12.35 }, "409 403"],
    ["a capture", { path: "/pg/capture/d24ac6189b0b11e6966ca68d5edbef41" }, "400 102"],
    ["a void", { amt_tran: 12.34 }, "400 100"],
    ["a void", { path: "/pg/void/d24ac6189b0b11e6966ca68d5edbef41" }, "400 102"],
    ["an expiry of a token", { card_id: "86e1b00d9b0811e68df3069d8f743581" }, "400 103"],
    ["a report", { "query:count": "101" }, /^400 Bad Request/],
    ["a report", { "query:filter": "purchase_id=1" }, /^400 Bad Request/],
    ["a report", { "header:Authorization": basicOf("NOREPORTS1234") }, "403 Not permitted"],
    ["a look-up", { path: "/platform/reporting/transactions/bypgid/none" }, "404 Invalid PG Identifier"],
  ],
};
