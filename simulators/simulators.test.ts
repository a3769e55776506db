import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "./index.ts";
import type { Simulators } from "./index.ts";

const folder = mkdtempSync(join(tmpdir(), "simulators-"));
const ledgerFile = join(folder, "ledger.jsonl");
let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1", ledgerFile });
});
after(async () => {
  await simulators.close();
  rmSync(folder, { recursive: true });
});

interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, unknown> & { error?: Record<string, unknown> };
}

const HEADERS = { Authorization: "Bearer sk_test_x", "Stripe-Version": "2022-11-15" };

async function call(
  method: string,
  path: string,
  form: Record<string, string> | null,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const body = form === null ? null : new URLSearchParams(form);
  const answer = await fetch(`${simulators.url}/stripe${path}`, { method, headers: { ...HEADERS, ...headers }, body });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Answer["body"] };
}
const post = (path: string, form: Record<string, string>, headers?: Record<string, string>) => call("POST", path, form, headers);
const get = (path: string, headers?: Record<string, string>) => call("GET", path, null, headers);

const CARD = { type: "card", "card[number]": "4242424242424242", "card[exp_month]": "3", "card[exp_year]": "2060", "card[cvc]": "123" };

async function newMethod(card: Record<string, string> = {}, headers?: Record<string, string>): Promise<string> {
  const { status, body } = await post("/v1/payment_methods", { ...CARD, ...card }, headers);
  assert.equal(status, 200);
  return body["id"] as string;
}
const payment = (method: string, more: Record<string, string> = {}) => ({
  amount: "4995",
  currency: "usd",
  confirm: "true",
  payment_method: method,
  "payment_method_types[0]": "card",
  ...more,
});

const codeOf = ({ body }: Answer) => body.error?.["code"] ?? body.error?.["type"];

async function ledger(gateway: string): Promise<Record<string, unknown>[]> {
  const answer = await fetch(`${simulators.url}/_ledger/${gateway}`);
  return ((await answer.json()) as { entries: Record<string, unknown>[] }).entries;
}

