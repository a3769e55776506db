import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { openTelephone } from "#softphone/caller.ts";
import { freePort } from "../free-port.ts";
import { API_KEY, PROMPT_CACHE, ROOT, run } from "./installation.ts";
import { CARD, keyedPayment } from "./paying.ts";
import type { Shown } from "./processes.ts";
import { approvedCharges, shared, startService } from "./service.ts";

/** `voicetill mcp` as an MCP client has it: a child that speaks JSON-RPC in lines over standard input and output. */

const telephone = await shared(openTelephone(PROMPT_CACHE));
const service = await shared(startService());

const ORDER = { project: "shop", caller: "+14155550100", amount: "49.95", mode: "charge", gateway: "stripe" };
const ALL = ["create_payment_session", "get_payment_session", "wait_for_payment", "cancel_payment_session", "list_projects"];

interface Message {
  id?: number;
  method?: string;
  params?: Shown;
  result?: Shown;
  error?: { code: number; message: string };
}

interface ToolAnswer {
  content: [{ type: string; text: string }];
  structuredContent?: Shown;
  isError?: boolean;
}

/** Starts the command and opens a session with it, as a client does that knows `version` of the protocol. */
async function connect(
  env: Record<string, string> = {},
  { args = [], version = "2025-06-18" }: { args?: string[]; version?: string } = {},
) {
  const child = spawn(process.execPath, [join(ROOT, "scripts/voicetill.mjs"), "mcp", ...args], {
    env: { ...process.env, ...service.env, VOICETILL_API_KEY: API_KEY, ...env },
  });
  after(() => child.kill());
  // The command may end before it has read everything.
  child.stdin.on("error", () => undefined);
  const closed = once(child, "close") as Promise<[number | null]>;
  const notifications: Message[] = [];
  const waiting = new Map<number, ((message: Message) => void)[]>();
  let [output, errors, last] = ["", "", 0];
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  createInterface({ input: child.stdout }).on("line", (line) => {
    output += `${line}\n`;
    // Whatever is no message ends the test here.
    const message = JSON.parse(line) as Message;
    if (message.id === undefined) notifications.push(message);
    else waiting.get(message.id)?.shift()?.(message);
  });
  const write = (message: object) => void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const send = (id: number, method: string, params: object) => {
    const { promise, resolve } = Promise.withResolvers<Message>();
    waiting.set(id, [...(waiting.get(id) ?? []), resolve]);
    write({ id, method, params });
    return promise;
  };
  const request = (method: string, params: object = {}) => send(++last, method, params);
  const hello = await request("initialize", {
    protocolVersion: version,
    capabilities: {},
    clientInfo: { name: "journey", version: "1" },
  });
  write({ method: "notifications/initialized" });
  const call = async (name: string, values: object, meta: object = {}) => {
    const { result, error } = await request("tools/call", { name, arguments: values, _meta: meta });
    assert.ok(result, JSON.stringify(error));
    return result as unknown as ToolAnswer;
  };
  return {
    hello: hello.result ?? {},
    output: () => output,
    errors: () => errors,
    notifications,
    nextId: () => ++last,
    write,
    send,
    request,
    tools: async () => ((await request("tools/list")).result?.["tools"] ?? []) as { name: string; inputSchema: Shown }[],
    /** What a tool shows; it must not fail. */
    async shown(name: string, values: object, meta?: object): Promise<Shown> {
      const { structuredContent, content, isError } = await call(name, values, meta);
      const [{ text }] = content;
      assert.ok(!isError && structuredContent, text);
      assert.deepEqual(JSON.parse(text), structuredContent);
      return structuredContent;
    },
    /** The words in which a tool fails. */
    async fault(name: string, values: object): Promise<string> {
      const { content, isError } = await call(name, values);
      const [{ text }] = content;
      assert.equal(isError, true, text);
      return text;
    },
    closed: async () => (await closed)[0],
    /** Closes standard input, or sends the signal, and resolves with the exit status. */
    async end(signal?: NodeJS.Signals): Promise<number | null> {
      if (signal) child.kill(signal);
      else child.stdin.end();
      return (await closed)[0];
    },
  };
}

