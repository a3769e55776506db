import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { after, test, type TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { createIdentity } from "#simulators/tls.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { Secret } from "#src/kernel/secret.ts";
import { respond, type SipRequest } from "../grammar/message.ts";
import { StreamFramer } from "../grammar/stream-framer.ts";
import { NoAck } from "./errors.ts";
import type { IncomingCall } from "./incoming-call.ts";
import type { InviteOptions } from "./outgoing-call.ts";
import { ANSWER, Inbox, OFFER, rawTcp, rawTls, rawUdp, type RawPeer, requestText, testAgent, type TestAgent } from "./testing.ts";

/** What a connection owes its peer, and how long it lasts. */

const own = createIdentity(["127.0.0.1"]);
const clock = new ManualClock();
const closers: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closers.toReversed()) await close();
});

const STREAMS: readonly [name: string, open: (target: TestAgent) => Promise<RawPeer>][] = [
  ["TCP", ({ port }) => rawTcp(port)],
  ["TLS", ({ tlsPort }) => rawTls(tlsPort)],
];

async function target(): Promise<TestAgent> {
  const made = await testAgent({ clock, tls: { port: 0, certificate: { cert: own.cert, key: own.key, clientCa: null } } });
  closers.push(() => made.agent.stop());
  return made;
}

const STRAY = ["stray octets\r\n\r\n", "INVITE sip:a@b SIP/2.0\r\nl: -1\r\n\r\n", "\0".repeat(70_000)];

for (const [name, open] of STREAMS) {
  test(`${name}: a good request followed by octets that are no message still gets its answer, and then the end`, async () => {
    const made = await target();
    for (const stray of STRAY) {
      const peer = await open(made);
      peer.send(requestText(peer, { method: "INVITE", body: OFFER }) + stray);
      const call = await made.calls.next();
      // The answer takes its time: everything behind the request has been read by then.
      const other = await open(made);
      other.send(requestText(other));
      assert.equal((await other.responses.next()).status, 200);
      void call.answer(ANSWER).catch(() => {});
      assert.equal((await peer.responses.next()).status, 200);
      await peer.closed;
      await other.close();
    }
  });

  test(`${name}: whoever has said everything and closes his side still gets the answer`, async () => {
    const made = await target();
    const peer = await open(made);
    peer.send(requestText(peer, { method: "INVITE", body: OFFER }));
    peer.end();
    const call = await made.calls.next();
    call.reject(486);
    assert.equal((await peer.responses.next()).status, 486);
    await peer.closed;
  });

  test(`${name}: a connection that says nothing, or half a head, is closed after ten seconds, one that speaks is not (R-438)`, async () => {
    const made = await target();
    const [silent, slow, good] = [await open(made), await open(made), await open(made)];
    slow.send("OPTIONS sip:a");
    good.send(requestText(good));
    assert.equal((await good.responses.next()).status, 200);
    clock.advance(9_000);
    slow.send("@b SIP/2.0\r\n");
    // Both have arrived when this answer has.
    good.send(requestText(good));
    assert.equal((await good.responses.next()).status, 200);
    clock.advance(1_000);
    await Promise.all([silent.closed, slow.closed]);
    good.send(requestText(good));
    assert.equal((await good.responses.next()).status, 200);
    clock.advance(600_000);
    await good.closed;
  });
}

for (const [name, open] of STREAMS) {
  test(`${name}: the connection of a call is kept however long nobody says anything, and the BYE leaves by it`, async () => {
    const made = await target();
    const peer = await open(made);
    peer.send(requestText(peer, { method: "INVITE", headers: { "Call-ID": `long-${name}` }, body: OFFER }));
    const answering = (await made.calls.next()).answer(ANSWER);
    const answered = await peer.responses.next();
    const inside = { "Call-ID": answered.callId, To: answered.header("To") };
    peer.send(requestText(peer, { method: "ACK", headers: inside }));
    const dialog = await answering;
    for (let turn = 0; turn < 3; turn++) clock.advance(600_000);
    const leaving = dialog.bye();
    const bye = await peer.requests.next();
    assert.equal(bye.method, "BYE");
    peer.send(respond(bye, 200, null).toBytes());
    await leaving;
    clock.advance(1_200_000);
    await peer.closed;
  });
}

