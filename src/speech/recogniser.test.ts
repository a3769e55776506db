import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { setImmediate } from "node:timers/promises";
import test, { type TestContext } from "node:test";
import { type Listener, type Recogniser, type RecogniserOptions, createRecogniser } from "./recogniser.ts";
import { framesOf, utteranceOf } from "./testing.ts";

async function pool(context: TestContext, ready: number, options: Partial<RecogniserOptions> = {}): Promise<Recogniser> {
  const recogniser = createRecogniser({ ready, max: ready, ...options });
  context.after(() => recogniser.stop());
  await recogniser.expectSpeech();
  return recogniser;
}

async function acquire(recogniser: Recogniser): Promise<Listener> {
  const listener = await recogniser.acquire();
  assert.ok(listener);
  return listener;
}

/** Sends an utterance the way the media engine does and answers what came of it. */
async function say(listener: Listener, spoken: string | ReturnType<typeof framesOf>): Promise<unknown> {
  const frames = typeof spoken === "string" ? framesOf(utteranceOf(spoken, { afterMs: 0 })) : spoken;
  const results = new EventEmitter();
  listener.onResult = (result) => results.emit("result", result);
  const heard = once(results, "result");
  while (frames.length > 0) listener.port.postMessage(frames.splice(0, 3));
  return (await heard)[0];
}

test("a listener hears the audio of its port, and a stream that stands still has ended", async (context) => {
  const listener = await acquire(await pool(context, 1));
  listener.listenFor({ id: 1, what: "zip", have: 0, lengths: null, testWord: false });
  assert.deepEqual(await say(listener, "nine four one oh five"), {
    kind: "digits",
    digits: Uint8Array.of(9, 4, 1, 0, 5),
    final: true,
    certain: true,
  });
  listener.listenFor({ id: 1, what: "yes_no", have: 0, lengths: null, testWord: false });
  assert.deepEqual(await say(listener, "yes that's right"), { kind: "yes" });
});

test("what is said while a pause before it is decoded is heard, each frame once and in its order", async (context) => {
  const listener = await acquire(await pool(context, 1));
  listener.listenFor({ id: 1, what: "number", have: 0, lengths: null, testWord: false });
  const begun = framesOf(utteranceOf("four two four two, four two four two, four two four two, four two"));
  const rest = framesOf(utteranceOf("four two"));
  const isSpeech = ({ speech }: { speech: boolean }) => speech;
  const frames = [...begun.slice(0, begun.findLastIndex(isSpeech) + 12), ...rest.slice(rest.findIndex(isSpeech))];
  assert.deepEqual(await say(listener, frames), {
    kind: "digits",
    digits: Uint8Array.from("4242424242424242", Number),
    final: true,
    certain: true,
  });
});

test("when all workers that may run are busy the answer is null, and somebody is told", async (context) => {
  let busy = 0;
  const recogniser = await pool(context, 1, { onBusy: () => busy++ });
  await acquire(recogniser);
  assert.equal(busy, 0);
  assert.equal(await recogniser.acquire(), null);
  assert.equal(busy, 1);
});

test("more may run than are kept ready: a caller waits for a new worker, up to the most", async (context) => {
  const recogniser = await pool(context, 0, { max: 2 });
  assert.deepEqual(recogniser.counts, { ready: 0, running: 0 });
  const [first, second, third] = await Promise.all([recogniser.acquire(), recogniser.acquire(), recogniser.acquire()]);
  assert.ok(first && second);
  assert.notEqual(first.port, second.port);
  assert.equal(third, null);
  assert.deepEqual(recogniser.counts, { ready: 0, running: 2 });
});

test("ending a listener ends its worker, and another takes its place", async (context) => {
  const recogniser = await pool(context, 1);
  const listener = await acquire(recogniser);
  const closed = once(listener.port, "close");
  listener.onLost = () => assert.fail("a worker that was stopped is not lost");
  await listener.stop();
  await closed;
  let next = await recogniser.acquire();
  while (!next) {
    await setImmediate();
    next = await recogniser.acquire();
  }
  assert.notEqual(next.port, listener.port);
});

test("no worker waits before a call has begun, nor when none has begun for five minutes", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const recogniser = createRecogniser({ ready: 1, max: 2, onDied: () => assert.fail("a worker that is not needed has not died") });
  context.after(() => recogniser.stop());
  assert.deepEqual(recogniser.counts, { ready: 0, running: 0 });
  await recogniser.expectSpeech();
  assert.deepEqual(recogniser.counts, { ready: 1, running: 1 });
  context.mock.timers.tick(200_000);
  await recogniser.expectSpeech();
  context.mock.timers.tick(200_000);
  assert.deepEqual(recogniser.counts, { ready: 1, running: 1 });
  context.mock.timers.tick(100_000);
  while (recogniser.counts.running > 0) await setImmediate();
  assert.equal(recogniser.counts.ready, 0);
  // A caller who speaks all the same is heard.
  await acquire(recogniser);
});

test("nothing is left running after stop", async () => {
  const recogniser = createRecogniser({ ready: 2, max: 2 });
  await recogniser.expectSpeech();
  const listener = await acquire(recogniser);
  const closed = once(listener.port, "close");
  await recogniser.stop();
  await closed;
  assert.equal(await recogniser.acquire(), null);
});

test("a worker that dies under a call is reported as lost, and another takes its place", async (context) => {
  let died = 0;
  const recogniser = await pool(context, 1, { max: 3, onDied: () => died++ });
  const [listener, other] = [await acquire(recogniser), await acquire(recogniser)];
  let othersLost = 0;
  other.onLost = () => othersLost++;
  const lost = new Promise<void>((resolve) => (listener.onLost = resolve));
  // An array is what the worker expects; anything else is a fault there.
  listener.port.postMessage(null);
  await lost;
  assert.equal(died, 1);
  const next = await acquire(recogniser);
  assert.notEqual(next.port, listener.port);
  await Promise.all([other.stop(), next.stop()]);
  assert.deepEqual([died, othersLost], [1, 0]);
});

test("a worker that died no longer counts among those that may run", async (context) => {
  const recogniser = await pool(context, 0, { max: 1 });
  const listener = await acquire(recogniser);
  const lost = new Promise<void>((resolve) => (listener.onLost = resolve));
  listener.port.postMessage(null);
  await lost;
  assert.deepEqual(recogniser.counts, { ready: 0, running: 0 });
  await acquire(recogniser);
});