/** The command ends before it serves: one sentence on standard error. */
async function refused(sentence: RegExp, env: Record<string, string>, args: string[] = []): Promise<void> {
  const { status, stdout, stderr } = await run(["mcp", ...args], { ...service.env, VOICETILL_API_KEY: API_KEY, ...env });
  assert.deepEqual([status, stdout, stderr.trim().split("\n").length], [1, "", 1], stderr);
  assert.match(stderr, sentence);
}

test("an agent's tool makes a session, waits while the caller keys his card, and learns that it is paid, once", async () => {
  const client = await connect();
  assert.deepEqual(
    (await client.tools()).map(({ name }) => name),
    ALL,
  );
  const { projects } = (await client.shown("list_projects", {})) as { projects: Shown[] };
  assert.deepEqual(
    projects.map(({ slug }) => slug),
    ["shop"],
  );
  const { session_id, sip_uri } = (await client.shown("create_payment_session", ORDER)) as { session_id: string; sip_uri: string };
  const waited = client.shown("wait_for_payment", { session_id, timeout_seconds: 120 }, { progressToken: "wait" });
  await telephone.call({ target: sip_uri, turns: keyedPayment() });

  const session = await waited;
  assert.deepEqual([session["session_id"], session["status"], session["is_terminal"]], [session_id, "payment-success", true]);
  assert.deepEqual(await client.shown("get_payment_session", { session_id }), await service.session(session_id));
  assert.equal((await client.shown("get_payment_session", { caller: ORDER.caller }))["session_id"], session_id);
  const steps = client.notifications.map(({ method, params }) => [method, params?.["progressToken"], params?.["message"]]);
  for (const step of ["PENDING", "COLLECTING", "payment-success"])
    assert.ok(
      steps.some((told) => told.join() === `notifications/progress,wait,${step}`),
      `${step} in ${JSON.stringify(steps)}`,
    );
  const numbers = client.notifications.map(({ params }) => Number(params?.["progress"]));
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
    "progress grows",
  );
  assert.equal(await approvedCharges(service.simulatorsUrl, session_id), 1);

  assert.equal(await client.end(), 0);
  for (const secret of [CARD, API_KEY]) assert.ok(!(client.output() + client.errors()).includes(secret));
});

test("a new session takes the arguments that the interface has, and no others", async () => {
  const client = await connect();
  const [create] = await client.tools();
  const { components } = (await (await fetch(`${service.baseUrl}/openapi.json`)).json()) as {
    components: { schemas: Record<string, { properties: object; required?: string[] }> };
  };
  const { SessionCreate: body, BillingAddress: address } = components.schemas;
  const { properties, required } = create!.inputSchema as unknown as { properties: Record<string, Shown>; required: string[] };
  assert.deepEqual(Object.keys(properties).toSorted(), [...Object.keys(body!.properties), "idempotency_key"].toSorted());
  assert.deepEqual(required.toSorted(), body!.required!.toSorted());
  assert.deepEqual(Object.keys(properties["billing_address"]!["properties"] as object), Object.keys(address!.properties));
  await client.end();
});

test("a repeated request is one session: by the agent's key, or delivered twice", async () => {
  const client = await connect();
  const named = { ...ORDER, idempotency_key: "order 1001" };
  const first = await client.shown("create_payment_session", named);
  assert.deepEqual(await client.shown("create_payment_session", named), first);
  assert.match(await client.fault("create_payment_session", { ...named, amount: "50.00" }), /^422: .*sent with another body before/);

  const id = client.nextId();
  const twice = await Promise.all([1, 2].map(() => client.send(id, "tools/call", { name: "create_payment_session", arguments: ORDER })));
  const ids = twice.map(({ result }) => (result as unknown as ToolAnswer).structuredContent?.["session_id"]);
  assert.equal(ids[0], ids[1]);
  assert.notEqual(ids[0], (await client.shown("create_payment_session", ORDER))["session_id"]);
  await client.end();
});