/** Whether the kernel asks after the other end of this connection from time to time: its timer is that (02) when all that was sent is acknowledged (01). */
async function isKeptAlive(local: number, remote: number): Promise<boolean> {
  const end = (port: number) => `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  for (;;) {
    const [, line = ""] = readFileSync("/proc/net/tcp", "latin1").split(`${end(local)} ${end(remote)} 01 `);
    const timer = line.split(" ", 2)[1]?.slice(0, 2);
    if (timer !== "01") return timer === "02";
    await turn();
  }
}

test(
  "a silent connection is asked after, so that a router keeps it and a dead one is known before a BYE is given to it",
  { skip: existsSync("/proc/net/tcp") ? false : "needs Linux" },
  async (t) => {
    for (const [name, open] of STREAMS) {
      const made = await target();
      const peer = await open(made);
      peer.send(requestText(peer));
      assert.equal((await peer.responses.next()).status, 200);
      const port = name === "TCP" ? made.port : made.tlsPort;
      assert.ok(await isKeptAlive(port, peer.port), name);
      await peer.close();
    }
    const { requests, invite } = await askedServer(t);
    const outgoing = invite();
    const { socket } = await requests.next();
    assert.ok(await isKeptAlive(socket.remotePort!, socket.localPort!), "ours");
    outgoing.cancel();
  },
);

test("nothing is asked over a connection that no answer can come by any more", async () => {
  const made = await target();
  const peer = await rawTcp(made.port);
  peer.send(requestText(peer, { method: "INVITE", body: OFFER }));
  peer.end();
  const call = await made.calls.next();
  // The end of what the peer says has been read when another connection's request is answered.
  const other = await rawTcp(made.port);
  other.send(requestText(other));
  await other.responses.next();
  assert.equal(await made.agent.options(`sip:127.0.0.1:${peer.port};transport=tcp`), 503);
  assert.deepEqual(peer.requests.waiting, []);
  call.reject(486);
  await Promise.all([peer.closed, other.close()]);
});

/** A server that reads what is asked of it, by whichever connection. */
async function askedServer(t: TestContext) {
  const requests = new Inbox<{ request: SipRequest; socket: Socket }>();
  const server = createServer((socket) => {
    const framer = new StreamFramer();
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      for (const frame of framer.feed(chunk))
        if (frame.kind === "message" && frame.parsed.kind === "request") requests.put({ request: frame.parsed.request, socket });
    });
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const made = await target();
  const uri = `sip:127.0.0.1:${(server.address() as AddressInfo).port};transport=tcp`;
  const invite = (more: Partial<InviteOptions> = {}) =>
    made.agent.invite({ target: uri, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 60_000, ...more });
  return { made, requests, uri, invite };
}

test("a request over a connection that its server has given up is sent once more over a new one, and fails when that is given up too (RFC 3261 section 18.4)", async (t) => {
  const { made, requests, uri, invite } = await askedServer(t);
  const asked = made.agent.options(uri);
  const first = await requests.next();
  first.socket.write(respond(first.request, 200, "t").toBytes());
  assert.equal(await asked, 200);
  const outgoing = invite();
  const lost = await requests.next();
  assert.equal(lost.socket, first.socket);
  lost.socket.destroy();
  const again = await requests.next();
  assert.equal(outgoing.callId, again.request.callId);
  // To a server that had read it, it is one that it knows: under another branch it would be a loop (section 8.2.2.2).
  assert.deepEqual(again.request.toBytes(), lost.request.toBytes());
  again.socket.write(respond(again.request, 486, "t").toBytes());
  await assert.rejects(outgoing.answered, { status: 486 });
  const refused = invite();
  for (let attempt = 0; attempt < 2; attempt++) {
    for (;;) {
      const { request, socket } = await requests.next();
      if (request.method !== "INVITE") continue;
      socket.destroy();
      break;
    }
  }
  await assert.rejects(refused.answered, { status: 503 });
});

test("what is sent once more is the request with its credentials, where those were asked for before the connection was lost", async (t) => {
  const { requests, invite } = await askedServer(t);
  const outgoing = invite({ credentials: { username: "shop", password: new Secret("geheim"), md5: false } });
  const nextInvite = async () => {
    for (;;) {
      const asked = await requests.next();
      if (asked.request.method === "INVITE") return asked;
    }
  };
  const first = await nextInvite();
  const challenge = ["Proxy-Authenticate", 'Digest realm="t", nonce="n", qop="auth", algorithm=SHA-256'] as const;
  first.socket.write(respond(first.request, 407, "t", { headers: [challenge] }).toBytes());
  const proved = await nextInvite();
  proved.socket.destroy();
  const again = await nextInvite();
  assert.deepEqual(again.request.toBytes(), proved.request.toBytes());
  again.socket.write(respond(again.request, 486, "t").toBytes());
  await assert.rejects(outgoing.answered, { status: 486 });
});

test("a call that failed because its connections were lost is ended when its phone is picked up after all, and cancelled when it rings (RFC 3261 section 13.2.2.4)", async (t) => {
  const { made, requests, invite } = await askedServer(t);
  const lost = async () => {
    const outgoing = invite();
    (await requests.next()).socket.destroy();
    const { request, socket } = await requests.next();
    socket.destroy();
    await assert.rejects(outgoing.answered, { status: 503 });
    return request;
  };
  const back = await rawTcp(made.port);
  t.after(() => back.close());
  const picked = await lost();
  const contact = ["Contact", `<sip:127.0.0.1:${back.port};transport=tcp>`] as const;
  const ended = async () => [(await back.requests.next()).method, (await back.requests.next()).method];
  back.send(respond(picked, 200, "t", { headers: [contact], sdp: ANSWER }).toBytes());
  assert.deepEqual(await ended(), ["ACK", "BYE"]);
  const ringing = await lost();
  back.send(respond(ringing, 180, "t").toBytes());
  const { request: cancel } = await requests.next();
  assert.deepEqual([cancel.method, cancel.callId], ["CANCEL", ringing.callId]);
});

test("a phone whose connection is lost while it rings is told by another one that the call is cancelled, and gets its ACK (RFC 3261 section 9.1)", async (t) => {
  const { requests, invite } = await askedServer(t);
  const outgoing = invite();
  const ringing = new Promise((resolve) => (outgoing.onRinging = resolve));
  const first = await requests.next();
  first.socket.write(respond(first.request, 180, "t").toBytes());
  await ringing;
  first.socket.end();
  await once(first.socket, "close");
  outgoing.cancel();
  await assert.rejects(outgoing.answered, { status: 487 });
  const { request: cancel, socket } = await requests.next();
  assert.deepEqual([cancel.method, cancel.fields.first("via")], ["CANCEL", first.request.fields.first("via")]);
  assert.notEqual(socket, first.socket);
  socket.write(Buffer.concat([respond(cancel, 200, "t").toBytes(), respond(first.request, 487, "t").toBytes()]));
  assert.equal((await requests.next()).request.method, "ACK");
});

test("a caller whose connection is lost before the answer, and who sends his INVITE again by a new one, is answered there", async () => {
  const made = await target();
  const first = await rawTcp(made.port);
  // Nobody listens where its Via says: it can be answered by its own connection alone.
  const Via = "SIP/2.0/TCP 127.0.0.1:9;branch=z9hG4bKlost;rport";
  const invite = requestText(first, { method: "INVITE", headers: { Via, "Call-ID": "lost-before-the-answer" }, body: OFFER });
  first.send(invite);
  const call = await made.calls.next();
  first.end();
  await Promise.race([first.closed, first.close()]);
  const again = await rawTcp(made.port);
  again.send(invite + requestText(again));
  assert.equal((await again.responses.next()).status, 200, "to the OPTIONS behind it");
  const answering = call.answer(ANSWER);
  const answered = await again.responses.next();
  assert.deepEqual([answered.status, answered.callId], [200, "lost-before-the-answer"]);
  again.send(requestText(again, { method: "ACK", headers: { "Call-ID": answered.callId, To: answered.header("To") } }));
  const dialog = await answering;
  const leaving = dialog.bye();
  again.send(respond(await again.requests.next(), 200, null).toBytes());
  await leaving;
  assert.equal(made.calls.waiting.length, 0);
});

/** Nobody listens there. */
const NOWHERE = "127.0.0.1:9";

/** A call whose connection is lost as soon as its INVITE has been read, of a caller who takes no connection himself. */
async function lostCall(made: TestAgent): Promise<IncomingCall> {
  const [caller, other] = [await rawTcp(made.port), await rawTcp(made.port)];
  const headers = { Via: `SIP/2.0/TCP ${NOWHERE};branch=z9hG4bKgone;rport`, Contact: `<sip:${NOWHERE};transport=tcp>` };
  caller.send(requestText(caller, { method: "INVITE", headers, body: OFFER }));
  const call = await made.calls.next();
  caller.reset();
  await caller.closed;
  // When this is answered the loss is known.
  other.send(requestText(other));
  await other.responses.next();
  await other.close();
  return call;
}

/** Until a connection to there that was begun before has been refused. */
async function refused(): Promise<void> {
  await turn();
  const [host, port] = NOWHERE.split(":");
  await assert.rejects(once(connect(Number(port), host), "connect"));
}

test("an answer that could not leave three times is given up: the caller's next call need not wait 32 s for the end of this one", async () => {
  const made = await target();
  const answering = (await lostCall(made)).answer(ANSWER);
  const givenUp = assert.rejects(answering, NoAck);
  for (const interval of [0, 500, 1_000]) {
    clock.advance(interval);
    await refused();
  }
  await givenUp;
});

test("an agent that stops gives up the connections that are being made", async (t) => {
  const connected = Promise.withResolvers<Socket>();
  const mute = createServer((socket) => connected.resolve(socket)).listen(0, "127.0.0.1");
  t.after(() => mute.close());
  await once(mute, "listening");
  const made = await target();
  void made.agent.options(`sip:127.0.0.1:${(mute.address() as AddressInfo).port};transport=tls`);
  const socket = await connected.promise;
  socket.on("error", () => {}).resume();
  const closed = once(socket, "close");
  await made.agent.stop();
  await closed;
});

test("whoever is called may open twenty connections while the call lasts, so that trunks can always connect (S-83)", async () => {
  const { agent, port } = await testAgent({ clock, trunks: ["127.0.0.2"] });
  closers.push(() => agent.stop());
  const callee = await rawUdp(port);
  agent.invite({ target: `sip:127.0.0.1:${callee.port}`, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 });
  await callee.requests.next();
  const peers: RawPeer[] = [];
  for (let opened = 0; opened < 30; opened++) peers.push(await rawTcp(port));
  const trunk = await rawTcp(port, "127.0.0.2");
  trunk.send(requestText(trunk));
  assert.equal((await trunk.responses.next()).status, 200);
  let closed = 0;
  for (const peer of peers) void peer.closed.then(() => closed++);
  for (const peer of peers.slice(20)) await peer.closed;
  assert.equal(closed, 10);
  await Promise.all([...peers, trunk, callee].map((peer) => peer.close()));
});

test("an answer that never comes does not keep a connection that nothing can be read from", async () => {
  const made = await target();
  const peer = await rawTcp(made.port);
  peer.send(requestText(peer, { method: "INVITE", body: OFFER }) + STRAY[0]);
  await made.calls.next();
  clock.advance(32_000);
  await peer.closed;
});
