import assert from "node:assert/strict";
import test from "node:test";
import { decodeUlaw } from "#src/kernel/g711.ts";
import { toEightKilohertz, toTelephone } from "./telephone.ts";

const tone = (hertz: number, ms: number, peak: number, rate = 16_000) =>
  Int16Array.from({ length: (ms * rate) / 1000 }, (_, at) => Math.round(peak * Math.sin((2 * Math.PI * hertz * at) / rate)));
const level = (samples: ArrayLike<number>) =>
  Math.sqrt(Array.from(samples).reduce((sum, sample) => sum + sample * sample, 0) / samples.length);

for (const rate of [16_000, 22_050, 24_000, 44_100, 48_000])
  test(`from ${rate} Hz it keeps what a telephone carries, in its length, and drops what would come back as an alias`, () => {
    const at = (hertz: number) => toEightKilohertz(tone(hertz, 200, 10_000, rate), rate);
    assert.equal(at(1_000).length, 1_600);
    const inside = (samples: Float64Array) => level(samples.subarray(200, -200));
    const reference = 10_000 / Math.SQRT2;
    assert.ok(Math.abs(inside(at(1_000)) / reference - 1) < 0.02);
    assert.ok(inside(at(5_000)) / reference < 0.01);
  });

test("a prompt has no silence around it beyond a small margin, and one level whatever it was", () => {
  const silence = new Int16Array(16_000);
  const prompts = [2_000, 12_000].map((peak) => toTelephone(Int16Array.from([...silence, ...tone(500, 300, peak), ...silence])));
  for (const prompt of prompts) assert.ok(prompt.length >= 300 * 8 && prompt.length <= 450 * 8, String(prompt.length));
  const [quiet = 0, loud = 1] = prompts.map((prompt) => level(decodeUlaw(prompt)));
  assert.ok(Math.abs(quiet / loud - 1) < 0.1);
});

test("silence stays silence", () => {
  assert.ok(level(decodeUlaw(toTelephone(new Int16Array(8_000)))) < 10);
});