test("what is refused is told in the interface's words, and nothing is lost by it", async () => {
  const client = await connect();
  const id = "018f7a52-0000-4000-8000-00000000dead";
  assert.match(await client.fault("create_payment_session", { ...ORDER, amount: "-1" }), /^422: body\.amount: .* \(greater_than_equal\)$/);
  assert.equal(await client.fault("create_payment_session", { ...ORDER, project: "nowhere" }), "404: Project not found");
  assert.match(await client.fault("create_payment_session", { ...ORDER, currency: "EUR" }), /Unrecognized key: "currency"/);
  assert.match(await client.fault("create_payment_session", { project: "shop" }), /caller: .*amount: .*mode: .*gateway: /);
  for (const name of ["get_payment_session", "wait_for_payment", "cancel_payment_session"]) {
    assert.equal(await client.fault(name, { session_id: id }), "404: Session not found");
    assert.match(await client.fault(name, { session_id: "../projects" }), /^422: path\.session_id: /);
  }
  assert.match(await client.fault("get_payment_session", {}), /give either session_id or caller/);
  assert.equal((await client.request("tools/call", { name: "refund", arguments: {} })).error?.code, -32_602);
  assert.equal((await client.request("no/such")).error?.code, -32_601);
  assert.ok((await client.shown("create_payment_session", ORDER))["session_id"]);
  await client.end();
});

test("a cancelled session is cancelled, and a wait for it ends; it is cancelled once (R-182)", async () => {
  const client = await connect();
  const { session_id } = await client.shown("create_payment_session", ORDER);
  const waited = client.shown("wait_for_payment", { session_id, timeout_seconds: 60 });
  assert.deepEqual(await client.shown("cancel_payment_session", { session_id }), { session_id, status: "cancelled" });
  assert.equal((await waited)["status"], "cancelled");
  assert.equal(await client.fault("cancel_payment_session", { session_id }), "409: Session cannot be cancelled (status: cancelled)");
  await client.end();
});

test("a wait that comes to no end gives the session as it is; one that the client gives up is not answered", async () => {
  const client = await connect();
  const { session_id } = await client.shown("create_payment_session", ORDER);
  const short = await client.shown("wait_for_payment", { session_id, timeout_seconds: 1 });
  assert.deepEqual([short["status"], short["is_terminal"]], ["PENDING", false]);

  const id = client.nextId();
  let answered = false;
  void client
    .send(id, "tools/call", { name: "wait_for_payment", arguments: { session_id }, _meta: { progressToken: 1 } })
    .then(() => (answered = true));
  while (!client.notifications.some(({ params }) => params?.["progressToken"] === 1)) await client.request("ping");
  client.write({ method: "notifications/cancelled", params: { requestId: id } });
  assert.equal((await client.shown("get_payment_session", { session_id }))["status"], "PENDING");
  await client.shown("cancel_payment_session", { session_id });
  assert.equal(await client.end(), 0);
  assert.equal(answered, false);
});

test("a client that speaks another version of the protocol is told one that is spoken here", async () => {
  const versions = [];
  for (const version of ["2024-11-05", "2025-11-25", "1999-01-01"]) {
    const client = await connect({}, { version });
    versions.push(client.hello["protocolVersion"]);
    assert.equal(await client.end("SIGTERM"), 0);
  }
  assert.deepEqual(versions.slice(0, 2), ["2024-11-05", "2025-11-25"]);
  assert.match(String(versions[2]), /^20\d\d-\d\d-\d\d$/);
});

test("a message that is too long to be read ends the command, in order", async () => {
  const client = await connect();
  client.write({ method: "x".repeat(11 * 1024 * 1024) });
  assert.equal(await client.closed(), 0);
  assert.match(client.errors(), /exceeded maximum size/);
});

