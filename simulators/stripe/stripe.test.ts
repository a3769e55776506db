import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "../index.ts";
import type { Simulators } from "../index.ts";

let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

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

describe("the Stripe simulator keeps to what Stripe does", () => {
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
