import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { after, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { gzipSync } from "node:zlib";
import { createOutbound, type OutboundRequest } from "./http.ts";

const LOOPBACK = ["127.0.0.0/8", "::1/128"];
const outbound = createOutbound({ allow: LOOPBACK });
const servers: Server[] = [];
after(() => servers.forEach((server) => server.close()));

async function listening(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** An HTTP server; returns its port. */
const serve = (listener: RequestListener) => listening(createServer(listener));

/** A raw server that hands over each connection once the first bytes of a request have come. */
function serveRaw(onRequest: (socket: Socket) => void): Promise<number> {
  return listening(
    createTcpServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => onRequest(socket));
    }),
  );
}

function get(url: string, more: Partial<OutboundRequest> = {}): OutboundRequest {
  return { method: "GET", url, headers: {}, ...more };
}

test("a request arrives as it was given, its answer comes back, and the body is wiped", async () => {
  let seen = "";
  const port = await serve((request, response) => {
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => (seen += chunk));
    request.on("end", () => {
      seen = `${request.method} ${request.url} ${String(request.headers["x-key"])} ${request.headers["accept-encoding"]} ${seen}`;
      response.writeHead(402, { "X-Answer": "yes" }).end("declined");
    });
  });
  const body = Buffer.from("number=1");
  const answer = await outbound.send({ method: "POST", url: `http://127.0.0.1:${port}/charge?a=1`, headers: { "X-Key": "k" }, body });
  assert.equal(seen, "POST /charge?a=1 k identity number=1");
  assert.ok(answer.kind === "answered");
  assert.equal(answer.status, 402);
  assert.equal(answer.headers["x-answer"], "yes");
  assert.equal(Buffer.from(answer.body).toString(), "declined");
  assert.deepEqual(body, Buffer.alloc(8));
});

test("Accept-Encoding is sent once, whatever the request says of it (R-253)", async () => {
  let sent: string[] = [];
  const port = await serve((request, response) => {
    sent = request.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    response.end();
  });
  await outbound.send(get(`http://127.0.0.1:${port}/`, { headers: { "Accept-Encoding": "gzip", "X-Key": "k" } }));
  assert.deepEqual(
    sent.filter((name) => name === "accept-encoding" || name === "x-key"),
    ["x-key", "accept-encoding"],
  );
});

test("redirects are responses, never followed (R-248)", async () => {
  let followed = 0;
  const target = await serve((_request, response) => {
    followed++;
    response.end();
  });
  for (const status of [301, 302, 303, 307, 308]) {
    const port = await serve((_request, response) => response.writeHead(status, { location: `http://127.0.0.1:${target}/` }).end());
    const answer = await outbound.send(get(`http://127.0.0.1:${port}/`));
    assert.equal(answer.kind === "answered" && answer.status, status);
  }
  assert.equal(followed, 0);
});

test("a proxy named in the environment is not used", async () => {
  const port = await serve((_request, response) => response.end("direct"));
  process.env["HTTP_PROXY"] = process.env["http_proxy"] = "http://127.0.0.1:1";
  try {
    assert.equal((await outbound.send(get(`http://127.0.0.1:${port}/`))).kind, "answered");
  } finally {
    delete process.env["HTTP_PROXY"];
    delete process.env["http_proxy"];
  }
});

test("an answer that dribbles is cut at the total deadline and its connection destroyed (R-250)", async () => {
  const closed = Promise.withResolvers<void>();
  const port = await serveRaw((socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
    const drip = setInterval(() => socket.write("x"), 10);
    socket.on("close", () => {
      clearInterval(drip);
      closed.resolve();
    });
  });
  const answer = await outbound.send(get(`http://127.0.0.1:${port}/`, { timeoutMs: 150 }));
  assert.deepEqual(answer, { kind: "lost", reason: "deadline passed" });
  await closed.promise;
});

test("a receiver that takes the request and stays silent is lost at the deadline, one that never connects was not sent", async () => {
  const silent = await serveRaw(() => {});
  assert.deepEqual(await outbound.send(get(`http://127.0.0.1:${silent}/`, { timeoutMs: 100 })), {
    kind: "lost",
    reason: "deadline passed",
  });

  const mute = createOutbound({ allow: LOOPBACK, resolve: () => new Promise(() => {}) });
  assert.deepEqual(await mute.send(get("http://slow.example:8080/", { timeoutMs: 50 })), { kind: "not sent", reason: "deadline passed" });
});

