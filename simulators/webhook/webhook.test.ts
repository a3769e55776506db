import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { request as httpsRequest } from "node:https";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";

let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

async function ledger(gateway: string): Promise<Record<string, unknown>[]> {
  const answer = await fetch(`${simulators.url}/_ledger/${gateway}`);
  return ((await answer.json()) as { entries: Record<string, unknown>[] }).entries;
}

/** POST over TLS with the simulators' authority trusted. */
function forward(body: object, signature?: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const text = JSON.stringify(body);
  const time = Math.floor(Date.now() / 1000);
  const secret = "whsec_c2ltdWxhdG9yIHNlY3JldCBvZiBjYXJkIGZvcndhcmRpbmc=";
  const valid = `t=${time},v1=${createHmac("sha256", secret).update(`${time}.${text}`).digest("hex")}`;
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/json", "X-Signature": signature ?? valid };
    const request = httpsRequest(
      `${simulators.httpsUrl}/webhook`,
      { method: "POST", ca: simulators.ca, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown> }),
        );
      },
    );
    request.on("error", reject);
    request.end(text);
  });
}

describe("the card-forwarding receiver", () => {
  const card = {
    number: "4242424242424242",
    exp_month: "03",
    exp_year: "2060",
    cvv: "123",
    cardholder_name: null,
    postal_code: "44628",
    brand: "visa",
    last4: "4242",
  };
  const body = {
    type: "payment_method.collected",
    session_id: "3f6c0a5e-9b1d-4c7a-8e21-5d0f7b6a1c22",
    environment: "test",
    mode: "tokenize",
    amount: 0,
    currency: "USD",
    description: null,
    caller: "+15550001111",
    card,
  };

  test("takes a signed card over TLS and answers with a transaction and a token; a repeat charges nothing", async () => {
    const first = await forward(body);
    assert.equal(first.body["success"], true);
    assert.match(String(first.body["token"]), /^tok_/);
    assert.deepEqual((await forward(body)).body, first.body);
    assert.equal((await ledger("webhook")).filter(({ reference }) => reference === body.session_id).length, 1);
  });

  test("refuses plain HTTP, a wrong or old signature, a missing or an extra field", async () => {
    const plain = await fetch(`${simulators.url}/webhook`, { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
    assert.equal(plain.status, 403);
    assert.equal((await forward(body, "t=1,v1=00")).status, 401);
    const { caller: _caller, ...less } = body;
    for (const wrong of [
      less,
      { ...body, extra: 1 },
      { ...body, amount: 1.5 },
      { ...body, card: { ...card, exp_month: "3" } },
      { ...body, card: { ...card, last4: "1111" } },
    ]) {
      assert.equal((await forward(wrong)).status, 400);
    }
  });

  test("declines with the uniform cards' words", async () => {
    const declined = await forward({
      ...body,
      session_id: "00000000-0000-4000-8000-000000000001",
      card: { ...card, number: "4000000000009995", last4: "9995" },
    });
    assert.deepEqual([declined.body["success"], declined.body["error_code"]], [false, "insufficient_funds"]);
  });
});
