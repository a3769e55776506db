import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { Secret } from "#src/kernel/secret.ts";
import { AccessTokens } from "./access-tokens.ts";

function setUp() {
  const clock = new ManualClock();
  const tokens = new AccessTokens(clock);
  let minted = 0;
  const mint = async () => {
    minted++;
    return { token: new Secret(`token-${minted}`), expiresAtMs: clock.now() + 60_000, grants: {} };
  };
  const get = async (key = "a", renew = false) => {
    const token = await tokens.get(key, mint, renew);
    return "token" in token ? token.token.reveal() : token.code;
  };
  return { clock, tokens, get, mint };
}

test("attempts at the same time share one token", async () => {
  const { get } = setUp();
  assert.deepEqual(await Promise.all([get(), get(), get()]), ["token-1", "token-1", "token-1"]);
  assert.equal(await get("b"), "token-2");
});

test("a token is kept until it expires", async () => {
  const { get, clock } = setUp();
  await get();
  clock.advance(59_999);
  assert.equal(await get(), "token-1");
  clock.advance(1);
  assert.equal(await get(), "token-2");
});

test("a refused token is thrown away, once for all that had it refused at the same time", async () => {
  const { get } = setUp();
  await get();
  assert.deepEqual(await Promise.all([get("a", true), get("a", true)]), ["token-2", "token-2"]);
  assert.equal(await get(), "token-2");
});

test("a mint that failed is not kept", async () => {
  const { tokens, get } = setUp();
  const refused = { outcome: "declined", code: "gateway_credentials_invalid", message: null, processor: {} } as const;
  assert.deepEqual(await tokens.get("a", async () => refused, false), refused);
  await assert.rejects(
    tokens.get("a", () => Promise.reject(new Error("down")), false),
    /down/,
  );
  assert.equal(await get(), "token-1");
});
