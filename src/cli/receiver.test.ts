import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import { mistakeOf } from "./help.ts";
import { type Received, startReceiver } from "./receiver.ts";

const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const BODY = '{"event":"payment.success"}';

/** As docs/webhooks.md describes it. */
function signed(): Record<string, string> {
  const at = String(Math.floor(Date.now() / 1000));
  const hmac = (key: Buffer | string, text: string) => createHmac("sha256", key).update(text);
  const standard = hmac(Buffer.from(SECRET.slice("whsec_".length), "base64"), `evt_1.${at}.${BODY}`).digest("base64");
  const timestamped = hmac(SECRET, `${at}.${BODY}`).digest("hex");
  return {
    "webhook-id": "evt_1",
    "webhook-timestamp": at,
    "webhook-signature": `v1,${standard}`,
    "x-signature": `t=${at},v1=${timestamped}`,
  };
}

/** A merchant's own server that answers 418 and keeps what came. */
async function merchant() {
  const came: { signature: unknown; body: string }[] = [];
  const server = createServer((incoming, response) => {
    let body = "";
    incoming.on("data", (chunk: Buffer) => (body += chunk.toString()));
    incoming.on("end", () => {
      came.push({ signature: incoming.headers["webhook-signature"], body });
      response.writeHead(418).end();
    });
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  return { came, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

test("a genuine webhook is passed on as it came and answered with what the address answers; another one is not", async () => {
  const { came, server, url } = await merchant();
  const seen: Received[] = [];
  const receiver = await startReceiver(0, SECRET, (received) => void seen.push(received), url);
  try {
    const headers: Record<string, string> = { ...signed(), "content-type": "application/json" };
    const send = (sent: Record<string, string>) => fetch(receiver.url, { method: "POST", headers: sent, body: BODY });
    assert.equal((await send(headers)).status, 418);
    assert.deepEqual(came, [{ signature: headers["webhook-signature"], body: BODY }]);
    assert.equal((await send({ ...headers, "webhook-signature": "v1,AAAA" })).status, 400);
    assert.equal(came.length, 1);
    await new Promise((done) => server.close(done).closeAllConnections());
    assert.equal((await send(headers)).status, 502);
    assert.deepEqual(
      seen.map(({ verified, forwarded }) => [verified, forwarded]),
      [
        [true, 418],
        [false, null],
        [true, "not reached"],
      ],
    );
  } finally {
    await receiver.close();
  }
});

test("a request that is cut short in its body is passed over, and the next one received", async () => {
  const seen: Received[] = [];
  const receiver = await startReceiver(0, SECRET, (received) => void seen.push(received));
  try {
    const socket = connect(receiver.port, "127.0.0.1");
    socket.end("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc");
    await once(socket.resume(), "close");
    assert.equal((await fetch(receiver.url, { method: "POST", headers: signed(), body: BODY })).status, 204);
    assert.deepEqual(
      seen.map(({ verified }) => verified),
      [true],
    );
  } finally {
    await receiver.close();
  }
});

test("a taken port is one sentence that names it and says how another is chosen", async () => {
  const first = await startReceiver(0, SECRET, () => {});
  try {
    const taken = await startReceiver(first.port, SECRET, () => {}).catch((error: unknown) => error);
    const sentence = `Port ${first.port} on 127.0.0.1 is taken by another program. Choose another with`;
    assert.equal(mistakeOf(taken, "listen"), `${sentence} --port (0 = any free port).`);
    assert.equal(mistakeOf(taken, "demo"), `${sentence} PORT, SIP_PORT, SIP_TLS_PORT or SIMULATORS_PORT (0 = any free port).`);
    assert.equal(mistakeOf(Object.assign(new Error("x"), { code: "EACCES", syscall: "open" }), "serve"), null);
    const nowhere = Object.assign(new Error("x"), { code: "ENOTFOUND", syscall: "getaddrinfo", hostname: "till.invalid" });
    assert.equal(mistakeOf(nowhere, "serve"), "HOST, SIP_HOST or SIP_PUBLIC_HOST: no address is found for till.invalid.");
    assert.equal(mistakeOf(nowhere, "call"), null);
  } finally {
    await first.close();
  }
});
