import assert from "node:assert/strict";
import { after, test } from "node:test";
import { systemRandom } from "#src/kernel/random.ts";
import { ManualClock } from "#src/kernel/clock.ts";
import { respond } from "../grammar/message.ts";
import { Referral } from "./referral.ts";
import { ANSWER, OFFER, rawUdp, requestText, testAgent } from "./testing.ts";

const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));

/** A call from a peer that is asked to call somebody else; the response to the REFER is `status`. */
async function referred(status: number) {
  const { agent, port, calls } = await testAgent();
  const peer = await rawUdp(port);
  closing.push(
    () => agent.stop(),
    () => peer.close(),
  );
  const callId = systemRandom.uuid();
  peer.send(requestText(peer, { method: "INVITE", headers: { "Call-ID": callId }, body: OFFER }));
  const answering = (await calls.next()).answer(ANSWER);
  const To = (await peer.responses.next()).header("to");
  peer.send(requestText(peer, { method: "ACK", headers: { "Call-ID": callId, To } }));
  const dialog = await answering;
  const to = "sip:agent@pbx.example?X-Payment-Status=payment-success";
  const outcome = dialog.refer({ to, by: "sip:+15550001111@till.example", timeoutMs: 30_000 });
  const request = await peer.requests.next();
  peer.send(respond(request, status, null).toBytes());
  let cseq = 1;
  /** A request of the peer's inside the dialog; the status of our response. */
  const send = async (method: string, body = "", headers: Record<string, string> = {}) => {
    const own = { "Call-ID": callId, To, "Content-Type": body === "" ? null : "message/sipfrag;version=2.0", ...headers };
    peer.send(requestText(peer, { method, cseq: ++cseq, headers: own, body }));
    return (await peer.responses.next()).status;
  };
  const notify = (line: string, state = "active;expires=60") => send("NOTIFY", line, { Event: "refer", "Subscription-State": state });
  return { dialog, request, outcome, notify, send };
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
  const ended = await referred(202);
  await ended.notify("SIP/2.0 180 Ringing\r\n", "terminated;reason=timeout");
  assert.deepEqual(await ended.outcome, { kind: "silent", ringing: true });
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
  const unanswered = new Referral(clock, 30_000);
  const taken = new Referral(clock, 30_000);
  taken.answered(202);
  clock.advance(30_000);
  assert.deepEqual(await unanswered.outcome, { kind: "refused", status: 408 });
  assert.deepEqual(await taken.outcome, { kind: "silent", ringing: false });
  const left = new Referral(clock, 30_000);
  left.answered(202);
  left.left(() => {});
  clock.advance(3_000);
  assert.deepEqual(await left.outcome, { kind: "left", accepted: true, ringing: false });
  const gone = new Referral(clock, 30_000);
  gone.left(() => {});
  assert.deepEqual(await gone.outcome, { kind: "left", accepted: false, ringing: false });
  assert.equal(clock.pending, 0);
});
