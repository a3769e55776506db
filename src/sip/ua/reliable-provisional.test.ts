import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { ManualClock } from "#src/kernel/testing.ts";
import { respond, type SipRequest, type SipResponse } from "../grammar/message.ts";
import { CallOver } from "./errors.ts";
import { agentAndPeer, ANSWER, type Changes, OFFER, rawUdp, requestText } from "./testing.ts";

const closers: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closers.toReversed()) await close();
});

/** An INVITE with `Require: 100rel` that waits for our answer. */
async function invited({ clock = new ManualClock(), body = OFFER, require = "100rel" } = {}) {
  const { peer, calls, ask } = await agentAndPeer(closers, { clock });
  const head = { "Call-ID": "reliable" };
  peer.send(requestText(peer, { method: "INVITE", headers: { ...head, Require: require }, body, branch: "invite" }));
  const call = await calls.next();
  /** The PRACK of a response, inside the dialog that it made. */
  const prack = ({ headers = {}, ...changes }: Changes, response: SipResponse) =>
    ask({
      method: "PRACK",
      cseq: 2,
      ...changes,
      headers: { ...head, To: response.header("To"), RAck: `${response.header("RSeq")} 1 INVITE`, ...headers },
    });
  const acknowledge = (response: SipResponse, body = "") =>
    peer.send(requestText(peer, { method: "ACK", headers: { ...head, To: response.header("To") }, body }));
  return { clock, peer, call, ask, prack, acknowledge, head };
}

test("Require: 100rel gets a reliable 180, and the 200 only after its PRACK (RFC 3262 section 3)", async () => {
  const { peer, call, prack, acknowledge } = await invited();
  const answering = call.answer(ANSWER);
  const ringing = await peer.responses.next();
  assert.deepEqual([ringing.status, ringing.header("Require"), ringing.sdp], [180, "100rel", null]);
  const rseq = Number(ringing.header("RSeq"));
  assert.ok(rseq >= 1 && rseq < 2 ** 31);
  assert.ok(ringing.headers("Allow").includes("PRACK"));
  assert.equal((await prack({ headers: { RAck: `${rseq + 1} 1 INVITE` } }, ringing)).status, 481, "another RSeq");
  assert.equal((await prack({ headers: { RAck: `${rseq} 2 INVITE` }, cseq: 3 }, ringing)).status, 481, "another CSeq");
  assert.equal((await prack({ headers: { RAck: null }, cseq: 4 }, ringing)).status, 481, "no RAck");
  assert.equal(peer.responses.waiting.length, 0, "no 200 before the PRACK");
  assert.equal((await prack({ cseq: 5 }, ringing)).status, 200);
  const answered = await peer.responses.next();
  assert.deepEqual([answered.status, answered.sdp, answered.toTag], [200, ANSWER, ringing.toTag]);
  acknowledge(answered);
  assert.equal((await answering).remoteSdp, OFFER);
  assert.equal((await prack({ cseq: 6 }, ringing)).status, 481, "there is nothing to acknowledge any more");
});

test("a reliable response is sent again after T1, 2*T1, 4*T1 ..., and the call is rejected with 504 after 64*T1 (RFC 3262 section 3)", async () => {
  const { clock, peer, call } = await invited();
  const refused = assert.rejects(call.answer(ANSWER), CallOver);
  const first = await peer.responses.next();
  for (const interval of [500, 1_000, 2_000, 4_000, 8_000, 16_000]) {
    clock.advance(interval - 1);
    assert.equal(peer.responses.waiting.length, 0);
    clock.advance(1);
    const again = await peer.responses.next();
    assert.deepEqual([again.status, again.header("RSeq")], [180, first.header("RSeq")]);
  }
  clock.advance(500);
  assert.equal((await peer.responses.next()).status, 504);
  await refused;
});

test("without an offer ours goes out in the 183, its answer comes with the PRACK, and the 200 has none (RFC 3262 section 5)", async () => {
  const { peer, call, prack, acknowledge } = await invited({ body: "" });
  const answering = call.answer(OFFER);
  const progress = await peer.responses.next();
  assert.deepEqual([progress.status, progress.sdp], [183, OFFER]);
  const responses = [await prack({ body: ANSWER, headers: { "Content-Type": "application/sdp" } }, progress), await peer.responses.next()];
  assert.deepEqual(responses.map(({ status, cseq }) => `${cseq.method} ${status}`).toSorted(), ["INVITE 200", "PRACK 200"]); // prettier-ignore
  const answered = responses.find(({ cseq }) => cseq.method === "INVITE")!;
  assert.equal(answered.sdp, null);
  acknowledge(answered);
  assert.equal((await answering).remoteSdp, ANSWER);
});

