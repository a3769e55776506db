import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { systemRandom } from "#src/kernel/random.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { respond } from "../grammar/message.ts";
import { Referral } from "./referral.ts";
import { ANSWER, OFFER, rawUdp, requestText, testAgent } from "./testing.ts";

const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));

/** A call from a peer that is asked to call somebody else; the response to the REFER is `status`, null: none. */
async function referred(status: number | null, timeoutMs = 30_000) {
  const clock = new ManualClock();
  const { agent, port, calls } = await testAgent({ clock });
  const peer = await rawUdp(port);
  closing.push(
    () => {
      const stopped = agent.stop();
      clock.advance(500);
      return stopped;
    },
    () => peer.close(),
  );
  const callId = systemRandom.uuid();
  peer.send(requestText(peer, { method: "INVITE", headers: { "Call-ID": callId }, body: OFFER }));
  const answering = (await calls.next()).answer(ANSWER);
  const To = (await peer.responses.next()).header("to");
  peer.send(requestText(peer, { method: "ACK", headers: { "Call-ID": callId, To } }));
  const dialog = await answering;
  const to = "sip:agent@pbx.example?X-Payment-Status=payment-success";
  const outcome = dialog.refer({ to, by: "sip:+15550001111@till.example", timeoutMs });
  const request = await peer.requests.next();
  if (status !== null) peer.send(respond(request, status, null).toBytes());
  let cseq = 1;
  /** A request of the peer's inside the dialog; the status of our response. */
  const send = async (method: string, body = "", headers: Record<string, string> = {}) => {
    const own = { "Call-ID": callId, To, "Content-Type": body === "" ? null : "message/sipfrag;version=2.0", ...headers };
    peer.send(requestText(peer, { method, cseq: ++cseq, headers: own, body }));
    return (await peer.responses.next()).status;
  };
  const notify = (line: string, state = "active;expires=60") => send("NOTIFY", line, { Event: "refer", "Subscription-State": state });
  return { clock, peer, dialog, request, outcome, notify, send };
}

test("a REFER names whom to call and who asks, and its NOTIFYs are followed to the end of that call (R-320)", async () => {
  const { dialog, request, outcome, notify, send } = await referred(202);
  assert.equal(request.method, "REFER");
  assert.equal(request.header("refer-to"), "<sip:agent@pbx.example?X-Payment-Status=payment-success>");
  assert.equal(request.header("referred-by"), "<sip:+15550001111@till.example>");
  assert.ok(request.header("contact"));
  assert.equal(await notify("SIP/2.0 100 Trying\r\n"), 200);
  assert.equal(await send("NOTIFY", "", { Event: "presence", "Subscription-State": "active" }), 489);
  assert.equal(await notify("SIP/2.0 180 Ringing\r\n"), 200);
  assert.equal(await notify("SIP/2.0 200 OK\r\n", "terminated;reason=noresource"), 200);
  assert.deepEqual(await outcome, { kind: "called", status: 200 });
  assert.equal(dialog.ended, false, "ending the call is up to whoever asked");
  assert.equal(await notify("SIP/2.0 200 OK\r\n"), 481, "the subscription is over");
});

test("a REFER that is not taken, and a call that fails, are told apart (R-321)", async () => {
  const refused = await referred(603);
  assert.deepEqual(await refused.outcome, { kind: "refused", status: 603 });
  const busy = await referred(202);
  await busy.notify("SIP/2.0 486 Busy Here\r\n", "terminated;reason=noresource");
  assert.deepEqual(await busy.outcome, { kind: "called", status: 486 });
});

test("a peer that tells of its call has taken the REFER, also where its response never comes (RFC 3515 section 2.4.4)", async () => {
  const { clock, outcome, notify } = await referred(null, 60_000);
  assert.equal(await notify("SIP/2.0 100 Trying\r\n"), 200);
  clock.advance(40_000);
  assert.equal(await Promise.race([outcome, setImmediate("waiting")]), "waiting");
  assert.equal(await notify("SIP/2.0 200 OK\r\n", "terminated;reason=noresource"), 200);
  assert.deepEqual(await outcome, { kind: "called", status: 200 });
});

test("a subscription that ends before the peer's call does says nothing of that call: it is waited for, and a peer that leaves has taken over", async () => {
  for (const line of ["SIP/2.0 100 Trying", "SIP/2.0 180 Ringing"]) {
    const rings = await referred(202);
    await rings.notify(line, "terminated;reason=timeout");
    rings.clock.advance(29_999);
    assert.equal(await Promise.race([rings.outcome, Promise.resolve("waiting")]), "waiting");
    rings.clock.advance(1);
    assert.deepEqual(await rings.outcome, { kind: "silent" });
    const left = await referred(202);
    await left.notify(line, "terminated;reason=noresource");
    assert.equal(await left.send("BYE"), 200);
    left.clock.advance(3_000);
    assert.deepEqual(await left.outcome, { kind: "left", accepted: true, ringing: false });
  }
});

