import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "#src/kernel/json.ts";
import { BETA_CALL, BETA_CALL_ID, BETA_SPELLINGS, CALLER } from "../testing.ts";
import type { Json } from "../types.ts";
import { readBetaRequest } from "./request.ts";
import { isSignedByBeta } from "./signature.ts";

const sent = (body: object) => parseJson(JSON.stringify(body), { numbers: "text" }) as Json;
const read = (body: object) => readBetaRequest(sent(body), "collect_payment", "US");
const ARGS = JSON.stringify(sent({ amount: 42.5, description: "Deposit order 118" }));

for (const [spelling, body] of Object.entries(BETA_SPELLINGS)) {
  test(`a function call of the second platform is read from its spelling "${spelling}" (R-381, R-384, R-385)`, () => {
    const request = read(body());
    assert.ok(request.kind === "tool call");
    assert.deepEqual([request.tool.name, JSON.stringify(request.tool.args)], ["collect_payment", ARGS]);
    assert.partialDeepStrictEqual(request.call, { id: BETA_CALL_ID, caller: CALLER });
  });
}

test("arguments alone are a call of the tool that its address names (R-381)", () => {
  const request = readBetaRequest(sent({ amount: 42.5, description: "Deposit order 118" }), "get_payment_result", "US");
  assert.ok(request.kind === "tool call");
  assert.deepEqual(
    [request.tool.name, JSON.stringify(request.tool.args), request.call.id, request.call.caller],
    ["get_payment_result", ARGS, null, null],
  );
});

test("an account's webhook that was pointed at the tool is no call (R-381)", () => {
  assert.deepEqual(read({ event: "call_ended", call: BETA_CALL }), { kind: "other", type: "call_ended" });
  assert.deepEqual(read({ event: "4242424242424242", call: BETA_CALL }), { kind: "other", type: "unknown" });
});

test("a call from a browser has no caller (R-385)", () => {
  const request = read({ name: "collect_payment", args: {}, call: { call_type: "web_call", call_id: "x" } });
  assert.equal(request.kind === "tool call" && request.call.caller, null);
});

test("a signature is over the raw body and the milliseconds, and good for five minutes either way (R-381, S-33)", () => {
  const body = Buffer.from(
    '{"name":"collect_payment","args":{"amount":"42.50"},"call":{"call_id":"call_synthetic_01","from_number":"+15555550123"}}',
  );
  const [key, now] = ["key_synthetic_0000000000000000", 1_795_000_000_000];
  const header = `v=${now},d=8e0dc19c93c563fd5af5f58f6ea9418d7fceb712f390c5c380ef77b11f8e9f9a`;
  assert.equal(isSignedByBeta(body, header, key, now), true);
  assert.equal(isSignedByBeta(body, header, key, now + 300_000), true);
  assert.equal(isSignedByBeta(body, header, key, now - 300_000), true);
  assert.equal(isSignedByBeta(body, header, key, now + 300_001), false);
  assert.equal(isSignedByBeta(Buffer.concat([body, Buffer.from(" ")]), header, key, now), false);
  assert.equal(isSignedByBeta(body, header, "another key", now), false);
  assert.equal(isSignedByBeta(body, header.replace("v=1", "v=2"), key, now), false);
  for (const wrong of [undefined, "", "v=1", header.slice(0, -1), header.toUpperCase()])
    assert.equal(isSignedByBeta(body, wrong, key, now), false);
});
