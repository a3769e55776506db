import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Direction, LocalMedia } from "./sdp.ts";
import { acceptOffer, createOffer, readAnswer } from "./sdp.ts";

const LOCAL: LocalMedia = { host: "198.51.100.7", port: 20_002, sessionId: "4611", previous: null };
const AUDIO = ["m=audio 4000 RTP/AVP 0 8 101", "a=rtpmap:101 telephone-event/8000"];

function sdp(lines: string[], session: string[] = ["c=IN IP4 203.0.113.5"]): string {
  return ["v=0", "o=peer 1 1 IN IP4 203.0.113.5", "s=-", ...session, "t=0 0", ...lines, ""].join("\r\n");
}

function agree(offer: string, local = LOCAL) {
  const result = acceptOffer(offer, local);
  assert.equal(result.kind, "agreed", JSON.stringify(result));
  return result;
}

function lines(text: string, letter: string): string[] {
  return text.split("\r\n").filter((line) => line.startsWith(`${letter}=`));
}

test("an offer of PCMU, PCMA and telephone-event is answered in full (R-227)", () => {
  const { answer, remote } = agree(sdp(AUDIO));
  assert.deepEqual(remote, { host: "203.0.113.5", port: 4000, payloadType: 0, eventPayloadType: 101, direction: "sendrecv" });
  assert.equal(
    answer,
    [
      "v=0",
      "o=- 4611 1 IN IP4 198.51.100.7",
      "s=-",
      "c=IN IP4 198.51.100.7",
      "t=0 0",
      "m=audio 20002 RTP/AVP 0 8 101",
      "a=rtpmap:0 PCMU/8000",
      "a=rtpmap:8 PCMA/8000",
      "a=rtpmap:101 telephone-event/8000",
      "a=fmtp:101 0-15",
      "a=ptime:20",
      "a=sendrecv",
      "",
    ].join("\r\n"),
  );
});

for (const { formats, maps = [], answered, codec, event } of [
  { formats: "8 0", answered: "8 0", codec: 8, event: null },
  { formats: "18 8 96", maps: ["a=rtpmap:96 telephone-event/8000"], answered: "8 96", codec: 8, event: 96 },
  { formats: "0 100", maps: ["a=rtpmap:100 TELEPHONE-EVENT/8000"], answered: "0 100", codec: 0, event: 100 },
  {
    formats: "0 97 98",
    maps: ["a=rtpmap:97 telephone-event/16000", "a=rtpmap:98 telephone-event/8000"],
    answered: "0 98",
    codec: 0,
    event: 98,
  },
  { formats: "0", maps: ["a=rtpmap:101 telephone-event/8000"], answered: "0", codec: 0, event: null },
  { formats: "0 8", maps: ["a=rtpmap:0 OPUS/48000/2"], answered: "8", codec: 8, event: null },
  {
    formats: "107 101",
    maps: ["a=rtpmap:107 pcma/8000/1", "a=rtpmap:101 telephone-event/8000"],
    answered: "107 101",
    codec: 8,
    event: 101,
  },
  { formats: "111 107", maps: ["a=rtpmap:111 PCMA/8000/2", "a=rtpmap:107 PCMU/8000"], answered: "107", codec: 0, event: null },
  { formats: "96 0 97 8", maps: ["a=rtpmap:96 PCMU/8000", "a=rtpmap:97 PCMU/16000"], answered: "96 8", codec: 0, event: null },
]) {
  test(`formats ${formats} (${maps.join(", ")}) are answered with ${answered} in the offerer's order (R-227)`, () => {
    const { answer, remote } = agree(sdp([`m=audio 4000 RTP/AVP ${formats}`, ...maps]));
    assert.deepEqual(lines(answer, "m"), [`m=audio 20002 RTP/AVP ${answered}`]);
    assert.equal(remote.payloadType, codec);
    assert.equal(remote.eventPayloadType, event);
  });
}

test("a codec under a number of the peer's own is answered, sent and read under that (RFC 3551 section 6, RFC 3264 section 6.1)", () => {
  const { answer, remote } = agree(sdp(["m=audio 4000 RTP/AVP 107 8", "a=rtpmap:107 PCMU/8000", "a=rtcp-mux"]));
  assert.deepEqual([remote.payloadTypes, remote.rtcp], [{ 0: 107 }, "muxed"]);
  assert.ok(answer.includes("a=rtpmap:107 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\n"));
  const confused = agree(sdp(["m=audio 4000 RTP/AVP 72", "a=rtpmap:72 PCMU/8000", "a=rtcp-mux"]));
  assert.equal(confused.remote.rtcp, undefined);
});

