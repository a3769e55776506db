import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApiClient, ApiFault } from "./api-client.ts";
import { type Call, toolsFor, TOOLS, type ToolResult } from "./tools.ts";

const ID = "018f7a52-0000-4000-8000-000000000000";
const ORDER = { project: "shop", caller: "+14155550100", amount: "49.95", mode: "charge", gateway: "stripe" };

/** Calls a tool of a service that answers with this, or refuses so. */
async function called(name: string, input: object, answer: unknown) {
  const asked: { method: string; path: string; body?: object; headers?: Record<string, string> }[] = [];
  const api: ApiClient = {
    async send(method, path, { body, headers } = {}) {
      asked.push({ method, path, ...(body && { body }), ...(headers && { headers }) });
      if (answer instanceof ApiFault) throw answer;
      return { body: answer, headers: new Headers() };
    },
    async *events() {
      yield { name: "message", data: answer as Record<string, unknown> };
    },
  };
  const tool = TOOLS.find((one) => one.name === name);
  assert.ok(tool);
  const call: Call = { api, requestKey: "mcp-1", signal: new AbortController().signal, onStep: () => {} };
  const result: Promise<ToolResult> = tool.run(tool.input.parse(input), call);
  return { asked, result };
}

test("the tools offered are those that the key's scopes open, and all where the scopes are not known", () => {
  const names = (scopes: readonly string[] | null) => toolsFor(scopes).map(({ name }) => name);
  assert.deepEqual(names(["sessions:create"]), ["create_payment_session"]);
  assert.deepEqual(names(["sessions:read"]), ["get_payment_session", "wait_for_payment"]);
  assert.deepEqual(names(["sessions:cancel", "projects:read"]), ["cancel_payment_session", "list_projects"]);
  assert.deepEqual(names(["widget:create", "integrations:use"]), []);
  assert.equal(names(null).length, TOOLS.length);
});

test("a session is made under the call's own key, so that a request which is delivered twice makes one", async () => {
  const { asked, result } = await called("create_payment_session", ORDER, { session_id: ID });
  assert.deepEqual((await result).shown, { session_id: ID });
  assert.deepEqual(asked, [{ method: "POST", path: "/v1/sessions", body: ORDER, headers: { "idempotency-key": "mcp-1" } }]);
});

test("a session is made under the key that the agent gives, which is no field of it", async () => {
  const { asked } = await called("create_payment_session", { ...ORDER, idempotency_key: "order 1001" }, { session_id: ID });
  assert.deepEqual([asked[0]?.headers, asked[0]?.body], [{ "idempotency-key": "order 1001" }, ORDER]);
});

test("when it is not known whether a session was made, the fault says how to ask again without making two", async () => {
  for (const fault of [
    new ApiFault("Voicetill does not answer", {}),
    new ApiFault("503: Service unavailable", { status: 503 }),
    new ApiFault("409: A request with this Idempotency-Key is in progress", { status: 409 }),
  ]) {
    const { result } = await called("create_payment_session", ORDER, fault);
    await assert.rejects(result, (error: Error) => error.message.startsWith(fault.message) && error.message.includes('"mcp-1"'));
  }
  const refused = new ApiFault("422: body.amount: x (y)", { status: 422 });
  await assert.rejects((await called("create_payment_session", ORDER, refused)).result, refused);
});

test("a misspelt argument is refused, not passed over: the agent meant something by it", () => {
  for (const { name, input } of TOOLS) {
    const sane = name === "create_payment_session" ? ORDER : name === "list_projects" ? {} : { session_id: ID };
    assert.ok(input.safeParse(sane).success, name);
    assert.ok(!input.safeParse({ ...sane, colour: "green" }).success, name);
  }
});

test("a session is read by its id, or found by its caller", async () => {
  const byId = await called("get_payment_session", { session_id: "a/b" }, {});
  assert.equal(byId.asked[0]?.path, "/v1/sessions/a%2Fb");
  const byCaller = await called("get_payment_session", { caller: "+14155550100", project: "shop" }, {});
  assert.equal(byCaller.asked[0]?.path, "/v1/sessions?caller=%2B14155550100&project=shop");
  const { input } = TOOLS.find(({ name }) => name === "get_payment_session")!;
  assert.ok(!input.safeParse({}).success);
  assert.ok(!input.safeParse({ session_id: ID, caller: "+14155550100" }).success);
});

test("a cancelled session is told as that, and projects as a list with a name", async () => {
  const cancelled = await called("cancel_payment_session", { session_id: ID }, null);
  assert.deepEqual((await cancelled.result).shown, { session_id: ID, status: "cancelled" });
  assert.deepEqual(cancelled.asked, [{ method: "POST", path: `/v1/sessions/${ID}/cancel` }]);
  const projects = await called("list_projects", {}, [{ slug: "shop" }]);
  assert.deepEqual((await projects.result).shown, { projects: [{ slug: "shop" }] });
});

test("a payment that ends is waited for to its end; one that does not says to wait again", async () => {
  const paid = { status: "payment-success", is_terminal: true };
  assert.deepEqual(await (await called("wait_for_payment", { session_id: ID }, paid)).result, { shown: paid });
  const pending = { status: "PENDING", is_terminal: false };
  const { result } = await called("wait_for_payment", { session_id: ID, timeout_seconds: 1 }, pending);
  assert.match((await result).note ?? "", /not over.*wait_for_payment again/);
});
