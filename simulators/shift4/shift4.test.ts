import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { basicOf, senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { CHARGE, ask, charge, customer, post, storedCharge, withCard } from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
let key = 0;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
beforeEach(() => {
  // An account of its own for each test, so that lists hold its charges alone.
  const Authorization = basicOf(`sk_test_${++key}`);
  send = (sent) => senderTo(simulators, "shift4")({ ...sent, headers: { ...sent.headers, Authorization } });
});
after(() => simulators.close());

const ledger = async () =>
  ((await (await fetch(`${simulators.url}/_ledger/shift4`)).json()) as { entries: { kind: string; reference: string; id: string }[] })
    .entries;

describe("the Shift4 simulator keeps to what Shift4 does", () => {
  test("the sheet's worked example is charged, and the ledger has the session's id as its reference", async () => {
    assert.equal(basicOf("pr_test_EXAMPLE"), "Basic cHJfdGVzdF9FWEFNUExFOg==");
    const { status, json } = await send(charge());
    assert.deepEqual([status, json.status, json.captured, json.amount, json.currency], [200, "successful", true, 4995, "USD"]);
    assert.deepEqual([json.card.brand, json.card.last4, json.card.expMonth, json.avsCheck.result], ["Visa", "1111", "3", "full_match"]);
    assert.match(json.id as string, /^char_/);
    const last = (await ledger()).at(-1);
    assert.deepEqual([last?.kind, last?.id, last?.reference], ["charge", json.id, CHARGE.metadata.sessionId]);
  });

  test("a decline is a failed charge that can be read, with the network's code where the issuer gave one", async () => {
    const { status, json } = await send(charge(withCard("4916018475814056")));
    const { chargeId, ...error } = json.error;
    const message = "The card was declined.";
    assert.deepEqual([status, error], [402, { type: "card_error", code: "card_declined", message, issuerDeclineCode: "05" }]);
    const found = (await send(ask(`/charges/${chargeId}`))).json;
    assert.deepEqual([found.status, found.failureCode, found.failureIssuerDeclineCode], ["failed", "card_declined", "05"]);
    const plain = await send(charge(withCard("4000000000000002")));
    assert.equal(plain.json.error.issuerDeclineCode, undefined);
  });

  test("a card that every charge declines is stored all the same; a stored one is charged without its code, until its customer goes", async () => {
    for (const number of ["4024007118468684", "4000000000000069", "4000000000000127"]) {
      const { status, json } = await send(customer(withCard(number)));
      assert.equal(status, 200);
      const held = post("/charges", { amount: 100, currency: "USD", customerId: json.id, card: json.defaultCardId, captured: false });
      assert.equal((await send(held)).status, 402);
    }
    const later = await storedCharge(send);
    const { json } = await send(later);
    assert.deepEqual([json.status, json.customerId], ["successful", (later.body as { customerId: string }).customerId]);
    assert.equal((await send(ask(`/customers/${json.customerId}`, "DELETE"))).status, 200);
    assert.equal((await send({ ...later, headers: {} })).status, 404);
  });

  test("a repeated idempotency key gives the first answer, a decline too", async () => {
    for (const sent of [charge(), charge(withCard("4024007114621187")), customer()]) {
      const [first, again] = [await send(sent), await send(sent)];
      assert.deepEqual(again.json, first.json);
      assert.equal(again.status, first.status);
    }
    assert.equal((await send(ask("/charges"))).json.list.length, 2);
  });

  test("the list is newest first, paged by startingAfterId, bounded by created[gte]", async () => {
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) ids.unshift((await send(charge())).json.id as string);
    const idsOf = ({ json }: { json: { list: { id: string }[] } }) => json.list.map(({ id }) => id);
    const first = await send(ask("/charges?limit=2"));
    assert.deepEqual([idsOf(first), first.json.hasMore], [ids.slice(0, 2), true]);
    const second = await send(ask(`/charges?limit=2&startingAfterId=${ids[1]}`));
    assert.deepEqual([idsOf(second), second.json.hasMore], [ids.slice(2), false]);
    const created = first.json.list[0].created as number;
    assert.deepEqual(idsOf(await send(ask(`/charges?created[gte]=${created + 60}`))), []);
    assert.deepEqual(idsOf(await send(ask(`/charges?created[gte]=${created - 60}&limit=100`))), ids);
    assert.equal(first.json.list[0].metadata.sessionId, CHARGE.metadata.sessionId);
  });

  test("a hold is captured or released, a charge is refunded in parts, each on either path", async () => {
    const hold = async () => (await send(charge({ captured: false }))).json.id as string;
    const captured = (await send(post(`/charges/${await hold()}/capture`))).json;
    assert.deepEqual([captured.captured, captured.amount], [true, 4995]);
    const released = (await send(post(`/charges/${await hold()}/refund`))).json;
    assert.deepEqual([released.captured, released.refunded], [false, true]);
    const part = (await send(post("/refunds", { chargeId: captured.id, amount: 1000 }))).json;
    assert.deepEqual([part.charge, part.amount, part.status], [captured.id, 1000, "successful"]);
    const left = (await send(ask(`/charges/${captured.id}`))).json;
    assert.deepEqual([left.amount, left.amountRefunded, left.refunded, left.refunds], [3995, 1000, true, [part]]);
    const tooMuch = await send(post("/refunds", { chargeId: captured.id, amount: 4995 }));
    assert.deepEqual([tooMuch.status, tooMuch.json.error.message], [400, "Invalid Refund data"]);
    const rest = (await send(post(`/charges/${captured.id}/refund`))).json;
    assert.deepEqual([rest.amount, rest.amountRefunded, rest.refunded, rest.refunds.length], [0, 4995, true, 2]);
    assert.equal((await send(post(`/charges/${captured.id}/refund`))).status, 400);
    assert.deepEqual(
      (await ledger()).slice(-9).map(({ kind }) => kind),
      ["authorization", "capture", "authorization", "void", "refund", "look-up", "refused", "refund", "refused"],
    );
  });
});