test("the key's scopes decide which tools there are (R-044)", async () => {
  const make = (name: string, scopes: string) =>
    service.json<{ key: string }>("keys", "create", "--org", "acme", "--name", name, "--mode", "test", "--scopes", scopes);
  const reading = await connect({ VOICETILL_API_KEY: (await make("reader", "sessions:read")).key });
  assert.deepEqual(
    (await reading.tools()).map(({ name }) => name),
    ["get_payment_session", "wait_for_payment"],
  );
  assert.equal((await reading.request("tools/call", { name: ALL[0], arguments: ORDER })).error?.code, -32_602);
  await reading.end();
  const { key } = await make("platform", "integrations:use");
  await refused(/^The API key opens none of the tools: its scopes are integrations:use; sessions:create, /, { VOICETILL_API_KEY: key });
});

test("the key may stand in a file; a missing, malformed or wrong one ends the command in one sentence, which does not show it", async () => {
  const file = join(service.folder, "key");
  writeFileSync(file, `${API_KEY}\n`);
  const client = await connect({ VOICETILL_API_KEY: "", VOICETILL_API_KEY_FILE: file });
  assert.deepEqual(
    (await client.tools()).map(({ name }) => name),
    ALL,
  );
  await client.end();
  await refused(/^VOICETILL_API_KEY: it must be set for voicetill mcp/, { VOICETILL_API_KEY: "" });
  await refused(/^VOICETILL_API_KEY: its value is not an API key/, { VOICETILL_API_KEY: "hunter2" });
  const wrong = `svc_test_${"x".repeat(32)}`;
  await refused(/^VOICETILL_API_KEY: the service refuses it \(401: Invalid or expired API key\)\.$/m, { VOICETILL_API_KEY: wrong });
});

test("an address that cannot be is told in one sentence, and a live key goes nowhere unencrypted", async () => {
  await refused(/^--url takes an http or https address/, {}, ["--url", "pay.example"]);
  await refused(/^--url takes an http or https address/, {}, ["--url", "https://user@pay.example"]);
  await refused(/^--url: it must be given where PORT is 0/, { PORT: "0" });
  const live = { VOICETILL_API_KEY: `svc_live_${"x".repeat(32)}` };
  await refused(/^--url: a live key is not sent to 192\.0\.2\.1 unencrypted/, live, ["--url", "http://192.0.2.1:8080"]);
  await refused(/^404 without a reason: is \S+ Voicetill's address\?$/m, {}, ["--url", service.simulatorsUrl]);
  await refused(/voicetill mcp --help tells more/, {}, ["--key", API_KEY]);
  const { status, stdout } = await run(["mcp", "--help"], { VOICETILL_API_KEY: "" });
  assert.equal(status, 0);
  for (const part of [...ALL, "VOICETILL_API_KEY_FILE"]) assert.ok(stdout.includes(part), part);
});

test("where no service runs every call says so, and the first after its start is answered; a wait outlasts a restart (R-178)", async () => {
  const folder = join(service.folder, "no-installation");
  const nobody = await connect({ PORT: String(await freePort()), DATA_DIR: folder, DATABASE_URL: "" });
  assert.match(nobody.errors(), /^Voicetill does not answer at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\): start it \(npm start\)/);
  assert.deepEqual(
    (await nobody.tools()).map(({ name }) => name),
    ALL,
  );
  assert.match(await nobody.fault("list_projects", {}), /^Voicetill does not answer at .*: start it/);
  await nobody.end();
  assert.ok(!existsSync(folder), "it opens no database");

  const client = await connect();
  const { session_id } = await client.shown("create_payment_session", ORDER);
  const waited = client.shown("wait_for_payment", { session_id, timeout_seconds: 300 }, { progressToken: 1 });
  while (client.notifications.length === 0) await client.request("ping");
  await service.end();
  assert.match(
    await client.fault("create_payment_session", ORDER),
    /start it.* idempotency_key "mcp-\w{64}", which makes no second one\.$/,
  );
  await service.restart();
  await client.shown("cancel_payment_session", { session_id });
  assert.equal((await waited)["status"], "cancelled");
  await client.end();
});