test("RTP with feedback is agreed to, without any being promised, and stays so in the dialog (RFC 4585 section 4.1)", () => {
  const { answer } = agree(sdp(["m=audio 4000 RTP/AVPF 0", "a=rtcp-fb:* trr-int 5000"]));
  assert.deepEqual(lines(answer, "m"), ["m=audio 20002 RTP/AVPF 0"]);
  assert.ok(!answer.includes("rtcp-fb"));
  assert.deepEqual(lines(createOffer({ ...LOCAL, previous: answer }), "m"), ["m=audio 20002 RTP/AVPF 0 8 101"]);
});

test("a blank behind a line of the peer's changes nothing of what it says", () => {
  for (const line of ["a=sendonly ", "a=sendonly\t "]) assert.equal(agree(sdp([...AUDIO, line])).remote.direction, "recvonly");
  const spaced = agree(sdp([...AUDIO, "a=rtcp-mux"]).replaceAll("\r\n", " \r\n"));
  assert.deepEqual([spaced.remote.port, spaced.remote.eventPayloadType, spaced.remote.rtcp], [4000, 101, "muxed"]);
});

test("the first stream we can do is accepted, all others are refused with port 0 in their places", () => {
  const { answer, remote } = agree(
    sdp([
      "m=video 5000 RTP/AVP 31 32",
      "m=audio 5002 RTP/SAVP 0",
      "m=audio 0 RTP/AVP 0",
      "m=audio 5004 RTP/AVP 18",
      "m=audio 5006 RTP/AVP 8",
      "m=audio 5008 RTP/AVP 0",
      "m=image 5010 udptl t38",
      "m=message 5012 TCP/MSRP *",
    ]),
  );
  assert.deepEqual(lines(answer, "m"), [
    "m=video 0 RTP/AVP 31",
    "m=audio 0 RTP/SAVP 0",
    "m=audio 0 RTP/AVP 0",
    "m=audio 0 RTP/AVP 18",
    "m=audio 20002 RTP/AVP 8",
    "m=audio 0 RTP/AVP 0",
    "m=image 0 udptl t38",
    "m=message 0 TCP/MSRP *",
  ]);
  assert.equal(remote.port, 5006);
});

for (const [written, c, expected] of [
  ["a=sendrecv", "203.0.113.5", "sendrecv"],
  ["a=sendonly", "203.0.113.5", "recvonly"],
  ["a=recvonly", "203.0.113.5", "sendonly"],
  ["a=inactive", "203.0.113.5", "inactive"],
  ["a=sendrecv", "0.0.0.0", "recvonly"],
  ["a=sendonly", "0.0.0.0", "recvonly"],
  ["a=inactive", "0.0.0.0", "inactive"],
] satisfies [string, string, Direction][]) {
  test(`${written} from ${c} is answered with ${expected}, in the stream and in the session part (R-226)`, () => {
    for (const offer of [sdp([...AUDIO, written], [`c=IN IP4 ${c}`]), sdp(AUDIO, [`c=IN IP4 ${c}`, written])]) {
      const { answer, remote } = agree(offer);
      assert.equal(remote.direction, expected);
      assert.ok(answer.includes(`a=${expected}\r\n`));
    }
  });
}

test("a count of ports behind the first one is passed over (RFC 8866 section 5.14)", () => {
  const { answer, remote } = agree(sdp(["m=audio 4000/1 RTP/AVP 0", "m=video 5000/2 RTP/AVP 96"]));
  assert.equal(remote.port, 4000);
  assert.deepEqual(lines(answer, "m"), ["m=audio 20002 RTP/AVP 0", "m=video 0 RTP/AVP 96"]);
});

