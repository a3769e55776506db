import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import type { SipResponse } from "../grammar/message.ts";
import { CallOver } from "./errors.ts";
import { agentAndPeer, ANSWER, type Changes, OFFER, requestText } from "./testing.ts";

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
