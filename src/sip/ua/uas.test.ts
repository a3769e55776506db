import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createIdentity } from "#simulators/tls.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { respond, type SipRequest, type SipResponse } from "../grammar/message.ts";
import type { CallDialog } from "./call-dialog.ts";
import { agentAndPeer, ANSWER, type Changes, OFFER, rawTcp, rawUdp, requestText, testAgent } from "./testing.ts";
import type { UserAgentOptions } from "./user-agent.ts";

const own = createIdentity(["127.0.0.1"]);
const tls = { port: 0, certificate: { cert: own.cert, key: own.key, clientCa: null }, serverCa: [own.ca] };
const closers: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closers.toReversed()) await close();
});

const bench = (options: Partial<UserAgentOptions> = {}) => agentAndPeer(closers, options);

/** An answered call; `inside` are the headers that lead into its dialog. */
async function called(options: Partial<UserAgentOptions> = {}, headers: Record<string, string> = {}, cseq = 1) {
  const made = await bench(options);
  const call = { "Call-ID": "the-call", ...headers };
  made.peer.send(requestText(made.peer, { method: "INVITE", headers: call, body: OFFER, cseq }));
  const answering = (await made.calls.next()).answer(ANSWER);
  const response = await made.peer.responses.next();
  const inside: Record<string, string | null> = { "Call-ID": "the-call", To: response.header("To") };
  made.peer.send(requestText(made.peer, { method: "ACK", headers: inside, cseq }));
  const dialog: CallDialog = await answering;
  return { ...made, dialog, response, inside };
}

test("methods that are known but not served are answered 405 with Allow, others 501 with Allow", async () => {
  const { ask } = await bench();
  for (const method of ["REGISTER", "SUBSCRIBE", "PUBLISH", "MESSAGE"]) {
    const response = await ask({ method });
    assert.equal(response.status, 405, method);
    assert.ok(response.headers("Allow").includes("INVITE"));
  }
  for (const method of ["RE%47IST%45R", "invite", "FOO"]) {
    const response = await ask({ method });
    assert.equal(response.status, 501, method);
    assert.ok(!response.headers("Allow").includes("REFER"));
  }
});

test("REFER to us is declined 603 (R-226, S-82)", async () => {
  const { ask } = await bench();
  assert.equal((await ask({ method: "REFER", headers: { "Refer-To": "<sip:+19005550000@example.com>" } })).status, 603);
});

test("requests that belong in a dialog are answered 481 outside of one", async () => {
  const { ask } = await bench();
  for (const method of ["BYE", "INFO", "UPDATE", "NOTIFY", "PRACK", "CANCEL"]) assert.equal((await ask({ method })).status, 481, method);
  assert.equal((await ask({ method: "INVITE", headers: { To: "<sip:pay@127.0.0.1>;tag=unknown" }, body: OFFER })).status, 481);
});

test("OPTIONS is answered 200 with Allow, Accept and Supported (R-226)", async () => {
  const { ask } = await bench();
  const response = await ask({});
  assert.deepEqual([response.status, response.header("Accept"), response.header("Supported")], [200, "application/sdp", "timer, 100rel"]);
  assert.ok((response.toTag ?? "").length >= 8);
});

test("what is wrong is told in the order of RFC 3261 section 8.2", async () => {
  const { ask } = await bench();
  const everything: Changes = {
    uri: "http:x",
    headers: {
      Require: "precondition, 100rel, timer, replaces",
      "Content-Type": "text/plain",
      "Content-Encoding": "gzip",
      Accept: "text/plain",
    },
    body: "x",
  };
  assert.equal((await ask({ ...everything, method: "REGISTER" })).status, 405);
  const invite: Changes = { ...everything, method: "INVITE" };
  assert.equal((await ask(invite)).status, 416);
  const required = await ask({ ...invite, uri: "sip:pay@h" });
  assert.deepEqual([required.status, required.header("Unsupported")], [420, "precondition, replaces"]);
  const headers = { ...invite.headers, Require: "timer" };
  const encoded = await ask({ ...invite, uri: "sip:pay@h", headers });
  assert.deepEqual([encoded.status, encoded.header("Accept-Encoding")], [415, "identity"]);
  const typed = await ask({ ...invite, uri: "sip:pay@h", headers: { ...headers, "Content-Encoding": null } });
  assert.deepEqual([typed.status, typed.header("Accept")], [415, "application/sdp"]);
  const unaccepting = { ...headers, "Content-Encoding": null, "Content-Type": "application/sdp" };
  assert.equal((await ask({ ...invite, uri: "sip:pay@h", headers: unaccepting })).status, 406);
});