test("before the answer an UPDATE without an offer is served, and one that offers crosses our own (RFC 3311 section 5.2)", async () => {
  const { peer, call, ask, prack, acknowledge, head } = await invited({ body: "" });
  const answering = call.answer(OFFER);
  const progress = await peer.responses.next();
  const inside = { ...head, To: progress.header("To") };
  const refreshed = await ask({ method: "UPDATE", headers: inside, cseq: 2 });
  assert.deepEqual([refreshed.status, refreshed.header("Contact")], [200, progress.header("Contact")]);
  assert.equal((await ask({ method: "UPDATE", headers: inside, body: OFFER, cseq: 3 })).status, 491);
  const timer = { ...inside, Supported: "timer", "Session-Expires": "600" };
  const timed = await ask({ method: "UPDATE", headers: timer, cseq: 4 });
  assert.deepEqual([timed.status, timed.header("Session-Expires"), timed.header("Require")], [200, "600;refresher=uac", "timer"]);
  const short = await ask({ method: "UPDATE", headers: { ...timer, "Session-Expires": "60" }, cseq: 5 });
  assert.deepEqual([short.status, short.header("Min-SE")], [422, "90"]);
  const sdp = { body: ANSWER, headers: { "Content-Type": "application/sdp" } };
  const responses = [await prack({ ...sdp, cseq: 6 }, progress), await peer.responses.next()];
  acknowledge(responses.find(({ cseq }) => cseq.method === "INVITE")!);
  await answering;
});

test("a PRACK that does not answer our offer ends the call with 400 (RFC 3262 section 5)", async () => {
  const { peer, call, prack } = await invited({ body: "" });
  const refused = assert.rejects(call.answer(OFFER), CallOver);
  const responses = [await prack({}, await peer.responses.next()), await peer.responses.next()];
  assert.deepEqual(responses.map(({ status, cseq }) => `${cseq.method} ${status}`).toSorted(), ["INVITE 400", "PRACK 200"]); // prettier-ignore
  await refused;
});

test("CANCEL before the PRACK is answered 487, and nothing is sent again (R-222)", async () => {
  const { clock, peer, call, ask, head } = await invited();
  const refused = assert.rejects(call.ready(ANSWER), CallOver);
  assert.equal((await peer.responses.next()).status, 180);
  const responses = [await ask({ method: "CANCEL", headers: head, branch: "invite" }), await peer.responses.next()];
  assert.deepEqual(responses.map(({ status, cseq }) => `${cseq.method} ${status}`).toSorted(), ["CANCEL 200", "INVITE 487"]); // prettier-ignore
  await refused;
  peer.send(requestText(peer, { method: "ACK", headers: head, branch: "invite" }));
  assert.equal((await ask({ headers: { "Call-ID": "other" } })).status, 200);
  clock.advance(60_000);
  assert.equal((await ask({ headers: { "Call-ID": "another" } })).status, 200);
});

test("who supports 100rel without requiring it is answered at once (R-226)", async () => {
  const { peer, call, acknowledge } = await invited({ require: "timer" });
  const answering = call.answer(ANSWER);
  const answered = await peer.responses.next();
  assert.deepEqual([answered.status, answered.header("RSeq")], [200, null]);
  acknowledge(answered);
  await answering;
});

/** A call of ours to a raw callee: its INVITE, and how the callee responds to that. */
async function inviting() {
  const { agent, port, peer } = await agentAndPeer(closers);
  const media = await rawUdp(port);
  closers.push(() => media.close());
  const outgoing = agent.invite({
    target: `sip:a@127.0.0.1:${peer.port}`,
    from: "sip:shop@example.com",
    offer: OFFER,
    ringTimeoutMs: 9_000,
  });
  const invite = await peer.requests.next();
  /** `at`: the peer whose Contact it names. */
  const say = (request: SipRequest, status: number, headers: readonly (readonly [string, string])[] = [], sdp?: string, at = peer) =>
    peer.send(
      respond(request, status, "callee", {
        headers: [["Contact", `<sip:a@127.0.0.1:${at.port}>`], ...headers],
        ...(sdp === undefined ? {} : { sdp }),
      }).toBytes(),
    );
  const reliable = (rseq: number) => [["Require", "100rel"], ["RSeq", String(rseq)]] as const; // prettier-ignore
  return { peer, media, outgoing, invite, say, reliable };
}

test("a callee that demands reliable provisional responses with 421 is called again by who supports them, once (RFC 3262 section 3)", async () => {
  const { peer, outgoing, invite, say } = await inviting();
  assert.deepEqual(invite.headers("Supported"), ["timer"]);
  say(invite, 421, [["Require", "100rel"]]);
  const second = [await peer.requests.next(), await peer.requests.next()].find(({ method }) => method === "INVITE")!;
  assert.deepEqual([second.cseq.number, second.callId, second.headers("Supported"), second.sdp], [2, invite.callId, ["timer", "100rel"], OFFER]); // prettier-ignore
  say(second, 421, [["Require", "100rel"]]);
  await assert.rejects(outgoing.answered, { status: 421 });
});

