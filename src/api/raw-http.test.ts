import assert from "node:assert/strict";
import { connect, type AddressInfo, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { BODY, KEYS, startTestApi, type TestApi } from "./testing.ts";

let api: TestApi;
let port: number;
before(async () => {
  api = await startTestApi();
  await api.app.listen({ host: "127.0.0.1", port: 0 });
  ({ port } = api.app.server.address() as AddressInfo);
});
after(() => api.close());

/** Sends `parts`, each once the answer so far matches the condition before it, and reads until the server closes or `until` matches. */
async function exchange(send: (socket: Socket) => void, until = /never/): Promise<{ text: string; closed: boolean }> {
  const socket = connect(port, "127.0.0.1");
  const { promise, resolve } = Promise.withResolvers<{ text: string; closed: boolean }>();
  let text = "";
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    if (until.test(text)) resolve({ text, closed: false });
  });
  socket.on("close", () => resolve({ text, closed: true }));
  socket.on("error", () => {});
  socket.on("connect", () => send(socket));
  const result = await promise;
  socket.destroy();
  return result;
}

const AUTHORIZED = `Host: x\r\nAuthorization: Bearer ${KEYS.test}\r\n`;
const POST = `POST /v1/sessions HTTP/1.1\r\n${AUTHORIZED}Content-Type: application/json\r\n`;
const statusOf = (text: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
const body = JSON.stringify(BODY);
/** `body` with spaces to make it `length` bytes. */
const padded = (length: number) => body.padEnd(length);

test("a body of 64 KiB is read, one byte more is refused and the connection closed (R-023)", async () => {
  const post = (length: number) =>
    exchange((socket) => socket.write(`${POST}Content-Length: ${length}\r\n\r\n${padded(length)}`), /HTTP\/1\.1 201/);
  assert.equal(statusOf((await post(65_536)).text), 201);
  const { text, closed } = await post(65_537);
  assert.match(text, /^HTTP\/1\.1 413 /);
  assert.match(text, /\r\n\r\n\{"detail":"Request body too large"\}$/);
  assert.match(text, /connection: close/i);
  assert.ok(closed);
});

test("a chunked body is refused once it is past the limit, and the answer arrives although the client keeps sending (R-023)", async () => {
  const chunk = `${(32_768).toString(16)}\r\n${" ".repeat(32_768)}\r\n`;
  const { text } = await exchange((socket) => socket.write(`${POST}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(20)}0\r\n\r\n`));
  assert.equal(statusOf(text), 413);
});

test("a declared over-long body is refused before it is sent, and the connection does not wait for it (R-023, R-045)", async () => {
  const { text, closed } = await exchange((socket) => socket.write(`${POST}Content-Length: 999999999\r\n\r\n`));
  assert.deepEqual([statusOf(text), closed], [413, true]);
});

test("a client that asks first is told to go on, but not before its key was checked (R-025, R-045)", async () => {
  const head = `Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`;
  const { text } = await exchange((socket) => {
    socket.write(`${POST}${head}`);
    socket.once("data", (chunk) => {
      assert.match(chunk.toString(), /^HTTP\/1\.1 100 Continue\r\n\r\n/);
      socket.write(body);
    });
  }, /HTTP\/1\.1 201/);
  assert.match(text, /HTTP\/1\.1 201/);
  const refused = await exchange(
    (socket) => socket.write(`POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${head}`),
    /\r\n\r\n\{/,
  );
  assert.equal(statusOf(refused.text), 401);
});

test("an expectation that nobody knows is passed over (RFC 9110 section 10.1.1)", async () => {
  const { text } = await exchange(
    (socket) => socket.write(`${POST}Content-Length: ${body.length}\r\nExpect: the-best\r\n\r\n${body}`),
    /\r\n\r\n\{/,
  );
  assert.match(text, /^HTTP\/1\.1 201 /);
});

test("what could be read as two requests is refused and the connection closed (R-025)", async () => {
  const get = "GET /v1/auth/check HTTP/1.1\r\n";
  for (const request of [
    `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef`,
    `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
    `${get}${AUTHORIZED}X: a\r\n b\r\n\r\n`,
    `GET /v1/auth/check HTTP/1.1\nHost: x\nAuthorization: Bearer ${KEYS.test}\n\n`,
    `${get}${AUTHORIZED}X : a\r\n\r\n`,
    `${get}${AUTHORIZED}X: a\0b\r\n\r\n`,
    `${get}${AUTHORIZED}host: y\r\n\r\n`,
    `${get}Authorization: Bearer ${KEYS.test}\r\n\r\n`,
    `${POST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    "nonsense\r\n\r\n",
  ]) {
    const { text, closed } = await exchange((socket) => socket.write(request));
    assert.deepEqual([statusOf(text), closed], [400, true], request);
    assert.match(text, /\r\n\r\n\{"detail":"[^"]+"\}$/);
  }
});

test("what follows a request and is none does not take its answer, and ends the connection behind it (R-030, RFC 9112 section 9.3.2)", async () => {
  for (const after of ["}", "GARBAGE\r\n\r\n"]) {
    const { text, closed } = await exchange((socket) => socket.write(`${POST}Content-Length: ${body.length}\r\n\r\n${body}${after}`));
    assert.deepEqual(text.match(/HTTP\/1\.1 \d{3}|connection: close|"status":"created"/gi), [
      "HTTP/1.1 201",
      "Connection: close",
      '"status":"created"',
    ]);
    assert.ok(closed);
  }
});

test("nobody is connected elsewhere, and who asks for it is answered; an upgrade is a request like any other (R-030)", async () => {
  for (const target of ["x:443", "/v1/sessions"]) {
    const { text, closed } = await exchange((socket) => socket.write(`CONNECT ${target} HTTP/1.1\r\n${AUTHORIZED}\r\n`));
    assert.deepEqual([statusOf(text), closed], [400, true], target);
    assert.match(text, /\r\n\r\n\{"detail":"Bad Request"\}$/);
  }
  const upgrade = `GET /v1/auth/check HTTP/1.1\r\n${AUTHORIZED}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
  assert.equal(statusOf((await exchange((socket) => socket.write(upgrade), /\r\n\r\n\{/)).text), 200);
});

test("two Authorization headers are one too many (R-047)", async () => {
  const { text } = await exchange(
    (socket) => socket.write(`GET /v1/auth/check HTTP/1.1\r\n${AUTHORIZED}authorization: Bearer ${KEYS.other}\r\n\r\n`),
    /\r\n\r\n\{/,
  );
  assert.equal(statusOf(text), 401);
});

test("heads that are too large are refused by what is too large about them (R-026)", async () => {
  const get = (path: string, headers: string) =>
    exchange((socket) => socket.write(`GET ${path} HTTP/1.1\r\n${AUTHORIZED}${headers}\r\n`), /\r\n\r\n\{/);
  const status = async (path: string, headers = "") => statusOf((await get(path, headers)).text);
  assert.equal(await status(`/v1/auth/check?${"x".repeat(8000)}`), 200);
  for (const length of [8200, 20_000, 60_000]) assert.equal(await status(`/${"x".repeat(length)}`), 414, String(length));
  assert.equal(await status("/v1/auth/check", `X: ${"x".repeat(15_000)}\r\n`), 200);
  for (const length of [17_000, 40_000]) assert.equal(await status("/v1/auth/check", `X: ${"x".repeat(length)}\r\n`), 431);
  assert.equal(await status("/v1/auth/check", Array.from({ length: 98 }, (_, n) => `X-${n}: 1\r\n`).join("")), 200);
  assert.equal(await status("/v1/auth/check", Array.from({ length: 99 }, (_, n) => `X-${n}: 1\r\n`).join("")), 431);
});

test("a refused body does not spoil the next request on the connection (R-045)", async () => {
  const refused = `POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const { text } = await exchange((socket) => socket.write(`${refused}GET /v1/auth/check HTTP/1.1\r\n${AUTHORIZED}\r\n`), /HTTP\/1\.1 200/);
  assert.deepEqual(text.match(/HTTP\/1\.1 \d{3}/g), ["HTTP/1.1 401", "HTTP/1.1 200"]);
});

test("a head or a body that does not come to an end is cut off, and the next client is served meanwhile (R-025)", async () => {
  const slow = [`${POST}X-Dribble: `, `${POST}Content-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`].map((part) =>
    exchange((socket) => socket.write(part)),
  );
  const quick = await exchange((socket) => socket.write(`${POST}Content-Length: ${body.length}\r\n\r\n${body}`), /HTTP\/1\.1 201/);
  assert.equal(statusOf(quick.text), 201);
  for (const { text, closed } of await Promise.all(slow)) {
    assert.equal(statusOf(text), 408);
    assert.match(text, /\r\n\r\n\{"detail":"[^"]+"\}$/);
    assert.ok(closed);
  }
});