test("a call may be for a number without a host, as some trunks send it: tel: is served, its CANCEL too (RFC 3966, R-214)", async () => {
  const { peer, calls, ask } = await bench();
  const head = { "Call-ID": "tel" };
  peer.send(requestText(peer, { method: "INVITE", uri: "tel:+15551230000", headers: head, body: OFFER, branch: "tel" }));
  assert.equal((await calls.next()).request.uri.user, "+15551230000");
  const responses = [await ask({ method: "CANCEL", uri: "tel:+15551230000", headers: head, branch: "tel" }), await peer.responses.next()];
  assert.deepEqual(responses.map(({ status, cseq }) => `${cseq.method} ${status}`).toSorted(), ["CANCEL 200", "INVITE 487"]); // prettier-ignore
});

test("a body nobody must understand is no reason to refuse (section 8.2.3)", async () => {
  const { peer, calls } = await bench();
  peer.send(
    requestText(peer, {
      method: "INVITE",
      headers: { "Content-Type": "application/x-isup", "Content-Disposition": "signal;handling=optional" },
      body: "x",
    }),
  );
  assert.equal((await calls.next()).offer, null);
});

test("a session description beside other parts is found, unless one of those must be understood, and that of an early session is none (RFC 5621, RFC 3959)", async () => {
  const isup = (handling: string) =>
    `--edge 1\r\nContent-Type: application/isup;version=itu-t92+\r\nContent-Disposition: signal;handling=${handling}\r\n\r\n\x01\x00\r\n\r\n\xff\r\n`;
  const sdp = `--edge 1\r\nContent-Type: Application/SDP;charset=utf-8\r\n\r\n${OFFER}\r\n`;
  const early = sdp.replace("\r\n\r\n", "\r\nContent-Disposition: early-session\r\n\r\n").replace("40000", "40002");
  const bodies: readonly (readonly [status: number | null, body: string])[] = [
    [null, `${isup("optional")}${sdp}--edge 1--\r\n`],
    [null, `preamble\r\n${sdp}${isup("optional")}--edge 1--`],
    [null, `${early}${sdp}--edge 1--`],
    [415, `${early}--edge 1--`],
    [415, `${isup("required")}${sdp}--edge 1--`],
    [415, `${isup("optional")}--edge 1--\r\n${sdp}`],
    [415, "no part at all"],
  ];
  for (const [status, body] of bodies) {
    const { peer, calls } = await bench();
    const headers = { "Content-Type": 'multipart/mixed; boundary="edge 1"' };
    peer.send(requestText(peer, { method: "INVITE", headers, body }));
    if (status !== null) assert.equal((await peer.responses.next()).status, status, body);
    else {
      const call = await calls.next();
      assert.equal(call.offer, OFFER);
      call.reject(404);
    }
  }
});

test("a refusal may say why in a Warning, which cannot break the message (RFC 3261 sections 20.43 and 21.4.26, S-87)", async () => {
  const { peer, calls, port } = await bench();
  for (const [warning, expected] of [
    ["neither PCMU nor PCMA", '"neither PCMU nor PCMA"'],
    ['a "quoted" \\ word', '"a \\"quoted\\" \\\\ word"'],
  ] as const) {
    peer.send(requestText(peer, { method: "INVITE", body: OFFER }));
    (await calls.next()).reject(488, { warning });
    const response = await peer.responses.next();
    assert.deepEqual([response.status, response.header("Warning")], [488, `399 127.0.0.1:${port} ${expected}`]);
  }
});

test("an INVITE without a usable Contact is answered 400", async () => {
  const { ask } = await bench();
  assert.equal((await ask({ method: "INVITE", headers: { Contact: "<tel:1>" }, body: OFFER })).status, 400);
});

test("an INVITE that is to replace another call is one like any other, unless it requires that (RFC 3891, RFC 3261 section 8.2.2.3)", async () => {
  const { peer, ask, calls } = await bench();
  const headers = { "Call-ID": "replacing", Replaces: "other;to-tag=a;from-tag=b" };
  peer.send(requestText(peer, { method: "INVITE", headers, body: OFFER }));
  const call = await calls.next();
  assert.equal(call.request.callId, "replacing");
  call.reject(486);
  assert.equal((await peer.responses.next()).status, 486);
  const required = await ask({ method: "INVITE", headers: { ...headers, "Call-ID": "required", Require: "replaces" }, body: OFFER });
  assert.deepEqual([required.status, required.header("Unsupported")], [420, "replaces"]);
});

test("the same request by another way is answered 482 (R-221)", async () => {
  const { peer, ask, calls } = await bench({ clock: new ManualClock() });
  const invite: Changes = { method: "INVITE", headers: { "Call-ID": "fork" }, body: OFFER };
  peer.send(requestText(peer, { ...invite, branch: "one" }));
  const first = await calls.next();
  const acknowledge = (branch: string, { fields }: SipResponse) =>
    peer.send(requestText(peer, { method: "ACK", headers: { "Call-ID": "fork", To: fields.first("to") }, branch }));
  const second = await ask({ ...invite, branch: "two" });
  assert.equal(second.status, 482);
  acknowledge("two", second);
  first.reject(503);
  const refusal = await peer.responses.next();
  assert.equal((await ask({ ...invite, branch: "three" })).status, 482);
  assert.equal(calls.waiting.length, 0);
  // A proxy that has acknowledged the refusal and asks once more has not forked it.
  acknowledge("one", refusal);
  peer.send(requestText(peer, { ...invite, branch: "four" }));
  (await calls.next()).reject(486);
  assert.equal((await peer.responses.next()).status, 486);
});

