import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { basicOf, senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { ask, idOf, post, purchase, reference, store, storedPurchase } from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
  send = senderTo(simulators, "fatzebra");
});
after(() => simulators.close());

const ledger = async () =>
  ((await (await fetch(`${simulators.url}/_ledger/fatzebra`)).json()) as { entries: { kind: string; reference: string; id: string }[] })
    .entries;

describe("the Fat Zebra simulator keeps to what Fat Zebra does", () => {
  test("the sheet's worked example is purchased and answered as it was recorded", async () => {
    assert.equal(basicOf("TEST", "TEST"), "Basic VEVTVDpURVNU");
    const sent = purchase();
    const { status, json, headers } = await send(sent);
    assert.deepEqual([status, json.successful, json.errors, json.test, headers["x-sandbox"]], [200, true, [], true, "true"]);
    const { response } = json;
    assert.match(response.id as string, /^071-P-[A-Z]{8}$/);
    const { successful, message, response_code, captured, captured_amount, amount, decimal_amount, card_number, card_type, card_expiry } =
      response;
    assert.deepEqual(
      { successful, message, response_code, captured, captured_amount, amount, decimal_amount, card_number, card_type, card_expiry },
      {
        successful: true,
        message: "Approved",
        response_code: "00",
        captured: true,
        captured_amount: 2500,
        amount: 2500,
        decimal_amount: 25,
        card_number: "512345XXXXXX2346",
        card_type: "MasterCard",
        card_expiry: "2060-09-30",
      },
    );
    assert.deepEqual([response.transaction_id, response.cvv_match, response.metadata.description], [response.id, "M", "Invoice 1001"]);
    const last = (await ledger()).at(-1);
    assert.deepEqual([last?.kind, last?.id, last?.reference], ["charge", response.id, (sent.body as { reference: string }).reference]);
  });

  test("a decline is status 200, successful outside and not inside, and is found by its reference", async () => {
    const sent = purchase({ card_number: "4557012345678902" });
    const { status, json } = await send(sent);
    const { successful, response_code, message, authorization, captured, settlement_date, cvv_match } = json.response;
    assert.deepEqual([status, json.successful, json.errors], [200, true, []]);
    assert.deepEqual(
      [successful, response_code, message, authorization, captured, settlement_date, cvv_match],
      [false, "05", "Declined", "0", false, null, "U"],
    );
    const found = await send(ask(`/purchases/${(sent.body as { reference: string }).reference}`));
    assert.deepEqual(found.json.response, json.response);
    assert.equal((await send(purchase({ card_number: "4000000000000127" }))).json.response.cvv_match, "N");
  });

  test("a used reference gives the same payment again and takes nothing, and refuses another one", async () => {
    const sent = purchase();
    const [first, again] = [await send(sent), await send(sent)];
    assert.equal(again.json.response.id, first.json.response.id);
    assert.equal((await ledger()).filter(({ id }) => id === first.json.response.id).length, 1);
    const other = await send({ ...sent, body: { ...(sent.body as object), amount: 1 } });
    assert.deepEqual([other.status, other.json.successful, other.json.response], [422, false, {}]);
  });

  test("a card is stored without asking the bank, and charged without its code and holder", async () => {
    const { json } = await send(store({ card_number: "4000000000000002", alias: "ps-1" }));
    assert.deepEqual([json.response.authorized, json.response.alias, json.response.card_type], [true, "ps-1", "VISA"]);
    assert.equal((await ledger()).at(-1)?.reference, "ps-1");
    const charged = (await send(await storedPurchase(send))).json.response;
    assert.deepEqual([charged.successful, charged.card_holder, charged.cvv_match], [true, "Jane Smith", "P"]);
    assert.equal((await send(await storedPurchase(send, { card_number: "4000000000000002" }))).json.response.response_code, "93");
    const recurring = purchase({ cvv: undefined, extra: { ecm: "32" } });
    assert.equal((await send(recurring)).json.response.successful, true);
    const kept = (await send(recurring)).json.response.card_token as string;
    assert.equal((await send(purchase({ card_token: kept }))).json.response.card_token, kept);
  });

  test("a purchase is voided before it is settled and refunded in parts afterwards; a hold is captured", async () => {
    const [one, other, hold] = [await idOf(send, purchase()), await idOf(send, purchase()), await idOf(send, purchase({ capture: false }))];
    assert.equal((await send(ask(`/purchases/${hold}`))).json.response.captured, false);
    assert.equal((await send(post(`/purchases/${hold}/capture`, { amount: 2500 }))).json.response.captured, true);
    const released = (await send(post(`/purchases/void?id=${one}`))).json.response;
    assert.deepEqual([released.successful, released.message, released.captured_amount], [true, "Voided", 0]);
    const gone = (await send(ask(`/purchases/${one}`))).json.response;
    assert.deepEqual(
      [gone.successful, gone.message, gone.response_code, gone.captured, gone.captured_amount],
      [false, "Voided", "00", true, 0],
    );
    await fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "fatzebra", kind: "settle" }) });
    const late = await send(post(`/purchases/void?id=${other}`));
    assert.deepEqual(
      [late.status, late.json.successful, late.json.response.successful, late.json.response.message],
      [422, true, false, "Not Voided"],
    );
    const refund = (amount: number) => send(post("/refunds", { transaction_id: other, amount, reference: reference() }));
    assert.deepEqual([(await refund(1000)).status, (await refund(1500)).status, (await refund(1)).status], [200, 200, 422]);
    const twice = { transaction_id: hold, amount: 100, reference: reference() };
    assert.deepEqual([(await send(post("/refunds", twice))).status, (await send(post("/refunds", twice))).status], [200, 422]);
  });

  test("a look-up does not see what is younger than the ordered lag", async () => {
    const id = await idOf(send, purchase());
    await fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "fatzebra", kind: "lookup_lag" }) });
    assert.equal((await send(ask(`/purchases/${id}`))).json.errors[0], "Could not find Purchase");
    assert.equal((await send(ask(`/purchases/${id}`))).json.response.id, id);
  });
});