describe("the Stripe simulator refuses what Stripe refuses", () => {
  test("no key, a publishable, a wrong, an expired and a live key", async () => {
    for (const [key, code] of [
      ["", "invalid_request_error"],
      ["Bearer pk_test_x", "secret_key_required"],
      ["Bearer sk_test_wrong", "invalid_request_error"],
      ["Bearer sk_test_expired", "api_key_expired"],
      ["Bearer sk_live_x", "invalid_request_error"],
    ] as const) {
      const answer = await get("/v1/payment_intents", { Authorization: key });
      assert.equal(answer.status, 401, key);
      assert.equal(codeOf(answer), code);
    }
    const basic = `Basic ${Buffer.from("sk_test_x:").toString("base64")}`;
    assert.equal((await get("/v1/payment_intents", { Authorization: basic })).status, 200);
  });

  test("another version, another content type, unknown paths and unreachable accounts", async () => {
    assert.equal((await get("/v1/payment_intents", { "Stripe-Version": "2026-09-30.endive" })).status, 400);
    assert.equal((await post("/v1/customers", { name: "x" }, { "Content-Type": "application/json" })).status, 400);
    assert.equal((await get("/v1/nothing")).status, 404);
    assert.equal(codeOf(await get("/v1/payment_intents", { "Stripe-Account": "acct_wrong" })), "account_invalid");
  });

  test("unknown, missing and malformed parameters", async () => {
    const method = await newMethod();
    for (const [form, code] of [
      [payment(method, { return_ur: "x" }), "parameter_unknown"],
      [payment(method, { "payment_method_options[card][mot]": "true" }), "parameter_unknown"],
      [{ currency: "usd" }, "parameter_missing"],
      [payment(method, { amount: "49.95" }), "parameter_invalid"],
      [payment(method, { currency: "USD" }), "parameter_invalid"],
      [payment(method, { confirm: "yes" }), "parameter_invalid"],
      [payment(method, { "expand[0]": "customer" }), "parameter_invalid"],
      [payment(method, { "metadata[x]": "y".repeat(501) }), "parameter_invalid"],
      [payment(method, { amount: "49" }), "amount_too_small"],
      [payment(method, { amount: "100000000" }), "amount_too_large"],
      [payment(method, { currency: "bhd", amount: "1001" }), "parameter_invalid_integer"],
      [payment(method, { currency: "isk", amount: "5050" }), "parameter_invalid_integer"],
      [payment("pm_none"), "resource_missing"],
      [{ amount: "4995", currency: "usd", "payment_method_options[card][moto]": "true" }, "parameter_unknown"],
      [{ amount: "4995", currency: "usd", confirm: "true" }, "parameter_missing"],
    ] as const) {
      const answer = await post("/v1/payment_intents", form);
      assert.equal(answer.status, 400, JSON.stringify(form));
      assert.equal(codeOf(answer), code, JSON.stringify(form));
    }
  });

  test("card data that cannot be right, at the first step", async () => {
    for (const [card, code] of [
      [{ "card[number]": "4242424242424241" }, "incorrect_number"],
      [{ "card[number]": "4242 4242 4242 4242" }, "invalid_number"],
      [{ "card[exp_month]": "13" }, "invalid_expiry_month"],
      [{ "card[exp_year]": "1970" }, "invalid_expiry_year"],
      [{ "card[cvc]": "99" }, "invalid_cvc"],
    ] as const) {
      const answer = await post("/v1/payment_methods", { ...CARD, ...card });
      assert.equal(answer.status, 402);
      assert.equal(codeOf(answer), code);
    }
  });

  test("a PaymentMethod that was used, or that belongs to a customer who is not named", async () => {
    const method = await newMethod();
    assert.equal((await post("/v1/payment_intents", payment(method))).status, 200);
    assert.equal((await post("/v1/payment_intents", payment(method))).status, 400);
    const customer = (await post("/v1/customers", {})).body["id"] as string;
    const stored = await newMethod();
    const setup = await post("/v1/setup_intents", { confirm: "true", customer, payment_method: stored, "payment_method_types[0]": "card" });
    assert.equal(setup.body["status"], "succeeded");
    assert.equal((await post("/v1/payment_intents", payment(stored))).status, 400);
    for (let charge = 0; charge < 2; charge++) assert.equal((await post("/v1/payment_intents", payment(stored, { customer }))).status, 200);
  });

  test("a connected account's objects are seen there only", async () => {
    const there = { "Stripe-Account": "acct_1Connected" };
    const method = await newMethod({}, there);
    assert.equal(codeOf(await post("/v1/payment_intents", payment(method))), "resource_missing");
    const paid = await post("/v1/payment_intents", payment(method), there);
    assert.equal((await get(`/v1/payment_intents/${String(paid.body["id"])}`)).status, 404);
    assert.equal((await get(`/v1/payment_intents/${String(paid.body["id"])}`, there)).status, 200);
  });

  test("an idempotency key replays its first answer, refuses another body, and is free again after a refusal", async () => {
    const method = await newMethod();
    const key = { "Idempotency-Key": "key-1" };
    assert.equal((await post("/v1/payment_intents", payment(method, { amount: "1" }), key)).status, 400);
    const first = await post("/v1/payment_intents", payment(method), key);
    const second = await post("/v1/payment_intents", payment(method), key);
    assert.deepEqual(second.body, first.body);
    assert.equal(second.headers.get("idempotent-replayed"), "true");
    assert.equal(codeOf(await post("/v1/payment_intents", payment(method, { amount: "5000" }), key)), "idempotency_error");
    const declining = await newMethod({ "card[number]": "4000000000000002" });
    const keys = { "Idempotency-Key": "key-2" };
    const declined = await post("/v1/payment_intents", payment(declining), keys);
    assert.equal(declined.status, 402);
    assert.deepEqual((await post("/v1/payment_intents", payment(declining), keys)).body, declined.body);
  });

  test("a request whose key is being worked on is refused with 409", async () => {
    const method = await newMethod();
    const key = { "Idempotency-Key": "key-3" };
    await fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "stripe", kind: "slow", times: 1 }) });
    const [one, two] = await Promise.all([
      post("/v1/payment_intents", payment(method), key),
      post("/v1/payment_intents", payment(method), key),
    ]);
    assert.deepEqual(new Set([one.status, two.status]), new Set([200, 409]));
  });

  test("authorize, capture, cancel and refund keep to the states", async () => {
    const held = await post("/v1/payment_intents", payment(await newMethod(), { capture_method: "manual" }));
    const path = `/v1/payment_intents/${String(held.body["id"])}`;
    assert.equal(held.body["status"], "requires_capture");
    assert.equal((await post(`${path}/capture`, { amount_to_capture: "5000" })).status, 400);
    assert.equal((await post(`${path}/capture`, {})).body["status"], "succeeded");
    assert.equal((await post(`${path}/cancel`, {})).status, 400);
    const intent = String(held.body["id"]);
    assert.equal((await post("/v1/refunds", { payment_intent: intent, amount: "4000" })).status, 200);
    assert.equal((await post("/v1/refunds", { payment_intent: intent, amount: "1000" })).status, 400);
    assert.equal((await post("/v1/refunds", { payment_intent: intent })).body["amount"], 995);
    assert.equal(codeOf(await post("/v1/refunds", { payment_intent: intent })), "charge_already_refunded");
  });

  test("lists are newest first, bounded by created and limit, and go on with starting_after", async () => {
    const account = { "Stripe-Account": "acct_1List" };
    const ids: string[] = [];
    for (let count = 0; count < 3; count++)
      ids.unshift(String((await post("/v1/payment_intents", payment(await newMethod({}, account)), account)).body["id"]));
    const list = async (query: string) => {
      const { body } = await get(`/v1/payment_intents?${query}`, account);
      return [(body["data"] as { id: string }[]).map(({ id }) => id), body["has_more"]];
    };
    assert.deepEqual(await list("limit=2"), [ids.slice(0, 2), true]);
    assert.deepEqual(await list(`limit=2&starting_after=${ids[1]}`), [ids.slice(2), false]);
    const now = Math.floor(Date.now() / 1000);
    assert.deepEqual(await list(`created[gte]=${now + 100}`), [[], false]);
    assert.deepEqual(await list(`created[gte]=${now - 100}&created[lte]=${now + 100}`), [ids, false]);
    assert.equal((await get("/v1/payment_intents?limit=101", account)).status, 400);
  });

  test("the vendor's own cards keep their meaning", async () => {
    for (const [number, code] of [
      ["4000000000009979", "stolen_card"],
      ["4000000000006975", "card_velocity_exceeded"],
      ["4100000000000019", "fraudulent"],
      ["4000000000000341", "generic_decline"],
    ] as const) {
      const { status, body } = await post("/v1/payment_intents", payment(await newMethod({ "card[number]": number })));
      assert.deepEqual([status, body.error?.["decline_code"]], [402, code]);
    }
    const demanding = payment(await newMethod({ "card[number]": "4000002760003184" }), { "payment_method_options[card][moto]": "true" });
    assert.equal((await post("/v1/payment_intents", demanding)).body["status"], "requires_action");
  });
});

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