test("a retransmitted INVITE is no second call (R-221)", async () => {
  const { peer, calls } = await bench({ clock: new ManualClock() });
  const text = requestText(peer, { method: "INVITE", body: OFFER });
  peer.send(text);
  const call = await calls.next();
  call.ring();
  peer.send(text);
  const [first, second] = [await peer.responses.next(), await peer.responses.next()];
  assert.deepEqual([first.status, second.status], [180, 180]);
  assert.equal(first.toTag, second.toTag);
  assert.equal(calls.waiting.length, 0);
});

test("whoever repeats an INVITE from another port or connection does not get its responses: they go where the INVITE came from (R-221, RFC 3261 section 18.2.2, RFC 3581)", async () => {
  const made = await bench({ clock: new ManualClock() });
  for (const open of [() => rawUdp(made.port), () => rawTcp(made.port)]) {
    const [first, second] = [await open(), await open()];
    const text = requestText(first, { method: "INVITE", headers: { "Call-ID": `repeated-${first.protocol}` }, body: OFFER });
    first.send(text);
    const call = await made.calls.next();
    call.ring();
    second.send(text);
    // The answer to this says that the other has been read.
    second.send(requestText(second));
    assert.notEqual((await second.responses.next()).callId, call.callId);
    call.reject(486);
    const statuses = [await first.responses.next(), await first.responses.next(), await first.responses.next()].map(({ status }) => status);
    assert.deepEqual(statuses, [180, 180, 486], first.protocol);
    assert.deepEqual(second.responses.waiting, []);
    await Promise.all([first.close(), second.close()]);
  }
});

test("an unknown peer gets no answer to anything, over UDP and TCP (S-82)", async () => {
  const { agent, port, calls, peer, ask } = await bench({ trunks: ["127.0.0.1"] });
  const unknownPeer = await rawUdp(port, "127.0.0.2");
  const connected = await rawTcp(port, "127.0.0.2");
  for (const method of ["INVITE", "OPTIONS", "REGISTER", "BYE", "CANCEL", "FOO"]) unknownPeer.send(requestText(unknownPeer, { method }));
  unknownPeer.send("garbage\r\n\r\n");
  await connected.closed;
  // The trunk is served behind all that, so the silence is no delay.
  assert.equal((await ask({})).status, 200);
  assert.deepEqual([unknownPeer.responses.waiting.length, calls.waiting.length, agent.activeTransactions], [0, 0, 1]);
  await unknownPeer.close();
  await connected.close();
  assert.equal(peer.responses.waiting.length, 0);
});

test("unknown peers are told of in the log, in one line a minute (S-82)", async () => {
  const clock = new ManualClock();
  const lines: unknown[] = [];
  const log = { debug: () => {}, warn: (event: string, fields?: object) => void lines.push({ event, ...fields }) };
  const { port, ask } = await bench({ trunks: ["127.0.0.1"], clock, log });
  const unknownPeer = await rawUdp(port, "127.0.0.2");
  for (const method of ["INVITE", "OPTIONS"]) unknownPeer.send(requestText(unknownPeer, { method }));
  await ask({ branch: "first" });
  assert.deepEqual(lines, [{ event: "sip_unknown_peer_ignored", host: "127.0.0.2", count: 1 }]);
  clock.advance(60_000);
  unknownPeer.send(requestText(unknownPeer, { method: "OPTIONS" }));
  await ask({ branch: "second" });
  assert.deepEqual(lines[1], { event: "sip_unknown_peer_ignored", host: "127.0.0.2", count: 2 });
  await unknownPeer.close();
});

test("CANCEL is answered 200 and its INVITE 487, with one tag (R-222)", async () => {
  const { peer, ask, calls } = await bench({ clock: new ManualClock() });
  const same: Changes = { branch: "cancelled", headers: { "Call-ID": "cancelled" } };
  peer.send(requestText(peer, { ...same, method: "INVITE", body: OFFER }));
  const call = await calls.next();
  const first = await ask({ ...same, method: "CANCEL" });
  const second = await peer.responses.next();
  const byMethod = new Map([first, second].map((response) => [response.cseq.method, response]));
  assert.deepEqual([byMethod.get("CANCEL")?.status, byMethod.get("INVITE")?.status], [200, 487]);
  assert.equal(first.toTag, second.toTag);
  assert.equal(call.cancelled, true);
});

test("CANCEL after the answer is answered 200 and changes nothing (section 9.2)", async () => {
  const { peer, ask, calls } = await bench();
  const same: Changes = { branch: "late", headers: { "Call-ID": "late" } };
  peer.send(requestText(peer, { ...same, method: "INVITE", body: OFFER }));
  const call = await calls.next();
  const answering = call.answer(ANSWER);
  const answered = await peer.responses.next();
  assert.equal((await ask({ ...same, method: "CANCEL" })).status, 200);
  peer.send(requestText(peer, { method: "ACK", headers: { "Call-ID": "late", To: answered.header("To") } }));
  assert.equal((await answering).ended, false);
});

