import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeUlaw } from "#src/kernel/g711.ts";
import { MAX_RECORDING_BYTES, readRecording } from "./recording.ts";
import { wavOf } from "./testing.ts";

const tone = (seconds: number, rate: number, peak = 3_000) =>
  Int16Array.from({ length: seconds * rate }, (_, at) => Math.round(peak * Math.sin((2 * Math.PI * 500 * at) / rate)));
const levelOf = (ulaw: Uint8Array) => Math.sqrt(decodeUlaw(ulaw).reduce((sum, sample) => sum + sample * sample, 0) / ulaw.length);

test("a recording becomes mu-law at 8 kHz, as loud as the voice, whatever its rate was", () => {
  for (const rate of [8_000, 16_000, 24_000, 44_100, 48_000]) {
    const ulaw = readRecording(wavOf(tone(0.5, rate), rate));
    assert.ok(Math.abs(ulaw.length - 4_000) < 300, `${rate}: ${ulaw.length}`);
    assert.ok(Math.abs(levelOf(ulaw) / 3_300 - 1) < 0.1, `${rate}: ${levelOf(ulaw)}`);
  }
});

test("a file that is too large, too long or silent is refused in a clause", () => {
  assert.throws(() => readRecording(new Uint8Array(MAX_RECORDING_BYTES + 1)), { message: "is larger than 12 MiB" });
  assert.throws(() => readRecording(wavOf(new Int16Array(61 * 8_000), 8_000)), { message: "is longer than 60 s" });
  assert.throws(() => readRecording(wavOf(new Int16Array(8_000), 8_000)), { message: "says nothing" });
});
