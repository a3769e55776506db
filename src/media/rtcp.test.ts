import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { readRtcp, writeRtcp } from "./rtcp.ts";

const OURS = 0x0102_0304;
const BLOCK = { ssrc: OURS, fractionLost: 64, lost: -2, highestSequence: 0x1_ffff, jitter: 80, lastReport: 0x5566_7788, delay: 0x1_8000 };
const SENDER = { ntpSeconds: 0xaabb_ccdd, ntpFraction: 0x1122_3344, timestamp: 160, packets: 2, octets: 320 };
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

test("a sender report goes out with its block, its CNAME and a BYE, to the letter (RFC 3550 section 6)", () => {
  const compound = writeRtcp({ ssrc: 0x0a0b_0c0d, cname: "abcdef", sender: SENDER, block: BLOCK, isLeaving: true });
  assert.equal(
    hex(compound),
    [
      "81c8000c0a0b0c0daabbccdd11223344000000a00000000200000140",
      "0102030440fffffe0001ffff000000505566778800018000",
      // "abcdef" and its two octets of head fill two words: a third one ends the list.
      "81ca00040a0b0c0d010661626364656600000000",
      "81cb00010a0b0c0d",
    ].join(""),
  );
});

test("whoever sent nothing sends a receiver report, without a block before anything came", () => {
  assert.equal(hex(writeRtcp({ ssrc: 1, cname: "a" })), "80c900010000000181ca00020000000101016100");
});

test("what was written is read again: sender, the block about us, who leaves", () => {
  const compound = writeRtcp({ ssrc: 9, cname: "abc", sender: SENDER, block: BLOCK, isLeaving: true });
  assert.deepEqual(readRtcp(compound, OURS), { sender: { ssrc: 9, ntpMiddle: 0xccdd_1122 }, block: BLOCK, leaving: [9] });
  assert.equal(readRtcp(compound, OURS + 1)?.block, null);
});

test("padding may stand at the very end alone, and types that we do not know are passed over (RFC 3550 A.2)", () => {
  const report = writeRtcp({ ssrc: 9, cname: "abc", block: BLOCK });
  const feedback = Uint8Array.of(0xa1, 206, 0, 3, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 4);
  assert.deepEqual(readRtcp(Buffer.concat([report, feedback]), OURS)?.block, BLOCK);
  assert.equal(readRtcp(Buffer.concat([feedback, report]), OURS), null);
});

test("a compound with one broken part is no compound", () => {
  const good = [...writeRtcp({ ssrc: 9, cname: "abc", block: BLOCK, isLeaving: true })];
  for (let length = 0; length < good.length; length++) {
    const isWhole = length === 32 || length === 48;
    assert.equal(readRtcp(Uint8Array.from(good.slice(0, length)), OURS) !== null, isWhole, String(length));
  }
  const changed = (at: number, value: number) => readRtcp(Uint8Array.from(good.with(at, value)), OURS);
  assert.equal(changed(0, 0x41), null);
  assert.equal(changed(0, 0x82), null);
  assert.equal(changed(3, 0xff), null);
  assert.equal(changed(48, 0x9f), null);
});

test("no octets make the reader throw, or read beyond them", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), fc.integer({ min: 200, max: 207 }), (octets, type) => {
      octets[0] = 0x80 | ((octets[0] ?? 0) & 0x3f);
      octets[1] = type;
      const rtcp = readRtcp(octets, OURS);
      assert.ok(rtcp === null || rtcp.leaving.length <= octets.length / 4);
    }),
    { numRuns: 2_000 },
  );
});
