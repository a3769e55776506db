import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { METHOD, SALE, request, tokenRequest } from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
  send = senderTo(simulators, "globalpayments");
});
after(() => simulators.close());

const transactions = "POST /ucp/transactions";
const sell = async (more: object = {}) => send(await request(send, transactions, { ...SALE, ...more }));
const withCard = (number: string, more: object = {}) => ({
  payment_method: { ...SALE.payment_method, card: { ...SALE.payment_method.card, number, ...more } },
});
const arm = (fault: object) =>
  fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "globalpayments", ...fault }) });

describe("the Global Payments simulator keeps to what GP-API does", () => {
  test("the sheet's worked example gets a token with both accounts", async () => {
    const secret =
      "b720a3739b5e61bafe7e75aeb0cd5beffe85ded901029739e16a91b581e6e484c228aec46f60804bad61867f060930d11be0022b5a08900c7ef56c1a63b93cad";
    const { json } = await send(tokenRequest({ nonce: "2026-01-15T10:30:00.000Z", secret }));
    assert.equal(json.seconds_to_expire, 3599);
    assert.deepEqual(
      (json.scope.accounts as { id: string }[]).map(({ id }) => id.slice(0, 4)),
      ["TRA_", "TKA_"],
    );
  });

  test("a key that was seen names the first transaction, whatever the second request is", async () => {
    const sent = await request(send, transactions, SALE);
    const { json: first } = await send(sent);
    const again = await send({ ...sent, body: { ...SALE, amount: "9999" } });
    assert.deepEqual(
      [again.status, again.json.detailed_error_description],
      [409, `Idempotency Key seen before: id=${first.id}, status=CAPTURED`],
    );
    const headers = sent.headers ?? {};
    assert.deepEqual((await send({ at: `GET /ucp/transactions/${first.id}`, headers })).json, first);
  });

  test("an ended token is refused before anything is done", async () => {
    await arm({ kind: "expire_tokens", path: "/ucp/transactions" });
    assert.equal((await sell()).json.error_code, "NOT_AUTHENTICATED");
  });

  test("a decline has status 200 and its result, a verification says NOT_VERIFIED", async () => {
    const declined = await sell(withCard("4000120000001154"));
    assert.deepEqual([declined.status, declined.json.status, declined.json.payment_method.result], [200, "DECLINED", "101"]);
    const { type: _type, capture_mode: _mode, amount: _amount, ...check } = { ...SALE, ...withCard("4000000000009995") };
    assert.equal((await send(await request(send, "POST /ucp/verifications", check))).json.status, "NOT_VERIFIED");
  });

  test("the vendor's cards tell how code, postal code and address fare", async () => {
    const { json } = await sell(withCard("5167304376624205", { avs_address: "1 Main St" }));
    const { cvv_result, avs_postal_code_result, avs_address_result } = json.payment_method.card;
    assert.deepEqual([cvv_result, avs_postal_code_result, avs_address_result], ["MATCHED", "NOT_MATCHED", "NOT_MATCHED"]);
  });

  test("a hold is captured, a sale reversed before the batch closes and refunded after", async () => {
    const held = (await sell({ capture_mode: "LATER" })).json as { id: string; status: string };
    assert.equal(held.status, "PREAUTHORIZED");
    const follow = async (id: string, action: string) => send(await request(send, `${transactions}/${id}/${action}`));
    assert.equal((await follow(held.id, "capture")).json.status, "CAPTURED");
    assert.equal((await follow(held.id, "refund")).json.detailed_error_code, "40044");
    await arm({ kind: "settle" });
    assert.equal((await follow(held.id, "reversal")).json.detailed_error_code, "40044");
    assert.equal((await follow(held.id, "refund")).json.type, "REFUND");
    const { id } = (await sell()).json as { id: string };
    assert.equal((await follow(id, "reversal")).json.status, "REVERSED");
  });

  test("a report finds by reference, unless a lag was ordered", async () => {
    await sell({ reference: "reference-1" });
    const ask = async () => (await send(await request(send, "GET /ucp/transactions?reference=reference-1"))).json.transactions as object[];
    await arm({ kind: "lookup_lag", containing: "reference-1" });
    assert.deepEqual([(await ask()).length, (await ask()).length], [0, 1]);
  });

  test("a stored card pays again, by itself or from a sale that kept it", async () => {
    const { id } = (await send(await request(send, "POST /ucp/payment-methods", METHOD))).json as { id: string };
    assert.equal((await sell({ payment_method: { entry_mode: "ECOM", id } })).json.status, "CAPTURED");
    const kept = await sell({ payment_method: { ...SALE.payment_method, storage_mode: "ON_SUCCESS" } });
    assert.equal((await sell({ payment_method: { entry_mode: "ECOM", id: kept.json.payment_method.id } })).json.status, "CAPTURED");
  });
});
