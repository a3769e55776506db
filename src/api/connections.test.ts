import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect, type AddressInfo, type Socket } from "node:net";
import { after, test } from "node:test";
import type { FastifyInstance } from "fastify";
import { ERRORS } from "#src/kernel/errors.ts";
import type { ApiSettings } from "./deps.ts";
import { KEYS, startTestApi, type TestApi } from "./testing.ts";

/** Connections that send nothing, too little, or too many. */

const api: TestApi = await startTestApi();
after(() => api.close());

const SHORT = { headMs: 300, lingerMs: 50 };

async function listening(settings: Partial<ApiSettings>): Promise<{ app: FastifyInstance; port: number; open: () => Promise<number> }> {
  const app = api.another({ settings: { rateLimitPerMinute: 1_000_000, ...settings } });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const open = () => new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count)));
  return { app, port, open };
}

const bodyOf = (text: string): unknown => JSON.parse(text.slice(text.indexOf("\r\n\r\n")));

/** A client that never ends its own side, whatever the server does. */
async function halfOpen(port: number, text = "", localAddress = "127.0.0.1"): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress, allowHalfOpen: true });
  socket.on("error", () => {});
  await once(socket, "connect");
  if (text !== "") socket.write(text);
  return socket;
}

const GET = `GET /v1/auth/check HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEYS.test}\r\n\r\n`;
const descriptors = () => readdirSync("/proc/self/fd").length;
/** What the server sends until it ends its side. */
async function textOf(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  if (!socket.readableEnded && !socket.destroyed) await Promise.race([once(socket, "end"), once(socket, "close")]);
  return text;
}
/** Resolves when the server has closed all its connections but `count`. */
async function untilOpen(open: () => Promise<number>, count: number): Promise<void> {
  while ((await open()) !== count) await new Promise((resolve) => setImmediate(resolve));
}

test("2,000 clients that send no head, or half of one, and never hang up give their descriptors back (R-438)", async () => {
  const { app, port, open } = await listening({ connections: SHORT });
  const before = descriptors();
  const clients: Socket[] = [];
  for (let n = 0; n < 2000; n += 100) {
    const texts = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? "" : "POST /v1/sessions HTTP/1.1\r\nHost: x\r\nX-Slow: "));
    clients.push(...(await Promise.all(texts.map((text) => halfOpen(port, text)))));
  }
  assert.equal(clients.length, 2000);
  await untilOpen(open, 0);
  assert.equal(clients.filter((client) => client.writable).length, 2000, "no client has hung up");
  assert.equal(descriptors(), before + clients.length, "what is left are the clients' own");
  for (const client of clients) client.destroy();
  await app.close();
});

test("a client that sends no head in time is told so with a 408 before its connection goes (R-438)", async () => {
  const { app, port, open } = await listening({ connections: SHORT });
  const [silent, half] = [await halfOpen(port), await halfOpen(port, "GET / HTTP/1.1\r\nX: ")];
  const texts = await Promise.all([silent, half].map(textOf));
  // What it is told is in the table, and so in docs/errors.md.
  const { detail } = Object.values(ERRORS).find(({ status }: { status: number }) => status === 408) ?? {};
  for (const text of texts) assert.deepEqual([text.slice(0, 13), bodyOf(text)], ["HTTP/1.1 408 ", { detail }]);
  await untilOpen(open, 0);
  for (const client of [silent, half]) client.destroy();
  await app.close();
});

test("what is no HTTP is answered, and its connection goes although the client keeps it open (R-438)", async () => {
  const { app, port, open } = await listening({ connections: { lingerMs: 50 } });
  const client = await halfOpen(port, "nonsense\r\n\r\n");
  assert.match(await textOf(client), /^HTTP\/1\.1 400 /);
  await untilOpen(open, 0);
  assert.ok(client.writable);
  client.destroy();
  await app.close();
});

test("a client that asks and reads no answer is dropped (R-438)", async () => {
  const { app, port, open } = await listening({ connections: { stalledMs: 300, unanswered: 1000 } });
  const client = await halfOpen(port);
  client.pause();
  // More answers than the buffers of both sides hold.
  client.write("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(400));
  await once(app.server, "request");
  await untilOpen(open, 0);
  client.destroy();
  await app.close();
});

test("a client that sends requests without end and waits for no answer is cut off after some dozens (R-438)", async () => {
  const { app, port, open } = await listening({});
  let requests = 0;
  app.server.on("request", () => requests++);
  const patient = await halfOpen(port, "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n".repeat(20));
  let answers = "";
  patient.on("data", (chunk: Buffer) => (answers += chunk.toString("latin1")));
  while (answers.split("HTTP/1.1 200").length <= 20) await once(patient, "data");
  requests = 0;
  const client = await halfOpen(port, `${"GET /health HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2_000)}GET / HTTP/1.0\r\n\r\n`);
  await new Promise((resolve) => client.resume().once("close", resolve).once("end", resolve));
  await untilOpen(open, 1);
  assert.ok(requests <= 200, `${requests} requests of it were taken`);
  for (const socket of [patient, client]) socket.destroy();
  await app.close();
});

test("an address that has all its connections loses the oldest idle one to a new one, and no busy one (R-438)", async () => {
  const { app, port, open } = await listening({ connections: { perAddress: 3 } });
  const [oldest, second, third] = [await halfOpen(port), await halfOpen(port), await halfOpen(port)];
  await untilOpen(open, 3);
  const fourth = await halfOpen(port, GET);
  assert.equal(await textOf(oldest), "");
  await once(fourth, "data");
  assert.equal(await open(), 3);
  const elsewhere = await halfOpen(port, GET, "127.0.0.2");
  await once(elsewhere, "data");
  assert.equal(await open(), 4);

  const id = await api.createSession();
  const streams: Socket[] = [];
  for (let n = 0; n < 3; n++) {
    const stream = await halfOpen(port, `GET /v1/sessions/${id}/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEYS.test}\r\n\r\n`);
    await once(stream, "data");
    streams.push(stream);
  }
  const refused = await halfOpen(port, GET);
  assert.equal(await textOf(refused), "");
  assert.equal(streams.filter(({ readableEnded, destroyed }) => !readableEnded && !destroyed).length, 3);
  for (const client of [oldest, second, third, fourth, elsewhere, refused, ...streams]) client?.destroy();
  await app.close();
});

test("trusted proxies and a limit of 0 have no cap of their own, but the one in all holds (R-438)", async () => {
  for (const settings of [{ trustedProxies: ["127.0.0.1"] }, { rateLimitPerMinute: 0 }]) {
    const { app, port, open } = await listening({ connections: { perAddress: 1, total: 3 }, ...settings });
    const clients = [await halfOpen(port), await halfOpen(port), await halfOpen(port)];
    await untilOpen(open, 3);
    clients.push(await halfOpen(port, GET));
    await once(clients[3]!, "data");
    assert.equal(await textOf(clients[0]!), "");
    assert.equal(await open(), 3);
    for (const client of clients) client.destroy();
    await app.close();
  }
});
