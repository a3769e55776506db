import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { VoiceActivity } from "./voice-activity.ts";
import { loadVoiceActivity } from "./voice-activity.ts";

const FRAME = 160;
let create: () => VoiceActivity;

before(async () => {
  create = await loadVoiceActivity();
});

function noise(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

/** A voice-like sound: harmonics of a gliding pitch under two formants, in syllables of 125 ms. */
function voiced(at: number): number {
  const pitch = 120 + 30 * Math.sin(at / 3_000);
  let sample = 0;
  for (let harmonic = 1; harmonic < 20; harmonic++) {
    const hertz = harmonic * pitch;
    const gain = 1 / (1 + ((hertz - 500) / 150) ** 2) + 0.5 / (1 + ((hertz - 1_500) / 200) ** 2);
    sample += gain * Math.sin((2 * Math.PI * hertz * at) / 8_000);
  }
  return sample * (0.6 + 0.4 * Math.sin((2 * Math.PI * 4 * at) / 8_000));
}

/** The share of `frames` frames of `sound` that are taken for speech. */
function share(activity: VoiceActivity, frames: number, sound: (at: number) => number): number {
  let speech = 0;
  for (let frame = 0; frame < frames; frame++) {
    if (activity.isSpeech(Int16Array.from({ length: FRAME }, (_, at) => sound(frame * FRAME + at)))) speech++;
  }
  return speech / frames;
}

test("silence and line noise are no speech, a voice above them is", () => {
  const activity = create();
  const random = noise(5);
  assert.equal(
    share(activity, 50, () => 0),
    0,
  );
  assert.ok(share(activity, 100, () => 60 * random()) < 0.02);
  assert.ok(share(activity, 50, (at) => 3_000 * voiced(at) + 60 * random()) > 0.8);
  activity.free();
});

test("steady babble is speech to the detector at first, and background once the floor has risen", () => {
  const activity = create();
  const random = noise(9);
  const babble = (at: number) => 400 * voiced(at) + 400 * voiced(at * 1.3) + 200 * random();
  share(activity, 1_500, babble);
  assert.ok(share(activity, 200, babble) < 0.3);
  assert.ok(share(activity, 50, (at) => 6_000 * voiced(at) + babble(at)) > 0.6);
  activity.free();
});

test("detectors do not disturb each other", () => {
  const [a, b] = [create(), create()];
  const loud = (at: number) => 3_000 * voiced(at);
  share(a, 20, loud);
  assert.equal(
    share(b, 20, () => 0),
    0,
  );
  assert.ok(share(a, 20, loud) > 0.8);
  a.free();
  b.free();
});
