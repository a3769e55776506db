import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { Secret } from "#src/kernel/secret.ts";
import { HeaderFields } from "../grammar/header-fields.ts";
import { respond, SipRequest } from "../grammar/message.ts";
import { DigestClient } from "./digest.ts";
import { DigestServer } from "./digest-server.ts";
import { ANSWER, OFFER, rawTcp, rawUdp, requestText, testAgent } from "./testing.ts";
import { InviteFailed } from "./errors.ts";

/** Callers who are admitted by their password (S-80; RFC 3261 section 22, RFC 8760). */

const PEER = "198.51.100.7";
const USERS = [
  { name: "ada", password: new Secret("s@cret"), md5: false },
  { name: "bob", password: new Secret("older"), md5: true },
];
const passwords: Readonly<Record<string, string>> = { ada: "s@cret", bob: "older" };
const open: { stop(): Promise<void> }[] = [];
after(() => Promise.all(open.map((agent) => agent.stop())));

const invite = (uri = "sip:pay@till.example") =>
  new SipRequest("INVITE", uri, new HeaderFields().add("CSeq", "1 INVITE").add("Call-ID", "c"));

/** The answer of a client with this password to a challenge of ours. */
function answered(
  server: DigestServer,
  username: string,
  { password = passwords[username] ?? "", only = "", asked = invite() } = {},
): SipRequest {
  const client = new DigestClient({ username, password: new Secret(password), md5: true }, systemRandom);
  client.bind([PEER]);
  const headers = server.challenge(PEER, false).filter(([, value]) => value.includes(only));
  const again = client.authorize(asked, respond(asked, 401, null, { headers }), PEER);
  assert.ok(again);
  return again;
}

function serverOf(users = USERS, clock = new ManualClock()): DigestServer {
  return new DigestServer(users, clock, new Uint8Array(32));
}

test("the password of a user is taken, SHA-256 offered first, MD5 from those alone who are allowed it (RFC 8760)", () => {
  const server = serverOf();
  assert.deepEqual(
    server.challenge(PEER, false).map(([, value]) => /algorithm=([^,]+)/.exec(value)?.[1]),
    ["SHA-256", "MD5"],
  );
  assert.equal(server.check(answered(server, "ada"), PEER), "accepted");
  assert.equal(server.check(answered(server, "bob"), PEER), "accepted");
  assert.equal(server.check(answered(server, "bob", { only: "algorithm=MD5" }), PEER), "accepted");
  assert.equal(server.check(answered(server, "ada", { only: "algorithm=MD5" }), PEER), "refused");
  assert.equal(serverOf([USERS[0]!]).challenge(PEER, false).length, 1);
});

test("no password, a wrong one, an unknown name, another address, another Request-URI or another server's nonce are refused", () => {
  const server = serverOf();
  assert.equal(server.check(invite(), PEER), "refused");
  assert.equal(server.check(answered(server, "ada", { password: "guess" }), PEER), "refused");
  assert.equal(server.check(answered(server, "eve", { password: "" }), PEER), "refused");
  assert.equal(server.check(answered(server, "ada"), "198.51.100.8"), "refused");
  const moved = new SipRequest("INVITE", "sip:other@till.example", answered(server, "ada").fields);
  assert.equal(server.check(moved, PEER), "refused");
  const other = new DigestServer(USERS, new ManualClock(), new Uint8Array(32).fill(1));
  assert.equal(server.check(answered(other, "ada"), PEER), "refused");
});

test("an answer counts once, and only for five minutes", () => {
  const clock = new ManualClock();
  const server = serverOf(USERS, clock);
  const first = answered(server, "ada");
  assert.equal(server.check(first, PEER), "accepted");
  assert.equal(server.check(first, PEER), "stale");
  const late = answered(server, "ada");
  clock.advance(300_001);
  assert.equal(server.check(late, PEER), "stale");
  assert.match(server.challenge(PEER, true)[0]?.[1] ?? "", /stale=true/);
});

test("an answer counts once, also when ten thousand others have come since", () => {
  const server = serverOf();
  const first = answered(server, "ada");
  assert.equal(server.check(first, PEER), "accepted");
  for (let other = 0; other < 10_000; other++) server.check(answered(server, "ada"), PEER);
  assert.notEqual(server.check(first, PEER), "accepted");
});

