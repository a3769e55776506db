import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { createOutbound } from "./http.ts";

/** A name server of an attacker: every answer is another one, and none may be kept. */

const closing: (() => void)[] = [];
after(() => closing.forEach((close) => close()));

const A = 1;

interface Question {
  name: string;
  type: number;
}
/** Type and data of one resource record. */
type Answer = [type: number, data: Buffer];

const ipv4 = (address: string): Answer => [A, Buffer.from(address.split(".").map(Number))];
/** A name server on loopback over UDP (RFC 1035 section 4); every record has a TTL of 0. Answers a look-up through it. */
async function nameServer(answer: (question: Question) => Answer[] | null): Promise<(name: string) => Promise<string[]>> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  socket.on("message", (query, { port, address }) => {
    let end = 12;
    const labels: string[] = [];
    for (let length = query[end]!; length > 0; length = query[end]!) {
      labels.push(query.toString("latin1", end + 1, end + 1 + length));
      end += 1 + length;
    }
    const question = { name: labels.join("."), type: query.readUInt16BE(end + 1) };
    const answers = answer(question);
    if (!answers) return;
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(0x8180, 2);
    head.fill(0, 6);
    head.writeUInt16BE(answers.length, 6);
    const records = answers.map(([type, data]) => {
      const record = Buffer.alloc(12);
      record.writeUInt16BE(0xc00c, 0);
      record.writeUInt16BE(type, 2);
      record.writeUInt16BE(1, 4);
      record.writeUInt16BE(data.length, 10);
      return Buffer.concat([record, data]);
    });
    socket.send(Buffer.concat([head, query.subarray(12, end + 5), ...records]), port, address);
  });
  const resolver = new Resolver({ timeout: 5000, tries: 1 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  closing.push(() => {
    resolver.cancel();
    socket.close();
  });
  return (name) => resolver.resolve4(name);
}

/** Stands for a public address: the only one that may be reached. */
const PUBLIC = "127.0.0.9";
const PRIVATE = "127.0.0.1";

/** Servers of both addresses on one port, and how many connections each has had. */
async function bothServers(): Promise<{ port: number; seen: Record<string, number> }> {
  const seen: Record<string, number> = { [PUBLIC]: 0, [PRIVATE]: 0 };
  const listen = async (address: string, port: number): Promise<Server> => {
    const server = createServer((_request, response) => response.end(address));
    server.on("connection", () => seen[address]!++);
    server.listen(port, address);
    await once(server, "listening");
    closing.push(() => void server.close());
    return server;
  };
  const { port } = (await listen(PUBLIC, 0)).address() as AddressInfo;
  await listen(PRIVATE, port);
  return { port, seen };
}

test("a name that turns to a private address between two look-ups is never followed there (R-260)", async () => {
  const { port, seen } = await bothServers();
  let asked = 0;
  const resolve = await nameServer(() => [ipv4(asked++ % 2 === 0 ? PUBLIC : PRIVATE)]);
  const outbound = createOutbound({ allow: [`${PUBLIC}/32`], resolve });
  for (let round = 0; round < 10; round++) {
    const answer = await outbound.send({ method: "GET", url: `http://rebind.example:${port}/`, headers: {} });
    if (round % 2 === 1) assert.deepEqual(answer, { kind: "not sent", reason: "address not allowed" });
    else assert.equal(answer.kind === "answered" && Buffer.from(answer.body).toString(), PUBLIC);
  }
  assert.equal(asked, 10, "one look-up a request");
  assert.deepEqual(seen, { [PUBLIC]: 5, [PRIVATE]: 0 });
});

test("a private address among the answers condemns the name, wherever it stands (R-260)", async () => {
  const { port, seen } = await bothServers();
  for (const addresses of [
    [PUBLIC, PRIVATE],
    [PRIVATE, PUBLIC],
    [PUBLIC, "10.0.0.1", PUBLIC],
  ]) {
    const outbound = createOutbound({ allow: [`${PUBLIC}/32`], resolve: await nameServer(() => addresses.map(ipv4)) });
    const answer = await outbound.send({ method: "GET", url: `http://mixed.example:${port}/`, headers: {} });
    assert.deepEqual(answer, { kind: "not sent", reason: "address not allowed" });
  }
  assert.deepEqual(seen, { [PUBLIC]: 0, [PRIVATE]: 0 });
});

test("a name server that never answers does not outlast the request's deadline (R-250)", async () => {
  const asked = Promise.withResolvers<void>();
  const lookUp = await nameServer(() => {
    asked.resolve();
    return null;
  });
  let isLookedUp = false;
  const resolve = (name: string) => lookUp(name).finally(() => (isLookedUp = true));
  const sending = createOutbound({ allow: [], resolve }).send({
    method: "POST",
    url: "https://silent.example/",
    headers: {},
    body: Buffer.from("4242"),
    timeoutMs: 200,
  });
  await asked.promise;
  assert.deepEqual(await sending, { kind: "not sent", reason: "deadline passed" });
  assert.equal(isLookedUp, false, "it waited for the name server");
});
