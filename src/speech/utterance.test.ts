import assert from "node:assert/strict";
import test from "node:test";
import { type EndpointingEvent, Utterance } from "./utterance.ts";

const LOUD = new Uint8Array(160).fill(0x80);
const QUIET = new Uint8Array(160).fill(0xfe);

/** Feeds `ms` of speech or silence and answers the events, each with its time since the first frame of this stretch. */
function feed(utterance: Utterance, speech: boolean, ms: number): [EndpointingEvent, number][] {
  const events: [EndpointingEvent, number][] = [];
  for (let at = 20; at <= ms; at += 20) {
    const event = utterance.push({ frame: speech ? LOUD : QUIET, speech });
    if (event) events.push([event, at]);
  }
  return events;
}

test("an utterance begins after 60 ms of speech and keeps 300 ms from before", () => {
  const utterance = new Utterance();
  feed(utterance, false, 1_000);
  assert.deepEqual(feed(utterance, true, 400), [["begin", 60]]);
  assert.equal(utterance.durationMs, 400 + 300 - 60);
  assert.equal(utterance.samples().length, 640 * 8);
});

test("silence is a pause at 200 ms, completes an answer at 360 ms, is a rest at 500 ms, the end at 900 ms, and no more to wait for at 2 s", () => {
  const utterance = new Utterance();
  feed(utterance, true, 400);
  assert.deepEqual(feed(utterance, false, 2_000), [
    ["pause", 200],
    ["complete", 360],
    ["rest", 500],
    ["end", 900],
    ["timeout", 2_000],
  ]);
});

test("a speaker who goes on within 900 ms has one utterance", () => {
  const utterance = new Utterance();
  feed(utterance, true, 400);
  feed(utterance, false, 880);
  assert.deepEqual(feed(utterance, true, 400), []);
  assert.equal(feed(utterance, false, 900).at(-1)?.[0], "end");
});

test("a click is no utterance", () => {
  const utterance = new Utterance();
  assert.deepEqual(
    [...feed(utterance, true, 80), ...feed(utterance, false, 300)],
    [
      ["begin", 60],
      ["noise", 200],
    ],
  );
});

test("speech without an end is cut at 20 s", () => {
  const utterance = new Utterance();
  assert.deepEqual(feed(utterance, true, 20_000), [
    ["begin", 60],
    ["timeout", 20_000],
  ]);
});

test("the signal-to-noise ratio compares speech with the silence around it", () => {
  const clean = new Utterance();
  feed(clean, false, 1_000);
  feed(clean, true, 400);
  assert.ok(clean.signalToNoiseDb > 40);
  const noisy = new Utterance();
  for (let frame = 0; frame < 50; frame++) noisy.push({ frame: LOUD, speech: false });
  feed(noisy, true, 400);
  assert.ok(noisy.signalToNoiseDb < 3);
});

test("for decoding, long pauses are cut to 600 ms, and the silence at the end to 300 ms", () => {
  const utterance = new Utterance();
  feed(utterance, false, 1_000);
  feed(utterance, true, 400);
  feed(utterance, false, 1_500);
  feed(utterance, true, 400);
  feed(utterance, false, 900);
  assert.equal(utterance.compact().length / 8, 240 + 400 + 600 + 400 + 300);
});
