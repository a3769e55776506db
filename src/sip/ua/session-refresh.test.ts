import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { respond, type SipRequest } from "../grammar/message.ts";
import type { EndReason } from "./call-dialog.ts";
import { agentAndPeer, ANSWER, type Changes, OFFER, rawUdp, requestText, testAgent } from "./testing.ts";

const closers: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closers.toReversed()) await close();
});

/** An answered call whose session we refresh, after 300 s of 600 s. */
async function called({ allow = "INVITE, ACK, BYE, UPDATE" } = {}) {
  const clock = new ManualClock();
  const { peer, calls, ask: send } = await agentAndPeer(closers, { clock });
  const head = { "Call-ID": "refreshed" };
  const timer = { Supported: "timer", "Session-Expires": "600;refresher=uas", Allow: allow };
  peer.send(requestText(peer, { method: "INVITE", headers: { ...head, ...timer }, body: OFFER }));
  const answering = (await calls.next()).answer(ANSWER);
  const answered = await peer.responses.next();
  const inside = { ...head, To: answered.header("To") };
  peer.send(requestText(peer, { method: "ACK", headers: inside }));
  const dialog = await answering;
  const ended = new Promise<EndReason>((resolve) => (dialog.onBye = resolve));
  const ask = (changes: Changes) => send({ ...changes, headers: { ...inside, ...changes.headers } });
  const contact = ["Contact", `<sip:peer@127.0.0.1:${peer.port}>`] as const;
  const reply = (request: SipRequest, status: number, headers: readonly (readonly [string, string])[] = [], sdp?: string) =>
    peer.send(respond(request, status, null, { headers: [contact, ...headers], ...(sdp === undefined ? {} : { sdp }) }).toBytes());
  /** A request of the peer's has been answered, so whatever was sent before has been handled too. */
  const settled = async () => void (await ask({ method: "OPTIONS", cseq: 90 }));
  return { clock, peer, dialog, ended, answered, ask, reply, settled };
}

const AGREED = [["Session-Expires", "600;refresher=uac"]] as const;

test("named as the refresher we send an UPDATE at half of the interval, each time (RFC 4028 sections 9 and 10)", async () => {
  const { clock, peer, dialog, answered, reply, settled } = await called();
  assert.equal(answered.header("Session-Expires"), "600;refresher=uas");
  for (let turn = 1; turn <= 3; turn++) {
    clock.advance(299_999);
    await settled();
    assert.equal(peer.requests.waiting.length, 0);
    clock.advance(1);
    const update = await peer.requests.next();
    assert.deepEqual([update.method, update.sdp, update.cseq.number], ["UPDATE", null, turn]);
    assert.deepEqual([update.header("Session-Expires"), update.header("Supported")], ["600;refresher=uac", "timer"]);
    assert.ok((update.header("Contact") ?? "").startsWith("<sip:pay@127.0.0.1:"));
    reply(update, 200, AGREED);
    await settled();
  }
  assert.equal(dialog.ended, false);
});

test("a peer without UPDATE is refreshed by an INVITE that offers again what we have, acknowledged each time (RFC 4028 section 7.4)", async () => {
  const { clock, peer, dialog, reply, settled } = await called({ allow: "INVITE, ACK, BYE" });
  const answers: string[] = [];
  dialog.onAnswer = (sdp) => answers.push(sdp);
  clock.advance(300_000);
  const invite = await peer.requests.next();
  assert.deepEqual([invite.method, invite.sdp], ["INVITE", ANSWER]);
  reply(invite, 200, AGREED, OFFER);
  const ack = await peer.requests.next();
  assert.deepEqual([ack.method, ack.cseq.number], ["ACK", invite.cseq.number]);
  reply(invite, 200, AGREED, OFFER);
  assert.equal((await peer.requests.next()).fields.first("via"), ack.fields.first("via"));
  await settled();
  assert.deepEqual([answers, dialog.ended], [[OFFER], false]);
});

test("405 to UPDATE makes it an INVITE, and 422 a longer interval with Min-SE (RFC 4028 section 7.3)", async () => {
  const { clock, peer, reply } = await called();
  clock.advance(300_000);
  reply(await peer.requests.next(), 405);
  const invite = await peer.requests.next();
  assert.equal(invite.method, "INVITE");
  reply(invite, 422, [["Min-SE", "1200"]]);
  const next = [await peer.requests.next(), await peer.requests.next()];
  const longer = next.find(({ method }) => method === "INVITE");
  assert.deepEqual([longer?.header("Session-Expires"), longer?.header("Min-SE")], ["1200;refresher=uac", "1200"]);
});

for (const status of [481, 408]) {
  test(`${status} to a refresh ends the call with BYE (RFC 4028 section 10)`, async () => {
    const { clock, peer, ended, reply } = await called();
    clock.advance(300_000);
    reply(await peer.requests.next(), status);
    assert.equal((await peer.requests.next()).method, "BYE");
    assert.equal(await ended, "session-expired");
  });
}

test("a refresh that fails otherwise is tried again, and the call ends when the session expires (RFC 4028 section 10)", async () => {
  const { clock, peer, ended, reply, settled } = await called();
  clock.advance(300_000);
  for (let turn = 0; turn < 3; turn++) {
    reply(await peer.requests.next(), 500);
    await settled();
    clock.advance(10_000);
  }
  reply(await peer.requests.next(), 500);
  await settled();
  clock.advance(9_999);
  await settled();
  assert.equal(peer.requests.waiting.length, 0);
  clock.advance(600_000 - 32_000 - 339_999);
  assert.equal(await ended, "session-expired");
});

