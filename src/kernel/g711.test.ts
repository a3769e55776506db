import assert from "node:assert/strict";
import { test } from "node:test";
import { ALAW_SILENCE, ULAW_SILENCE, alawToUlaw, decodeAlaw, decodeUlaw, encodeAlaw, encodeUlaw, ulawToAlaw } from "./g711.ts";

const CODES = Uint8Array.from({ length: 256 }, (_, code) => code);

/** Decoder outputs of ITU-T G.711 tables 1 and 2, in 16-bit samples (13-bit A-law x 8, 14-bit mu-law x 4). */
test("codes decode to the values of the ITU tables", () => {
  const ulaw = { 0x80: 32_124, 0x8f: 16_764, 0x90: 15_996, 0xbf: 1_980, 0xef: 132, 0xf0: 120, 0xfe: 8, 0xff: 0, 0x7e: -8, 0x00: -32_124 };
  assert.deepEqual([...decodeUlaw(Uint8Array.from(Object.keys(ulaw), Number))], Object.values(ulaw));
  const alaw = { 0xaa: 32_256, 0xa5: 16_896, 0xba: 16_128, 0xd5: 8, 0xd4: 24, 0xc5: 264, 0x55: -8, 0x54: -24, 0x2a: -32_256 };
  assert.deepEqual([...decodeAlaw(Uint8Array.from(Object.keys(alaw), Number))], Object.values(alaw));
});

test("every code survives decoding and encoding; mu-law's two zeros become one", () => {
  assert.deepEqual([...encodeAlaw(decodeAlaw(CODES))], [...CODES]);
  assert.deepEqual(
    [...encodeUlaw(decodeUlaw(CODES))],
    [...CODES].map((code) => (code === 0x7f ? 0xff : code)),
  );
});

test("every 16-bit sample is encoded to the nearest level there is", () => {
  const samples = Int16Array.from({ length: 65_536 }, (_, index) => index - 32_768);
  for (const [encode, decode] of [
    [encodeUlaw, decodeUlaw],
    [encodeAlaw, decodeAlaw],
  ] as const) {
    const levels = [...new Set(decode(CODES))].sort((a, b) => a - b);
    const decoded = decode(encode(samples));
    let at = 0;
    for (const [index, sample] of samples.entries()) {
      while (at + 1 < levels.length && Math.abs((levels[at + 1] ?? 0) - sample) <= Math.abs((levels[at] ?? 0) - sample)) at++;
      assert.equal(Math.abs((decoded[index] ?? 0) - sample), Math.abs((levels[at] ?? 0) - sample));
    }
  }
});

test("silence is silence in both laws and on the way between them", () => {
  assert.equal(decodeUlaw(Uint8Array.of(ULAW_SILENCE))[0], 0);
  assert.equal(Math.abs(decodeAlaw(Uint8Array.of(ALAW_SILENCE))[0] ?? 99), 8);
  assert.deepEqual([...ulawToAlaw(Uint8Array.of(ULAW_SILENCE))], [ALAW_SILENCE]);
  assert.equal(Math.abs(decodeUlaw(alawToUlaw(Uint8Array.of(ALAW_SILENCE)))[0] ?? 99), 8);
});

test("converting one law to the other costs no more than half a step of the coarser one", () => {
  const difference = (a: Int16Array, b: Int16Array) => a.map((sample, index) => Math.abs(sample - (b[index] ?? 0)));
  const toAlaw = difference(decodeAlaw(ulawToAlaw(CODES)), decodeUlaw(CODES));
  const toUlaw = difference(decodeUlaw(alawToUlaw(CODES)), decodeAlaw(CODES));
  for (const [index, sample] of decodeUlaw(CODES).entries()) assert.ok((toAlaw[index] ?? 0) <= Math.max(8, Math.abs(sample) / 31));
  for (const [index, sample] of decodeAlaw(CODES).entries()) assert.ok((toUlaw[index] ?? 0) <= Math.max(8, Math.abs(sample) / 31));
});
