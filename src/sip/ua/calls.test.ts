import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { after, test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { Secret } from "#src/kernel/secret.ts";
import { respond, type SipRequest } from "../grammar/message.ts";
import type { Resolver, ServerRecord } from "../transport/locate.ts";
import { SipSyntaxError } from "../grammar/syntax-error.ts";
import type { EndReason } from "./call-dialog.ts";
import { CallOver, InviteFailed, NoAck } from "./errors.ts";
import type { InviteOptions } from "./outgoing-call.ts";
import { SILENT_SERVER_MS } from "./exchange.ts";
import { ANSWER, Inbox, OFFER, type RawPeer, rawUdp, requestText, testAgent, type TestAgent } from "./testing.ts";
import type { UserAgentOptions } from "./user-agent.ts";

const open: { stop(): Promise<void> }[] = [];
after(() => Promise.all(open.map((agent) => agent.stop())));

async function agent(options: Partial<UserAgentOptions> = {}): Promise<TestAgent> {
  const made = await testAgent(options);
  open.push(made.agent);
  return made;
}

const failed = (status: number) => (error: unknown) => error instanceof InviteFailed && error.status === status;

/** A caller, a callee, and how the one calls the other. */
async function pair(transport: "udp" | "tcp", options: Partial<UserAgentOptions> = {}) {
  const [caller, callee] = await Promise.all([agent(options), agent(options)]);
  const invite = (more: Partial<InviteOptions> = {}) =>
    caller.agent.invite({
      target: `sip:pay@127.0.0.1:${callee.port}`,
      from: '"Zoë" <sip:+15551230000@example.com>',
      offer: OFFER,
      ringTimeoutMs: 20_000,
      transport,
      ...more,
    });
  const connect = async (more: Partial<InviteOptions> = {}) => {
    const outgoing = invite(more);
    const incoming = await callee.calls.next();
    const [theirs, { dialog: ours }] = await Promise.all([incoming.answer(ANSWER), outgoing.answered]);
    return { ours, theirs, incoming };
  };
  return { caller, callee, invite, connect };
}

/** The end of a call as a promise. */
const ending = (dialog: { onBye: ((reason: EndReason) => void) | null }) => new Promise<EndReason>((resolve) => (dialog.onBye = resolve));

for (const transport of ["udp", "tcp"] as const) {
  test(`${transport}: a call rings, is answered, acknowledged and ended by the caller`, async () => {
    const { callee, invite } = await pair(transport);
    const outgoing = invite({ headers: [["X-Session-Id", "11111111-2222-4333-8444-555555555555"]] });
    const ringing = new Promise<number>((resolve) => (outgoing.onRinging = resolve));
    const incoming = await callee.calls.next();
    assert.equal(incoming.callId, outgoing.callId);
    assert.equal(incoming.offer, OFFER);
    assert.equal(incoming.source.transport, transport);
    assert.equal(incoming.request.header("x-session-id"), "11111111-2222-4333-8444-555555555555");
    assert.equal(incoming.request.uri.user, "pay");
    assert.equal(incoming.request.from.uri.user, "+15551230000");
    assert.equal(incoming.request.from.display, "Zoë");
    incoming.ring();
    assert.equal(await ringing, 180);
    const [theirs, { dialog: ours, sdp }] = await Promise.all([incoming.answer(ANSWER), outgoing.answered]);
    assert.equal(sdp, ANSWER);
    assert.equal(ours.remoteSdp, ANSWER);
    assert.equal(theirs.remoteSdp, OFFER);
    assert.equal(theirs.callId, ours.callId);
    assert.deepEqual([theirs.localTag, theirs.remoteTag], [ours.remoteTag, ours.localTag]);
    const ended = ending(theirs);
    await ours.bye([["Reason", 'SIP;cause=200;text="done"']]);
    assert.equal(await ended, "bye");
    assert.deepEqual([ours.ended, theirs.ended], [true, true]);
  });

  test(`${transport}: the callee can hang up too`, async () => {
    const { connect } = await pair(transport);
    const { ours, theirs } = await connect();
    const ended = ending(ours);
    await theirs.bye();
    assert.equal(await ended, "bye");
    await theirs.bye();
  });

  test(`${transport}: a call cancelled before its answer is answered 487 and the callee is told (R-222)`, async () => {
    const { callee, invite } = await pair(transport);
    const outgoing = invite();
    outgoing.onRinging = () => outgoing.cancel();
    const incoming = await callee.calls.next();
    const cancelled = new Promise<void>((resolve) => (incoming.onCancel = resolve));
    incoming.ring();
    await assert.rejects(outgoing.answered, failed(487));
    await cancelled;
    assert.equal(incoming.cancelled, true);
    await assert.rejects(incoming.answer(ANSWER), CallOver);
    incoming.reject(404);
  });

  test(`${transport}: a refused call fails with the callee's status and reason`, async () => {
    const { callee, invite } = await pair(transport);
    const outgoing = invite();
    (await callee.calls.next()).reject(486, { reason: "Bûsy" });
    await assert.rejects(outgoing.answered, (error) => failed(486)(error) && (error as InviteFailed).reason === "Bûsy");
  });

  test(`${transport}: OPTIONS is answered 200, and 503 while draining (R-226)`, async () => {
    const { caller, callee } = await pair(transport);
    const target = `sip:127.0.0.1:${callee.port};transport=${transport}`;
    assert.equal(await caller.agent.options(target), 200);
    callee.agent.drain();
    assert.equal(await caller.agent.options(target), 503);
  });
}

test("OPTIONS is answered 503 as long as a call would be, and says when to come again (R-219)", async () => {
  let busyFor: number | null = 7;
  const callee = await agent({ busyFor: () => busyFor });
  const peer = await rawUdp(callee.port);
  const ask = async (callId: string) => {
    peer.send(requestText(peer, { method: "OPTIONS", headers: { "Call-ID": callId } }));
    return await peer.responses.next();
  };
  const busy = await ask("busy");
  assert.deepEqual([busy.status, busy.header("Retry-After")], [503, "7"]);
  busyFor = null;
  assert.equal((await ask("free")).status, 200);
  await peer.close();
});

test("an offer made in the answer is answered in the ACK (R-227)", async () => {
  const callee = await agent();
  const peer = await rawUdp(callee.port);
  const head = { "Call-ID": "delayed" };
  peer.send(requestText(peer, { method: "INVITE", headers: head }));
  const incoming = await callee.calls.next();
  assert.equal(incoming.offer, null);
  const answering = incoming.answer(OFFER);
  const response = await peer.responses.next();
  assert.equal(response.sdp, OFFER);
  peer.send(requestText(peer, { method: "ACK", headers: { ...head, To: response.header("To") }, body: ANSWER }));
  assert.equal((await answering).remoteSdp, ANSWER);
  await peer.close();
});

test("a draining agent refuses new calls with 503 and keeps those it has (R-292)", async () => {
  const { callee, connect, invite } = await pair("udp");
  const { ours, theirs } = await connect();
  callee.agent.drain();
  await assert.rejects(invite().answered, failed(503));
  const ended = ending(theirs);
  await ours.bye();
  assert.equal(await ended, "bye");
});

test("a call nobody answers is cancelled after its ring time and fails with 408", async () => {
  const clock = new ManualClock();
  const { callee, invite } = await pair("tcp", { clock });
  const outgoing = invite({ ringTimeoutMs: 60_000 });
  const ringing = new Promise<number>((resolve) => (outgoing.onRinging = resolve));
  const incoming = await callee.calls.next();
  const cancelled = new Promise<void>((resolve) => (incoming.onCancel = resolve));
  incoming.ring();
  await ringing;
  clock.advance(59_999);
  assert.equal(incoming.cancelled, false);
  clock.advance(1);
  await assert.rejects(outgoing.answered, failed(408));
  await cancelled;
});

test("a callee that has sent nothing for 10 s, not even 100, is given up, and what it says later rings nobody (R-330, RFC 3261 section 17.2.1)", async () => {
  const clock = new ManualClock();
  const caller = await agent({ clock });
  const silent = await rawUdp(caller.port);
  const outgoing = caller.agent.invite({ target: `sip:127.0.0.1:${silent.port}`, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 60_000 });
  const invite = await silent.requests.next();
  clock.advance(10_000);
  await assert.rejects(outgoing.answered, failed(408));
  silent.send(respond(invite, 180, "late").toBytes());
  let request = await silent.requests.next();
  while (request.method === "INVITE") request = await silent.requests.next();
  assert.equal(request.method, "CANCEL");
  await silent.close();
});

test("a port nobody listens on is no hang: TCP fails with 503", async () => {
  const caller = await agent();
  const gone = await agent();
  await gone.agent.stop();
  const target = `sip:127.0.0.1:${gone.port};transport=tcp`;
  await assert.rejects(caller.agent.invite({ target, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 }).answered, failed(503));
  assert.equal(await caller.agent.options(target), 503);
});

test("a call whose 2xx is never acknowledged gets the 2xx again at T1, 2*T1 ... T2, then BYE and NoAck (R-223)", async () => {
  const clock = new ManualClock();
  const callee = await agent({ clock });
  const peer = await rawUdp(callee.port);
  peer.send(requestText(peer, { method: "INVITE", headers: { "Call-ID": "no-ack" }, body: OFFER }));
  const answering = (await callee.calls.next()).answer(ANSWER);
  const refused = assert.rejects(answering, NoAck);
  assert.equal((await peer.responses.next()).status, 200);
  for (const interval of [500, 1_000, 2_000, 4_000, 4_000, 4_000, 4_000, 4_000, 4_000, 4_000]) {
    clock.advance(interval - 1);
    assert.equal(peer.responses.waiting.length, 0);
    clock.advance(1);
    assert.equal((await peer.responses.next()).status, 200);
  }
  clock.advance(500);
  await refused;
  const bye = await peer.requests.next();
  assert.equal(bye.method, "BYE");
  assert.equal(bye.header("To"), "<sip:+15551230000@127.0.0.1>;tag=theirs");
  await peer.close();
});

test("a re-INVITE and an UPDATE change the session, and 488 leaves it as it was (R-226)", async () => {
  const callee = await agent();
  const peer = await rawUdp(callee.port);
  const call = { "Call-ID": "re-invite" };
  peer.send(requestText(peer, { method: "INVITE", headers: call, body: OFFER }));
  const answering = (await callee.calls.next()).answer(ANSWER);
  const answered = await peer.responses.next();
  const inside = { ...call, To: answered.header("To") };
  peer.send(requestText(peer, { method: "ACK", headers: inside }));
  const dialog = await answering;
  const offers: (string | null)[] = [];
  dialog.onReinvite = (offer) => {
    offers.push(offer);
    return offer?.includes("a=inactive") ? null : ANSWER;
  };
  const held = `${OFFER}a=sendonly\r\n`;

  peer.send(requestText(peer, { method: "INVITE", headers: inside, body: held, cseq: 2 }));
  const second = await peer.responses.next();
  assert.deepEqual([second.status, second.sdp], [200, ANSWER]);
  assert.equal(dialog.remoteSdp, held);
  peer.send(requestText(peer, { method: "ACK", headers: inside, cseq: 2 }));

  peer.send(requestText(peer, { method: "UPDATE", headers: inside, body: OFFER, cseq: 3 }));
  const third = await peer.responses.next();
  assert.deepEqual([third.status, third.sdp, dialog.remoteSdp], [200, ANSWER, OFFER]);

  peer.send(requestText(peer, { method: "UPDATE", headers: inside, body: `${OFFER}a=inactive\r\n`, cseq: 4 }));
  const refused = await peer.responses.next();
  assert.deepEqual([refused.status, refused.header("Warning")?.split(" ", 1)[0]], [488, "399"]);
  assert.equal(dialog.remoteSdp, OFFER);

  const emitter = new EventEmitter();
  dialog.onAnswer = (sdp) => emitter.emit("answer", sdp);
  const ours = once(emitter, "answer");
  peer.send(requestText(peer, { method: "INVITE", headers: inside, cseq: 5 }));
  assert.equal((await peer.responses.next()).sdp, ANSWER);
  peer.send(requestText(peer, { method: "ACK", headers: inside, body: held, cseq: 5 }));
  assert.deepEqual(await ours, [held]);

  peer.send(requestText(peer, { method: "UPDATE", headers: inside, cseq: 6 }));
  assert.deepEqual((await peer.responses.next()).sdp, null);
  assert.deepEqual(offers, [held, OFFER, `${OFFER}a=inactive\r\n`, null]);
  await peer.close();
});

test("a 300, 301 or 302 fails with the places that it names, the best first (RFC 3261 section 8.1.3.4)", async () => {
  const caller = await agent();
  const callee = await rawUdp(caller.port);
  for (const [status, contacts] of [
    [302, ["sip:b@192.0.2.2;transport=tcp", "tel:+15550001111", "sip:a@192.0.2.1"]],
    [305, []],
    [486, []],
  ] as const) {
    const outgoing = caller.agent.invite({ target: `sip:127.0.0.1:${callee.port}`, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 });
    const invite = await callee.requests.next();
    const Contact = '<sip:a@192.0.2.1>;q=0.1, "B" <sip:b@192.0.2.2;transport=tcp>, <tel:+15550001111>;q=0.7';
    callee.send(respond(invite, status, "t", { headers: [["Contact", Contact]] }).toBytes());
    await assert.rejects(
      outgoing.answered,
      (error) => failed(status)(error) && (assert.deepEqual((error as InviteFailed).contacts, contacts), true),
    );
    assert.equal((await callee.requests.next()).method, "ACK");
  }
  await callee.close();
});

test("digest credentials answer a challenge, in the transaction after the ACK, and only once", async () => {
  const caller = await agent();
  const trunk = await rawUdp(caller.port);
  const target = `sip:+15551230000@127.0.0.1:${trunk.port}`;
  const outgoing = caller.agent.invite({
    target,
    from: "sip:shop@example.com",
    offer: OFFER,
    ringTimeoutMs: 9_000,
    credentials: { username: "shop", password: new Secret("geheim"), md5: true },
  });
  const challenge = ['Digest realm="old", nonce="n1", algorithm=MD5-sess', 'Digest realm="t", nonce="n2", qop="auth", algorithm=SHA-256'];
  const first = await trunk.requests.next();
  assert.equal(first.requestUri, target);
  const headers = challenge.map((value) => ["Proxy-Authenticate", value] as const);
  trunk.send(respond(first, 407, "t1", { headers }).toBytes());
  const next = [await trunk.requests.next(), await trunk.requests.next()];
  const ack = next.find(({ method }) => method === "ACK");
  const second = next.find(({ method }) => method === "INVITE");
  assert.equal(ack?.header("To"), `<${target}>;tag=t1`);
  assert.equal(second?.cseq.number, 2);
  assert.match(
    second?.header("Proxy-Authorization") ?? "",
    /^Digest username="shop", realm="t", nonce="n2", .*algorithm=SHA-256, qop=auth/,
  );
  assert.ok(!(second?.toBytes().toString() ?? "").includes("geheim"));
  assert.equal(second?.toTag, null);
  trunk.send(respond(second, 407, "t2", { headers }).toBytes());
  await assert.rejects(outgoing.answered, failed(407));
  await trunk.close();
});

test("a callback that demands a longer session interval than a proxy asked for gets it, once (RFC 4028 section 7.3)", async () => {
  const caller = await agent();
  const callee = await rawUdp(caller.port);
  const outgoing = caller.agent.invite({ target: `sip:a@127.0.0.1:${callee.port}`, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 });
  const first = await callee.requests.next();
  assert.equal(first.fields.first("session-expires"), null);
  const headers = [["Min-SE", "1800"]] as const;
  callee.send(respond(first, 422, "t1", { headers }).toBytes());
  const second = [await callee.requests.next(), await callee.requests.next()].find(({ method }) => method === "INVITE")!;
  assert.deepEqual([second.cseq.number, second.header("Session-Expires"), second.header("Min-SE")], [2, "1800", "1800"]);
  assert.deepEqual([second.toTag, second.sdp], [null, OFFER]);
  callee.send(respond(second, 422, "t2", { headers }).toBytes());
  await assert.rejects(outgoing.answered, failed(422));
  await callee.close();
});

test("credentials that a trunk has seen are not shown again when it demands something else too: it asks anew (RFC 7616 section 3.4)", async () => {
  const caller = await agent();
  const trunk = await rawUdp(caller.port);
  caller.agent.invite({
    target: `sip:a@127.0.0.1:${trunk.port}`,
    from: "sip:a@b",
    offer: OFFER,
    ringTimeoutMs: 9_000,
    credentials: { username: "shop", password: new Secret("geheim"), md5: false },
  });
  const asked: [number, string | null, string | null][] = [];
  const next = async () => {
    let request = await trunk.requests.next();
    while (request.method !== "INVITE") request = await trunk.requests.next();
    const credentials = request.header("Proxy-Authorization");
    asked.push([request.cseq.number, request.header("Session-Expires"), /nonce="(\w+)".*nc=(\w+)/.exec(credentials ?? "")?.slice(1).join(" ") ?? null]); // prettier-ignore
    return request;
  };
  const challenge = (request: SipRequest, tag: string) =>
    trunk.send(
      respond(request, 407, tag, {
        headers: [["Proxy-Authenticate", 'Digest realm="t", nonce="n1", qop="auth", algorithm=SHA-256']],
      }).toBytes(),
    );
  challenge(await next(), "t1");
  trunk.send(respond(await next(), 422, "t2", { headers: [["Min-SE", "1800"]] }).toBytes());
  challenge(await next(), "t3");
  await next();
  assert.deepEqual(asked, [
    [1, null, null],
    [2, null, "n1 00000001"],
    [3, "1800", null],
    [4, "1800", "n1 00000002"],
  ]);
  await trunk.close();
});

test("a silent server of several is given up for the next one after 5 s, and what it says later rings nobody (RFC 3263 section 4.3)", async () => {
  const clock = new ManualClock();
  const trunks: ServerRecord[] = [];
  const resolver: Resolver = { addresses: async () => ["127.0.0.1"], services: async () => trunks };
  const caller = await testAgent({ clock, resolver });
  const [silent, next] = await Promise.all([rawUdp(caller.port), rawUdp(caller.port)]);
  for (const [at, { port }] of [silent, next].entries()) trunks.push({ name: "one.trunk.example", port, priority: at, weight: 1 });
  const rings: number[] = [];
  const invite = () => {
    const outgoing = caller.agent.invite({
      target: "sip:1@trunk.example",
      from: "sip:a@b",
      offer: OFFER,
      ringTimeoutMs: 60_000,
      transport: "udp",
    });
    outgoing.onRinging = (status) => rings.push(status);
    return outgoing;
  };
  const contact = ({ port }: RawPeer) => ["Contact", `<sip:127.0.0.1:${port}>`] as const;

  const outgoing = invite();
  const first = await silent.requests.next();
  clock.advance(SILENT_SERVER_MS);
  const second = await next.requests.next();
  assert.deepEqual([second.callId, second.cseq.number], [first.callId, first.cseq.number]);
  assert.notEqual(second.via.params.get("branch"), first.via.params.get("branch"));
  const untilNext = async (method: string) => {
    for (;;) {
      const request = await silent.requests.next();
      if (request.method === method) return request;
    }
  };
  silent.send(respond(first, 180, "late", { headers: [contact(silent)] }).toBytes());
  const cancelled = await untilNext("CANCEL");
  assert.equal(cancelled.via.params.get("branch"), first.via.params.get("branch"));
  silent.send(respond(first, 200, "late", { headers: [contact(silent)], sdp: ANSWER }).toBytes());
  assert.equal((await untilNext("ACK")).toTag, "late");
  const bye = await untilNext("BYE");
  silent.send(respond(bye, 200, "late").toBytes());

  next.send(respond(second, 200, "taken", { headers: [contact(next)], sdp: ANSWER }).toBytes());
  const { dialog } = await outgoing.answered;
  assert.equal(dialog.ended, false);
  assert.deepEqual(rings, []);

  // One that rings is waited for.
  const patient = invite();
  const isRinging = new Promise((resolve) => (patient.onRinging = resolve));
  const third = await untilNext("INVITE");
  silent.send(respond(third, 180, "rings", { headers: [contact(silent)] }).toBytes());
  await isRinging;
  clock.advance(4 * SILENT_SERVER_MS);
  silent.send(respond(third, 200, "rings", { headers: [contact(silent)], sdp: ANSWER }).toBytes());
  await patient.answered;
  assert.ok(!next.requests.waiting.some(({ method, callId }) => method === "INVITE" && callId === patient.callId));
  const stopped = caller.agent.stop();
  clock.advance(500);
  await Promise.all([stopped, silent.close(), next.close()]);
});

test("each copy of a 2xx is acknowledged again, and a fork's second 2xx is acknowledged and ended (section 13.2.2.4)", async () => {
  const caller = await agent();
  const callee = await rawUdp(caller.port);
  const outgoing = caller.agent.invite({ target: `sip:127.0.0.1:${callee.port}`, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 });
  const invite = await callee.requests.next();
  const contact = ["Contact", `<sip:127.0.0.1:${callee.port}>`] as const;
  const send = (tag: string) => callee.send(respond(invite, 200, tag, { headers: [contact], sdp: ANSWER }).toBytes());
  send("one");
  const acks = [await callee.requests.next()];
  const { dialog } = await outgoing.answered;
  send("one");
  acks.push(await callee.requests.next());
  assert.deepEqual(acks.map(({ method, toTag }) => [method, toTag]), [["ACK", "one"], ["ACK", "one"]]); // prettier-ignore
  assert.equal(acks[0]?.fields.first("via"), acks[1]?.fields.first("via"));
  send("two");
  const [ack, bye] = [await callee.requests.next(), await callee.requests.next()];
  assert.deepEqual([ack.method, ack.toTag, bye.method, bye.toTag], ["ACK", "two", "BYE", "two"]);
  assert.equal(dialog.ended, false);
  await callee.close();
});

test("a callee that answers for a hundred branches has no third host flooded: so many forks there are not (S-82)", async () => {
  const caller = await agent();
  const callee = await rawUdp(caller.port);
  const other = await rawUdp(caller.port, "127.0.0.2");
  const outgoing = caller.agent.invite({ target: `sip:127.0.0.1:${callee.port}`, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 });
  const invite = await callee.requests.next();
  const answer = (tag: string, { port }: RawPeer, address: string) =>
    callee.send(respond(invite, 200, tag, { headers: [["Contact", `<sip:${address}:${port}>`]], sdp: ANSWER }).toBytes());
  answer("first", callee, "127.0.0.1");
  const { dialog } = await outgoing.answered;
  for (let branch = 0; branch < 100; branch++) answer(`branch${branch}`, other, "127.0.0.2");
  // What was sent before the second of these was answered has come.
  for (let turn = 0; turn < 2; turn++) {
    callee.send(requestText(callee));
    assert.equal((await callee.responses.next()).status, 200);
  }
  const told = new Set(other.requests.waiting.map(({ toTag }) => toTag));
  assert.ok(told.size > 0 && told.size < 16, `${told.size} of them were acknowledged`);
  assert.equal(dialog.ended, false);
  await Promise.all([callee.close(), other.close()]);
});

test("a 2xx whose Contact is a name is acknowledged at the server that sent it, else at the first address that can be sent to, and so is its BYE", async () => {
  const names: Record<string, string[]> = {
    // Two servers of one name, of which the other one has taken the call, and an address of a family that is not spoken here.
    "pbx.example": ["127.0.0.9", "::1", "127.0.0.1"],
    "node.example": ["::1", "127.0.0.2"],
  };
  const caller = await agent({ resolver: { addresses: async (name) => names[name] ?? [], services: async () => [] } });
  const callee = await rawUdp(caller.port);
  for (const [name, address] of [
    ["pbx.example", "127.0.0.1"],
    ["node.example", "127.0.0.2"],
  ] as const) {
    // prettier-ignore
    const answering = address === "127.0.0.1" ? callee : await rawUdp(caller.port, address);
    const outgoing = caller.agent.invite({ target: `sip:127.0.0.1:${callee.port}`, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 });
    const invite = await callee.requests.next();
    const contact = ["Contact", `<sip:${name}:${answering.port}>`] as const;
    callee.send(respond(invite, 200, name, { headers: [contact], sdp: ANSWER }).toBytes());
    assert.equal((await answering.requests.next()).method, "ACK");
    const leaving = (await outgoing.answered).dialog.bye();
    const bye = await answering.requests.next();
    assert.equal(bye.method, "BYE");
    answering.send(respond(bye, 200, null).toBytes());
    await leaving;
    if (answering !== callee) await answering.close();
  }
  await callee.close();
});

test("a 2xx without a session description means the one that its own branch of a fork rang with", async () => {
  const caller = await agent();
  const callee = await rawUdp(caller.port);
  const outgoing = caller.agent.invite({ target: `sip:127.0.0.1:${callee.port}`, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 });
  const invite = await callee.requests.next();
  const headers = [["Contact", `<sip:127.0.0.1:${callee.port}>`]] as const;
  for (const [tag, sdp] of [
    ["one", ANSWER],
    ["two", ANSWER.replace("50000", "60000")],
  ] as const) {
    const ringing = new Promise((resolve) => (outgoing.onRinging = resolve));
    callee.send(respond(invite, 183, tag, { headers, sdp }).toBytes());
    await ringing;
  }
  callee.send(respond(invite, 200, "one", { headers }).toBytes());
  assert.equal((await outgoing.answered).sdp, ANSWER);
  await callee.close();
});

test("each branch's first description is told while it rings: whoever answers it need not wait for the answer (RFC 3960)", async () => {
  const caller = await agent();
  const callee = await rawUdp(caller.port);
  const outgoing = caller.agent.invite({ target: `sip:127.0.0.1:${callee.port}`, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 });
  const told = new Inbox<string>();
  outgoing.onEarlyAnswer = (sdp) => told.put(sdp);
  const invite = await callee.requests.next();
  const headers = [["Contact", `<sip:127.0.0.1:${callee.port}>`]] as const;
  const other = ANSWER.replace("50000", "60000");
  for (const [status, tag, sdp] of [
    [180, "one", null],
    [183, "one", ANSWER],
    [183, "one", other],
    [180, "two", other],
  ] as const) {
    const ringing = new Promise((resolve) => (outgoing.onRinging = resolve));
    callee.send(respond(invite, status, tag, { headers, ...(sdp !== null && { sdp }) }).toBytes());
    await ringing;
  }
  assert.deepEqual(told.waiting, [ANSWER, other]);
  callee.send(respond(invite, 200, "two", { headers }).toBytes());
  assert.equal((await outgoing.answered).sdp, other);
  await callee.close();
});

test("a call answered while it is being cancelled is acknowledged and ended", async () => {
  const caller = await agent();
  const callee = await rawUdp(caller.port);
  const outgoing = caller.agent.invite({ target: `sip:127.0.0.1:${callee.port}`, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 });
  const invite = await callee.requests.next();
  outgoing.cancel();
  await assert.rejects(outgoing.answered, failed(487));
  callee.send(respond(invite, 180, "one").toBytes());
  const cancel = await callee.requests.next();
  assert.deepEqual([cancel.method, cancel.cseq.number, cancel.fields.first("via")], ["CANCEL", 1, invite.fields.first("via")]);
  const contact = ["Contact", `<sip:127.0.0.1:${callee.port}>`] as const;
  callee.send(respond(invite, 200, "one", { headers: [contact], sdp: ANSWER }).toBytes());
  const methods = [(await callee.requests.next()).method, (await callee.requests.next()).method];
  assert.deepEqual(methods, ["ACK", "BYE"]);
  await callee.close();
});

test("while it rings the callee may update the early dialog, and is not told that there is none (RFC 3261 section 12.1, RFC 3311)", async () => {
  const caller = await agent({ trunks: [] });
  const callee = await rawUdp(caller.port);
  const outgoing = caller.agent.invite({ target: `sip:127.0.0.1:${callee.port}`, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 });
  const ringing = new Promise((resolve) => (outgoing.onRinging = resolve));
  const invite = await callee.requests.next();
  callee.send(respond(invite, 180, "one").toBytes());
  await ringing;
  const head = { "Call-ID": invite.callId, From: `${invite.header("To")};tag=one`, To: invite.header("From") };
  const asked = async (method: string, cseq: number, more: { body?: string; headers?: Record<string, string> } = {}) => {
    callee.send(requestText(callee, { method, cseq, ...more, headers: { ...head, ...more.headers } }));
    return await callee.responses.next();
  };
  const updated = await asked("UPDATE", 1);
  assert.deepEqual([updated.status, updated.header("Contact")], [200, invite.header("Contact")]);
  assert.equal((await asked("UPDATE", 2, { body: OFFER })).status, 491, "two offers at once");
  assert.equal((await asked("INVITE", 3, { body: OFFER })).status, 491);
  assert.equal((await asked("UPDATE", 1)).status, 500, "out of order");
  const timer = { Supported: "timer", "Session-Expires": "600" };
  assert.equal((await asked("UPDATE", 3, { headers: timer })).header("Session-Expires"), "600;refresher=uac");
  assert.equal((await asked("UPDATE", 3, { headers: { ...timer, "Session-Expires": "60" } })).status, 422);
  assert.equal((await asked("OPTIONS", 4)).status, 200);
  assert.equal((await asked("BYE", 5)).status, 481);
  const contact = ["Contact", `<sip:127.0.0.1:${callee.port}>`] as const;
  callee.send(respond(invite, 200, "one", { headers: [contact], sdp: ANSWER }).toBytes());
  const { dialog } = await outgoing.answered;
  const ended = ending(dialog);
  assert.equal((await asked("BYE", 6)).status, 200);
  assert.equal(await ended, "bye");
  await callee.close();
});

test("a request over 1300 octets goes by TCP where the target has it (section 18.1.1)", async () => {
  const headers = [["X-Memory", "m".repeat(1_024)]] as const;
  const { caller, callee, invite } = await pair("udp");
  invite({ headers });
  assert.equal((await callee.calls.next()).source.transport, "udp", "pinned by the caller");
  const target = `sip:127.0.0.1:${callee.port}`;
  caller.agent.invite({ target, from: "sip:a@b", offer: OFFER, headers, ringTimeoutMs: 9_000 });
  assert.equal((await callee.calls.next()).source.transport, "tcp");
  caller.agent.invite({ target, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 });
  assert.equal((await callee.calls.next()).source.transport, "udp");
});

test("whom we called may talk to us inside the call although it is no trunk, and not outside of it (S-82)", async () => {
  const callee = await agent();
  const caller = await agent({ trunks: [] });
  const outgoing = caller.agent.invite({ target: `sip:127.0.0.1:${callee.port}`, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 });
  const theirs = (await callee.calls.next()).answer(ANSWER);
  const { dialog } = await outgoing.answered;
  const ended = ending(dialog);
  const strange = callee.agent.invite({ target: `sip:127.0.0.1:${caller.port}`, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 });
  await (await theirs).bye();
  assert.equal(await ended, "bye");
  assert.equal(caller.calls.waiting.length, 0);
  strange.cancel();
});

test("headers of the target's URI become headers of the INVITE when they are X- headers, and nothing breaks the message (R-325, S-87)", async () => {
  const { callee, invite } = await pair("udp");
  invite({ target: `sip:pay@127.0.0.1:${callee.port}?X-Order=a%20b&Route=sip%3Aevil&user-to-user=00` });
  const { request } = await callee.calls.next();
  assert.deepEqual(["x-order", "route", "user-to-user"].map((name) => request.header(name)), ["a b", null, "00"]); // prettier-ignore
  assert.equal(request.requestUri, `sip:pay@127.0.0.1:${callee.port}`);
  assert.throws(() => invite({ headers: [["X-Memory", "a\r\nRoute: <sip:evil>"]] }), TypeError);
  assert.throws(() => invite({ target: "sip:pay@h?X-A=%0d%0aRoute:x" }), TypeError);
  assert.throws(() => invite({ target: "not a uri" }), SipSyntaxError);
  assert.throws(() => invite({ from: '"a\r\nb" <sip:a@b>' }), SipSyntaxError);
});

test("sips and unknown transports are refused, not downgraded", async () => {
  const caller = await agent();
  for (const target of ["sips:a@127.0.0.1", "sip:a@127.0.0.1;transport=tls", "tel:+15551230000"]) {
    await assert.rejects(caller.agent.invite({ target, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 }).answered, failed(416));
  }
});

test("a stopping agent says good-bye to its calls and leaves nothing behind", async () => {
  const { caller, callee, connect, invite } = await pair("udp");
  const { ours, theirs } = await connect();
  const ringing = invite();
  await callee.calls.next();
  const [mine, other] = [ending(ours), ending(theirs)];
  await callee.agent.stop();
  assert.deepEqual([await mine, await other], ["bye", "stopped"]);
  await assert.rejects(ringing.answered, failed(503));
  assert.equal(callee.agent.activeTransactions, 0);
  await caller.agent.stop();
  assert.equal(caller.agent.activeTransactions, 0);
});

test("handlers set after the end are still called", async () => {
  const { connect } = await pair("udp");
  const { ours, theirs } = await connect();
  await ours.bye();
  assert.equal(theirs.ended, true);
  assert.equal(await ending(theirs), "bye");
});

test("the listener's address may be a name", async () => {
  const { port } = await agent({ host: "localhost" });
  const { agent: asking } = await agent();
  assert.equal(await asking.options(`sip:127.0.0.1:${port}`), 200);
  assert.equal(await asking.options(`sip:127.0.0.1:${port};transport=tcp`), 200);
});

test("a port that is taken is the operator's to change", async () => {
  const first = await agent();
  await assert.rejects(testAgent({ port: first.port }), OperatorError);
});
