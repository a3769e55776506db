import assert from "node:assert/strict";
import test from "node:test";
import { decodeUlaw, ULAW_SILENCE } from "#src/kernel/g711.ts";
import { announce } from "./announcement.ts";
import { MARGIN_MS } from "./telephone.ts";

const FRAME = 80;
const FULL_SCALE = 32_768;
const decibel = (amplitude: number) => 20 * Math.log10(amplitude / FULL_SCALE);

/** Short and long, quick and slow, with an amount, with pauses inside: what a call says most. */
const SENTENCES = [
  "This is the secure payment line.",
  "You're paying one thousand two hundred thirty four dollars and fifty six cents.",
  "Now the expiry date: month and year, two digits each.",
  "And your billing zip code.",
  "That card number doesn't have the right number of digits.",
  "One moment, please.",
];

/** Level of what is spoken, pauses left out, and the loudest sample; dBFS. */
function measure(ulaw: Uint8Array): { level: number; peak: number } {
  const samples = decodeUlaw(ulaw);
  let [energy, loud, peak] = [0, 0, 0];
  for (let at = 0; at + FRAME <= samples.length; at += FRAME) {
    const frame = samples.subarray(at, at + FRAME);
    const sum = frame.reduce((total, sample) => total + sample * sample, 0);
    peak = frame.reduce((most, sample) => Math.max(most, Math.abs(sample)), peak);
    if (decibel(Math.sqrt(sum / FRAME)) < -50) continue;
    energy += sum;
    loud += FRAME;
  }
  return { level: decibel(Math.sqrt(energy / loud)), peak: decibel(peak) };
}

test("every sentence is spoken at 150 to 170 words a minute, at -20 dBFS give or take 3, with no peak above -1", () => {
  for (const sentence of SENTENCES) {
    const ulaw = announce(sentence, "slt");
    const seconds = ulaw.length / 8000 - (2 * MARGIN_MS) / 1000;
    const pace = (sentence.split(" ").length / seconds) * 60;
    assert.ok(pace > 150 && pace < 172, `${pace.toFixed(0)} words a minute: ${sentence}`);
    const { level, peak } = measure(ulaw);
    assert.ok(Math.abs(level + 20) < 3, `${level.toFixed(1)} dBFS: ${sentence}`);
    assert.ok(peak < -1, `${peak.toFixed(1)} dBFS at most: ${sentence}`);
  }
});

test("two sentences are each spoken in one piece, a quarter of a second apart", () => {
  const [first = "", second = ""] = SENTENCES;
  const [one, other] = [announce(first, "slt"), announce(second, "slt")];
  const both = announce(`${first} ${second}`, "slt");
  const pause = both.subarray(one.length, both.length - other.length);
  assert.deepEqual([both.subarray(0, one.length), both.subarray(both.length - other.length)], [one, other]);
  assert.equal(
    pause.every((code) => code === ULAW_SILENCE),
    true,
  );
  assert.equal(pause.length / 8 + 2 * MARGIN_MS, 250);
});
