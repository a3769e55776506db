import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createIdentity } from "#simulators/tls.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { InviteFailed } from "./errors.ts";
import { ANSWER, Inbox, OFFER, rawTcp, rawTls, rawUdp, requestText, testAgent } from "./testing.ts";
import type { UserAgentOptions } from "./user-agent.ts";

/** SIP over TLS (RFC 3261 section 26, RFC 5630, S-86). */

const own = createIdentity(["127.0.0.1", "localhost"]);
const foreign = createIdentity(["127.0.0.1"]);
const tls = { port: 0, certificate: { cert: own.cert, key: own.key, clientCa: null }, serverCa: [own.ca] };

const open: { stop(): Promise<void> }[] = [];
after(() => Promise.all(open.map((agent) => agent.stop())));

async function agent(options: Partial<UserAgentOptions> = {}) {
  const made = await testAgent({ tls, ...options });
  open.push(made.agent);
  return made;
}

for (const [what, uri, contact] of [
  ["transport=tls", (port: number) => `sip:agent@localhost:${port};transport=tls`, /^<sip:[^>]+;transport=tls>$/],
  ["sips", (port: number) => `sips:agent@localhost:${port}`, /^<sips:[^>;]+>$/],
] as const) {
  test(`a call to a ${what} URI is made over TLS, and either side can end it`, async () => {
    const [caller, callee] = [await agent(), await agent()];
    for (const ends of ["caller", "callee"]) {
      const { answered } = caller.agent.invite({
        target: uri(callee.tlsPort),
        from: "sip:pay@till.example",
        offer: OFFER,
        ringTimeoutMs: 20_000,
      });
      const incoming = await callee.calls.next();
      assert.deepEqual([incoming.source.transport, incoming.source.isTrunk], ["tls", true]);
      assert.match(incoming.request.header("Via") ?? "", /^SIP\/2\.0\/TLS 127\.0\.0\.1:/);
      assert.match(incoming.request.header("Contact") ?? "", contact);
      const [theirs, ours] = await Promise.all([incoming.answer(ANSWER), answered]);
      const [leaving, left] = ends === "caller" ? [ours.dialog, theirs] : [theirs, ours.dialog];
      const ended = new Promise((resolve) => (left.onBye = resolve));
      await leaving.bye();
      assert.equal(await ended, "bye");
    }
  });
}

test("a response to sips has a sips Contact, one to transport=tls a sip Contact (RFC 3261 section 12.1.1)", async () => {
  const callee = await agent();
  const peer = await rawTls(callee.tlsPort);
  for (const [uri, contact] of [
    [`sips:pay@127.0.0.1:${callee.tlsPort}`, `<sips:pay@127.0.0.1:${callee.tlsPort}>`],
    [`sip:pay@127.0.0.1:${callee.tlsPort};transport=tls`, `<sip:pay@127.0.0.1:${callee.tlsPort};transport=tls>`],
  ] as const) {
    peer.send(requestText(peer, { method: "INVITE", uri, body: OFFER }));
    const call = await callee.calls.next();
    call.ring();
    assert.equal((await peer.responses.next()).header("Contact"), contact);
    call.reject(486);
    assert.equal((await peer.responses.next()).status, 486);
  }
  await peer.close();
});

test("sips without TLS is answered 416, whatever the request (RFC 3261 section 26.2.2)", async () => {
  const callee = await agent();
  for (const peer of [await rawUdp(callee.port), await rawTcp(callee.port)]) {
    for (const method of ["INVITE", "OPTIONS"]) {
      peer.send(requestText(peer, { method, uri: "sips:pay@127.0.0.1" }));
      assert.equal((await peer.responses.next()).status, 416);
      if (method === "INVITE") peer.send(requestText(peer, { method: "ACK", uri: "sips:pay@127.0.0.1" }));
    }
    await peer.close();
  }
  assert.deepEqual(callee.calls.waiting, []);
});

test("without TLS of our own a call whose dialog would need it is answered 480, one that a route leads back to is taken (RFC 5630 section 5.2)", async () => {
  const callee = await testAgent();
  open.push(callee.agent);
  const peer = await rawUdp(callee.port);
  const contact = `<sips:me@127.0.0.1:${peer.port}>`;
  const invite = (headers: Record<string, string>) => peer.send(requestText(peer, { method: "INVITE", headers, body: OFFER }));
  for (const headers of [{ Contact: contact }, { "Record-Route": `<sips:127.0.0.1:${peer.port};lr>` }]) {
    invite(headers);
    const response = await peer.responses.next();
    assert.deepEqual([response.status, response.header("Warning")], [480, `380 127.0.0.1:${callee.port} "SIPS Not Allowed"`]);
  }
  assert.deepEqual(callee.calls.waiting, []);
  invite({ Contact: contact, "Record-Route": `<sip:127.0.0.1:${peer.port};lr>` });
  (await callee.calls.next()).reject(486);
  assert.equal((await peer.responses.next()).status, 486);
  await peer.close();
});

