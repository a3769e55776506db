import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeUlaw } from "#src/kernel/g711.ts";
import { ringingTone } from "./tones.ts";

/** Tone and pause by turns, ms; RMS of the first tone against full scale, dB. */
function heard(country: string, ms: number) {
  const parts = ringingTone(country, ms);
  const cadence = parts.map((part) => ("ulaw" in part ? part.ulaw.length / 8 : "silenceMs" in part ? part.silenceMs : Number.NaN));
  const [first] = parts;
  const samples = decodeUlaw(first && "ulaw" in first ? first.ulaw : new Uint8Array());
  const power = samples.reduce((sum, sample) => sum + (sample / 32_767) ** 2, 0) / samples.length;
  return { cadence, level: 10 * Math.log10(power), peak: Math.max(...samples.map(Math.abs)) };
}

test("a callback rings in the caller's ear as telephones do in the project's country, as loud as a voice", () => {
  assert.deepEqual(heard("US", 7_000).cadence, [2_000, 4_000, 2_000, 4_000]);
  assert.deepEqual(heard("GB", 3_000).cadence, [400, 200, 400, 2_000]);
  assert.deepEqual(heard("DE", 1).cadence, [1_000, 4_000]);
  assert.deepEqual(heard("JP", 1).cadence, heard("US", 1).cadence);
  for (const country of ["US", "GB", "DE", "FR"]) {
    const { level, peak } = heard(country, 1);
    assert.ok(Math.abs(level + 22) < 0.5, `${country}: ${level} dBFS`);
    assert.ok(peak < 10_000, `${country}: ${peak}`);
  }
});