test("a TLS handshake that hangs is not sent at the deadline (R-250)", async () => {
  const port = await listening(createTcpServer((socket) => void socket.on("error", () => {}).resume()));
  const answer = await outbound.send(get(`https://127.0.0.1:${port}/`, { timeoutMs: 100 }));
  assert.deepEqual(answer, { kind: "not sent", reason: "deadline passed" });
});

test("an answer longer than the limit is lost, or cut where only the status matters (R-251, R-350)", async () => {
  const port = await serve((_request, response) => response.end(Buffer.alloc(70_000, 120)));
  const url = `http://127.0.0.1:${port}/`;
  assert.deepEqual(await outbound.send(get(url, { maxBytes: 65_536 })), { kind: "lost", reason: "answer too long" });
  const cut = await outbound.send(get(url, { maxBytes: 16_384, statusOnly: true }));
  assert.equal(cut.kind === "answered" && cut.body.length, 16_384);
});

test("where the status alone matters, a body that is encoded, broken or without an end loses no answer (R-349, R-350)", async () => {
  const bodies = [
    "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok",
    "Transfer-Encoding: chunked\r\n\r\nzz",
    "Content-Length: 9\r\n\r\nok",
  ];
  for (const rest of bodies) {
    const port = await serveRaw((socket) => socket.end(`HTTP/1.1 200 OK\r\n${rest}`));
    const answer = await outbound.send(get(`http://127.0.0.1:${port}/`, { statusOnly: true }));
    assert.equal(answer.kind === "answered" && answer.status, 200);
  }
  const port = await serveRaw((socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"));
  const answer = await outbound.send(get(`http://127.0.0.1:${port}/`, { statusOnly: true, timeoutMs: 100 }));
  assert.equal(answer.kind === "answered" && answer.status, 200);
});

test("an endless answer is read no further than the limit (R-251)", async () => {
  let written = 0;
  const closed = Promise.withResolvers<void>();
  const port = await serve((_request, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(16_384))) written += 16_384;
    };
    response.on("drain", more).on("close", closed.resolve);
    more();
  });
  assert.equal((await outbound.send(get(`http://127.0.0.1:${port}/`, { maxBytes: 65_536 }))).kind, "lost");
  await closed.promise;
  assert.ok(written < 64 * 1024 * 1024);
});

test("answer headers past 16 KiB are lost, one long one or many short ones (R-251)", async () => {
  const answered = async (fields: string) => {
    const port = await serveRaw((socket) => socket.end(`HTTP/1.1 200 OK\r\n${fields}content-length: 0\r\n\r\n`));
    return await outbound.send(get(`http://127.0.0.1:${port}/`));
  };
  const many = (count: number) => Array.from({ length: count }, (_, at) => `x-${1_000 + at}: a\r\n`).join("");
  assert.equal((await answered(many(1_480))).kind, "answered");
  for (const fields of [`x-long: ${"a".repeat(17_000)}\r\n`, many(1_500)])
    assert.partialDeepStrictEqual(await answered(fields), { kind: "lost", reason: "answer headers too long" });
});

test("an encoded answer is lost (R-253)", async () => {
  const port = await serve((_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("{}")));
  assert.deepEqual(await outbound.send(get(`http://127.0.0.1:${port}/`)), { kind: "lost", reason: "encoded answer" });
});

test("a refused connection was not sent", async () => {
  const server = createTcpServer();
  const port = await listening(server);
  server.close();
  await once(server, "close");
  assert.deepEqual(await outbound.send(get(`http://127.0.0.1:${port}/`)), { kind: "not sent", reason: "connection refused" });
});

