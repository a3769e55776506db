import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";
import { basicOf, senderTo } from "../kit/wrong-requests.ts";
import type { Send } from "../kit/wrong-requests.ts";
import { REPORT, SESSION, ask, byCardId, charge, hold, post, unchecked, verification } from "./wrong-requests.ts";

let simulators: Simulators;
let send: Send;
let key = 0;
const as =
  (securityKey: string): Send =>
  (sent) =>
    senderTo(simulators, "qualpay")({ ...sent, headers: { ...sent.headers, Authorization: basicOf(securityKey) } });
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
beforeEach(() => {
  send = as(`TESTKEY${++key}00`);
});
after(() => simulators.close());

const ledger = async () =>
  ((await (await fetch(`${simulators.url}/_ledger/qualpay`)).json()) as { entries: { kind: string; reference: string; id: string }[] })
    .entries;
const arm = (kind: string) =>
  fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "qualpay", kind, times: 1 }) });

describe("the Qualpay simulator keeps to what Qualpay does", () => {
  test("the sheet's worked example is charged, under its merch_ref_num", async () => {
    assert.equal(basicOf("TEST1234567890"), "Basic VEVTVDEyMzQ1Njc4OTA6");
    const { status, json } = await send(charge());
    assert.match(json.auth_code as string, /^T\d{5}$/);
    assert.match(json.pg_id as string, /^[a-z0-9]{32}$/);
    assert.deepEqual([status, json.rcode, json.rmsg], [200, "000", `Approved ${json.auth_code}`]);
    assert.deepEqual([json.auth_avs_result, json.auth_cvv2_result, json.card_id], ["Y", "M", undefined]);
    const last = (await ledger()).at(-1);
    assert.deepEqual([last?.kind, last?.id, last?.reference], ["charge", json.pg_id, SESSION]);
  });

  test("a decline is status 402 with the issuer's two characters behind a zero", async () => {
    const { status, json } = await send(charge({ card_number: "4000000000000127" }));
    assert.deepEqual([status, json.rcode, json.auth_cvv2_result], [402, "0N7", "N"]);
    assert.equal((await send(charge({ tokenize: true, card_number: "4000000000000002" }))).json.card_id, undefined);
  });

  test("a verification stores the card, and the same card is the same entry, until it is expired", async () => {
    const { json } = await send(verification());
    assert.deepEqual([json.rcode, json.card_number], ["000", "4111xxxxxx111111"]);
    assert.match(json.rmsg as string, /^No reason to decline T/);
    assert.equal((await send(verification())).json.card_id, json.card_id);
    assert.equal((await send(unchecked())).json.card_id, json.card_id);
    assert.equal((await send(byCardId(json.card_id as string))).json.rcode, "000");
    assert.equal((await send(post("/pg/expireToken", { card_id: json.card_id }))).status, 200);
    assert.equal((await send(byCardId(json.card_id as string))).json.rcode, "103");
    assert.notEqual((await send(verification())).json.card_id, json.card_id);
  });

  test("a key whose verifications keep the issuer's 085 answers it with status 200", async () => {
    const { status, json } = await as("RAWVERIFY1234")(verification());
    assert.deepEqual([status, json.rcode], [200, "085"]);
    assert.ok(json.card_id);
  });

  test("a card_id for one use is good once", async () => {
    const { json } = await send(unchecked({ single_use: true }));
    assert.equal((await send(byCardId(json.card_id as string))).status, 200);
    assert.equal((await send(byCardId(json.card_id as string))).json.rcode, "103");
  });

  test("a repeat within duplicate_seconds is refused by its numbers, or by the card alone where the portal says so", async () => {
    const sent = charge({ duplicate_seconds: 300 });
    assert.equal((await send(sent)).status, 200);
    const { status, json } = await send(sent);
    assert.deepEqual([status, json.rcode], [402, "094"]);
    assert.match(json.rmsg as string, /duplicate/i);
    assert.equal((await send(charge({ duplicate_seconds: 300, purchase_id: "another" }))).status, 200);
    assert.equal((await send(charge())).status, 200, "without the field nothing is compared");
    const alone = as("CARDALONE1234");
    assert.equal((await alone(sent)).status, 200);
    assert.equal((await alone(charge({ duplicate_seconds: 300, purchase_id: "another" }))).json.rcode, "094");
  });

  test("the report is newest first, in pages, by the Pacific clock, and lags when ordered", async () => {
    const ids: string[] = [];
    for (let count = 0; count < 3; count++)
      ids.unshift((await send(charge({ merch_ref_num: `${SESSION}-${count}` }))).json.pg_id as string);
    await send(charge({ card_number: "4000000000009995" }));
    const { data, ...rest } = (await send(ask(REPORT))).json;
    assert.deepEqual(rest, { code: 0, message: "Success", totalPages: 1, totalRecords: 4 });
    assert.deepEqual([data[0].tran_status, data[0].rcode], ["D", "051"]);
    const { pg_id, tran_time, ...row } = data[1];
    assert.equal(pg_id, ids[0]);
    assert.match(tran_time as string, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    assert.deepEqual(row, {
      merch_ref_num: `${SESSION}-2`,
      purchase_id: "9f1c2b7e5d6a4c0f8a21",
      amt_tran: 12.34,
      amt_refunded: 0,
      request_type: "sale",
      tran_status: "C",
      rcode: "000",
      card_number: "4111xxxxxx111111",
    });
    const page = (await send(ask("/platform/reporting/transaction-requests?count=2&page=1"))).json;
    assert.deepEqual([page.data.map(({ pg_id: id }: { pg_id: string }) => id), page.totalPages], [ids.slice(1), 2]);
    const filtered = (await send(ask(`${REPORT}&filter=merch_ref_num,IS,${SESSION}-0`))).json;
    assert.equal(filtered.totalRecords, 1);
    await arm("lookup_lag");
    assert.deepEqual((await send(ask(REPORT))).json.data, []);
  });

  test("a payment is voided until the batch closes and refunded after it", async () => {
    const one = (await send(charge())).json.pg_id as string;
    const other = (await send(charge())).json.pg_id as string;
    const refund = post(`/pg/refund/${other}`, { amt_tran: 12.34 });
    assert.deepEqual((await send(refund)).json.rcode, "402");
    assert.equal((await send(post(`/pg/void/${one}`))).status, 200);
    await arm("settle");
    const { status, json } = await send(post(`/pg/void/${other}`));
    assert.deepEqual([status, json.rcode], [409, "401"]);
    assert.equal((await send(refund)).status, 200);
    const found = await Promise.all([one, other].map((id) => send(ask(`/platform/reporting/transactions/bypgid/${id}`))));
    assert.deepEqual(
      found.map((answer) => answer.json.data.tran_status),
      ["V", "S"],
    );
  });

  test("a hold is captured once", async () => {
    const id = (await send(hold())).json.pg_id as string;
    const capture = post(`/pg/capture/${id}`, { amt_tran: 12.34 });
    assert.equal((await send(capture)).status, 200);
    assert.deepEqual((await send(capture)).json.rcode, "403");
  });
});
