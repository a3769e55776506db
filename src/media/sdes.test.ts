import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "#src/kernel/random.ts";
import { readCryptoLine, writeCryptoLine } from "./sdes.ts";
import type { LocalMedia } from "./sdp.ts";
import { acceptOffer, createOffer, readAnswer } from "./sdp.ts";

const bytes = (count: number) => systemRandom.bytes(count);
const PLAIN: LocalMedia = { host: "198.51.100.7", port: 20_002, sessionId: "4611", previous: null };
const TLS: LocalMedia = { ...PLAIN, srtp: { bytes, required: false } };
const PEER: LocalMedia = { ...TLS, host: "203.0.113.5", port: 4000, sessionId: "9" };
const KEY = "d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj";
const OTHER_KEY = "NzB4d1BINUAvLEw6UzF3WSJ+PSdFcGdUJShpX1Zj";
const LINE = `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${KEY}`;

function sdp(...lines: string[]): string {
  return ["v=0", "o=peer 1 1 IN IP4 203.0.113.5", "s=-", "c=IN IP4 203.0.113.5", "t=0 0", ...lines, ""].join("\r\n");
}
const savp = (...lines: string[]) => sdp("m=audio 4000 RTP/SAVP 0 8", ...lines);
const base64 = (key: Uint8Array | undefined) => Buffer.from(key ?? []).toString("base64");
const linesOf = (text: string, start: string) => text.split("\r\n").filter((line) => line.startsWith(start));

function agree(offer: string, local = TLS) {
  const result = acceptOffer(offer, local);
  assert.equal(result.kind, "agreed", JSON.stringify(result));
  return result;
}
const refusal = (result: { kind: string; detail?: string }) => (result.kind === "refused" ? result.detail : "agreed");

test("an offer with keys is answered over TLS with a key of our own for the first suite we know (RFC 4568, S-86)", () => {
  const { answer, remote } = agree(
    savp(
      "a=crypto:1 AEAD_AES_256_GCM inline:NHwvPyk6Wl1zSUY6c0kqOSl7OlpNOVRLK0lXODAtVSMrP2JYTzs2OV1KTjE",
      `a=crypto:22 AES_CM_128_HMAC_SHA1_32 inline:${KEY}|2^31`,
      LINE,
    ),
  );
  const [line, ...more] = linesOf(answer, "a=crypto");
  assert.deepEqual(more, []);
  assert.deepEqual(linesOf(answer, "m="), ["m=audio 20002 RTP/SAVP 0 8"]);
  assert.match(line ?? "", /^a=crypto:22 AES_CM_128_HMAC_SHA1_32 inline:[\w+/]{40}$/);
  assert.equal(remote.srtp?.suite, "AES_CM_128_HMAC_SHA1_32");
  assert.equal(base64(remote.srtp?.receiveKey), KEY);
  assert.ok(line?.endsWith(base64(remote.srtp?.sendKey)));
  assert.notEqual(agree(savp(LINE)).answer, agree(savp(LINE)).answer);
});

test("SRTP with feedback is agreed to with a key, and not without one (RFC 5124)", () => {
  const { answer, remote } = agree(sdp("m=audio 4000 RTP/SAVPF 0", LINE));
  assert.deepEqual(linesOf(answer, "m="), ["m=audio 20002 RTP/SAVPF 0"]);
  assert.equal(base64(remote.srtp?.receiveKey), KEY);
  assert.equal(acceptOffer(sdp("m=audio 4000 RTP/SAVPF 0", "a=fingerprint:sha-256 00"), TLS).kind, "refused");
  assert.equal(acceptOffer(sdp("m=audio 4000 UDP/TLS/RTP/SAVPF 0", LINE), TLS).kind, "refused");
});

for (const [what, line] of [
  ["no encryption", `${LINE} UNENCRYPTED_SRTP`],
  ["no encryption of RTCP, behind another parameter", `${LINE} WSH=128 UNENCRYPTED_SRTCP`],
  ["no authentication", `${LINE} UNAUTHENTICATED_SRTP`],
  ["keys derived again", `${LINE} KDR=20`],
  ["a key identifier of no length", `${LINE}|2^20|1:0`],
  ["a key identifier of more octets than there may be", `${LINE}|1:129`],
  ["two keys without identifiers", `${LINE};inline:${OTHER_KEY}`],
  ["two keys of which one has no identifier", `${LINE}|1:4;inline:${OTHER_KEY}|2^31`],
  ["two keys whose identifiers are of unequal length", `${LINE}|1:4;inline:${OTHER_KEY}|2:1`],
  ["two keys of one identifier", `${LINE}|1:4;inline:${OTHER_KEY}|1:4`],
  ["two keys for fewer packets than a call has", `${LINE}|2^10|1:4;inline:${OTHER_KEY}|1000|2:4`],
  ["five keys", `${LINE}|1:4${[2, 3, 4, 5].map((mki) => `;inline:${OTHER_KEY}|${mki}:4`).join("")}`],
  ["a key and nothing behind its semicolon", `${LINE}|1:4;`],
  ["a key for fewer packets than a call has", `${LINE}|2^10`],
  ["a key that is too short", "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:AAAA"],
  ["a suite without encryption", `a=crypto:1 NULL_HMAC_SHA1_80 inline:${KEY}`],
  ["a suite of SIPp's", `a=crypto:1 __proto__ inline:${KEY}`],
  ["F8", `a=crypto:1 F8_128_HMAC_SHA1_80 inline:${KEY}`],
] as const) {
  test(`${what} is not agreed to: the line is passed over, and an offer of nothing else refused (S-86)`, () => {
    assert.equal(readCryptoLine(line), null);
    assert.equal(refusal(acceptOffer(savp(line), TLS)), "no crypto line that can be done");
    assert.equal(base64(agree(savp(line, LINE.replace(KEY, OTHER_KEY))).remote.srtp?.receiveKey), OTHER_KEY);
  });
}