test("with TLS of our own a sips Contact that comes by UDP gets one of ours, and BYE goes there by TLS (RFC 3261 section 12.1.1)", async () => {
  const callee = await agent();
  const server = await agent();
  const peer = await rawUdp(callee.port);
  const call = { "Call-ID": "to-tls", Contact: `<sips:me@localhost:${server.tlsPort}>` };
  peer.send(requestText(peer, { method: "INVITE", headers: call, body: OFFER }));
  const answering = (await callee.calls.next()).answer(ANSWER);
  const response = await peer.responses.next();
  assert.equal(response.header("Contact"), `<sips:pay@127.0.0.1:${callee.tlsPort}>`);
  peer.send(requestText(peer, { method: "ACK", headers: { ...call, To: response.header("To") } }));
  const sent: string[] = [];
  server.agent.trace(({ direction, text }) => void (direction === "received" && sent.push(text.split("\r\n", 1)[0] ?? "")));
  await (await answering).bye();
  assert.deepEqual([sent, peer.requests.waiting], [[`BYE sips:me@localhost:${server.tlsPort} SIP/2.0`], []]);
  await peer.close();
});

test("a server whose certificate is for another name, or of nobody that is trusted, is told nothing", async () => {
  const events = new Inbox<string>();
  const log = { debug: () => {}, warn: (event: string) => events.put(event) };
  const resolver = { addresses: async () => ["127.0.0.1"], services: async () => [] };
  const caller = await agent({ log, resolver });
  const callee = await agent();
  const impostor = await agent({ tls: { ...tls, certificate: { ...foreign, clientCa: null } } });
  for (const target of [`sips:a@other.example:${callee.tlsPort}`, `sips:a@localhost:${impostor.tlsPort}`]) {
    const { answered } = caller.agent.invite({ target, from: "sip:pay@till.example", offer: OFFER, ringTimeoutMs: 20_000 });
    await assert.rejects(answered, (error) => error instanceof InviteFailed && error.status === 503);
    assert.equal(await events.next(), "sip_not_connected");
  }
  assert.deepEqual([callee.calls.waiting, impostor.calls.waiting], [[], []]);
});

test("without TLS of our own a callback over TLS is refused before anything is sent", async () => {
  const { agent: plain } = await testAgent();
  open.push(plain);
  for (const target of [
    "sips:a@127.0.0.1",
    "sip:a@127.0.0.1;transport=tls",
    "sips:a@127.0.0.1;transport=udp",
    "sip:a@127.0.0.1;transport=ws",
  ]) {
    const { answered } = plain.invite({ target, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 20_000 });
    await assert.rejects(answered, (error) => error instanceof InviteFailed && error.status === 416, target);
  }
});

test("whoever shows a certificate of the operator's authority may call from any address, nobody else gets a word (S-80)", async () => {
  const callee = await agent({ trunks: [], tls: { ...tls, certificate: { ...own, clientCa: foreign.ca } } });
  const peer = await rawTls(callee.tlsPort, { cert: foreign.cert, key: foreign.key });
  peer.send(requestText(peer, { method: "INVITE", body: OFFER }));
  (await callee.calls.next()).reject(486);
  assert.equal((await peer.responses.next()).status, 486);
  await peer.close();
  for (const credentials of [{}, { cert: own.cert, key: own.key }]) {
    const unknown = await rawTls(callee.tlsPort, credentials).catch(() => null);
    unknown?.send(requestText(unknown, { method: "INVITE", body: OFFER }));
    await unknown?.closed;
    assert.deepEqual(unknown?.octets.waiting ?? [], []);
  }
  assert.deepEqual(callee.calls.waiting, []);
});

test("nothing older than TLS 1.2 is spoken (S-86)", async () => {
  const callee = await agent();
  await assert.rejects(rawTls(callee.tlsPort, { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL@SECLEVEL=0" }));
  await (await rawTls(callee.tlsPort, { maxVersion: "TLSv1.2" })).close();
});

test("a renewed certificate is shown from then on, and a pair that does not fit changes nothing", async () => {
  const callee = await agent();
  const isTrusted = (ca: string) =>
    rawTls(callee.tlsPort, { ca, rejectUnauthorized: true }).then(
      (peer) => peer.close().then(() => true),
      () => false,
    );
  assert.equal(await isTrusted(own.ca), true);
  assert.throws(() => callee.agent.renewCertificate({ cert: foreign.cert, key: own.key, clientCa: null }), OperatorError);
  assert.equal(await isTrusted(own.ca), true);
  callee.agent.renewCertificate({ cert: foreign.cert, key: foreign.key, clientCa: null });
  assert.deepEqual([await isTrusted(own.ca), await isTrusted(foreign.ca)], [false, true]);
});

test("a certificate that fits no key stops the start in one sentence", async () => {
  const certificate = { cert: foreign.cert, key: own.key, clientCa: null };
  await assert.rejects(testAgent({ tls: { port: 0, certificate } }), OperatorError);
});
