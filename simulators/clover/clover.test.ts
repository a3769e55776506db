import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { ask, charge, customer, post, storedCharge, token } from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
  send = senderTo(simulators, "clover");
});
after(() => simulators.close());

const ledger = async () =>
  ((await (await fetch(`${simulators.url}/_ledger/clover`)).json()) as { entries: { kind: string; reference: string; id: string }[] })
    .entries;

describe("the Clover simulator keeps to what Clover does", () => {
  test("the sheet's worked example is a token and then a charge under the reference of twelve characters", async () => {
    const made = (await send(token())).json;
    assert.match(made.id as string, /^clv_1TST/);
    assert.deepEqual([made.object, made.card.brand, made.card.last4, made.card.address_zip], ["token", "VISA", "4242", "94085"]);
    const { status, json } = await send(await charge(send));
    assert.deepEqual(
      [status, json.status, json.paid, json.captured, json.amount, json.currency, json.ecomind, json.external_reference_id],
      [200, "succeeded", true, true, 1234, "usd", "moto", "9f1c2b7e5d6a"],
    );
    assert.match(json.id as string, /^[A-Z]{13}$/);
    assert.deepEqual([json.source.address_zip_check, json.source.cvc_check], ["pass", "pass"]);
    const last = (await ledger()).at(-1);
    assert.deepEqual([last?.kind, last?.id, last?.reference], ["charge", json.id, "9f1c2b7e5d6a"]);
  });

  test("a decline is status 402 with the failed charge's id, which can be read, and its token is spent", async () => {
    const sent = await charge(send, {}, "4000000000009995");
    const { status, json } = await send(sent);
    assert.deepEqual(
      [status, json.error.type, json.error.code, json.error.decline_code],
      [402, "card_error", "card_declined", "issuer_declined"],
    );
    const found = (await send(ask(`/v1/charges/${json.error.charge}`))).json;
    assert.deepEqual([found.status, found.paid, found.failure_code], ["failed", false, "card_declined"]);
    const again = post("/v1/charges", sent.body as object);
    assert.equal((await send(again)).json.error.code, "token_already_used");
    assert.equal((await send(await charge(send, {}, "4005578003333335"))).status, 402);
  });

  test("a repeated idempotency key gives the first answer and charges once, a decline too", async () => {
    const before = (await ledger()).length;
    for (const number of ["4242424242424242", "4000000000000002"]) {
      const sent = await charge(send, {}, number);
      const [first, again] = [await send(sent), await send(sent)];
      assert.deepEqual([again.status, again.json], [first.status, first.json]);
    }
    assert.equal((await ledger()).length, before + 2);
  });

  test("a customer keeps the card without asking the issuer, and is charged until its source goes", async () => {
    const { json } = await send(
      await customer(send, {
        email: "s-1@customers.example.com",
        source: (await send(token({ number: "4000000000000002", brand: undefined, first6: undefined, last4: undefined }))).json.id,
      }),
    );
    assert.deepEqual([json.object, json.sources.data.length, json.name], ["customer", 1, "Ada Lovelace"]);
    assert.equal((await ledger()).at(-1)?.reference, "s-1");
    const later = await storedCharge(send);
    const charged = (await send(later)).json;
    assert.deepEqual([charged.status, charged.customer], ["succeeded", (later.body as { source: string }).source]);
    assert.equal((await send(ask(`/v1/charges?customer=${charged.customer}`))).json.data.length, 1);
    const same = post(`/v1/customers/${charged.customer}`, { source: (await send(token())).json.id }, "PUT");
    assert.equal((await send(same)).status, 409);
    assert.equal((await send(ask(`/v1/customers/${json.id}/sources/${json.sources.data[0]}`, "DELETE"))).status, 200);
    assert.equal(
      (await send(post("/v1/charges", { amount: 1, currency: "usd", source: json.id }))).json.error.code,
      "card_on_file_missing",
    );
  });

  test("the list is newest first, bounded by created and paged by starting_after", async () => {
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) ids.unshift((await send(await charge(send))).json.id as string);
    const first = (await send(ask("/v1/charges?limit=2"))).json;
    const idsOf = (page: { data: { id: string }[] }) => page.data.map(({ id }) => id);
    assert.deepEqual([idsOf(first), first.has_more, first.object], [ids.slice(0, 2), true, "list"]);
    assert.equal(idsOf((await send(ask(`/v1/charges?limit=1&starting_after=${ids[1]}`))).json)[0], ids[2]);
    const created = first.data[0].created as number;
    assert.deepEqual(idsOf((await send(ask(`/v1/charges?created.gte=${created + 60_000}`))).json), []);
  });

  test("a whole refund before settlement is a void, later and in parts a refund; a hold is captured or released", async () => {
    const made = async (more: object = {}) => (await send(await charge(send, more))).json.id as string;
    const refund = async (charge: string, more: object = {}) => (await send(post("/v1/refunds", { charge, ...more }))).status;
    const [whole, part, hold] = [await made(), await made(), await made({ capture: false })];
    assert.deepEqual(
      [await refund(whole), await refund(part, { amount: 1000 }), await refund(part), await refund(part)],
      [200, 200, 200, 400],
    );
    assert.equal((await send(post(`/v1/charges/${hold}/capture`))).json.captured, true);
    const settled = await made();
    await fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "clover", kind: "settle" }) });
    assert.equal(await refund(settled), 200);
    const kinds = (await ledger()).slice(-7).map(({ kind }) => kind);
    assert.deepEqual(kinds, ["void", "refund", "refund", "refused", "capture", "charge", "refund"]);
    assert.equal((await send(ask(`/v1/charges/${settled}`))).json.amount_refunded, 1234);
  });
});
