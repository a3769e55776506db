import assert from "node:assert/strict";
import test from "node:test";
import { noise } from "../../test/answer-samples.ts";
import { NoiseSuppression } from "./noise-suppression.ts";

const FRAME = 160;
const power = (samples: ArrayLike<number>) => Array.from(samples).reduce((sum, sample) => sum + sample * sample, 0) / samples.length;

/** `sound` frame by frame, without the first frame, which is that of before. */
function through(sound: Float64Array, isSpeech: (frame: number) => boolean, suppress = true): Float32Array[] {
  const suppression = new NoiseSuppression();
  return Array.from({ length: sound.length / FRAME }, (_, at) =>
    suppression.push(sound.subarray(at * FRAME, (at + 1) * FRAME), isSpeech(at), suppress),
  ).slice(1);
}

const hiss = noise(3_000, 0.5).map((sample) => sample / 10);
const tone = Float64Array.from(hiss, (_, at) => 6_000 * Math.sin(at * 0.7));

test("steady noise is taken out by more than 10 dB, and what stands above it stays", () => {
  const quiet = through(hiss, () => false).slice(50);
  const middle = hiss.subarray(50 * FRAME, hiss.length - FRAME);
  assert.ok(power(quiet.flatMap((frame) => [...frame])) < power(middle) / 10);
  const spoken = through(
    hiss.map((sample, at) => sample + (at > hiss.length / 2 ? (tone[at] ?? 0) : 0)),
    (frame) => frame > hiss.length / 2 / FRAME,
  ).slice(100);
  const ratio = power(spoken.flatMap((frame) => [...frame])) / (6_000 ** 2 / 2);
  assert.ok(ratio > 0.9 && ratio < 1.1);
});

test("a quiet line is left as it is, and so is a noisy one where that is asked for", () => {
  for (const [sound, suppress] of [
    [hiss.map((sample) => sample / 100), true],
    [hiss, false],
  ] as const)
    for (const [at, frame] of through(sound, () => false, suppress).entries())
      for (const [sample, value] of frame.entries()) assert.ok(Math.abs(value - (sound[at * FRAME + sample] ?? 0)) < 0.01);
});