test("what may be ignored in a line is, and what we write is read as it was", () => {
  for (const line of [LINE, `${LINE}|2^31`, `${LINE}|1048576 WSH=64`, `${LINE} -UNKNOWN=1`]) {
    const read = readCryptoLine(line);
    assert.deepEqual(read, { tag: "1", suite: "AES_CM_128_HMAC_SHA1_80", key: KEY });
    assert.equal(writeCryptoLine(read), LINE);
  }
});

test("a key with an identifier is taken, a line without one rather, and our own has none (RFC 4568 section 6.1)", () => {
  for (const written of [`${LINE}|2^31|1:4`, `${LINE}|1:4`]) {
    const { answer, remote } = agree(savp(written));
    assert.deepEqual([remote.srtp?.mkiBytes, base64(remote.srtp?.receiveKey)], [4, KEY]);
    assert.match(linesOf(answer, "a=crypto")[0] ?? "", /inline:[\w+/]{40}$/);
    const plainer = agree(savp(written, LINE.replace(KEY, OTHER_KEY).replace(":1 ", ":2 ")));
    assert.deepEqual([plainer.remote.srtp?.mkiBytes, base64(plainer.remote.srtp?.receiveKey)], [undefined, OTHER_KEY]);
  }
  const answered = readAnswer(savp(`${LINE}|2^31|7:1`), createOffer(TLS));
  assert.equal(answered.kind === "agreed" && answered.remote.srtp?.mkiBytes, 1);
});

test("several keys with identifiers of their own are all taken, and our answer has one (RFC 4568 section 6.1)", () => {
  for (const written of [`${LINE}|2^31|1:4;inline:${OTHER_KEY}|2^31|2:4`, `${LINE}|1:4;inline:${OTHER_KEY}|2^10|2:4 WSH=64`]) {
    const { answer, remote } = agree(savp(written));
    assert.deepEqual([remote.srtp?.mkiBytes, base64(remote.srtp?.receiveKey)], [4, KEY + OTHER_KEY]);
    assert.match(linesOf(answer, "a=crypto")[0] ?? "", /^a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:[\w+/]{40}$/);
    const plainer = agree(savp(written, LINE.replace(":1 ", ":2 ")));
    assert.deepEqual([plainer.remote.srtp?.mkiBytes, base64(plainer.remote.srtp?.receiveKey)], [undefined, KEY]);
  }
});

test("keys that came in the clear are not used: SRTP alone is refused over UDP and TCP, plain RTP beside it is taken (S-85, S-86)", () => {
  assert.equal(refusal(acceptOffer(savp(LINE), PLAIN)), "SRTP whose keys did not come over TLS");
  const { answer, remote } = agree(sdp("m=audio 4000 RTP/SAVP 0", LINE, "m=audio 4002 RTP/AVP 0"), PLAIN);
  assert.deepEqual(linesOf(answer, "m="), ["m=audio 0 RTP/SAVP 0", "m=audio 20002 RTP/AVP 0"]);
  assert.deepEqual([remote.port, "srtp" in remote], [4002, false]);
  assert.equal(linesOf(agree(sdp("m=audio 4000 RTP/AVP 0", LINE), PLAIN).answer, "a=crypto").length, 0);
  assert.equal(linesOf(createOffer(PLAIN), "a=crypto").length, 0);
});

test("over TLS the encrypted one of two streams is taken, plain RTP alone as well, unless SRTP is required (S-85)", () => {
  const both = agree(sdp("m=audio 4002 RTP/AVP 0", "m=audio 4000 RTP/SAVP 0", LINE));
  assert.deepEqual(linesOf(both.answer, "m="), ["m=audio 0 RTP/AVP 0", "m=audio 20002 RTP/SAVP 0"]);
  const plain = sdp("m=audio 4000 RTP/AVP 0");
  assert.deepEqual(linesOf(agree(plain).answer, "m="), ["m=audio 20002 RTP/AVP 0"]);
  assert.equal(refusal(acceptOffer(plain, { ...TLS, srtp: { bytes, required: true } })), "plain RTP where SRTP is required");
});