test("BYE before the answer ends the call like CANCEL (section 15.1.2)", async () => {
  const { peer, ask, calls } = await bench({ clock: new ManualClock() });
  peer.send(requestText(peer, { method: "INVITE", headers: { "Call-ID": "early" }, body: OFFER }));
  const call = await calls.next();
  call.ring();
  const inside = { "Call-ID": "early", To: (await peer.responses.next()).header("To") };
  assert.equal((await ask({ method: "UPDATE", headers: inside, body: OFFER, cseq: 2 })).status, 500);
  const statuses = [await ask({ method: "BYE", headers: inside, cseq: 3 }), await peer.responses.next()];
  assert.deepEqual(statuses.map(({ status, cseq }) => `${cseq.method} ${status}`).sort(), ["BYE 200", "INVITE 487"]); // prettier-ignore
  assert.equal(call.cancelled, true);
});

test("BYE in place of the ACK ends the call, and the answer is not repeated", async () => {
  const clock = new ManualClock();
  const { peer, ask, calls } = await bench({ clock });
  peer.send(requestText(peer, { method: "INVITE", headers: { "Call-ID": "no-ack-but-bye" }, body: OFFER }));
  const answering = (await calls.next()).answer(ANSWER);
  const inside = { "Call-ID": "no-ack-but-bye", To: (await peer.responses.next()).header("To") };
  assert.equal((await ask({ method: "BYE", headers: inside, cseq: 2 })).status, 200);
  const dialog = await answering;
  assert.equal(dialog.ended, true);
  clock.advance(60_000);
  assert.equal((await ask({})).status, 200);
  assert.equal(peer.requests.waiting.length, 0);
});

test("a key and a new description that overtake the ACK are taken (RFC 5407 section 3.1.4)", async () => {
  for (const method of ["UPDATE", "INVITE"]) {
    const { peer, ask, calls } = await bench({ clock: new ManualClock() });
    const call = { "Call-ID": `before-the-ack-${method}` };
    peer.send(requestText(peer, { method: "INVITE", headers: call, body: OFFER }));
    const seen: unknown[] = [];
    const answering = (await calls.next()).answer(ANSWER, (dialog) => {
      dialog.onDtmfDigit = (key) => seen.push(key);
      dialog.onReinvite = (offer) => (seen.push(offer), ANSWER);
    });
    const inside = { ...call, To: (await peer.responses.next()).header("To") };
    const key = { ...inside, "Content-Type": "application/dtmf-relay" };
    assert.equal((await ask({ method: "INFO", headers: key, body: "Signal=4", cseq: 2 })).status, 200);
    const held = OFFER.replace("m=audio", "a=sendonly\r\nm=audio");
    const { status } = await ask({ method, headers: inside, body: held, cseq: 3 });
    assert.deepEqual([status, seen], [200, [4, held]], method);
    peer.send(requestText(peer, { method: "ACK", headers: inside, cseq: 1 }));
    assert.equal((await answering).ended, false);
  }
});

test("a new description that comes before anybody looks after the call is answered 491, so that it is sent again (section 14.2)", async () => {
  const { dialog, ask, inside } = await called();
  for (const [method, cseq] of [
    ["INVITE", 2],
    ["UPDATE", 3],
  ] as const)
    // prettier-ignore
    assert.equal((await ask({ method, headers: inside, body: OFFER, cseq })).status, 491, method);
  dialog.onReinvite = () => ANSWER;
  assert.equal((await ask({ method: "UPDATE", headers: inside, body: OFFER, cseq: 4 })).status, 200);
});

test("a new offer is answered 491 while ours awaits its answer in the ACK (section 14.2)", async () => {
  const { peer, ask, calls } = await bench({ clock: new ManualClock() });
  const call = { "Call-ID": "two-offers" };
  peer.send(requestText(peer, { method: "INVITE", headers: call }));
  const answering = (await calls.next()).answer(OFFER, (dialog) => (dialog.onReinvite = () => ANSWER));
  const inside = { ...call, To: (await peer.responses.next()).header("To") };
  for (const [method, cseq] of [
    ["INVITE", 2],
    ["UPDATE", 3],
  ] as const)
    // prettier-ignore
    assert.equal((await ask({ method, headers: inside, body: OFFER, cseq })).status, 491, method);
  peer.send(requestText(peer, { method: "ACK", headers: inside, body: ANSWER, cseq: 1 }));
  assert.equal((await answering).remoteSdp, ANSWER);
});