test("codecs without a clock rate have the only one there is, in an offer and an answer (RFC 3551 section 6)", () => {
  const loose = sdp(["m=audio 4000 RTP/AVP 0 8 101", "a=rtpmap:0 PCMU", "a=rtpmap:8 PCMA", "a=rtpmap:101 telephone-event"]);
  const { answer, remote } = agree(loose);
  assert.deepEqual(lines(answer, "m"), ["m=audio 20002 RTP/AVP 0 8 101"]);
  assert.deepEqual([remote.payloadType, remote.eventPayloadType], [0, 101]);
  assert.equal(readAnswer(loose, createOffer(LOCAL)).kind, "agreed");
});

test("a time to live behind a unicast address, where none belongs, means nothing (RFC 8866 section 5.7)", () => {
  assert.equal(agree(sdp(AUDIO, ["c=IN IP4 203.0.113.5/127"])).remote.host, "203.0.113.5");
});

test("the stream's c= line beats the session's", () => {
  const { remote } = agree(sdp(["m=audio 4000 RTP/AVP 0", "c=IN IP4 203.0.113.9"]));
  assert.equal(remote.host, "203.0.113.9");
});

test("IPv6 addresses are agreed on in the spelling that sockets report", () => {
  const local = { ...LOCAL, host: "2001:db8::7" };
  const { answer, remote } = agree(sdp(AUDIO, ["c=IN IP6 2001:DB8:0:0:0:0:0:5"]), local);
  assert.equal(remote.host, "2001:db8::5");
  assert.ok(answer.includes("c=IN IP6 2001:db8::7\r\n"));
  assert.ok(answer.includes("o=- 4611 1 IN IP6 2001:db8::7\r\n"));
});

for (const [reason, name, offer] of [
  ["unacceptable", "no codec of ours", sdp(["m=audio 4000 RTP/AVP 18 9"])],
  ["unacceptable", "no audio", sdp(["m=video 4000 RTP/AVP 31"])],
  ["unacceptable", "no stream at all", sdp([])],
  ["unacceptable", "SRTP only, over plain signalling", sdp(["m=audio 4000 RTP/SAVP 0", "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:AAAA"])],
  ["unacceptable", "another IP family", sdp(AUDIO, ["c=IN IP6 2001:db8::5"])],
  ["unacceptable", "a multicast group", sdp(AUDIO, ["c=IN IP4 224.2.1.1/127"])],
  ["unacceptable", "a host name", sdp(AUDIO, ["c=IN IP4 sbc.example.com"])],
  ["malformed", "nothing", ""],
  ["malformed", "not SDP", "<xml/>"],
  ["malformed", "no v=", sdp(AUDIO).replace("v=0\r\n", "")],
  ["malformed", "another version", sdp(AUDIO).replace("v=0", "v=1")],
  ["malformed", "no o=", sdp(AUDIO).replace(/o=.*\r\n/, "")],
  ["malformed", "no c=", sdp(AUDIO, [])],
  ["malformed", "a port that is no number", sdp(["m=audio x RTP/AVP 0"])],
  ["malformed", "a port out of range", sdp(["m=audio 70000 RTP/AVP 0"])],
  ["malformed", "a port of 400 digits", sdp([`m=audio ${"9".repeat(400)} RTP/AVP 0`])],
  ["malformed", "a cut m= line", sdp(["m=audio"])],
  ["malformed", "a line of 2 KiB", sdp([...AUDIO, `a=x:${"y".repeat(2_048)}`])],
  ["malformed", "20 KiB", sdp([...AUDIO, ...Array<string>(1_000).fill("a=candidate:1 1 udp")])],
  ["malformed", "1,000 broken rtpmap lines", sdp([...AUDIO, ...Array<string>(1_000).fill("a=rtpmap:")])],
  ["malformed", "17 streams", sdp(Array<string>(17).fill("m=audio 4000 RTP/AVP 0"))],
] as const) {
  test(`an offer with ${name} is refused as ${reason} (R-227)`, () => {
    const result = acceptOffer(offer, LOCAL);
    assert.equal(result.kind, "refused");
    assert.equal((result as { reason: string }).reason, reason);
  });
}

test("what is written loosely and means nothing else is read: the origin, which we do not use, and a blank in front of a value", () => {
  for (const origin of ["Cisco Systems 1 1 IN IP4 203.0.113.5", "- -1 -1 IN IP4 203.0.113.5", "- 1 1.5 IN IP4 gw.example"]) {
    assert.equal(agree(sdp(AUDIO).replace(/o=.*/, `o=${origin}`)).remote.eventPayloadType, 101, origin);
  }
  assert.equal(agree(sdp([AUDIO[0]!, "a=rtpmap: 101 telephone-event/8000"])).remote.eventPayloadType, 101);
});

