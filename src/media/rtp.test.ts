import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { isRtcp, readRtp, sequenceDelta, timestampDelta, writeRtp } from "./rtp.ts";

/** V=2, marker, type 101, sequence 0xfffe, timestamp 0x89abcdef, SSRC 0xdeadbeef. */
const HEADER = [0x80, 0xe5, 0xff, 0xfe, 0x89, 0xab, 0xcd, 0xef, 0xde, 0xad, 0xbe, 0xef];
const FIELDS = { marker: true, payloadType: 101, sequence: 0xfffe, timestamp: 0x89abcdef, ssrc: 0xdeadbeef };

function payloadOf(bytes: number[]): number[] | null {
  const packet = readRtp(Uint8Array.from(bytes));
  return packet && [...packet.payload];
}

function withFirst(first: number, ...rest: number[]): number[] {
  return [first, ...HEADER.slice(1), ...rest];
}

test("a packet is written byte for byte as RFC 3550 section 5.1 draws it, and read back", () => {
  const payload = Uint8Array.of(1, 2, 3);
  const datagram = writeRtp({ ...FIELDS, payload });
  assert.deepEqual([...datagram], [...HEADER, 1, 2, 3]);
  assert.deepEqual({ ...readRtp(datagram), payload: null }, { ...FIELDS, payload: null });
});

for (const [name, bytes, expected] of [
  ["no payload", HEADER, []],
  ["two CSRCs", withFirst(0x82, 9, 9, 9, 9, 8, 8, 8, 8, 1, 2), [1, 2]],
  ["an extension", withFirst(0x90, 0xbe, 0xde, 0, 1, 7, 7, 7, 7, 1, 2), [1, 2]],
  ["an empty extension", withFirst(0x90, 0xbe, 0xde, 0, 0, 1), [1]],
  ["padding", withFirst(0xa0, 1, 2, 0, 0, 3), [1, 2]],
  ["padding only", withFirst(0xa0, 0, 2), []],
  ["CSRC, extension and padding", withFirst(0xb1, 9, 9, 9, 9, 0, 0, 0, 1, 7, 7, 7, 7, 1, 1), [1]],
  ["eleven bytes", HEADER.slice(0, 11), null],
  ["version 1", withFirst(0x40, 1), null],
  ["a cut CSRC list", withFirst(0x82, 9, 9, 9, 9), null],
  ["a cut extension header", withFirst(0x90, 0xbe, 0xde), null],
  ["an extension longer than the packet", withFirst(0x90, 0xbe, 0xde, 0xff, 0xff, 1), null],
  ["padding of 0", withFirst(0xa0, 1, 0), null],
  ["padding longer than the payload", withFirst(0xa0, 1, 3), null],
] as [string, number[], number[] | null][]) {
  test(`a datagram with ${name} is read as ${expected ? `payload [${expected.join()}]` : "no packet"}`, () => {
    assert.deepEqual(payloadOf(bytes), expected);
  });
}

test("no datagram makes the reader throw or look outside it", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (datagram) => {
      const packet = readRtp(datagram);
      if (!packet) return;
      assert.ok(packet.payload.byteOffset + packet.payload.length <= datagram.byteOffset + datagram.length);
      assert.ok(packet.payload.byteOffset >= datagram.byteOffset + 12);
    }),
  );
});

test("RTCP is told from RTP by its packet type (RFC 5761)", () => {
  const rtcp = (type: number) => isRtcp(Uint8Array.of(0x80, type, 0, 1, 0, 0, 0, 1));
  assert.deepEqual([200, 201, 202, 203, 204].map(rtcp), [true, true, true, true, true]);
  assert.equal(rtcp(0x80 | 101), false);
  assert.equal(isRtcp(Uint8Array.from(HEADER)), false);
});

test("sequence numbers and timestamps are compared across the wrap-around", () => {
  assert.equal(sequenceDelta(2, 0xfffe), 4);
  assert.equal(sequenceDelta(0xfffe, 2), -4);
  assert.equal(timestampDelta(160, 0xffffff60), 320);
  assert.equal(timestampDelta(0xffffff60, 160), -320);
});