test("equal malformed requests get equal answers, without a transaction (section 8.2.7)", async () => {
  const { agent, peer, ask } = await bench();
  const malformed = requestText(peer, { headers: { "Max-Forwards": "x" } });
  peer.send(malformed);
  peer.send(malformed);
  const [first, second] = [await peer.responses.next(), await peer.responses.next()];
  assert.deepEqual([first.status, first.toTag, agent.activeTransactions], [400, second.toTag, 0]);
  assert.notEqual((await ask({ headers: { "Max-Forwards": "x" } })).toTag, first.toTag);
});

test("INFO delivers keys, and what is no key is answered 415 (R-226)", async () => {
  const { dialog, ask, inside } = await called();
  const keys: number[] = [];
  dialog.onDtmfDigit = (key) => keys.push(key);
  const headers = { ...inside, "Content-Type": "application/dtmf-relay" };
  assert.equal((await ask({ method: "INFO", headers, body: "Signal=4\r\nDuration=160\r\n", cseq: 2 })).status, 200);
  assert.equal(
    (await ask({ method: "INFO", headers: { ...headers, "Content-Type": "application/dtmf" }, body: "#", cseq: 3 })).status,
    200,
  );
  assert.equal((await ask({ method: "INFO", headers: inside, cseq: 4 })).status, 200);
  assert.equal((await ask({ method: "INFO", headers, body: "Signal=hello", cseq: 5 })).status, 415);
  assert.equal((await ask({ method: "INFO", headers: { ...inside, "Content-Type": "text/plain" }, body: "1", cseq: 6 })).status, 415);
  const nortel = { ...inside, "Content-Type": "application/vnd.nortelnetworks.digits" };
  assert.equal((await ask({ method: "INFO", headers: nortel, body: "p=Digit-Collection\r\ny=Digits\r\nd=*\r\n", cseq: 7 })).status, 200);
  assert.deepEqual(keys, [4, 11, 10]);
});

test("INFO of a package is answered 469, a key in it is one all the same (RFC 6086 section 4.2.2; R-226)", async () => {
  const { dialog, ask, inside } = await called();
  const keys: number[] = [];
  dialog.onDtmfDigit = (key) => keys.push(key);
  const packaged = { ...inside, "Info-Package": "conference" };
  for (const [cseq, more] of [{ headers: { "Content-Type": "text/plain" }, body: "1" }, {}].entries()) {
    const refused = await ask({ method: "INFO", cseq: 2 + cseq, ...more, headers: { ...packaged, ...more.headers } });
    assert.deepEqual([refused.status, refused.reason, refused.fields.first("Recv-Info")], [469, "Bad Info Package", ""]);
  }
  const headers = { ...inside, "Info-Package": "dtmf", "Content-Type": "application/dtmf-relay" };
  assert.equal((await ask({ method: "INFO", headers, body: "Signal=4", cseq: 4 })).status, 200);
  assert.deepEqual(keys, [4]);
});

test("a retransmitted INFO is one key, and one of a new transaction another, whatever its number in the dialog", async () => {
  const { dialog, peer, ask, inside } = await called();
  const keys: number[] = [];
  dialog.onDtmfDigit = (key) => keys.push(key);
  const four: Changes = { method: "INFO", headers: { ...inside, "Content-Type": "application/dtmf-relay" }, body: "Signal=4", cseq: 2 };
  const text = requestText(peer, four);
  peer.send(text);
  peer.send(text);
  const statuses = [(await peer.responses.next()).status, (await peer.responses.next()).status];
  assert.deepEqual([statuses, keys], [[200, 200], [4]]); // prettier-ignore
  // Some peers count all their INFO requests alike.
  for (const body of ["Signal=4", "Signal=7"]) assert.equal((await ask({ ...four, body })).status, 200);
  assert.deepEqual(keys, [4, 4, 7]);
});

test("a request out of order in a dialog is answered 500 with Retry-After (section 12.2.2)", async () => {
  const { ask, inside } = await called({}, {}, 10);
  const response = await ask({ method: "INFO", headers: inside, cseq: 9 });
  assert.equal(response.status, 500);
  assert.match(response.header("Retry-After") ?? "", /^(?:[0-9]|10)$/);
  assert.equal((await ask({ method: "OPTIONS", headers: inside, cseq: 11 })).status, 200);
});

for (const [fraction, seconds] of [
  [0, "0"],
  [0.999, "10"],
] as const) {
  test(`an INVITE or an UPDATE with an offer before the answer is told to come again in 0 to 10 s, as chance has it (${seconds}; section 14.2, RFC 3311 section 5.2)`, async () => {
    const { peer, ask, calls } = await bench({ random: { ...systemRandom, fraction: () => fraction } });
    const headers = { "Call-ID": "early" };
    peer.send(requestText(peer, { method: "INVITE", headers, body: OFFER }));
    (await calls.next()).ring();
    const inside = { ...headers, To: (await peer.responses.next()).header("To") };
    for (const [cseq, method] of ["INVITE", "UPDATE"].entries()) {
      const response = await ask({ method, headers: inside, body: OFFER, cseq: cseq + 2 });
      assert.deepEqual([response.status, response.header("Retry-After")], [500, seconds], method);
    }
  });
}

