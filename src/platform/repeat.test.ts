import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { repeat } from "./repeat.ts";

test("a task is run now and again after each end, a failure is told and the next run comes all the same", async () => {
  const clock = new ManualClock();
  const failures: unknown[] = [];
  const runs: PromiseWithResolvers<void>[] = [];
  const task = () => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  };
  const settled = async () => {
    while (clock.pending === 0) await new Promise(setImmediate);
  };
  const end = repeat({ clock, everyMs: 1000, task, onFailure: (error) => failures.push(error) });
  assert.equal(runs.length, 1);
  clock.advance(5000);
  assert.equal(runs.length, 1, "a run begins when the one before has ended");
  const fault = new Error("away");
  runs[0]?.reject(fault);
  await settled();
  clock.advance(1000);
  assert.deepEqual([runs.length, failures], [2, [fault]]);
  runs[1]?.resolve();
  await settled();
  clock.advance(1000);
  assert.equal(runs.length, 3);

  let ended = false;
  const ending = end().then(() => (ended = true));
  await new Promise(setImmediate);
  assert.equal(ended, false, "the run under way is waited for");
  runs[2]?.resolve();
  await ending;
  clock.advance(10_000);
  assert.deepEqual([runs.length, clock.pending], [3, 0]);
});