test("a reset after the request was read is lost, and the request is not made again (R-249)", async () => {
  for (const end of [(socket: Socket) => socket.resetAndDestroy(), (socket: Socket) => socket.destroy()]) {
    let requests = 0;
    const port = await serveRaw((socket) => {
      requests++;
      end(socket);
    });
    const answer = await outbound.send({ method: "POST", url: `http://127.0.0.1:${port}/`, headers: {}, body: Buffer.from("x") });
    assert.equal(answer.kind, "lost");
    assert.equal((await outbound.send(get(`http://127.0.0.1:${port}/`))).kind, "lost");
    assert.equal(requests, 2);
  }
});

test("a connection that is closed before the request could be read is lost and not opened again", async () => {
  let connections = 0;
  const port = await listening(
    createTcpServer((socket) => {
      connections++;
      socket.on("error", () => {});
      socket.destroy();
    }),
  );
  assert.equal((await outbound.send(get(`http://127.0.0.1:${port}/`))).kind, "lost");
  assert.equal(connections, 1);
});

test("an answer cut short, and one that is not HTTP, are lost", async () => {
  for (const words of [
    "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
    "220 mail.example\r\n",
  ]) {
    const port = await serveRaw((socket) => socket.end(words));
    assert.equal((await outbound.send(get(`http://127.0.0.1:${port}/`))).kind, "lost", words);
  }
});

test("interim answers that nobody asked for come before the one that counts (RFC 9110 section 15.2)", async () => {
  const port = await serveRaw((socket) =>
    socket.end(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok",
    ),
  );
  const answer = await outbound.send({ method: "POST", url: `http://127.0.0.1:${port}/`, headers: {}, body: Buffer.from("x") });
  assert.ok(answer.kind === "answered");
  assert.deepEqual([answer.status, Buffer.from(answer.body).toString()], [201, "ok"]);
});

