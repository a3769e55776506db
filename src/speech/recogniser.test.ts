import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { setImmediate } from "node:timers/promises";
import test, { type TestContext } from "node:test";
import { type Listener, type Recogniser, createRecogniser } from "./recogniser.ts";
import { framesOf, utteranceOf } from "./testing.ts";

async function pool(context: TestContext, size: number): Promise<Recogniser> {
  const recogniser = createRecogniser({ size });
  context.after(() => recogniser.stop());
  await recogniser.start();
  return recogniser;
}

async function acquire(recogniser: Recogniser): Promise<Listener> {
  const listener = await recogniser.acquire();
  assert.ok(listener);
  return listener;
}

/** Sends an utterance the way the media engine does and answers what came of it. */
async function say(listener: Listener, text: string): Promise<unknown> {
  const results = new EventEmitter();
  listener.onResult = (result) => results.emit("result", result);
  const heard = once(results, "result");
  const frames = framesOf(utteranceOf(text, { afterMs: 0 }));
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

test("when all workers are busy nobody is put off: the answer is null", async (context) => {
  const recogniser = await pool(context, 1);
  await acquire(recogniser);
  assert.equal(await recogniser.acquire(), null);
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

test("nothing is left running after stop", async () => {
  const recogniser = createRecogniser({ size: 2 });
  await recogniser.start();
  const listener = await acquire(recogniser);
  const closed = once(listener.port, "close");
  await recogniser.stop();
  await closed;
  assert.equal(await recogniser.acquire(), null);
});

test("a worker that dies under a call is reported as lost", async (context) => {
  const listener = await acquire(await pool(context, 1));
  const lost = new Promise<void>((resolve) => (listener.onLost = resolve));
  // An array is what the worker expects; anything else is a fault there.
  listener.port.postMessage(null);
  await lost;
});