test("a call that is encrypted stays so: new offers may bring a new key, plain RTP is refused, and ours stays (S-85)", () => {
  const first = agree(savp(LINE));
  const local = { ...TLS, previous: first.answer };
  assert.equal(agree(savp(LINE), local).answer, first.answer);
  const renewed = agree(savp(LINE.replace(KEY, OTHER_KEY)), local);
  assert.equal(renewed.answer, first.answer);
  assert.equal(base64(renewed.remote.srtp?.receiveKey), OTHER_KEY);
  assert.deepEqual(renewed.remote.srtp?.sendKey, first.remote.srtp?.sendKey);
  const other = agree(savp(LINE.replace("_80", "_32")), local);
  assert.notDeepEqual(other.remote.srtp?.sendKey, first.remote.srtp?.sendKey);
  assert.equal(refusal(acceptOffer(sdp("m=audio 4000 RTP/AVP 0"), local)), "plain RTP in a dialog that is encrypted");
  assert.deepEqual(linesOf(createOffer(local), "a=crypto"), linesOf(first.answer, "a=crypto"));
});

test("our own offer over TLS has a key for each suite; the answer's tag says which counts (R-227)", () => {
  const offer = createOffer(TLS);
  assert.deepEqual(linesOf(offer, "m="), ["m=audio 20002 RTP/SAVP 0 8 101"]);
  const [first, second] = linesOf(offer, "a=crypto").map((line) => readCryptoLine(line)!);
  assert.deepEqual([first?.suite, second?.suite], ["AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32"]);
  assert.notEqual(first?.key, second?.key);
  const peer = agree(offer.replace(/a=crypto:1.*\r\n/, ""), PEER);
  const ours = readAnswer(peer.answer, offer);
  assert.ok(ours.kind === "agreed");
  assert.equal(base64(ours.remote.srtp?.sendKey), second?.key);
  assert.deepEqual(ours.remote.srtp?.sendKey, peer.remote.srtp?.receiveKey);
  assert.deepEqual(ours.remote.srtp?.receiveKey, peer.remote.srtp?.sendKey);
  assert.equal(createOffer({ ...TLS, previous: offer }), offer);
});

test("keys beside plain RTP are taken by who can, left by who cannot, and are refused in no other form (RFC 8643)", () => {
  const offer = createOffer(TLS, true);
  assert.deepEqual(linesOf(offer, "m="), ["m=audio 20002 RTP/AVP 0 8 101"]);
  assert.equal(linesOf(offer, "a=crypto").length, 2);
  const encrypted = readAnswer(sdp("m=audio 4000 RTP/AVP 0", LINE), offer);
  assert.ok(encrypted.kind === "agreed");
  assert.equal(base64(encrypted.remote.srtp?.receiveKey), KEY);
  const plain = readAnswer(sdp("m=audio 4000 RTP/AVP 0"), offer);
  assert.ok(plain.kind === "agreed" && plain.remote.srtp === undefined);
  assert.equal(readAnswer(savp(LINE), offer).kind, "refused");
  assert.equal(readAnswer(sdp("m=audio 4000 RTP/AVP 0", LINE.replace(":1 ", ":2 ")), offer).kind, "refused");
});

test("a call whose keys were given beside plain RTP stays encrypted, in either form, and a plain one plain", () => {
  const local = { ...TLS, previous: createOffer(TLS, true) };
  const again = agree(sdp("m=audio 4000 RTP/AVP 0", LINE), local);
  assert.deepEqual(linesOf(again.answer, "m="), ["m=audio 20002 RTP/AVP 0"]);
  assert.equal(base64(again.remote.srtp?.sendKey), readCryptoLine(linesOf(local.previous, "a=crypto")[0]!)!.key);
  assert.ok(agree(savp(LINE), local).remote.srtp);
  assert.equal(refusal(acceptOffer(sdp("m=audio 4000 RTP/AVP 0"), local)), "plain RTP in a dialog that is encrypted");
  assert.equal(createOffer(local), local.previous);
  const { srtp: _srtp, ...left } = local;
  assert.equal(agree(sdp("m=audio 4000 RTP/AVP 0"), left).remote.srtp, undefined);
  assert.deepEqual([linesOf(createOffer(left), "a=crypto"), linesOf(createOffer(left), "m=")], [[], ["m=audio 20002 RTP/AVP 0 8 101"]]);
});

for (const [what, answer] of [
  ["is plain", sdp("m=audio 4000 RTP/AVP 0")],
  ["has no key", savp()],
  ["names a line that was not offered", savp(LINE.replace(":1 ", ":7 "))],
  ["takes another suite for the line", savp(LINE.replace(":1 ", ":2 "))],
] as const) {
  test(`an answer to an encrypted offer that ${what} is refused (RFC 4568 section 5.1.3)`, () => {
    assert.equal(readAnswer(answer, createOffer(TLS)).kind, "refused");
  });
}
