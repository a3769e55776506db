import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "#src/kernel/random.ts";
import { createNonces } from "./nonce.ts";

const key = new Uint8Array(32).fill(1);
const [mine, other] = ["3f6c0a5e-9b1d-4c7a-8e21-5d0f7b6a1c22", "5f0c8f0e-6a54-4c1e-9d7a-0b8f3f6a2e91"];

test("a nonce is good for its session, in every process with the same key, and for nothing else (R-371)", () => {
  const nonces = createNonces(key, systemRandom);
  const nonce = nonces.issue(mine);
  assert.equal(createNonces(key, systemRandom).read(mine, nonce), nonces.read(mine, nonce));
  assert.match(nonces.read(mine, nonce) ?? "", /^[\w-]{22}$/);
  assert.equal(nonces.read(other, nonce), null);
  assert.equal(createNonces(new Uint8Array(32), systemRandom).read(mine, nonce), null);
  const changed = nonce.replace(/.$/, (last) => (last === "A" ? "E" : "A"));
  for (const wrong of [undefined, "", "x", changed, `${nonce}A`, nonce.replace(".", "")])
    assert.equal(nonces.read(mine, wrong), null, String(wrong));
  assert.notEqual(nonces.issue(mine), nonce);
});

test("a result is signed for its session and its status (R-283)", () => {
  const nonces = createNonces(key, systemRandom);
  const results = [nonces.result(mine, "payment-success"), nonces.result(mine, "payment-failed"), nonces.result(other, "payment-success")];
  assert.match(results[0]!, /^payment-success; session=[0-9a-f-]{36}; signature=[\w-]{43}$/);
  assert.equal(new Set(results.map((result) => result.slice(-43))).size, 3);
  const unknown = nonces.result(mine, "payment-failed", "outcome_unknown");
  assert.match(unknown, /; signature=[\w-]{43}; reason=outcome_unknown$/);
  assert.ok(!unknown.startsWith(results[1]!), "the reason is signed too");
  assert.equal(nonces.result(mine, "payment-failed", "card_declined"), results[1]);
});
