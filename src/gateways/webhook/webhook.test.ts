import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, Order, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const webhook = GATEWAYS_BUILT.webhook!;
const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const settings = settingsOf(webhook, {
  credentials: { url: new Secret("https://merchant.example/cards"), signing_secret: new Secret(SECRET) },
});

function forward(answer: GatewayAnswer, order: Partial<Order> = {}, credentials = settings.credentials) {
  const io = testIo({ ...settings, credentials }, () => Promise.resolve(answer));
  const full = orderOf(order);
  return { io, outcome: webhook[full.mode](full, io) };
}

const outcomeOf = (answer: GatewayAnswer, order: Partial<Order> = {}): Promise<Outcome> => forward(answer, order).outcome;

async function assertFailed(answer: GatewayAnswer): Promise<void> {
  const outcome = await outcomeOf(answer);
  assert.equal(outcome.outcome === "declined" && outcome.code, "webhook_gateway_error");
}

describe("card forwarding, the request", () => {
  test("one POST with exactly the fields of the interface, unknown ones null (R-240, R-242, R-243)", async () => {
    const card = cardOf("378282246310005", { cvv: "1234", year: "2030", name: "Zoë 😀", zip: null });
    const { io, outcome } = forward(answered(200, { success: true }), { card, description: null, caller: null });
    await outcome;
    assert.equal(io.sent.length, 1);
    assert.equal(io.sent[0]?.request.method, "POST");
    assert.equal(io.sent[0]?.request.url, "https://merchant.example/cards");
    assert.equal(
      io.sent[0]?.body,
      `{"type":"payment_method.collected","session_id":"${SESSION}","environment":"test","mode":"charge","amount":4995,"currency":"USD",` +
        '"description":null,"caller":null,"card":{"number":"378282246310005","exp_month":"03","exp_year":"2030","cvv":"1234",' +
        '"cardholder_name":"Zoë 😀","postal_code":null,"brand":"amex","last4":"0005"}}',
    );
  });

  test("the signature is t, a dot and the raw body under the whole secret, lower-case hex (R-240, R-241)", async () => {
    const { io, outcome } = forward(answered(200, { success: true }), { card: cardOf("4242424242424242", { name: "Żółć" }) });
    await outcome;
    const seconds = Math.floor(io.clock.now() / 1000);
    const expected = createHmac("sha256", SECRET).update(`${seconds}.${io.sent[0]?.body}`).digest("hex");
    const { headers } = io.sent[0]!.request;
    assert.equal(headers["X-Signature"], `t=${seconds},v1=${expected}`);
    assert.equal(headers["Content-Type"], "application/json");
    assert.equal(headers["Accept-Encoding"], "identity");
  });

  test("two secrets give two v1 values while they roll (R-262)", async () => {
    const previous = new Secret(`${SECRET}old`);
    const { io, outcome } = forward(answered(200, { success: true }), {}, { ...settings.credentials, previous_signing_secret: previous });
    await outcome;
    const header = io.sent[0]?.request.headers["X-Signature"] ?? "";
    assert.match(header, /^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/);
    assert.equal(new Set(header.split(",")).size, 3);
  });

  test("30 s and 64 KiB are asked of the sender (R-250, R-251)", async () => {
    const { io, outcome } = forward(answered(200, { success: true }));
    await outcome;
    assert.equal(io.sent[0]?.request.timeoutMs, 30_000);
    assert.equal(io.sent[0]?.request.maxBytes, 65_536);
    assert.equal(webhook.capabilities.deadlineMs, 30_000);
  });

  test("an address that became http sends no packet and fails (R-244)", async () => {
    const url = new Secret("http://merchant.example/cards");
    const { io, outcome } = forward(answered(200, { success: true }), {}, { ...settings.credentials, url });
    const result = await outcome;
    assert.equal(result.outcome === "declined" && result.code, "webhook_gateway_error");
    assert.equal(io.sent.length, 0);
  });

  test("settings are refused with a sentence when they are saved (R-244, R-261, R-262)", () => {
    const fault = (url: string, secret = SECRET) =>
      webhook.checkSettings({ ...settings, credentials: { url: new Secret(url), signing_secret: new Secret(secret) } });
    assert.equal(fault("https://merchant.example/cards?x=1"), null);
    assert.match(fault("http://merchant.example/cards") ?? "", /https/);
    assert.match(fault("https://merchant.example:444/cards") ?? "", /^url must be at port 443 or above 1023, not at 444$/);
    assert.match(fault("https://user:pass@merchant.example/") ?? "", /user name/);
    assert.match(fault("https://merchant.example/#cards") ?? "", /fragment/);
    assert.match(fault("merchant.example") ?? "", /absolute/);
    assert.match(fault("https://merchant.example/", "whsec_short") ?? "", /shorter/);
    assert.match(webhook.checkSettings({ ...settings, credentials: {} }) ?? "", /url, signing_secret are missing/);
  });
});