test("bare LF and CR line ends are read too", () => {
  for (const end of ["\n", "\r"]) assert.equal(agree(sdp(AUDIO).replaceAll("\r\n", end)).remote.port, 4000);
});

test("a repeated offer is answered with the same version, a changed one with the next (RFC 3264 section 8)", () => {
  const first = agree(sdp(AUDIO));
  const again = agree(sdp(AUDIO), { ...LOCAL, previous: first.answer });
  assert.equal(again.answer, first.answer);
  const held = agree(sdp([...AUDIO, "a=sendonly"]), { ...LOCAL, previous: again.answer });
  assert.deepEqual(lines(held.answer, "o"), ["o=- 4611 2 IN IP4 198.51.100.7"]);
  const resumed = agree(sdp(AUDIO), { ...LOCAL, previous: held.answer });
  assert.deepEqual(lines(resumed.answer, "o"), ["o=- 4611 3 IN IP4 198.51.100.7"]);
});

test("our offer and its answer agree (delayed offer, outgoing call; R-227)", () => {
  const offer = createOffer(LOCAL);
  assert.deepEqual(lines(offer, "m"), ["m=audio 20002 RTP/AVP 0 8 101"]);
  const peer = agree(offer, { host: "203.0.113.5", port: 4000, sessionId: "9", previous: null });
  const result = readAnswer(peer.answer, offer);
  assert.deepEqual(result, {
    kind: "agreed",
    remote: { host: "203.0.113.5", port: 4000, payloadType: 0, eventPayloadType: 101, direction: "sendrecv" },
  });
});

test("an answer with another payload type for events than our offer lets the peer use either (RFC 3264 section 6.1)", () => {
  const result = readAnswer(sdp(["m=audio 4000 RTP/AVP 0 96", "a=rtpmap:96 telephone-event/8000"]), createOffer(LOCAL));
  assert.equal(result.kind === "agreed" && result.remote.eventPayloadType, 96);
  assert.equal(result.kind === "agreed" && result.remote.ownEventPayloadType, 101);
});

test("a peer that names no events may send them under our number all the same, unless that is something else to him (R-228)", () => {
  const own = (lines: string[]) => agree(sdp(lines)).remote.ownEventPayloadType;
  assert.equal(own(["m=audio 4000 RTP/AVP 0 8"]), 101);
  assert.equal(own(["m=audio 4000 RTP/AVP 0 101"]), 101);
  assert.equal(own(["m=audio 4000 RTP/AVP 0", "a=rtpmap:101 telephone-event/8000"]), 101);
  assert.equal(own(["m=audio 4000 RTP/AVP 0 101", "a=rtpmap:101 iLBC/8000"]), undefined);
  assert.equal(own(["m=audio 4000 RTP/AVP 0 96", "a=rtpmap:96 telephone-event/8000"]), undefined);
});

test("of events offered at two clock rates those of the audio's are agreed on, whatever their number (RFC 4733 section 2.1; R-227)", () => {
  const offer = sdp([
    "m=audio 4000 RTP/AVP 111 101 0 97",
    "a=rtpmap:111 opus/48000/2",
    "a=rtpmap:101 telephone-event/48000",
    "a=rtpmap:97 telephone-event/8000",
  ]);
  const { answer, remote } = agree(offer);
  assert.equal(remote.eventPayloadType, 97);
  assert.equal(remote.ownEventPayloadType, undefined);
  assert.deepEqual(lines(answer, "m"), ["m=audio 20002 RTP/AVP 0 97"]);
});

test("a=rtcp says where the peer's RTCP goes, in either family (RFC 3605); what cannot be is left out", () => {
  const rtcp = (line: string) => agree(sdp([...AUDIO, line])).remote.rtcp;
  assert.deepEqual(rtcp("a=rtcp:53020"), { host: "203.0.113.5", port: 53_020 });
  assert.deepEqual(rtcp("a=rtcp:53020 IN IP4 203.0.113.9"), { host: "203.0.113.9", port: 53_020 });
  for (const wrong of [
    "0",
    "70000",
    "",
    "x",
    "53020 IN IP6 2001:db8::1",
    "53020 IN IP4 host.example",
    "53020 IN IP4 239.0.0.1",
    "9 IN IP4 0.0.0.0",
  ])
    assert.equal(rtcp(`a=rtcp:${wrong}`), undefined, wrong);
  const six = sdp([...AUDIO, "a=rtcp:53020 IN IP6 2001:DB8:0::9"], ["c=IN IP6 2001:db8::5"]);
  assert.deepEqual(agree(six, { ...LOCAL, host: "2001:db8::1" }).remote.rtcp, { host: "2001:db8::9", port: 53_020 });
});

