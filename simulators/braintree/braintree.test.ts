import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { charged, vaulted } from "./wrong-requests.ts";

let simulators: Simulators;
const send: Send = (sent) => senderTo(simulators, "braintree")(sent);
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

const statusOf = async (transaction: object, card: object = {}) =>
  (await send(await charged(send, transaction, card))).json.data.chargeCreditCard.transaction.status as string;

test("amounts decide, and a decline is a transaction without errors", async () => {
  assert.equal(await statusOf({ amount: "1000.00" }), "SUBMITTED_FOR_SETTLEMENT");
  assert.equal(await statusOf({ amount: "2001.00" }), "PROCESSOR_DECLINED");
  assert.equal(await statusOf({ amount: "3000.00" }), "FAILED");
  assert.equal(await statusOf({ amount: "5001.00" }), "GATEWAY_REJECTED");
  assert.equal(await statusOf({}, { number: "4000111111111511" }), "GATEWAY_REJECTED");
});

test("a single-use id pays once, and the same order, sum and card within half a minute is a duplicate", async () => {
  const first = await charged(send, { orderId: "order-7" });
  assert.equal((await send(first)).json.errors, undefined);
  assert.equal((await send(first)).json.errors[0].extensions.legacyCode, "91564");
  const again = (await send(await charged(send, { orderId: "order-7" }))).json.data.chargeCreditCard.transaction;
  assert.equal(again.status, "GATEWAY_REJECTED");
  assert.equal(again.statusHistory.at(-1).duplicateOf.orderId, "order-7");
});

test("a stored card is charged by its id, and a refused one is not stored", async () => {
  const { paymentMethod } = (await send(await vaulted(send))).json.data.vaultCreditCard;
  const charge = await charged(send);
  const input = { paymentMethodId: paymentMethod.id, transaction: { amount: "25.00", paymentInitiator: "UNSCHEDULED" } };
  const later = await send({ ...charge, body: { ...(charge.body as object), variables: { input } } });
  assert.equal(later.json.data.chargeCreditCard.transaction.status, "SUBMITTED_FOR_SETTLEMENT");
  const refused = (await send(await vaulted(send, { number: "4000111111111115" }))).json.data.vaultCreditCard;
  assert.deepEqual([refused.paymentMethod, refused.verification.status], [null, "PROCESSOR_DECLINED"]);
});

test("a refused operation is null in its place, wrong keys leave no data at all", async () => {
  const first = await charged(send, { orderId: "order-8" });
  await send(first);
  const refused = (await send(first)).json;
  assert.deepEqual([refused.data, refused.errors[0].path], [{ chargeCreditCard: null }, ["chargeCreditCard"]]);
  const wrong = (await send({ ...first, headers: { ...first.headers, Authorization: "Basic eDp3cm9uZw==" } })).json;
  assert.deepEqual([wrong.data, wrong.errors[0].path], [null, undefined]);
});