test("offers that cross are answered 491, and ours is repeated within 2 s, for the Call-ID is the peer's (RFC 3261 section 14, RFC 3311 section 5.2)", async () => {
  const { clock, peer, dialog, ask, reply, settled } = await called({ allow: "INVITE" });
  dialog.onReinvite = () => ANSWER;
  clock.advance(300_000);
  const ours = await peer.requests.next();
  assert.equal((await ask({ method: "INVITE", body: OFFER, cseq: 2 })).status, 491);
  assert.equal((await ask({ method: "UPDATE", body: OFFER, cseq: 3 })).status, 491);
  assert.equal((await ask({ method: "UPDATE", cseq: 4 })).status, 200, "no offer, no conflict");
  reply(ours, 491);
  assert.equal((await peer.requests.next()).method, "ACK");
  await settled();
  clock.advance(1_990);
  assert.deepEqual([(await peer.requests.next()).method, dialog.ended], ["INVITE", false]);
});

test("an UPDATE that offers while our own offer waits for its ACK is answered 491 (RFC 3311 section 5.2)", async () => {
  const { peer, dialog, ask } = await called();
  dialog.onReinvite = () => ANSWER;
  const answered = await ask({ method: "INVITE", cseq: 2 });
  assert.equal(answered.sdp, ANSWER);
  assert.equal((await ask({ method: "UPDATE", body: OFFER, cseq: 3 })).status, 491);
  peer.send(requestText(peer, { method: "ACK", headers: { "Call-ID": "refreshed", To: answered.header("To") }, body: OFFER, cseq: 2 }));
  assert.equal((await ask({ method: "UPDATE", body: OFFER, cseq: 4 })).status, 200);
});

test("so is one that comes before the ACK has answered the offer of our first 200 (RFC 3311 section 5.2)", async () => {
  const { agent, port, calls } = await testAgent();
  const peer = await rawUdp(port);
  closers.push(
    () => agent.stop(),
    () => peer.close(),
  );
  const head = { "Call-ID": "delayed" };
  peer.send(requestText(peer, { method: "INVITE", headers: head }));
  const answering = (await calls.next()).answer(ANSWER);
  const answered = await peer.responses.next();
  const inside = { ...head, To: answered.header("To") };
  peer.send(requestText(peer, { method: "UPDATE", headers: inside, body: OFFER, cseq: 2 }));
  const statuses = new Set<string>();
  while (!statuses.has("UPDATE 491")) {
    const { status, cseq } = await peer.responses.next();
    assert.notEqual(`${cseq.method} ${status}`, "UPDATE 488");
    statuses.add(`${cseq.method} ${status}`);
  }
  peer.send(requestText(peer, { method: "ACK", headers: inside, body: OFFER }));
  assert.equal((await answering).remoteSdp, OFFER);
});

test("a refresh of the peer's with a new Contact moves our requests there (RFC 3261 section 12.2)", async () => {
  const { peer, dialog, ask } = await called();
  const other = await rawUdp(1);
  closers.push(() => other.close());
  const moved = { Contact: `<sip:moved@127.0.0.1:${other.port}>` };
  assert.equal((await ask({ method: "UPDATE", headers: moved, cseq: 2 })).status, 200);
  const leaving = dialog.bye();
  const bye = await other.requests.next();
  assert.equal(bye.requestUri, `sip:moved@127.0.0.1:${other.port}`);
  other.sendTo(bye.via.port ?? 0, respond(bye, 200, null).toBytes());
  await leaving;
  assert.equal(peer.requests.waiting.length, 0);
});

test("a Contact that nothing can be sent to, in the answer to a refresh of ours, is not followed (RFC 3261 section 26.2.2)", async () => {
  const { clock, peer, dialog, settled } = await called();
  clock.advance(300_000);
  const update = await peer.requests.next();
  const headers = [["Contact", "<sips:me@192.0.2.9>"], ...AGREED] as const;
  peer.send(respond(update, 200, null, { headers }).toBytes());
  await settled();
  void dialog.bye();
  const bye = await peer.requests.next();
  assert.deepEqual([bye.method, bye.requestUri], ["BYE", update.requestUri]);
});

test("a call of ours lets its callee ask for a session timer: we refresh where it says so, and hang up when it does not (RFC 4028 section 7.2)", async () => {
  for (const refresher of ["uac", "uas"]) {
    const clock = new ManualClock();
    const { agent } = await testAgent({ clock });
    const callee = await rawUdp(1);
    closers.push(
      () => {
        const stopped = agent.stop();
        clock.advance(500);
        return stopped;
      },
      () => callee.close(),
    );
    const outgoing = agent.invite({ target: `sip:127.0.0.1:${callee.port}`, from: "sip:a@b", offer: OFFER, ringTimeoutMs: 9_000 });
    const invite = await callee.requests.next();
    assert.deepEqual([invite.header("Supported"), invite.header("Session-Expires")], ["timer", null]);
    const headers = [
      ["Contact", `<sip:127.0.0.1:${callee.port}>`],
      ["Session-Expires", `600;refresher=${refresher}`],
      ["Allow", "INVITE, ACK, BYE, UPDATE"],
    ] as const;
    callee.sendTo(invite.via.port ?? 0, respond(invite, 200, "callee", { headers, sdp: ANSWER }).toBytes());
    const { dialog } = await outgoing.answered;
    const ended = new Promise<EndReason>((resolve) => (dialog.onBye = resolve));
    assert.equal((await callee.requests.next()).method, "ACK");
    clock.advance(300_000);
    if (refresher === "uac") {
      const update = await callee.requests.next();
      assert.deepEqual([update.method, update.header("Session-Expires")], ["UPDATE", "600;refresher=uac"]);
    } else {
      clock.advance(268_000);
      assert.deepEqual([await ended, (await callee.requests.next()).method], ["session-expired", "BYE"]);
    }
  }
});
