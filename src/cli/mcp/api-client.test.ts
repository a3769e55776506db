import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import { type ApiClient, ApiFault, openApiClient } from "./api-client.ts";
import { collected } from "./testing.ts";

const KEY = `svc_test_${"a".repeat(32)}`;
const closing: (() => void)[] = [];
after(() => closing.forEach((close) => close()));

/** A client of a server that answers as `listener` does. */
async function against(listener: RequestListener): Promise<ApiClient> {
  const server = createServer(listener);
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return openApiClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, new Secret(KEY));
}

/** One that answers everything with this. */
const answering = (status: number, body: string, headers: Record<string, string> = {}) =>
  against((_, response) => void response.writeHead(status, headers).end(body));

async function faultOf(asked: Promise<unknown>): Promise<ApiFault> {
  return await asked.then(
    () => assert.fail("it was not refused"),
    (error: unknown) => (error instanceof ApiFault ? error : assert.fail(String(error))),
  );
}

test("a request has the key as Bearer token and its body as JSON, and the answer is read with its headers", async () => {
  const came: unknown[] = [];
  const api = await against((request, response) => {
    const { authorization, "content-type": type, "idempotency-key": once } = request.headers;
    came.push(request.method, request.url, authorization, type, once);
    request.on("data", (chunk: Buffer) => came.push(chunk.toString()));
    request.on("end", () => response.writeHead(201, { "api-key-scopes": "a" }).end('{"session_id":"x"}'));
  });
  const { body, headers } = await api.send("POST", "/v1/sessions", { body: { amount: "1.10" }, headers: { "idempotency-key": "k" } });
  assert.deepEqual([body, headers.get("api-key-scopes")], [{ session_id: "x" }, "a"]);
  assert.deepEqual(came, ["POST", "/v1/sessions", `Bearer ${KEY}`, "application/json", "k", '{"amount":"1.10"}']);
});

test("an answer without a body is read as null", async () => {
  assert.equal((await (await answering(204, "")).send("POST", "/v1/sessions/x/cancel")).body, null);
});

const REFUSALS: [string, number, string, RegExp][] = [
  [
    "a sentence",
    403,
    '{"detail":"API key lacks the required scope sessions:create"}',
    /^403: API key lacks the required scope sessions:create$/,
  ],
  [
    "a list of faults",
    422,
    '{"detail":[{"loc":["body","amount"],"msg":"Input should be greater than 0","type":"greater_than"},{"loc":["body"],"msg":"x","type":"y"}]}',
    /^422: body\.amount: Input should be greater than 0 \(greater_than\); body: x \(y\)$/,
  ],
  ["another server's page", 404, "<html>", /^404 without a reason: is http:\/\/127\.0\.0\.1:\d+ Voicetill's address\?$/],
  ["a detail of another form", 400, '{"detail":null}', /^400 without a reason/],
];
for (const [what, status, body, words] of REFUSALS) {
  test(`a refusal with ${what} is told in those words`, async () => {
    const fault = await faultOf((await answering(status, body)).send("GET", "/v1/projects"));
    assert.match(fault.message, words);
    assert.equal(fault.status, status);
  });
}

test("a refusal for now says when to come again", async () => {
  const fault = await faultOf((await answering(429, '{"detail":"Rate limit exceeded"}', { "retry-after": "7" })).send("GET", "/"));
  assert.equal(fault.message, "429: Rate limit exceeded; try again in 7 s");
  assert.equal(fault.retryAfterMs, 7000);
});

test("a redirect is not followed, the key would go elsewhere: its target is told", async () => {
  const api = await answering(308, '{"detail":"HTTPS is required"}', { location: "https://pay.example/v1/projects" });
  assert.match((await faultOf(api.send("GET", "/v1/projects"))).message, /leads to https:\/\/pay\.example\/v1\/projects: give .*--url/);
});

test("an answer that is no JSON is another program's", async () => {
  assert.match((await faultOf((await answering(200, "<html>")).send("GET", "/"))).message, /is no Voicetill's/);
});

test("where nothing listens, one sentence says what to do, and shows no key", async () => {
  const api = openApiClient("http://127.0.0.1:1", new Secret(KEY));
  const fault = await faultOf(api.send("GET", "/v1/projects"));
  assert.match(
    fault.message,
    /^Voicetill does not answer at http:\/\/127\.0\.0\.1:1 \(.+\): start it \(npm start\), or give its address with --url\.$/,
  );
  assert.equal(fault.status, null);
  assert.ok(!JSON.stringify([fault.message, fault.stack, fault.cause]).includes(KEY));
});

test("a connection that ends before the answer is a fault without a status, as an answer that breaks off is", async () => {
  const gone = await against((request) => void request.socket.destroy());
  assert.equal((await faultOf(gone.send("POST", "/"))).status, null);
  const cut = await against((request, response) => {
    response.writeHead(200, { "content-length": "100" }).write("{");
    setImmediate(() => request.socket.destroy());
  });
  assert.equal((await faultOf(cut.send("GET", "/"))).status, null);
});

test("a service that does not answer in time is a fault without a status", async () => {
  const fault = await faultOf((await against(() => {})).send("GET", "/", { limitMs: 1 }));
  assert.match(fault.message, /\(no answer in time\)/);
  assert.equal(fault.status, null);
});

test("whoever gives up a request gets that as its reason, no fault of the service", async () => {
  const api = await against(() => {});
  const leaving = new AbortController();
  const asked = api.send("GET", "/", { signal: leaving.signal });
  leaving.abort();
  await assert.rejects(asked, { name: "AbortError" });
});

test("a session's events come one by one, until the service ends the stream or breaks it off", async () => {
  const api = await against((request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write('data: {"status":"PENDING"}\n\n');
    if (request.url === "/cut") setImmediate(() => request.socket.destroy());
    else response.end(":\n\n");
  });
  const events = await collected(api.events("/whole"));
  assert.deepEqual(
    events.map(({ data }) => data),
    [{ status: "PENDING" }, null],
  );
  assert.equal((await faultOf(collected(api.events("/cut")))).status, null);
  const refusing = await answering(404, '{"detail":"Session not found"}');
  assert.equal((await faultOf(collected(refusing.events("/x")))).message, "404: Session not found");
});