test("in a dialog NOTIFY has no subscription, REFER is declined, and after BYE there is no dialog", async () => {
  const { dialog, ask, inside } = await called();
  assert.equal((await ask({ method: "NOTIFY", headers: { ...inside, Event: "refer" }, cseq: 2 })).status, 481);
  assert.equal((await ask({ method: "REFER", headers: { ...inside, "Refer-To": "<sip:x@y>" }, cseq: 3 })).status, 603);
  assert.equal(dialog.ended, false);
  assert.equal((await ask({ method: "BYE", headers: inside, cseq: 4 })).status, 200);
  assert.equal(dialog.ended, true);
  assert.equal((await ask({ method: "BYE", headers: inside, cseq: 5 })).status, 481);
});

test("a BYE that crosses ours is answered 200, anything else 481, and then the dialog is gone (RFC 5407 section 3.2.1)", async () => {
  const { dialog, peer, ask, inside } = await called();
  const leaving = dialog.bye();
  const bye = await peer.requests.next();
  assert.equal((await ask({ method: "INVITE", headers: inside, body: OFFER, cseq: 2 })).status, 481);
  assert.equal((await ask({ method: "BYE", headers: inside, cseq: 3 })).status, 200);
  peer.send(respond(bye, 200, null).toBytes());
  await leaving;
  assert.equal((await ask({ method: "BYE", headers: inside, cseq: 4 })).status, 481);
});

test("a session timer is agreed, refused under 90 s, and ends a call nobody refreshes (RFC 4028)", async () => {
  const clock = new ManualClock();
  const timer = { Supported: "timer", "Session-Expires": "1800" };
  const { dialog, response, peer, ask, inside } = await called({ clock }, timer);
  assert.deepEqual([response.header("Session-Expires"), response.header("Require")], ["1800;refresher=uac", "timer"]);
  const short = await ask({ method: "UPDATE", headers: { ...inside, ...timer, "Session-Expires": "60" }, cseq: 2 });
  assert.deepEqual([short.status, short.header("Min-SE")], [422, "90"]);
  clock.advance(1_700_000);
  assert.equal(
    (await ask({ method: "UPDATE", headers: { ...inside, ...timer }, cseq: 3 })).header("Session-Expires"),
    "1800;refresher=uac",
  );
  const ended = new Promise((resolve) => (dialog.onBye = resolve));
  clock.advance(1_768_000);
  assert.equal(await ended, "session-expired");
  assert.equal((await peer.requests.next()).method, "BYE");
});

test("routes recorded by proxies come back in the answer and lead our BYE (section 12)", async () => {
  const peer = await rawUdp(1);
  const route = `<sip:127.0.0.1:${peer.port};lr>, <sip:second.invalid;lr>`;
  const { dialog, response } = await called({}, { "Record-Route": route, Contact: "<sip:far@unreachable.invalid>" });
  assert.deepEqual(response.fields.all("Record-Route"), [route]);
  const leaving = dialog.bye();
  const bye: SipRequest = await peer.requests.next();
  assert.equal(bye.requestUri, "sip:far@unreachable.invalid");
  assert.deepEqual(bye.headers("Route"), route.split(", "));
  await peer.close();
  void leaving;
});

test("a Contact or a route with maddr is talked to there, and may speak from there (RFC 3261 section 19.1.1, RFC 3263 section 4)", async () => {
  const made = await bench({ trunks: ["127.0.0.1"] });
  const mediation = await rawUdp(made.port, "127.0.0.2");
  // The way back of the INVITE is another one, and the host leads elsewhere.
  const place = `127.0.0.9:${mediation.port};transport=udp;maddr=127.0.0.2`;
  for (const named of [{ Contact: `<sip:${place}>` }, { Contact: "<sip:far@unreachable.invalid>", "Record-Route": `<sip:${place};lr>` }]) {
    const call = { "Call-ID": `maddr-${Object.keys(named).length}`, ...named };
    made.peer.send(requestText(made.peer, { method: "INVITE", headers: call, body: OFFER }));
    const answering = (await made.calls.next()).answer(ANSWER);
    const inside = { ...call, To: (await made.peer.responses.next()).header("To") };
    mediation.send(requestText(mediation, { method: "ACK", headers: inside }));
    const dialog = await answering;
    mediation.send(requestText(mediation, { method: "INFO", headers: inside, cseq: 2 }));
    assert.equal((await mediation.responses.next()).status, 200);
    made.peer.send(requestText(made.peer, { method: "INFO", headers: inside, cseq: 3 }));
    assert.equal((await made.peer.responses.next()).status, 200);
    const leaving = dialog.bye();
    const bye = await mediation.requests.next();
    assert.equal(bye.method, "BYE");
    mediation.send(respond(bye, 200, null).toBytes());
    await leaving;
  }
  await mediation.close();
});