test("what else a callee demands with 421 cannot be done, and it is not called again", async () => {
  const { peer, outgoing, invite, say } = await inviting();
  say(invite, 421, [["Require", "100rel, precondition"]]);
  await assert.rejects(outgoing.answered, { status: 421 });
  assert.equal((await peer.requests.next()).method, "ACK");
  assert.equal(peer.requests.waiting.length, 0);
});

test("a provisional response that is sent reliably is acknowledged where its Contact is, copies of it not, and what follows goes on from its number (RFC 3262 section 4)", async () => {
  const { peer, media, outgoing, invite, say, reliable } = await inviting();
  const described: string[] = [];
  outgoing.onEarlyAnswer = (sdp) => void described.push(sdp);
  say(invite, 183, reliable(7), ANSWER, media);
  const prack = await media.requests.next();
  assert.deepEqual([prack.method, prack.header("RAck"), prack.cseq.number, prack.toTag], ["PRACK", "7 1 INVITE", 2, "callee"]);
  media.send(respond(prack, 200, null).toBytes());
  say(invite, 183, reliable(7), ANSWER, media);
  // One is missing before it: it waits until that has come (section 4).
  say(invite, 180, reliable(9), undefined, media);
  say(invite, 180, reliable(8), undefined, media);
  const next = await media.requests.next();
  assert.deepEqual([next.header("RAck"), next.cseq.number], ["8 1 INVITE", 3]);
  media.send(respond(next, 200, null).toBytes());
  say(invite, 200, [], undefined, media);
  const { dialog, sdp } = await outgoing.answered;
  assert.deepEqual([sdp, described], [ANSWER, [ANSWER]]);
  const ack = await media.requests.next();
  assert.deepEqual([ack.method, ack.cseq.number], ["ACK", 1]);
  const left = dialog.bye();
  const bye = await media.requests.next();
  assert.deepEqual([bye.method, bye.cseq.number], ["BYE", 4]);
  media.send(respond(bye, 200, null).toBytes());
  await left;
  assert.deepEqual([peer.requests.waiting.length, media.requests.waiting.length], [0, 0]);
});

test("a callee that goes on without waiting for our acknowledgement has no third host flooded: one is out at a time (RFC 3262 section 3, S-82)", async () => {
  const { media, outgoing, invite, say, reliable } = await inviting();
  for (let rseq = 1; rseq <= 20; rseq++) say(invite, 183, reliable(rseq), undefined, media);
  const first = await media.requests.next();
  say(invite, 180);
  await new Promise<void>((resolve) => (outgoing.onRinging = (status) => status === 180 && resolve()));
  assert.deepEqual([first.header("RAck"), media.requests.waiting.length], ["1 1 INVITE", 0]);
  media.send(respond(first, 200, null).toBytes());
  let next = media.requests.waiting[0];
  for (; !next; next = media.requests.waiting[0]) {
    say(invite, 183, reliable(2), undefined, media);
    await turn();
  }
  assert.equal(next.header("RAck"), "2 1 INVITE");
  outgoing.cancel();
});

test("a new offer of a callee whose reliable response has answered ours is answered, and holds: the description of the 2xx is no news (RFC 3311 section 5.2)", async () => {
  const { peer, outgoing, invite, say, reliable } = await inviting();
  const offers: string[] = [];
  outgoing.onReoffer = (offer) => (offers.push(offer), offers.length === 1 ? null : OFFER.replace("1 1 IN", "1 2 IN"));
  const update = async (cseq: number) => {
    const to = invite.header("From");
    const from = `${invite.header("To")};tag=callee`;
    peer.send(requestText(peer, { method: "UPDATE", cseq, body: ANSWER, headers: { "Call-ID": invite.callId, To: to, From: from } }));
    return await peer.responses.next();
  };
  say(invite, 183, [], ANSWER);
  await new Promise<void>((resolve) => (outgoing.onRinging = () => resolve()));
  assert.equal((await update(1)).status, 491, "an unreliable answer is not the last word");
  say(invite, 183, reliable(1), ANSWER);
  const prack = await peer.requests.next();
  peer.send(respond(prack, 200, null).toBytes());
  assert.equal((await update(2)).status, 488);
  const answered = await update(3);
  assert.deepEqual([answered.status, answered.sdp, offers], [200, OFFER.replace("1 1 IN", "1 2 IN"), [ANSWER, ANSWER]]);
  say(invite, 200, [], OFFER);
  const { dialog, sdp, isOffer } = await outgoing.answered;
  assert.deepEqual([sdp, isOffer, dialog.localSdp], [ANSWER, true, answered.sdp]);
});
