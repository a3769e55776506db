import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { change, check, idOf, keyed, later, listed, sign, store, storePrevious } from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
  send = (sent) => senderTo(simulators, "fortis")(sign(sent));
});
after(() => simulators.close());

const ledger = async () =>
  ((await (await fetch(`${simulators.url}/_ledger/fortis`)).json()) as { entries: { kind: string; reference: string; card: string }[] })
    .entries;
const arm = (fault: object) =>
  fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "fortis", ...fault }) });

describe("the Fortis simulator keeps to what Fortis does", () => {
  test("a sale is created as approved and found by our reference in either encoding of the filter", async () => {
    const { status, json } = await send(keyed());
    const { id, transaction_api_id: reference, ...data } = json.data;
    assert.deepEqual([status, json.type, data.status_code, data.reason_code_id, data.auth_amount], [201, "Transaction", 101, 1000, 2500]);
    assert.deepEqual([data.account_type, data.last_four, data.avs, data.avs_enhanced, data.cvv_response], ["mc", "5454", "GOOD", "Y", "M"]);
    assert.match(id as string, /^[0-9a-f]{24}$/);
    const last = (await ledger()).at(-1);
    assert.deepEqual([last?.kind, last?.reference, last?.card], ["charge", reference, "************5454"]);
    const found = (await send(listed(reference as string))).json;
    assert.deepEqual([found.type, found.list.length, found.list[0].id, found.pagination.total_count], ["TransactionsCollection", 1, id, 1]);
    const filters = [{ key: "transaction_api_id", operator: "=", value: reference }];
    const byJson = { at: `GET /v1/transactions?filter_by=${encodeURIComponent(JSON.stringify(filters))}` };
    assert.equal((await send(byJson)).json.list[0].id, id);
    assert.deepEqual((await send(listed("none"))).json.list, []);
    assert.equal((await send({ at: `GET /v1/transactions/${id}` })).json.data.status_code, 101);
  });

  test("a decline is created as well, and the amount of the sandbox brings one about", async () => {
    const { status, json } = await send(keyed({ account_number: "4000000000009995" }));
    assert.deepEqual([status, json.data.status_code, json.data.reason_code_id], [201, 301, 1616]);
    assert.deepEqual([json.data.auth_code, json.data.auth_amount], [null, 0]);
    assert.equal((await send(keyed({ transaction_amount: 699 }))).json.data.status_code, 101);
    assert.equal((await send(keyed({ transaction_amount: 616 }))).json.data.reason_code_id, 1616);
  });

  test("an approval in part comes only where the request allows it", async () => {
    const { data } = (await send(keyed({ transaction_amount: 1201 }))).json;
    assert.deepEqual([data.status_code, data.reason_code_id, data.auth_amount], [101, 1201, 600]);
    const whole = (await send(keyed({ transaction_amount: 1201, allow_partial_authorization_override: false }))).json.data;
    assert.deepEqual([whole.reason_code_id, whole.auth_amount], [1000, 1201]);
  });

  test("the same request charges again; only a product that checks declines an equal second charge as 1801", async () => {
    const sent = keyed();
    assert.notEqual(await idOf(send, sent), await idOf(send, sent));
    const checked = { product_transaction_id: "11ef69fdc6debc2cb1af1801", account_number: "4111111111111111" };
    assert.equal((await send(keyed(checked))).json.data.status_code, 101);
    const second = (await send(keyed(checked))).json.data;
    assert.deepEqual([second.status_code, second.reason_code_id], [301, 1801]);
  });

  test("a card is stored directly or after a check, charged by its token until that is deleted, and its api id is unique", async () => {
    const sent = store();
    const { status, json } = await send(sent);
    assert.deepEqual([status, json.type, json.data.active, json.data.exp_date], [201, "Token", true, "0960"]);
    assert.equal((await send(sent)).json.detail, '"token_api_id" already exists');
    const id = json.data.id as string;
    const paid = (await send(later(id))).json.data;
    assert.deepEqual([paid.status_code, paid.token_id, paid.is_token], [101, id, true]);
    assert.equal((await send({ at: `GET /v1/tokens/${id}` })).json.data.last_four, "5454");
    assert.equal((await send({ at: `DELETE /v1/tokens/${id}` })).status, 204);
    assert.equal((await send(later(id))).status, 412);

    const checked = (await send(check())).json.data;
    assert.deepEqual([checked.status_code, checked.auth_amount, checked.cvv_response], [121, 0, "M"]);
    const kept = (await send(storePrevious(checked.id as string))).json.data;
    assert.equal((await ledger()).at(-1)?.reference, checked.transaction_api_id);
    assert.equal((await send(later(kept.id as string))).json.data.status_code, 101);
    const dead = (await send(check({ account_number: "4000000000000002" }))).json.data;
    assert.equal((await send(storePrevious(dead.id as string))).status, 412);
  });

  test("a card that every charge declines is stored where no check is asked for", async () => {
    const token = await idOf(send, store({ account_number: "4000000000000002", run_avs: undefined }));
    assert.equal((await send(later(token))).json.data.reason_code_id, 1601);
    assert.equal((await send(store({ account_number: "4000000000000127" }))).status, 201);
  });

  test("a sale is voided before the batch closes and refunded after, a hold captured or voided", async () => {
    const id = await idOf(send);
    const { data } = (await send(change(id, "void"))).json;
    assert.deepEqual([data.status_code, data.reason_code_id], [201, 1200]);
    assert.equal((await send(change(id, "void"))).status, 412);
    const hold = await idOf(send, keyed({}, "auth-only"));
    assert.equal((await send(change(hold, "auth-complete", { transaction_amount: 2000 }))).json.data.status_code, 101);
    assert.equal((await send({ at: `PATCH /v1/transactions/${await idOf(send, keyed({}, "auth-only"))}/void`, body: {} })).status, 200);
    await arm({ kind: "settle" });
    assert.equal((await send(change(hold, "void"))).status, 412);
    const back = (await send(change(hold, "refund", { transaction_amount: 500 }))).json.data;
    assert.deepEqual([back.status_code, back.transaction_amount, back.id === hold], [111, 500, false]);
    assert.equal((await send(change(hold, "refund", { transaction_amount: 1501 }))).status, 412);
  });

  test("the list lags behind the payments", async () => {
    const reference = (await send(keyed())).json.data.transaction_api_id as string;
    await arm({ kind: "lookup_lag", path: "/v1/transactions" });
    const lengths = [(await send(listed(reference))).json.list.length, (await send(listed(reference))).json.list.length];
    assert.deepEqual(lengths, [0, 1]);
  });
});
