import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import { type ResponseParts, respond, type SipRequest } from "../grammar/message.ts";
import { InviteFailed } from "./errors.ts";
import { ANSWER, OFFER, type RawPeer, rawUdp, testAgent } from "./testing.ts";

/**
 * What a trunk, or whoever its messages name, can make of a challenge: with the password's digest for a nonce of one's own choice
 * the password can be guessed at leisure, and with a digest for another server's nonce that server can be called.
 */

const open: { stop(): Promise<void> }[] = [];
after(() => Promise.all(open.map((agent) => agent.stop())));

const CREDENTIAL_HEADERS = ["Authorization", "Proxy-Authorization"];
const challenge = (realm: string, rest = ', qop="auth"'): ResponseParts => ({
  headers: [["WWW-Authenticate", `Digest realm="${realm}", nonce="n"${rest}`]],
});
const credentialsIn = (request: SipRequest) => CREDENTIAL_HEADERS.flatMap((name) => request.fields.all(name));

/** Our agent calling a trunk on 127.0.0.1; `elsewhere` is another host, 127.0.0.2. */
async function rig(t: TestContext) {
  const { agent } = await testAgent();
  open.push(agent);
  const [trunk, elsewhere] = [await rawUdp(0, "127.0.0.1"), await rawUdp(0, "127.0.0.2")];
  t.after(() => Promise.all([trunk.close(), elsewhere.close()]));
  const { answered } = agent.invite({
    target: `sip:+14155550100@127.0.0.1:${trunk.port}`,
    from: "sip:till@127.0.0.1",
    offer: OFFER,
    ringTimeoutMs: 20_000,
    transport: "udp",
    credentials: { username: "shop", password: new Secret("geheim"), md5: true },
  });
  answered.catch(() => {});
  const reply = (peer: RawPeer, request: SipRequest, status: number, answer: ResponseParts = {}) => {
    const port = request.via.port ?? 5060;
    peer.sendTo(port, respond(request, status, "trunk", answer).toBytes());
  };
  /** The INVITE, challenged and sent again. */
  const challenged = async (answer = challenge("carrier")) => {
    const first = await trunk.requests.next();
    reply(trunk, first, 401, answer);
    assert.equal((await trunk.requests.next()).method, "ACK");
    return { first, again: trunk.requests.next() };
  };
  const accept = (invite: SipRequest, contact: RawPeer, host: string) =>
    reply(trunk, invite, 200, { sdp: ANSWER, headers: [["Contact", `<sip:x@${host}:${contact.port}>`]] });
  return { trunk, elsewhere, answered, reply, challenged, accept };
}

test("a trunk's credentials reach no other host: not in the ACK, and not when it asks for them (S-80)", async (t) => {
  const { elsewhere, answered, reply, challenged, accept } = await rig(t);
  const invite = await (await challenged()).again;
  assert.equal(credentialsIn(invite).length, 1);
  accept(invite, elsewhere, "127.0.0.2");
  const ack = await elsewhere.requests.next();
  assert.deepEqual([ack.method, credentialsIn(ack)], ["ACK", []]);
  const { dialog } = await answered;
  const leaving = dialog.bye();
  const bye = await elsewhere.requests.next();
  assert.deepEqual([bye.method, credentialsIn(bye)], ["BYE", []]);
  reply(elsewhere, bye, 401, challenge("carrier"));
  await leaving;
  assert.deepEqual(elsewhere.requests.waiting, []);
});

test("the trunk itself gets the ACK with the credentials of the INVITE, and an answer when it asks again (RFC 3261 sections 13.2.2.4 and 22.1)", async (t) => {
  const { trunk, answered, reply, challenged, accept } = await rig(t);
  const invite = await (await challenged()).again;
  accept(invite, trunk, "127.0.0.1");
  const ack = await trunk.requests.next();
  assert.deepEqual([ack.method, credentialsIn(ack)], ["ACK", credentialsIn(invite)]);
  const { dialog } = await answered;
  const leaving = dialog.bye();
  reply(trunk, await trunk.requests.next(), 401, challenge("carrier"));
  const bye = await trunk.requests.next();
  assert.equal(credentialsIn(bye).length, 1);
  reply(trunk, bye, 200);
  await leaving;
});

test("a second realm is not answered, neither for the INVITE nor inside the call (S-80)", async (t) => {
  const { trunk, answered, reply, challenged, accept } = await rig(t);
  const invite = await (await challenged()).again;
  accept(invite, trunk, "127.0.0.1");
  await trunk.requests.next();
  const { dialog } = await answered;
  const leaving = dialog.bye();
  reply(trunk, await trunk.requests.next(), 401, challenge("another"));
  await leaving;
  assert.deepEqual(trunk.requests.waiting, []);
});

test("a proxy's challenge for a second realm is not answered (S-80)", async (t) => {
  const { trunk, answered, reply, challenged } = await rig(t);
  const invite = await (await challenged()).again;
  reply(trunk, invite, 407, { headers: [["Proxy-Authenticate", 'Digest realm="another", nonce="n", qop="auth"']] });
  await assert.rejects(answered, (error) => error instanceof InviteFailed && error.status === 407);
  assert.equal((await trunk.requests.next()).method, "ACK");
  assert.deepEqual(trunk.requests.waiting, []);
});

for (const [what, rest] of [
  ["without qop, whose digest has no nonce of ours", ""],
  ["for qop=auth-int alone", ', qop="auth-int"'],
] as const) {
  test(`a challenge ${what}, is not answered (RFC 7616 section 5.9)`, async (t) => {
    const { trunk, answered, challenged } = await rig(t);
    await challenged(challenge("carrier", rest));
    await assert.rejects(answered, (error) => error instanceof InviteFailed && error.status === 401);
    assert.deepEqual(trunk.requests.waiting, []);
  });
}