describe("what all simulators share", () => {
  test("the index names them, http and https share one port", async () => {
    const index = (await (await fetch(simulators.url)).json()) as { simulators: string[] };
    assert.deepEqual(index.simulators, ["/stripe", "/authorizenet", "/webhook", "/nmi", "/ecommpay"]);
    assert.equal(new URL(simulators.url).port, new URL(simulators.httpsUrl).port);
    assert.equal((await fetch(`${simulators.url}/nothing`)).status, 404);
  });

  test("a fault strikes as often as it was armed, on its path and with its text only; `times: 0` takes it back", async () => {
    const arm = (fault: object) =>
      fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "stripe", ...fault }) });
    assert.equal((await arm({ kind: "http_500", times: 2, path: "/v1/customers" })).status, 200);
    const statusOf = async (path: string) => (await fetch(`${simulators.url}/stripe${path}`, { headers: HEADERS })).status;
    assert.equal(await statusOf("/v1/payment_intents"), 200);
    assert.deepEqual(
      [await statusOf("/v1/customers/cus_x"), await statusOf("/v1/customers/cus_x"), await statusOf("/v1/customers/cus_x")],
      [500, 500, 404],
    );
    await arm({ kind: "reset_before", times: 9 });
    await assert.rejects(statusOf("/v1/payment_intents"));
    await arm({ kind: "reset_before", times: 0 });
    assert.equal(await statusOf("/v1/payment_intents"), 200);
    await arm({ kind: "http_500", times: 9, path: "/v1/payment_intents", containing: "s-7" });
    const intents = `${simulators.url}/stripe/v1/payment_intents`;
    const answers = async (body: string) => (await fetch(intents, { method: "POST", headers: HEADERS, body })).status;
    assert.deepEqual([await answers("s-8"), await answers("s-7")], [400, 500]);
    await arm({ kind: "http_500", times: 0, path: "/v1/payment_intents", containing: "s-8" });
    assert.equal(await answers("s-7"), 500);
    await arm({ kind: "http_500", times: 0, path: "/v1/payment_intents", containing: "s-7" });
    assert.equal(await answers("s-7"), 400);
    for (const wrong of [{ kind: "fire" }, { gateway: "none", kind: "hang" }, { kind: "hang", times: 1.5 }])
      assert.equal((await arm(wrong)).status, 400);
  });

  test("the ledger is on the disk and holds no card number", async () => {
    await post("/v1/payment_intents", payment(await newMethod(), { "metadata[session_id]": "s-1", "metadata[attempt]": "1" }));
    const lines = readFileSync(ledgerFile, "utf8").trim().split("\n");
    const last = JSON.parse(lines.at(-1) ?? "") as Record<string, unknown>;
    assert.deepEqual([last["kind"], last["reference"], last["amountMinor"], last["card"]], ["charge", "s-1-1", 4995, "************4242"]);
    assert.equal(lines.length, (await ledger("stripe")).length + (await ledger("webhook")).length);
    assert.ok(!/(?<![0-9a-f-])\d{13,19}(?![0-9a-f-])/.test(readFileSync(ledgerFile, "utf8")));
  });
});