test("an answer that switches protocols is lost at once", async () => {
  const port = await serveRaw((socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"));
  const body = Buffer.from("number=1");
  const answer = await outbound.send({ method: "POST", url: `http://127.0.0.1:${port}/`, headers: {}, body });
  assert.deepEqual(answer, { kind: "lost", reason: "broken answer" });
  assert.deepEqual(body, Buffer.alloc(8));
});

test("a request whose time has passed before it begins opens no connection", async () => {
  let connections = 0;
  const port = await listening(createTcpServer(() => connections++));
  const answer = await outbound.send(get(`http://127.0.0.1:${port}/`, { signal: AbortSignal.abort() }));
  assert.deepEqual(answer, { kind: "not sent", reason: "deadline passed" });
  assert.equal(connections, 0);
});

const REFUSED: [string, string, Partial<OutboundRequest>?][] = [
  ["not an address", "bad address"],
  ["ftp://127.0.0.1/", "https required"],
  ["file:///etc/passwd", "https required"],
  ["http://127.0.0.1:8080/", "https required", { httpsOnly: true }],
  ["https://user:password@pay.example/", "user or fragment in the address"],
  ["https://user@pay.example/", "user or fragment in the address"],
  ["https://pay.example/#part", "user or fragment in the address"],
  ["https://pay.example/#", "user or fragment in the address"],
  ["http://127.0.0.1/", "port not allowed"],
  ["https://127.0.0.1:22/", "port not allowed"],
  ["http://127.0.0.1:1023/", "port not allowed"],
];
for (const [url, reason, more] of REFUSED) {
  test(`refused without a packet: ${url} (R-260, R-261)`, async () => {
    assert.deepEqual(await outbound.send(get(url, more)), { kind: "not sent", reason });
  });
}

test("a name is resolved once, and the request goes to the address that was checked, under the name (R-260)", async () => {
  let resolved = 0;
  let host: string | undefined;
  const port = await serve((request, response) => {
    host = request.headers.host;
    response.end();
  });
  const rebinding = createOutbound({
    allow: ["127.0.0.1/32"],
    resolve: async () => (resolved++ === 0 ? ["127.0.0.1"] : ["127.0.0.2"]),
  });
  assert.equal((await rebinding.send(get(`http://merchant.example:${port}/`))).kind, "answered");
  assert.equal(host, `merchant.example:${port}`);
  assert.equal(resolved, 1);
  assert.deepEqual(await rebinding.send(get(`http://merchant.example:${port}/`)), { kind: "not sent", reason: "address not allowed" });
});

test("one private address among public ones condemns the name (R-260)", async () => {
  const mixed = createOutbound({ allow: [], resolve: async () => ["93.184.215.14", "10.0.0.1"] });
  assert.deepEqual(await mixed.send(get("https://merchant.example/")), { kind: "not sent", reason: "address not allowed" });
});

test("a name that does not resolve was not sent", async () => {
  for (const resolve of [async () => [], () => Promise.reject(new Error("ENOTFOUND"))]) {
    const answer = await createOutbound({ allow: [], resolve }).send(get("https://merchant.example/"));
    assert.deepEqual(answer, { kind: "not sent", reason: "name not resolved" });
  }
});

test("OUTBOUND_ALLOW with a bad range is refused by name", () => {
  assert.throws(() => createOutbound({ allow: ["10.0.0.0/8", "ten/8"] }), { name: "OperatorError", message: /^OUTBOUND_ALLOW: "ten\/8"/ });
});

/** For tests only: signs itself, for pay.example. */
const TEST_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgcdwNKkkkL+k3N45i
wJO5EBDKocwoQX0LZCzWMHazmnihRANCAASQBfPvO05Sq8tw5SjBw3D4fRDiI1ht
va4MWisTLPJtVnE78c8WcjB8wmiFJQuaiDze1xeLdfxbqCCaFfMD5+WB
-----END PRIVATE KEY-----
`;
const TEST_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUdGpASYkndQLJ20yuwUwGwZToPYYwCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLcGF5LmV4YW1wbGUwIBcNMjYxMTIxMDAyMjI1WhgPMjEyNjEw
MjgwMDIyMjVaMBYxFDASBgNVBAMMC3BheS5leGFtcGxlMFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAEkAXz7ztOUqvLcOUowcNw+H0Q4iNYbb2uDForEyzybVZxO/HP
FnIwfMJohSULmog83tcXi3X8W6ggmhXzA+flgaNrMGkwHQYDVR0OBBYEFDskrBEu
Cd5jg9wEuFlEAKP/pwi7MB8GA1UdIwQYMBaAFDskrBEuCd5jg9wEuFlEAKP/pwi7
MBYGA1UdEQQPMA2CC3BheS5leGFtcGxlMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZI
zj0EAwIDSAAwRQIgcjFGhGMCc7QksJO1ecmRqHU+BrC2T8AhcU6kckiOZ1wCIQCM
U7rhJ5yquUg9w/q5ydHWDmjh5BKzT7TjPcTE/nr2Mw==
-----END CERTIFICATE-----
`;

test("TLS verifies chain and name, and a certification authority of one's own can be added (R-259)", async () => {
  let servername: string | false | null | undefined;
  const port = await listening(
    createSecureServer({ key: TEST_KEY, cert: TEST_CERTIFICATE }, (request, response) => {
      servername = (request.socket as TLSSocket).servername;
      response.end("safe");
    }),
  );
  const to = (name: string, extraCa: string[]) =>
    createOutbound({ allow: LOOPBACK, resolve: async () => ["127.0.0.1"], extraCa }).send(get(`https://${name}:${port}/`));

  assert.equal((await to("pay.example", [TEST_CERTIFICATE])).kind, "answered");
  assert.equal(servername, "pay.example");
  assert.deepEqual(await to("pay.example", []), { kind: "not sent", reason: "TLS refused" });
  assert.deepEqual(await to("other.example", [TEST_CERTIFICATE]), { kind: "not sent", reason: "TLS refused" });
});

test("TLS older than 1.2 is refused (R-259)", async () => {
  const options = {
    key: TEST_KEY,
    cert: TEST_CERTIFICATE,
    minVersion: "TLSv1",
    maxVersion: "TLSv1.1",
    ciphers: "DEFAULT@SECLEVEL=0",
  } as const;
  const port = await listening(createSecureServer(options, (_request, response) => response.end()));
  const answer = await createOutbound({ allow: LOOPBACK, resolve: async () => ["127.0.0.1"], extraCa: [TEST_CERTIFICATE] }).send(
    get(`https://pay.example:${port}/`),
  );
  assert.deepEqual(answer, { kind: "not sent", reason: "TLS refused" });
});