test("a caller from an unknown address places a call with his password and is heard inside it", async () => {
  const callee = await testAgent({ trunks: [], users: USERS });
  const caller = await testAgent({ trunks: [] });
  open.push(callee.agent, caller.agent);
  for (const transport of ["udp", "tcp"] as const) {
    const { answered } = caller.agent.invite({
      target: `sip:pay@127.0.0.1:${callee.port};transport=${transport}`,
      from: "sip:a@b",
      offer: OFFER,
      ringTimeoutMs: 20_000,
      credentials: { username: "ada", password: new Secret("s@cret"), md5: false },
    });
    const incoming = await callee.calls.next();
    assert.equal(incoming.source.isTrunk, false, "what he asserts does not count");
    const theirs = incoming.answer(ANSWER);
    const [{ dialog }, other] = await Promise.all([answered, theirs]);
    const ended = new Promise((resolve) => (other.onBye = resolve));
    await dialog.bye();
    assert.equal(await ended, "bye");
  }
  const wrong = caller.agent.invite({
    target: `sip:pay@127.0.0.1:${callee.port}`,
    from: "sip:a@b",
    offer: OFFER,
    ringTimeoutMs: 20_000,
    credentials: { username: "ada", password: new Secret("wrong"), md5: false },
  });
  await assert.rejects(wrong.answered, (error) => error instanceof InviteFailed && error.status === 401);
  assert.deepEqual(callee.calls.waiting, []);
});

test("who has shown no password gets a 401 to an INVITE no larger than half as much again, and nothing to anything else (S-82)", async () => {
  const callee = await testAgent({ trunks: [], users: USERS });
  open.push(callee.agent);
  const peer = await rawUdp(callee.port);
  const short = requestText(peer, { method: "INVITE", headers: { Contact: null } });
  peer.send(short);
  for (const method of ["OPTIONS", "REGISTER", "BYE", "ACK", "CANCEL"]) peer.send(requestText(peer, { method }));
  const sent = requestText(peer, { method: "INVITE", body: OFFER.repeat(4), headers: { "Call-ID": "long" } });
  peer.send(sent);
  const response = await peer.responses.next();
  assert.deepEqual([response.status, response.callId], [401, "long"]);
  assert.ok(response.toBytes().length <= 1.5 * Buffer.byteLength(sent));
  assert.deepEqual(peer.responses.waiting, []);
  await peer.close();
});

test("wrong passwords have one line a minute in the log, however many come (S-70, S-83)", async () => {
  const clock = new ManualClock();
  const lines: object[] = [];
  const log = { debug: () => {}, warn: (event: string, fields?: object) => void lines.push({ event, ...fields }) };
  const callee = await testAgent({ trunks: [], users: USERS, clock, log });
  const peer = await rawTcp(callee.port);
  const guess = async () => {
    peer.send(requestText(peer, { method: "INVITE", headers: { Authorization: 'Digest username="ada", realm="voicetill"' } }));
    assert.equal((await peer.responses.next()).status, 401);
  };
  for (let tries = 0; tries < 5; tries++) await guess();
  clock.advance(60_000);
  await guess();
  const line = { event: "sip_password_refused", host: "127.0.0.1", reason: "refused" };
  assert.deepEqual(lines, [
    { ...line, count: 1 },
    { ...line, count: 5 },
  ]);
  const stopped = callee.agent.stop();
  clock.advance(500);
  await Promise.all([stopped, peer.close()]);
});

test("who has shown no password may send by one connection no more than by datagrams, and then loses it (S-83)", async () => {
  const clock = new ManualClock();
  const callee = await testAgent({ trunks: [], users: USERS, clock });
  const peer = await rawTcp(callee.port);
  const invites = (count: number) => Array.from({ length: count }, () => requestText(peer, { method: "INVITE" })).join("");
  peer.send(invites(50));
  for (let asked = 0; asked < 50; asked++) assert.equal((await peer.responses.next()).status, 401);
  peer.send(invites(1000));
  const other = await rawTcp(callee.port, "127.0.0.2");
  await peer.closed;
  assert.ok(peer.responses.waiting.length <= 50, `${peer.responses.waiting.length} more were answered`);
  other.send(requestText(other, { method: "INVITE" }));
  assert.equal((await other.responses.next()).status, 401, "another address has its own");
  const stopped = callee.agent.stop();
  clock.advance(500);
  await Promise.all([stopped, peer.close(), other.close()]);
});
