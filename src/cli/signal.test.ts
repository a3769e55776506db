import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { untilFirstSignal } from "./signal.ts";

/** Sends the signals at their times; answers after which of them a second one was seen. */
async function seconds(...sent: [signal: NodeJS.Signals, atMs: number][]): Promise<string[]> {
  const [source, seen] = [new EventEmitter(), [] as string[]];
  let [now, last] = [0, ""];
  const first = untilFirstSignal(
    () => seen.push(last),
    source,
    () => now,
  );
  for (const [signal, at] of sent) {
    [now, last] = [at, `${signal} at ${at}`];
    source.emit(signal);
  }
  await first;
  return seen;
}

test("a signal that npm sends on, or a supervisor sends to every process, is one signal (R-292)", async () => {
  assert.deepEqual(await seconds(["SIGINT", 1000], ["SIGINT", 1004]), []);
  assert.deepEqual(await seconds(["SIGTERM", 1000], ["SIGTERM", 1500]), []);
  assert.deepEqual(await seconds(["SIGHUP", 1000], ["SIGHUP", 1001]), []);
});

test("the same signal later, or another one at any time, is the second (R-292)", async () => {
  assert.deepEqual(await seconds(["SIGTERM", 1000], ["SIGTERM", 1001], ["SIGTERM", 1501]), ["SIGTERM at 1501"]);
  assert.deepEqual(await seconds(["SIGTERM", 1000], ["SIGINT", 1001]), ["SIGINT at 1001"]);
});