test("a peer whose own port takes no TCP connection gets our BYE by the connection it made", async () => {
  const made = await testAgent();
  const peer = await rawTcp(made.port);
  const call = { "Call-ID": "one-way", Contact: "<sip:peer@127.0.0.1:1;transport=tcp>" };
  peer.send(requestText(peer, { method: "INVITE", headers: call, body: OFFER }));
  const answering = (await made.calls.next()).answer(ANSWER);
  const response = await peer.responses.next();
  peer.send(requestText(peer, { method: "ACK", headers: { ...call, To: response.header("To") } }));
  const leaving = (await answering).bye();
  assert.equal((await peer.requests.next()).method, "BYE");
  await peer.close();
  await made.agent.stop();
  await leaving;
});

test("over UDP a peer whose Contact cannot be sent to gets our BYE where its INVITE came from", async () => {
  const options = { resolver: { addresses: async () => [], services: async () => [] }, mayReach: async () => false };
  for (const place of ["192.0.2.9:5060", "pbx.invalid", "192.0.2.9;transport=tcp"]) {
    const { dialog, peer } = await called(options, { Contact: `<sip:me@${place}>` });
    void dialog.bye();
    assert.equal((await peer.requests.next()).requestUri, `sip:me@${place}`);
  }
  // What asks for TLS on every hop goes by no other way.
  for (const place of ["192.0.2.9", "pbx.invalid"]) {
    const { dialog, peer } = await called({ ...options, tls }, { Contact: `<sips:me@${place}>` });
    await dialog.bye();
    assert.deepEqual(peer.requests.waiting, [], place);
  }
});

test("a peer that comes back by another connection, or from another port of its router's, gets our BYE there", async () => {
  const made = await testAgent({ mayReach: async () => false, trunks: ["127.0.0.0/8"] });
  for (const open of [() => rawTcp(made.port), () => rawUdp(made.port)]) {
    const [first, second] = [await open(), await open()];
    const call = { "Call-ID": `moved-${first.protocol}`, Contact: `<sip:peer@127.0.0.1:1;transport=${first.protocol.toLowerCase()}>` };
    first.send(requestText(first, { method: "INVITE", headers: call, body: OFFER }));
    const answering = (await made.calls.next()).answer(ANSWER);
    const response = await first.responses.next();
    const inside = { ...call, To: response.header("To") };
    first.send(requestText(first, { method: "ACK", headers: inside }));
    const dialog = await answering;
    if (first.protocol === "TCP") await first.close();
    second.send(requestText(second, { method: "INFO", headers: inside, cseq: 2 }));
    assert.equal((await second.responses.next()).status, 200);
    // What is out of order is not followed.
    const late = await open();
    late.send(requestText(late, { method: "INFO", headers: inside, cseq: 1 }));
    assert.equal((await late.responses.next()).status, 500);
    const leaving = dialog.bye();
    const bye = await second.requests.next();
    assert.equal(bye.method, "BYE");
    second.send(respond(bye, 200, null).toBytes());
    await leaving;
    await Promise.all([first.close(), second.close(), late.close()]);
  }
  await made.agent.stop();
});

test("whoever an answered call's Contact names may speak inside of it, also when a refresh has named him, and nobody else (S-82)", async () => {
  const made = await bench({ trunks: ["127.0.0.1"] });
  const [balanced, second, unknown] = await Promise.all(["127.0.0.2", "127.0.0.3", "127.0.0.4"].map((host) => rawUdp(made.port, host)));
  assert.ok(balanced && second && unknown);
  const call = { "Call-ID": "balanced", Contact: `<sip:node@127.0.0.2:${balanced.port}>` };
  made.peer.send(requestText(made.peer, { method: "INVITE", headers: call, body: OFFER }));
  const answering = (await made.calls.next()).answer(ANSWER);
  const inside = { ...call, To: (await made.peer.responses.next()).header("To") };
  made.peer.send(requestText(made.peer, { method: "ACK", headers: inside }));
  const dialog = await answering;
  balanced.send(requestText(balanced, { method: "INFO", headers: inside, cseq: 2 }));
  assert.equal((await balanced.responses.next()).status, 200);
  const moved = { ...inside, Contact: `<sip:node@127.0.0.3:${second.port}>` };
  balanced.send(requestText(balanced, { method: "UPDATE", headers: moved, cseq: 3 }));
  assert.equal((await balanced.responses.next()).status, 200);
  for (const peer of [balanced, second, unknown]) peer.send(requestText(peer, { method: "OPTIONS" }));
  unknown.send(requestText(unknown, { method: "BYE", headers: moved, cseq: 4 }));
  second.send(requestText(second, { method: "BYE", headers: moved, cseq: 5 }));
  assert.equal((await second.responses.next()).cseq.method, "BYE");
  assert.equal(dialog.ended, true);
  assert.deepEqual(
    [balanced, second, unknown].map(({ responses }) => responses.waiting.length),
    [0, 0, 0],
  );
  await Promise.all([balanced.close(), second.close(), unknown.close()]);
});