describe("card forwarding, the answer", () => {
  test("any 2xx with success true completes the session; ids are kept (R-245)", async () => {
    for (const status of [200, 201, 202, 203, 206, 299]) {
      const outcome = await outcomeOf(answered(status, { success: true, transaction_id: "tx_1", token: "tok_1" }));
      assert.deepEqual(outcome, { outcome: "approved", capture: "captured", processor: { webhook_transaction_id: "tx_1" } });
    }
  });

  test("the token is kept in tokenize mode only (R-257)", async () => {
    const outcome = await outcomeOf(answered(200, { success: true, token: "tok_1" }), { mode: "tokenize" });
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, { webhook_token: "tok_1" });
  });

  test("204, 205 and an empty body fail (R-245)", async () => {
    for (const status of [200, 204, 205]) await assertFailed(answered(status, ""));
    for (const status of [204, 205]) await assertFailed(answered(status, { success: true }));
  });

  test("every other status fails, redirects too (R-247, R-248)", async () => {
    for (const status of [300, 301, 302, 307, 308, 400, 401, 404, 410, 429, 500, 503])
      await assertFailed(answered(status, { success: true }));
  });

  test("a lost answer, a time-out and a connection refused fail after one request (R-247, R-249)", async () => {
    for (const kind of ["lost", "not sent"] as const) {
      const { io, outcome } = forward({ kind, reason: "x" });
      const result = await outcome;
      assert.equal(result.outcome === "declined" && result.code, "webhook_gateway_error");
      assert.equal(io.sent.length, 1);
    }
  });

  test("an attempt that was cut off has failed, and nobody is asked (R-249)", async () => {
    const io = testIo(settings, () => Promise.resolve(answered(200, { success: true })));
    const result = await webhook.lookUp!(traceOf(orderOf()), io);
    assert.equal(result.outcome === "declined" && result.code, "webhook_gateway_error");
    assert.equal(io.sent.length, 0);
  });

  test("the content type is not checked; a byte order mark is forgiven (R-252, R-254)", async () => {
    const outcome = await outcomeOf(answered(200, '\uFEFF{"success":true}', { "content-type": "text/html" }));
    assert.equal(outcome.outcome, "approved");
  });

  test("a compressed answer fails; the name of no coding is written in any case (R-253)", async () => {
    for (const coding of ["gzip", "identity, gzip"]) await assertFailed(answered(200, { success: true }, { "content-encoding": coding }));
    const plain = await outcomeOf(answered(200, { success: true }, { "content-encoding": "Identity" }));
    assert.equal(plain.outcome, "approved");
  });

  test("invalid UTF-8, a key twice, NaN, arrays and text behind the object fail (R-254)", async () => {
    for (const text of ['{"success":false,"success":true}', '{"success":true,"x":NaN}', "[true]", '{"success":true} x', "true"]) {
      await assertFailed(answered(200, text));
    }
    await assertFailed({
      kind: "answered",
      status: 200,
      headers: {},
      body: Buffer.from([...Buffer.from('{"success":true,"x":"'), 0xff, 0x22, 0x7d]),
    });
  });

  test("success must be a boolean (R-255)", async () => {
    for (const success of ["true", 1, null, {}, [true]]) await assertFailed(answered(200, { success }));
    await assertFailed(answered(200, {}));
  });

  test("ids: strings up to 255, integers in their own digits, nothing else, and never the card number (R-256)", async () => {
    const idOf = async (json: string) => {
      const outcome = await outcomeOf(answered(200, `{"success":true,"transaction_id":${json}}`));
      assert.ok(outcome.outcome === "approved");
      return outcome.processor["webhook_transaction_id"];
    };
    assert.equal(await idOf(`"${"a".repeat(255)}"`), "a".repeat(255));
    assert.equal(await idOf(`"${"a".repeat(256)}"`), undefined);
    assert.equal(await idOf("12345678901234567890"), "12345678901234567890");
    for (const other of ["1.5", "1e3", "true", "null", "{}", '""']) assert.equal(await idOf(other), undefined);
    for (const echo of ["4242424242424242", "tx-4242 4242-4242.4242-9", "4２42424242424242"]) {
      const outcome = await outcomeOf(answered(200, { success: true, transaction_id: echo }));
      assert.ok(outcome.outcome === "approved");
      assert.deepEqual(outcome.processor, {});
      assert.match(outcome.reason ?? "", /card number/);
    }
  });

  test("a refusal carries the merchant's own code and words, cut and scrubbed (R-246)", async () => {
    const refused = async (body: object) => {
      const outcome = await outcomeOf(answered(200, { success: false, ...body }));
      assert.ok(outcome.outcome === "declined");
      return outcome;
    };
    assert.deepEqual(await refused({}), { outcome: "declined", code: "card_declined", message: null, processor: {} });
    assert.equal((await refused({ error_code: "insufficient_funds" })).code, "insufficient_funds");
    const own = await refused({ error_code: "E-17.b", error_message: "No.\nCard 4242-4242-4242-4242 is blocked" });
    assert.equal(own.code, "card_declined");
    assert.equal(own.publicCode, "E-17.b");
    assert.deepEqual([own.publicMessage, own.message], ["No. Card  is blocked", null]);
    assert.equal((await refused({ error_code: `<b>${"x".repeat(90)}` })).publicCode, `b${"x".repeat(63)}`);
    assert.equal((await refused({ error_code: "c4242424242424242", error_message: 5 })).publicCode, "c");
    for (const spelt of ["5555-5555-5555-4444", "5555.5555.5555.4444", "5555 5555 5555 4444"])
      assert.equal((await refused({ error_code: `c-${spelt}` })).publicCode, "c-", "another card's number, not the session's");
    assert.equal((await refused({ error_message: "😀".repeat(600) })).publicMessage, "😀".repeat(500));
  });

  test("any bytes and any JSON without success true are never approved (R-422)", async () => {
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 100 }),
      fc.json().map((text) => Buffer.from(text)),
    );
    const property = fc.asyncProperty(fc.integer({ min: 100, max: 599 }), bodies, async (status, body) => {
      fc.pre(!/"success"\s*:\s*true/.test(Buffer.from(body).toString()));
      assert.notEqual((await outcomeOf({ kind: "answered", status, headers: {}, body })).outcome, "approved");
    });
    await fc.assert(property, { numRuns: 300 });
  });
});