test("a subscription that ends without any status tells nothing and will not: that is known at once, and a BYE behind it still counts (R-321, RFC 3515, RFC 6665)", async () => {
  for (const state of [
    "terminated;reason=noresource",
    "terminated",
    "Terminated;reason=giveup;retry-after=5",
    "terminated;reason=rejected",
  ]) {
    const untold = await referred(202);
    await untold.notify("SIP/2.0 180 Ringing\r\n");
    assert.equal(await untold.notify("", state), 200);
    untold.clock.advance(3_000);
    assert.deepEqual(await untold.outcome, { kind: "untold" }, state);
    assert.equal(await untold.notify("SIP/2.0 200 OK\r\n"), 481);
    const left = await referred(202);
    await left.notify("", state);
    left.clock.advance(2_999);
    assert.equal(await left.send("BYE"), 200);
    left.clock.advance(3_000);
    assert.deepEqual(await left.outcome, { kind: "left", accepted: true, ringing: false }, state);
    const before = await referred(202);
    await before.send("BYE");
    await before.notify("", state);
    before.clock.advance(3_000);
    assert.deepEqual(await before.outcome, { kind: "left", accepted: true, ringing: false }, state);
  }
});

test("a subscription that might be made again ends without the peer's call: that is waited for, status or none (RFC 6665 section 4.1.3)", async () => {
  for (const reason of ["timeout", "deactivated", "probation"]) {
    const { clock, outcome, notify } = await referred(202);
    await notify("", `terminated;reason=${reason}`);
    clock.advance(29_999);
    assert.equal(await Promise.race([outcome, Promise.resolve("waiting")]), "waiting");
    clock.advance(1);
    assert.deepEqual(await outcome, { kind: "silent" });
  }
});

test("a peer that knows nothing of the call any more has no caller: the call is over (RFC 3261 section 12.2.1.2)", async () => {
  const { dialog, outcome } = await referred(481);
  assert.deepEqual(await outcome, { kind: "left", accepted: false, ringing: false });
  assert.deepEqual([await new Promise((resolve) => (dialog.onBye = resolve)), dialog.isTakenOver], ["gone", false]);
});

test("a peer that tells after its time that its call was answered has the caller: ours to him ends, and only then", async () => {
  const { clock, peer, dialog, outcome, notify } = await referred(202);
  await notify("SIP/2.0 100 Trying\r\n");
  clock.advance(30_000);
  assert.deepEqual(await outcome, { kind: "silent" });
  assert.equal(await notify("SIP/2.0 180 Ringing\r\n"), 200);
  assert.deepEqual([dialog.ended, dialog.isTakenOver], [false, false]);
  const ended = new Promise((resolve) => (dialog.onBye = resolve));
  assert.equal(await notify("SIP/2.0 200 OK\r\n", "terminated;reason=noresource"), 200);
  assert.deepEqual([await ended, dialog.isTakenOver], ["referred", true]);
  assert.equal((await peer.requests.next()).method, "BYE");
  const failed = await referred(202);
  await failed.notify("SIP/2.0 100 Trying\r\n");
  failed.clock.advance(30_000);
  assert.equal(await failed.notify("SIP/2.0 404 Not Found\r\n", "terminated;reason=noresource"), 200);
  assert.deepEqual([failed.dialog.ended, await failed.notify("SIP/2.0 200 OK\r\n")], [false, 481]);
});

test("the last NOTIFY counts also behind the BYE, and nothing else does (RFC 5057)", async () => {
  const { dialog, outcome, notify, send } = await referred(202);
  await notify("SIP/2.0 100 Trying\r\n");
  assert.equal(await send("BYE"), 200);
  assert.equal(dialog.ended, true);
  assert.equal(await send("INFO"), 481);
  assert.equal(await notify("SIP/2.0 200 OK\r\n", "terminated;reason=noresource"), 200);
  assert.deepEqual(await outcome, { kind: "called", status: 200 });
  assert.equal(await notify("SIP/2.0 200 OK\r\n"), 481);
});

test("silence after a REFER ends: unanswered it was refused, taken it is not known, and a peer that left has taken over", async () => {
  const clock = new ManualClock();
  const referral = () => new Referral(clock, 30_000, assert.fail);
  const unanswered = referral();
  const taken = referral();
  taken.answered(202);
  clock.advance(30_000);
  assert.deepEqual(await unanswered.outcome, { kind: "refused", status: 408 });
  assert.deepEqual(await taken.outcome, { kind: "silent" });
  const left = referral();
  left.answered(202);
  left.left(() => {});
  clock.advance(3_000);
  assert.deepEqual(await left.outcome, { kind: "left", accepted: true, ringing: false });
  const gone = referral();
  gone.left(() => {});
  assert.deepEqual(await gone.outcome, { kind: "left", accepted: false, ringing: false });
  assert.equal(clock.pending, 0);
});