test("RTCP shares the RTP port where that is offered, and never by our offer (RFC 5761 section 5.1.1)", () => {
  const { answer, remote } = agree(sdp([...AUDIO, "a=rtcp-mux", "a=rtcp:4000"]));
  assert.equal(remote.rtcp, "muxed");
  assert.ok(lines(answer, "a").includes("a=rtcp-mux"));
  assert.ok(!agree(sdp(AUDIO)).answer.includes("rtcp-mux"));
  const unasked = readAnswer(sdp([...AUDIO, "a=rtcp-mux"]), createOffer(LOCAL));
  assert.equal(unasked.kind === "agreed" && unasked.remote.rtcp, undefined);
  // Marked packets of type 72 look like RTCP.
  const confused = agree(sdp(["m=audio 4000 RTP/AVP 0 72", "a=rtpmap:72 telephone-event/8000", "a=rtcp-mux"]));
  assert.equal(confused.remote.rtcp, undefined);
});

test("an offer inside a dialog keeps the streams of before and their order", () => {
  const { answer } = agree(sdp(["m=video 5000 RTP/AVP 31", "m=audio 4000 RTP/AVP 8"]));
  const offer = createOffer({ ...LOCAL, previous: answer });
  assert.deepEqual(lines(offer, "m"), ["m=video 0 RTP/AVP 31", "m=audio 20002 RTP/AVP 0 8 101"]);
  assert.deepEqual(lines(offer, "o"), ["o=- 4611 2 IN IP4 198.51.100.7"]);
  const result = readAnswer(sdp(["m=video 0 RTP/AVP 31", "m=audio 6000 RTP/AVP 8"]), offer);
  assert.equal(result.kind === "agreed" && result.remote.port, 6000);
});

test("refused streams behind those that we have offered change nothing of an answer (RFC 3264 section 6)", () => {
  const result = readAnswer(sdp([...AUDIO, "m=video 0 RTP/AVP 31", "m=image 0 udptl t38"]), createOffer(LOCAL));
  assert.equal(result.kind === "agreed" && result.remote.port, 4000);
});

for (const [reason, name, answer] of [
  ["unacceptable", "refuses the stream", sdp(["m=audio 0 RTP/AVP 0"])],
  ["unacceptable", "names only other codecs", sdp(["m=audio 4000 RTP/AVP 9"])],
  ["malformed", "has a stream that was not offered", sdp([...AUDIO, ...AUDIO])],
  ["malformed", "lacks the stream that was offered", sdp([])],
  ["malformed", "is no SDP", "hello"],
] as const) {
  test(`an answer that ${name} is refused as ${reason}`, () => {
    const result = readAnswer(answer, createOffer(LOCAL));
    assert.equal(result.kind === "refused" && result.reason, reason);
  });
}

test("no text makes the reader throw, and no answer contains a line the peer smuggled in (S-84)", () => {
  const sound = sdp(["m=video 5000 RTP/AVP 31", ...AUDIO, "a=sendonly"]);
  const mutated = fc
    .tuple(fc.nat(sound.length), fc.nat(20), fc.string({ unit: "binary", maxLength: 20 }))
    .map(([at, cut, text]) => sound.slice(0, at) + text + sound.slice(at + cut));
  fc.assert(
    fc.property(fc.oneof(mutated, fc.string({ unit: "binary" })), (offer) => {
      const result = acceptOffer(offer, LOCAL);
      if (result.kind === "refused") return;
      for (const line of result.answer.split("\r\n")) assert.match(line, /^([vostcma]=[\x20-\x7e]+)?$/);
      assert.equal(lines(result.answer, "m").filter((line) => !/ 0 /.test(line)).length <= 1, true);
    }),
    { numRuns: 500 },
  );
});
