import assert from "node:assert/strict";
import { on, once } from "node:events";
import { test } from "node:test";
import type { MessagePort } from "node:worker_threads";
import { MessageChannel } from "node:worker_threads";
import type { AudioFrame } from "#src/kernel/g711.ts";
import { Listener } from "./listener.ts";

/** Codes at and over this one are speech to the detector of these tests. */
const SPEECH = 0x80;

function rig() {
  let starts = 0;
  let freed = 0;
  const listener = new Listener(
    () => ({ isSpeech: (samples) => (samples[0] ?? 0) > 0, free: () => freed++ }),
    () => starts++,
  );
  const hear = (...codes: number[]) => {
    for (const code of codes) listener.hear(new Uint8Array(160).fill(code));
  };
  return { listener, hear, starts: () => starts, freed: () => freed };
}

async function until(port: MessagePort, count: number): Promise<AudioFrame[]> {
  const frames: AudioFrame[] = [];
  for await (const [batch] of on(port, "message") as AsyncIterable<[AudioFrame[]]>) {
    frames.push(...batch);
    if (frames.length >= count) return frames;
  }
  return frames;
}

test("the last second before the listener came is streamed first, in order, then what follows", async () => {
  const { listener, hear } = rig();
  hear(...Array.from({ length: 70 }, (_, index) => index));
  const { port1, port2 } = new MessageChannel();
  listener.start(port2);
  hear(SPEECH, SPEECH, SPEECH);
  const frames = await until(port1, 53);
  assert.deepEqual(
    frames.map(({ frame }) => frame[0]),
    [...Array.from({ length: 50 }, (_, index) => index + 20), SPEECH, SPEECH, SPEECH],
  );
  assert.deepEqual(
    frames.slice(-3).map(({ speech }) => speech),
    [true, true, true],
  );
  listener.clear();
});

test("what was heard for one listener is not the pre-roll of the next", async () => {
  const { listener, hear, freed } = rig();
  const first = new MessageChannel();
  listener.start(first.port2);
  hear(1, 2, 3, 4);
  const closed = once(first.port1, "close");
  const frames = until(first.port1, 4);
  listener.stop();
  assert.equal((await frames).length, 4);
  await closed;
  assert.equal(freed(), 1);
  hear(5, 6);
  const second = new MessageChannel();
  listener.start(second.port2);
  assert.deepEqual(
    (await until(second.port1, 2)).map(({ frame }) => frame[0]),
    [5, 6],
  );
  listener.clear();
});

test("200 ms of speech are a barge-in, once for each utterance; shorter sounds are none", () => {
  const { listener, hear, starts } = rig();
  const frames = (count: number, code: number) => hear(...Array<number>(count).fill(code));
  frames(20, SPEECH);
  assert.equal(starts(), 0, "nobody watches");
  listener.watch(true);
  frames(9, SPEECH);
  frames(9, 0);
  assert.equal(starts(), 0);
  frames(6, SPEECH);
  frames(1, 0);
  frames(5, SPEECH);
  assert.equal(starts(), 1);
  frames(50, SPEECH);
  frames(5, 0);
  frames(20, SPEECH);
  assert.equal(starts(), 1);
  frames(20, 0);
  frames(10, SPEECH);
  assert.equal(starts(), 2);
  listener.watch(false);
  frames(40, 0);
  frames(40, SPEECH);
  assert.equal(starts(), 2);
  listener.clear();
});

test("what was watched before the listener came keeps its marks, and one detector serves both", async () => {
  const { listener, hear, freed } = rig();
  hear(SPEECH);
  listener.watch(true);
  hear(0, SPEECH, SPEECH);
  const { port1, port2 } = new MessageChannel();
  listener.start(port2);
  hear(0, SPEECH);
  const frames = await until(port1, 4);
  assert.deepEqual(
    frames.map(({ speech }) => speech),
    [true, false, true, true],
  );
  listener.stop();
  assert.equal(freed(), 0);
  listener.watch(false);
  assert.equal(freed(), 1);
});

test("a listener that goes away by itself stops the stream", async () => {
  const { listener, hear, freed } = rig();
  const { port1, port2 } = new MessageChannel();
  listener.start(port2);
  const closed = once(port2, "close");
  port1.close();
  await closed;
  assert.equal(listener.isListening, false);
  assert.equal(freed(), 1);
  hear(1);
});

test("after clear nothing is left for a later listener (S-24)", () => {
  const { listener, hear } = rig();
  hear(1, 2, 3);
  listener.clear();
  const { port1, port2 } = new MessageChannel();
  let batches = 0;
  port1.on("message", () => batches++);
  listener.start(port2);
  listener.clear();
  return once(port1, "close").then(() => assert.equal(batches, 0));
});
