import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { ask, idOf, instrument, payment, post, storedPayment, verification } from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
  send = senderTo(simulators, "checkoutcom");
});
after(() => simulators.close());

describe("the Checkout.com simulator keeps to what Checkout.com does", () => {
  test("the sheet's worked example is authorized at once and captured when it is looked up, without a token where none is wanted", async () => {
    const { status, json, headers } = await send(payment());
    assert.deepEqual([status, json.approved, json.status, json.response_code, json.amount], [201, true, "Authorized", "10000", 1234]);
    assert.deepEqual([json.source.scheme, json.source.last4, json.source.avs_check, json.source.cvv_check], ["Visa", "4242", "Z", "Y"]);
    assert.equal(json.source.id, undefined);
    assert.match(json.id as string, /^pay_[a-z]{26}$/);
    assert.ok(headers["cko-request-id"]);
    assert.equal((await send(ask(`/payments/${json.id}`))).json.status, "Captured");
    assert.match((await send(payment({}, { store_for_future_use: undefined }))).json.source.id as string, /^src_/);
  });

  test("a decline is status 201 without a token, its code later in the actions alone", async () => {
    const { status, json } = await send(verification({}, { number: "4024007181869214" }));
    assert.deepEqual([status, json.approved, json.status, json.response_code], [201, false, "Declined", "20005"]);
    assert.deepEqual([json.auth_code, json.source.id], ["000000", undefined]);
    const found = (await send(ask(`/payments/${json.id}`))).json;
    assert.deepEqual([found.response_code, found.actions[0].response_code, found.approved], [undefined, "20005", false]);
    assert.equal((await send(ask(`/payments/${json.id}/actions`))).json[0].response_code, "20005");
  });

  test("a repeated key gives the first answer of the 200s, a decline too, and forgets what was refused", async () => {
    for (const sent of [payment(), payment({}, { number: "4000000000000002" })]) {
      const [first, again] = [await send(sent), await send(sent)];
      assert.deepEqual(again.json, first.json);
    }
    const refused = payment({ currency: "usd" });
    assert.equal((await send(refused)).status, 422);
    assert.equal((await send({ ...refused, body: payment().body ?? "" })).status, 201);
  });

  test("the look-up by reference finds every payment of that reference", async () => {
    const reference = "reference-of-two/1";
    const ids = [await idOf(send, payment({ reference })), await idOf(send, payment({ reference }))];
    const { json } = await send(ask(`/payments?reference=${encodeURIComponent(reference)}&limit=10&skip=0`));
    assert.equal(json.total_count, 2);
    assert.deepEqual((json.data as { id: string }[]).map(({ id }) => id).toSorted(), ids.toSorted());
    assert.deepEqual((await send(ask("/payments?reference=none"))).json.data, []);
  });

  test("a verified card is charged by its token until the instrument is deleted", async () => {
    const { json } = await send(verification());
    assert.deepEqual([json.status, json.amount, json.source.id.slice(0, 4)], ["Card Verified", 0, "src_"]);
    const later = await storedPayment(send);
    assert.equal((await send(later)).json.approved, true);
    const { id } = (later.body as { source: { id: string } }).source;
    assert.equal((await send(ask(`/instruments/${id}`, "DELETE"))).status, 204);
    const gone = await storedPayment(send, { source: { type: "id", id } });
    assert.equal((await send(gone)).json.error_codes[0], "source_id_invalid");
  });

  test("a card's token of the public key makes one instrument", async () => {
    const sent = await instrument(send);
    assert.match((await send(sent)).json.id as string, /^src_/);
    assert.equal((await send(sent)).json.error_codes[0], "token_invalid");
  });

  test("a reversal voids a hold, refunds a sale, and has nothing to say the second time; a void comes too late for a sale", async () => {
    const statusOf = async (id: string) => (await send(ask(`/payments/${id}`))).json.status as string;
    for (const [capture, status] of [
      [false, "Voided"],
      [true, "Refunded"],
    ] as const) {
      const id = await idOf(send, payment({ capture }));
      if (capture) assert.equal((await send(post(`/payments/${id}/voids`))).status, 422);
      assert.equal((await send(post(`/payments/${id}/reversals`))).status, 202);
      assert.equal(await statusOf(id), status);
      const actions = (await send(ask(`/payments/${id}/actions`))).json as unknown as { type: string; response_code: string }[];
      const told = actions.map(({ type, response_code }) => `${type} ${response_code}`);
      assert.deepEqual(told, [`${capture ? "Refund" : "Void"} 10000`, "Authorization 10000"]);
      assert.equal((await send(post(`/payments/${id}/reversals`))).status, 204);
    }
    const id = await idOf(send, payment());
    assert.equal((await send(post(`/payments/${id}/refunds`, { amount: 1000 }))).status, 202);
    assert.equal(await statusOf(id), "Partially Refunded");
  });

  test("a payment that asks for 3-D Secure waits for the shopper", async () => {
    const { status, json } = await send(payment({ "3ds": { enabled: true } }));
    assert.deepEqual([status, json.status, typeof json._links.redirect.href], [202, "Pending", "string"]);
  });
});