test("a Contact of a transport that is not spoken here is talked to where its INVITE came from, by UDP and TCP", async () => {
  for (const transport of ["ws", "SCTP", "x-own"]) {
    const contact = `sip:me@192.0.2.9;transport=${transport}`;
    const { dialog, peer } = await called({}, { Contact: `<${contact}>` });
    void dialog.bye();
    const bye = await peer.requests.next();
    assert.deepEqual([bye.method, bye.requestUri], ["BYE", contact]);
  }
  const made = await testAgent();
  const peer = await rawTcp(made.port);
  const call = { "Call-ID": "by-websocket", Contact: "<sip:me@192.0.2.9;transport=ws>" };
  peer.send(requestText(peer, { method: "INVITE", headers: call, body: OFFER }));
  const answering = (await made.calls.next()).answer(ANSWER);
  const response = await peer.responses.next();
  peer.send(requestText(peer, { method: "ACK", headers: { ...call, To: response.header("To") } }));
  const leaving = (await answering).bye();
  const bye = await peer.requests.next();
  peer.send(respond(bye, 200, null).toBytes());
  await leaving;
  await peer.close();
  await made.agent.stop();
});

test("100 Trying has the Timestamp of its INVITE, with the delay; other responses have none (section 8.2.6.1)", async () => {
  const clock = new ManualClock();
  const { peer, calls } = await bench({ clock });
  for (const [written, answered] of [
    ["54", "54 0.2"],
    ["1732.25 0.1", "1732.25 0.1"],
    [null, null],
  ]) {
    peer.send(requestText(peer, { method: "INVITE", headers: { Timestamp: written ?? null }, body: OFFER }));
    const call = await calls.next();
    clock.advance(200);
    const trying = await peer.responses.next();
    assert.deepEqual([trying.status, trying.header("Timestamp")], [100, answered]);
    call.reject(404);
    assert.equal((await peer.responses.next()).header("Timestamp"), null);
  }
});

test("pings on a connection are answered, and it is closed when a message does not end within 10 s", async () => {
  const clock = new ManualClock();
  const made = await testAgent({ clock });
  const peer = await rawTcp(made.port);
  peer.send(requestText(peer, { headers: { "Content-Length": "5" } }));
  const sentinel = await rawTcp(made.port);
  sentinel.send(`\r\n\r\n${requestText(sentinel)}`);
  assert.equal((await sentinel.responses.next()).status, 200);
  clock.advance(9_999);
  peer.send("1234");
  sentinel.send(requestText(sentinel));
  assert.equal((await sentinel.responses.next()).status, 200);
  clock.advance(1);
  await peer.closed;
  await sentinel.close();
  await made.agent.stop();
});

test("the answer to a Via without rport goes to its source address and Via port, never to maddr (S-82)", async () => {
  const { peer, ask } = await bench();
  const other = await rawUdp(1);
  const via = `SIP/2.0/UDP evil.invalid:${other.port};maddr=192.0.2.1;branch=z9hG4bKx`;
  peer.send(requestText(peer, { headers: { Via: via } }));
  const response = await other.responses.next();
  assert.equal(response.header("Via"), `${via};received=127.0.0.1`);
  assert.equal((await ask({})).via.params.get("rport"), String(peer.port));
  await other.close();
});

test("more than 200 unanswered calls of one source are answered 503 with Retry-After (S-83)", async () => {
  const { peer, calls, ask } = await bench({ clock: new ManualClock() });
  for (let index = 0; index < 200; index++) {
    peer.send(requestText(peer, { method: "INVITE", headers: { From: `<sip:a@b>;tag=${index}` } }));
    await calls.next();
  }
  const refused = await ask({ method: "INVITE" });
  assert.equal(refused.status, 503);
  assert.ok(Number(refused.header("Retry-After")) > 0);
});

test("an application that throws costs its call a 500, and nobody else anything", async () => {
  const { ask } = await bench({
    onInvite: () => {
      throw new Error("application fault");
    },
  });
  assert.equal((await ask({ method: "INVITE" })).status, 500);
  assert.equal((await ask({})).status, 200);
});

test("a handler that throws when a timer ends its call does not stop the BYE or the agent", async () => {
  const clock = new ManualClock();
  const faults: string[] = [];
  const log = { debug: () => {}, warn: (event: string) => void faults.push(event) };
  const { dialog, peer, ask } = await called({ clock, log }, { Supported: "timer", "Session-Expires": "90" });
  dialog.onBye = () => {
    throw new Error("application fault");
  };
  clock.advance(90_000);
  assert.equal((await peer.requests.next()).method, "BYE");
  assert.equal((await ask({})).status, 200);
  assert.deepEqual(faults, ["sip_fault"]);
});

test("the listener knows that it is served, also where loopback is no trunk, and that it is not (R-056)", async () => {
  for (const host of ["127.0.0.1", "0.0.0.0", "::1"]) {
    const { agent } = await testAgent({ host, trunks: [] });
    assert.deepEqual(await Promise.all([agent.isServing(), agent.isServing()]), [true, true], host);
    await agent.stop();
    assert.equal(await agent.isServing(), false, host);
  }
});
