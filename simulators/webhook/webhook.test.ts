import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import { simulator } from "./index.ts";
import type { Simulators } from "../index.ts";
import { senderTo } from "../kit/wrong-requests.ts";
import { BODY, signed } from "./wrong-requests.ts";

let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

async function ledger(gateway: string): Promise<Record<string, unknown>[]> {
  const answer = await fetch(`${simulators.url}/_ledger/${gateway}`);
  return ((await answer.json()) as { entries: Record<string, unknown>[] }).entries;
}

async function forward(body: object): Promise<Record<string, unknown>> {
  const send = senderTo(simulators, "webhook");
  return (await send(signed({ at: "POST /", body: body as Record<string, unknown>, isSecure: true }))).json as Record<string, unknown>;
}

describe("the card-forwarding receiver", () => {
  test("takes a signed card over TLS and answers with a transaction and a token; a repeat charges nothing", async () => {
    const first = await forward(BODY);
    assert.equal(first["success"], true);
    assert.match(String(first["token"]), /^tok_/);
    assert.deepEqual(await forward(BODY), first);
    assert.equal((await ledger("webhook")).filter(({ reference }) => reference === BODY.session_id).length, 1);
  });

  test("a repeat that comes while the first is under way waits for its decision and charges nothing", async () => {
    const kinds: string[] = [];
    const vendor = simulator({ record: ({ kind }) => kinds.push(kind), now: Date.now, id: (prefix) => `${prefix}x`, digits: () => "1" });
    const { headers = {} } = signed({ at: "POST /", body: BODY, isSecure: true });
    const written = {
      method: "POST",
      path: "/",
      query: new URLSearchParams(),
      headers: { "content-type": "application/json", "x-signature": headers["X-Signature"] },
      body: Buffer.from(JSON.stringify(BODY)),
      secure: true,
      lookUpLag: () => 0,
    };
    const worked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const [first, second] = worked.map(({ promise }) => vendor.handle({ ...written, work: () => promise }));
    for (const { resolve } of worked) resolve();
    assert.deepEqual(await second, { ...((await first) as object), lost: false });
    assert.deepEqual(kinds, ["token"]);
  });

  test("takes every brand and every description that the service sends", async () => {
    const card = { ...BODY.card, number: "6362970000457013", last4: "7013", brand: "elo" };
    const taken = await forward({ ...BODY, session_id: "00000000-0000-4000-8000-000000000003", description: "🎟️".repeat(250), card });
    assert.equal(taken["success"], true, JSON.stringify(taken));
    const longer = { ...BODY, session_id: "00000000-0000-4000-8000-000000000004", description: "🎟".repeat(501) };
    assert.match(String((await forward(longer))["error"]), /^description must be 1 to 500 characters/);
  });

  test("declines with the uniform cards' words", async () => {
    const declined = await forward({
      ...BODY,
      session_id: "00000000-0000-4000-8000-000000000001",
      card: { ...BODY.card, number: "4000000000009995", last4: "9995" },
    });
    assert.deepEqual([declined["success"], declined["error_code"]], [false, "insufficient_funds"]);
  });
});
