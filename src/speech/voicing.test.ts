import assert from "node:assert/strict";
import test from "node:test";
import { noise } from "../../test/answer-samples.ts";
import { type Speaking, busyTone, melody, onLine, ringbackTone, speechOf, tones } from "./testing.ts";
import { isVoice } from "./voicing.ts";

const heard = (sound: Float64Array) =>
  isVoice(Float32Array.from(onLine(sound, { beforeMs: 200, afterMs: 200 }), (sample) => sample / 32_768));

const SPEAKERS: readonly Speaking[] = [
  { voice: "slt" },
  { voice: "rms" },
  { voice: "awb", pitch: 1.2 },
  { voice: "kal16" },
  { voice: "kal", warp: 1.08 },
];

test("a voice is one, in every speaker's shortest words (R-441)", () => {
  for (const speaker of SPEAKERS)
    for (const text of ["yes", "no", "six", "cancel"]) assert.equal(heard(speechOf(text, speaker)), true, `${text} by ${speaker.voice}`);
});

for (const [what, sound] of [
  ["the busy tone", busyTone(3)],
  ["ringing", ringbackTone(1)],
  ["the dial tone", tones([{ hertz: [350, 440], onMs: 1_500 }])],
  ["a DTMF digit", tones([{ hertz: [770, 1336], onMs: 300 }])],
  ["a melody", melody([0, 4, 7, 12, 7, 4, 0], 300)],
  ["a melody of pure tones", melody([3, 5, 7, 8, 3, 5], 150, 1)],
  ["a hiss", noise(800, 0)],
  ["breath", noise(600, 0.6)],
  ["wind", noise(1_500, 0.9)],
  ["nothing", new Float64Array(8_000)],
] as const) {
  test(`${what} is no voice (R-441)`, () => {
    assert.equal(heard(sound), false);
  });
}
