import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createIdentity } from "#simulators/tls.ts";
import { respond } from "../grammar/message.ts";
import { InviteFailed } from "./errors.ts";
import { agentAndPeer, ANSWER, OFFER, requestText } from "./testing.ts";
import type { UserAgentOptions } from "./user-agent.ts";

/** A Contact to which nothing can be sent: what asks for TLS on every hop, where there is none, is not followed (RFC 3261 sections 12.1 and 26.2.2). */

const own = createIdentity(["127.0.0.1"]);
const tls = { port: 0, certificate: { cert: own.cert, key: own.key, clientCa: null }, serverCa: [own.ca] };
const closers: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closers.toReversed()) await close();
});

const bench = (options: Partial<UserAgentOptions> = {}) => agentAndPeer(closers, options);

/** Refused, in a way that ends no dialog: its response of 488 concerns the request alone (RFC 3261 section 14.2, RFC 5057 section 5). */
const NOT_ALLOWED = /^380 [^ ]+ "SIPS Not Allowed"$/;

/** A call of the peer's, `contact` being where it is; `update` names a new one by any method. */
async function calledFrom(contact: string | null, options: Partial<UserAgentOptions> = {}) {
  const made = await bench(options);
  const at = contact ?? `sip:me@127.0.0.1:${made.peer.port}`;
  const call = { "Call-ID": "a-call", Contact: `<${at}>` };
  made.peer.send(requestText(made.peer, { method: "INVITE", headers: call, body: OFFER }));
  const incoming = await made.calls.next();
  const inside = (to: string | null) => ({ ...call, To: to });
  const answer = async () => {
    const answering = incoming.answer(ANSWER);
    const response = await made.peer.responses.next();
    made.peer.send(requestText(made.peer, { method: "ACK", headers: inside(response.header("To")) }));
    return { dialog: await answering, inside: inside(response.header("To")) };
  };
  return { ...made, at, incoming, answer, inside };
}

for (const [what, contact, options] of [
  ["of sips without TLS of our own", "sips:me@192.0.2.9", {}],
  ["of sips by a transport that there is not for it", "sips:me@192.0.2.9;transport=ws", { tls }],
] as const) {
  test(`a re-INVITE or UPDATE with a Contact ${what} is refused, and the call stays where it is`, async () => {
    const { peer, ask, at, answer } = await calledFrom(null, options);
    const { dialog, inside } = await answer();
    dialog.onReinvite = () => ANSWER;
    const elsewhere = { ...inside, Contact: `<${contact}>` };
    let cseq = 1;
    for (const [method, body] of [
      ["INVITE", OFFER],
      ["UPDATE", OFFER],
      ["UPDATE", ""],
    ] as const) {
      const response = await ask({ method, headers: elsewhere, body, cseq: ++cseq });
      assert.equal(response.status, 488, `${method} ${body}`);
      assert.match(response.header("Warning") ?? "", NOT_ALLOWED);
      if (method === "INVITE") peer.send(requestText(peer, { method: "ACK", headers: elsewhere, cseq }));
    }
    assert.equal(dialog.remoteSdp, OFFER);
    assert.equal((await ask({ method: "UPDATE", headers: inside, body: OFFER, cseq: ++cseq })).status, 200);
    const leaving = dialog.bye();
    const bye = await peer.requests.next();
    assert.deepEqual([bye.method, bye.requestUri], ["BYE", at]);
    peer.send(respond(bye, 200, null).toBytes());
    await leaving;
  });

  test(`an UPDATE before the answer with a Contact ${what} is refused, and the call can be answered`, async () => {
    const { peer, ask, incoming, answer, inside } = await calledFrom(null, options);
    incoming.ring();
    const to = (await peer.responses.next()).header("To");
    const response = await ask({ method: "UPDATE", headers: { ...inside(to), Contact: `<${contact}>` }, cseq: 2 });
    assert.equal(response.status, 488);
    assert.equal((await answer()).dialog.ended, false);
  });

  test(`an INVITE with a Contact ${what} is answered 480 (RFC 5630 section 5.2)`, async () => {
    const { ask, calls } = await bench(options);
    const response = await ask({ method: "INVITE", headers: { Contact: `<${contact}>` }, body: OFFER });
    assert.equal(response.status, 480);
    assert.match(response.header("Warning") ?? "", NOT_ALLOWED);
    assert.deepEqual(calls.waiting, []);
  });

  test(`an answer with a Contact ${what} is acknowledged and ended where our INVITE went, and the call fails`, async () => {
    const { agent, peer } = await bench(options);
    const target = `sip:agent@127.0.0.1:${peer.port}`;
    const { answered } = agent.invite({ target, from: "sip:pay@till.example", offer: OFFER, ringTimeoutMs: 20_000 });
    const failing = assert.rejects(answered, (error) => error instanceof InviteFailed && error.status === 416);
    const invite = await peer.requests.next();
    peer.send(respond(invite, 200, "theirs", { headers: [["Contact", `<${contact}>`]], sdp: ANSWER }).toBytes());
    await failing;
    const [ack, bye] = [await peer.requests.next(), await peer.requests.next()];
    assert.deepEqual([ack.method, ack.requestUri, bye.method, bye.requestUri], ["ACK", target, "BYE", target]);
    peer.send(respond(bye, 200, null).toBytes());
  });
}

test("without TLS of our own a Contact of transport=tls is talked to where its INVITE came from, as one of any transport not spoken here", async () => {
  const { peer, answer } = await calledFrom("sip:me@192.0.2.9;transport=tls");
  const leaving = (await answer()).dialog.bye();
  const bye = await peer.requests.next();
  assert.deepEqual([bye.method, bye.requestUri], ["BYE", "sip:me@192.0.2.9;transport=tls"]);
  peer.send(respond(bye, 200, null).toBytes());
  await leaving;
});
