import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { EMEA, HOLD, NA, follow, sale, sign, signatureOf, tokenSale, tokenize, withCard } from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
  send = (sent) => senderTo(simulators, "fiserv")(sign(sent));
});
after(() => simulators.close());

const ledger = async () =>
  ((await (await fetch(`${simulators.url}/_ledger/fiserv`)).json()) as { entries: { kind: string; reference: string; card: string }[] })
    .entries;
const found = async (reference: string) => send({ at: `GET ${NA}/payments/${reference}?storeId=12345500000` });

describe("the Fiserv simulator keeps to what Fiserv does", () => {
  test("a request is signed as in the sheet's worked example, in either encoding and in no other", async () => {
    const [id, time] = ["30dd879c-ee2f-41db-8314-0800200c9a66", "1764000000000"];
    const body =
      '{"requestType":"PaymentCardSaleTransaction","merchantTransactionId":"3f6c0a5e-9b1d-4c7a-8e21-5d0f7b6a1c22","transactionOrigin":"MOTO","transactionAmount":{"total":"49.95","currency":"USD"},"order":{"orderId":"3f6c0a5e-9b1d-4c7a-8e21-5d0f7b6a1c22"},"paymentMethod":{"paymentCard":{"number":"4111111111111111","securityCode":"123","expiryDate":{"month":"03","year":"30"}}}}';
    assert.equal(signatureOf(id, time, body), "SB9pQEUiy9UX/jdiTY5hvKuu7ZIA5IOPAd4FfvqbEKw=");
    assert.equal(signatureOf(id, time, ""), "+809pWifPKsdgJ5yZpdKuc8ekwY3+0GuV4tupjfxNYI=");
    const raw = senderTo(simulators, "fiserv");
    assert.equal((await raw(sign(sale()))).status, 200);
    assert.equal((await raw(sign(sale(), { isHex: true }))).status, 200);
    assert.equal((await raw(sign(sale(), { secret: "another" }))).status, 401);
  });

  test("a sale is captured, in both regions, and found by our id, by the gateway's and by its order", async () => {
    for (const base of [NA, EMEA]) {
      const reference = randomUUID();
      const { status, json } = await send(sale({}, { base, reference }));
      assert.deepEqual([status, json.transactionResult, json.transactionState], [200, "APPROVED", "CAPTURED"]);
      assert.deepEqual([json.approvedAmount.total, json.processor.responseCode, json.orderId], [49.95, "00", reference]);
      const last = (await ledger()).at(-1);
      assert.deepEqual([last?.kind, last?.reference, last?.card], ["charge", reference, "************1111"]);
      for (const id of [reference, json.ipgTransactionId as string])
        assert.equal((await found(id)).json.ipgTransactionId, json.ipgTransactionId);
      const order = (await send({ at: `GET ${base}/orders/${reference}` })).json;
      assert.deepEqual([order.transactions.length, order.transactions[0].ipgTransactionId], [1, json.ipgTransactionId]);
    }
  });

  test("a used order is refused as 5003, a used Client-Request-Id before that, and neither charges again", async () => {
    const reference = randomUUID();
    const signed = sign(sale({}, { reference }));
    assert.equal((await send(signed)).status, 200);
    assert.equal((await senderTo(simulators, "fiserv")(signed)).status, 401);
    const again = await send(sale({}, { reference }));
    assert.deepEqual([again.status, again.json.responseType, again.json.error.code], [409, "GatewayDeclined", "5003"]);
    assert.equal(again.json.approvalCode, "N:-5003:The order already exists in the database.");
    assert.equal((await ledger()).filter((entry) => entry.kind === "charge" && entry.reference === reference).length, 1);
  });

  test("an issuer's decline is a transaction with status 422 that can be found", async () => {
    const { status, json } = await send(sale(withCard("4000000000009995")));
    assert.deepEqual([status, json.responseType, json.transactionResult], [422, "EndpointDeclined", "DECLINED"]);
    assert.equal(json.approvalCode, "N:51:Insufficient funds");
    assert.equal((await found(json.merchantTransactionId as string)).json.transactionState, "DECLINED");
  });

  test("a stored card is charged by its token until that is deleted; an unverified one asks no issuer", async () => {
    const { json } = await send(tokenize());
    assert.deepEqual([json.requestStatus, json.paymentToken.last4, json.processor.responseCode], ["SUCCESS", "1111", "00"]);
    const value = json.paymentToken.value as string;
    const paid = (await send(tokenSale(value))).json;
    assert.deepEqual([paid.transactionState, paid.transactionOrigin], ["CAPTURED", "ECOM"]);
    assert.equal((await send({ at: `DELETE ${NA}/payment-tokens/${value}?storeId=12345500000` })).status, 200);
    assert.equal((await send(tokenSale(value))).json.error.code, "5433");
    const { paymentCard } = tokenize().body as { paymentCard: object };
    const dead = { paymentCard: { ...paymentCard, number: "4000000000000002" } };
    assert.equal((await send(tokenize(dead))).json.requestStatus, "DECLINED");
    assert.equal((await send(tokenize({ ...dead, accountVerification: false }))).json.requestStatus, "SUCCESS");
  });

  test("a hold is captured or voided, a sale voided before the batch closes and returned after", async () => {
    const whole = { transactionAmount: { total: 49.95, currency: "USD" } };
    assert.equal((await send(await follow(send, "PostAuthTransaction", whole, HOLD))).json.transactionState, "CAPTURED");
    assert.equal((await send(await follow(send, "VoidPreAuthTransactions", {}, HOLD))).json.transactionState, "VOIDED");
    const reference = randomUUID();
    const reversal = await follow(send, "VoidTransaction", {}, { merchantTransactionId: reference });
    assert.equal((await send(reversal)).status, 200);
    assert.equal((await found(reference)).json.transactionState, "VOIDED");
    assert.equal((await send(reversal)).status, 409);
    const late = await follow(send, "VoidTransaction");
    await fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "fiserv", kind: "settle" }) });
    assert.equal((await send(late)).status, 409);
    const back = { ...late, body: { requestType: "ReturnTransaction", ...whole } };
    assert.equal((await send(back)).json.transactionType, "RETURN");
  });
});
