import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { SALE, authorization, follow, sale } from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
  send = senderTo(simulators, "usaepay");
});
after(() => simulators.close());

const withCard = (number: string) => ({ creditcard: { ...SALE.creditcard, number } });
const arm = (fault: object) =>
  fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "usaepay", ...fault }) });
const list = async () => (await send({ at: "GET /api/v2/transactions?limit=2", headers: authorization() })).json;

describe("the USAePay simulator keeps to what USAePay does", () => {
  test("the sheet's worked example of a header is accepted", () => {
    assert.equal(
      authorization()["Authorization"],
      "Basic X0V4YW1wbGVLZXlBQUFBQkJCQkNDQ0NEREREMTIzNDU6czIvazNwOXEycjdzMXQ1djh3MC82MzViZTg3MDI3MDQxOTgzYzFiMDAyNTU1M2YyYWMwODFhYzQ2NTI4OWJlOTkxNWY3ZTQ1NDk1YmVhODg0ZTg3",
    );
  });

  test("a decline has a key, a reference number and a code as text", async () => {
    const { json } = await send(sale(withCard("4000300611112224")));
    assert.deepEqual([json.result_code, json.error_code, json.authcode], ["D", "10251", "000000"]);
    assert.match(json.refnum as string, /^\d{10}$/);
  });

  test("the vendor's cards tell address and code checks", async () => {
    const avs = (await send(sale(withCard("4000100511112229")))).json.avs.result_code;
    const cvc = (await send(sale(withCard("4000200211112220")))).json.cvc.result_code;
    assert.deepEqual([avs, cvc], ["NNN", "P"]);
  });

  test("duplicates fold only where the key says so", async () => {
    assert.notEqual((await send(sale())).json.refnum, (await send(sale())).json.refnum);
    const folding = { ...sale(), headers: authorization({ key: "foldKeyAAAABBBBCCCC" }) };
    const [first, again] = [await send(folding), await send(folding)];
    assert.deepEqual(again.json, { ...first.json, is_duplicate: "Y" });
  });

  test("a part is approved only where that was asked for", async () => {
    const part = await send(sale({ ...withCard("4000000011112275"), amount_detail: { enable_partialauth: true } }));
    assert.deepEqual([part.json.result_code, part.json.auth_amount], ["P", "6.25"]);
    assert.equal((await send(sale(withCard("4000000011112275")))).json.result_code, "D");
  });

  test("the list is newest first and shows our order id, unless a lag was ordered", async () => {
    await send(sale({ orderid: "one" }));
    await send(sale({ orderid: "two" }));
    await arm({ kind: "lookup_lag" });
    assert.deepEqual((await list()).data, []);
    assert.deepEqual(
      ((await list()).data as { orderid: string }[]).map(({ orderid }) => orderid),
      ["two", "one"],
    );
  });

  test("a payment is voided while the batch is open, refunded after", async () => {
    const { refnum } = (await send(sale())).json as { refnum: string };
    assert.equal((await send(await follow(send, "refund", { refnum }))).json.error_code, "10128");
    await arm({ kind: "settle" });
    assert.equal((await send(await follow(send, "void", { refnum }))).json.error_code, "10128");
    assert.equal((await send(await follow(send, "refund", { refnum }))).json.result, "Approved");
    assert.equal((await send(await follow(send, "cc:void:release"))).json.result, "Approved");
  });

  test("a verification of 0.00 is released once, and its card stays", async () => {
    const check = { command: "authonly", amount: "0.00", save_card: true };
    const { refnum, savedcard } = (await send(sale(check))).json;
    const release = await follow(send, "cc:void:release", { refnum });
    assert.deepEqual((await send(release)).json.result_code, "A");
    assert.equal((await send(release)).json.error_code, "10128");
    assert.equal((await send(sale({ creditcard: { number: savedcard.key } }))).json.result_code, "A");
    const unsaved = await follow(send, "cc:void:release", {}, { ...check, save_card: false });
    assert.equal((await send(unsaved)).json.result_code, "A");
  });

  test("a card that was saved with a sale, or taken from one, is charged by its key", async () => {
    const saved = (await send(sale({ save_card: true }))).json as { key: string; savedcard: { key: string } };
    const { at, headers = {} } = sale();
    const made = await send({ at: at.replace("transactions", "tokens"), headers, body: { trankey: saved.key } });
    for (const number of [saved.savedcard.key, saved.savedcard.key.replaceAll("-", ""), made.json.token.cardref as string])
      assert.equal((await send(sale({ creditcard: { number } }))).json.result_code, "A");
  });
});
