import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeUlaw } from "#src/kernel/g711.ts";
import { wavOf } from "./testing.ts";
import { readWav } from "./wav.ts";

const SAMPLES = Int16Array.from([0, 1_000, -1_000, 32_000]);

test("PCM and mu-law are read at their rate, two channels as one", () => {
  for (const rate of [8_000, 16_000, 24_000, 44_100, 48_000]) assert.deepEqual(readWav(wavOf(SAMPLES, rate)), { samples: SAMPLES, rate });
  assert.deepEqual([...readWav(wavOf(SAMPLES, 8_000, { channels: 2 })).samples], [500, 15_500]);
  const ulaw = readWav(wavOf(encodeUlaw(SAMPLES), 8_000)).samples;
  for (const [at, sample] of ulaw.entries()) assert.ok(Math.abs(sample - (SAMPLES[at] ?? 0)) <= 600, `${sample}`);
});

test("a length that was written before it was known means what is there", () => {
  const file = wavOf(SAMPLES, 24_000);
  file.writeUInt32LE(0xffffffff, 40);
  assert.deepEqual(readWav(file).samples, SAMPLES);
});

test("what is no such sound is refused in a clause", () => {
  const floats = wavOf(SAMPLES, 24_000);
  floats.writeUInt16LE(3, 20);
  const faults: [Uint8Array, RegExp][] = [
    [Buffer.from("OggS"), /^is neither a WAV nor a FLAC file$/],
    [wavOf(SAMPLES, 24_000).subarray(0, 30), /^is a WAV file with a broken head$/],
    [wavOf(SAMPLES, 24_000).subarray(0, 36), /^is a WAV file without audio$/],
    [floats, /^is neither 16-bit PCM nor mu-law$/],
    [wavOf(SAMPLES, 24_000, { channels: 6 }), /^has 6 channels, not one or two$/],
    [wavOf(SAMPLES, 96_000), /^has 96000 Hz, not 8000 to 48000$/],
  ];
  for (const [file, message] of faults) assert.throws(() => readWav(file), { message });
});
