import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeAlaw, decodeUlaw, encodeAlaw, encodeUlaw } from "#src/kernel/g711.ts";
import type { DtmfDigit } from "./telephone-event.ts";
import { ToneReceiver, toneOf } from "./tones.ts";

const DIGITS: DtmfDigit[] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
const MS = 8;

/** A generator with a seed: the same noise in every run. */
function noise(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

function silence(ms: number): Int16Array {
  return new Int16Array(ms * MS);
}

function mix(ms: number, tones: { hertz: number; amplitude: number }[]): Int16Array {
  return Int16Array.from({ length: ms * MS }, (_, at) =>
    tones.reduce((sum, { hertz, amplitude }) => sum + amplitude * Math.sin((2 * Math.PI * hertz * at) / 8000), 0),
  );
}

function digitsIn(...pieces: Int16Array[]): DtmfDigit[] {
  const receiver = new ToneReceiver();
  const digits: DtmfDigit[] = [];
  for (const piece of pieces) {
    // Frames of 20 ms, as they come from the network.
    for (let at = 0; at < piece.length; at += 160) receiver.receive(piece.subarray(at, at + 160), (digit) => digits.push(digit));
  }
  return digits;
}

test("each digit's tones are heard once, through both laws (R-227)", () => {
  for (const [encode, decode] of [
    [encodeUlaw, decodeUlaw],
    [encodeAlaw, decodeAlaw],
  ] as const) {
    for (const digit of DIGITS) assert.deepEqual(digitsIn(silence(40), decode(encode(toneOf(digit, 100 * MS))), silence(60)), [digit]);
  }
});

test("40 ms of tone with pauses of 40 ms are enough, wherever they fall between the blocks (ITU-T Q.24)", () => {
  for (let shift = 0; shift < 13; shift++) {
    assert.deepEqual(digitsIn(silence(shift), ...DIGITS.flatMap((digit) => [toneOf(digit, 40 * MS), silence(40)])), DIGITS);
  }
});

test("20 ms of tone are not a digit (ITU-T Q.24)", () => {
  for (let shift = 0; shift < 13; shift++) assert.deepEqual(digitsIn(silence(shift), toneOf(5, 20 * MS), silence(60)), []);
});

test("a dropout of 10 ms does not make two digits of one (ITU-T Q.24)", () => {
  for (let shift = 0; shift < 13; shift++)
    assert.deepEqual(digitsIn(silence(shift), toneOf(5, 50 * MS), silence(10), toneOf(5, 50 * MS), silence(40)), [5]);
});

test("frequencies 1.5 % off are accepted (ITU-T Q.24)", () => {
  for (const off of [0.985, 1.015]) {
    const tones = [697, 1209].map((hertz) => ({ hertz: hertz * off, amplitude: 5_000 }));
    assert.deepEqual(digitsIn(mix(60, tones), silence(40)), [1]);
    const highest = [941, 1477].map((hertz) => ({ hertz: hertz * off, amplitude: 5_000 }));
    assert.deepEqual(digitsIn(mix(60, highest), silence(40)), [11]);
  }
});

for (const [highOverLowDb, accepted] of [
  [0, true],
  [3, true],
  [-7, true],
  [6, false],
  [-11, false],
] as const) {
  test(`the high tone ${highOverLowDb} dB above the low one is ${accepted ? "a digit" : "no digit"} (ITU-T Q.24 twist)`, () => {
    const low = { hertz: 770, amplitude: 4_000 };
    const high = { hertz: 1336, amplitude: 4_000 * 10 ** (highOverLowDb / 20) };
    assert.deepEqual(digitsIn(mix(80, [low, high]), silence(40)), accepted ? [5] : []);
  });
}

test("single tones, dial tone and silence are no digits", () => {
  for (const hertz of [350, 440, 697, 941, 1209, 1477]) assert.deepEqual(digitsIn(mix(300, [{ hertz, amplitude: 8_000 }])), []);
  assert.deepEqual(
    digitsIn(
      mix(300, [
        { hertz: 350, amplitude: 6_000 },
        { hertz: 440, amplitude: 6_000 },
      ]),
    ),
    [],
  );
  assert.deepEqual(digitsIn(silence(300)), []);
});

test("30 s of speech-like sound give no digit: voiced harmonics gliding through the formants, and hiss", () => {
  const random = noise(7);
  const samples = new Int16Array(30_000 * MS);
  let phase = 0;
  let pitch = 120;
  for (let at = 0; at < samples.length; at++) {
    if (at % 800 === 0) pitch = 90 + 130 * Math.abs(random());
    phase += (2 * Math.PI * pitch) / 8000;
    const syllable = Math.max(0, Math.sin((2 * Math.PI * 4 * at) / 8000));
    const formants = [300 + 400 * Math.abs(Math.sin(at / 9_000)), 900 + 900 * Math.abs(Math.sin(at / 7_000))];
    let sample = 0;
    for (let harmonic = 1; harmonic * pitch < 3_400; harmonic++) {
      const hertz = harmonic * pitch;
      const gain = formants.reduce((sum, formant) => sum + 1 / (1 + ((hertz - formant) / 90) ** 2), 0.02);
      sample += gain * Math.sin(harmonic * phase);
    }
    samples[at] = syllable * 5_000 * sample + 300 * random();
  }
  assert.deepEqual(digitsIn(samples), []);
});

test("digits stand out of noise 15 dB below them", () => {
  const random = noise(3);
  const noisy = (piece: Int16Array) => piece.map((sample) => sample + 1_400 * random());
  assert.deepEqual(digitsIn(...DIGITS.flatMap((digit) => [noisy(toneOf(digit, 80 * MS)), noisy(silence(80))])), DIGITS);
});
