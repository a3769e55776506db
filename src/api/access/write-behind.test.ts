import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import type { Count, RateCounter } from "./counter.ts";
import { memoryCounter } from "./memory-counter.ts";
import { writeBehind } from "./write-behind.ts";

/** A shared count whose answers are held back until they are let go, or fail. */
function sharedCount(clock: ManualClock) {
  const counter = memoryCounter(clock);
  const held: PromiseWithResolvers<void>[] = [];
  const shared: RateCounter = {
    async count(bucket, limit) {
      const answer = Promise.withResolvers<void>();
      held.push(answer);
      await answer.promise;
      return counter.count(bucket, limit);
    },
    sweep: () => {},
  };
  const next = async (end: (answer: PromiseWithResolvers<void>) => void) => {
    const asked = held.splice(0);
    for (const answer of asked) end(answer);
    await setImmediate();
    return asked.length;
  };
  return { shared, answerAll: () => next(({ resolve }) => resolve()), failAll: () => next(({ reject }) => reject(new Error("away"))) };
}

/** What was answered without waiting for the shared count; null while it is waited for. */
const atOnce = async (count: Count | Promise<Count>) => await Promise.race([count, setImmediate(null)]);

test("a request whose bucket had tokens to spare a moment ago does not wait for the shared count, which hears of it (R-063)", async () => {
  const clock = new ManualClock();
  const { shared, answerAll } = sharedCount(clock);
  const counter = writeBehind(shared, clock);
  const first = counter.count("busy", 1000);
  assert.equal(await atOnce(first), null);
  await answerAll();
  assert.equal((await first).used, 1);
  for (let used = 2; used <= 11; used++) assert.partialDeepStrictEqual(await atOnce(counter.count("busy", 1000)), { allowed: true, used });
  // A hundredth of the limit is under way: the next one waits.
  const next = counter.count("busy", 1000);
  assert.equal(await atOnce(next), null);
  clock.advance(10);
  assert.equal(await answerAll(), 11);
  assert.equal((await next).used, 12);
  assert.partialDeepStrictEqual(await atOnce(counter.count("busy", 1000)), { allowed: true, used: 13 });
});

test("of a limit under a hundred every request waits for the shared count (R-063)", async () => {
  const clock = new ManualClock();
  const { shared, answerAll } = sharedCount(clock);
  const counter = writeBehind(shared, clock);
  for (let used = 1; used <= 3; used++) {
    const count = counter.count("low", 99);
    assert.equal(await atOnce(count), null);
    await answerAll();
    assert.equal((await count).used, used);
  }
});

test("what was heard a second ago, or could not be counted, is not believed any more (R-063)", async () => {
  const clock = new ManualClock();
  const { shared, answerAll, failAll } = sharedCount(clock);
  const counter = writeBehind(shared, clock);
  for (let second = 0; second < 2; second++) {
    const count = counter.count("kept", 1000);
    assert.equal(await atOnce(count), null);
    await answerAll();
    await count;
    clock.advance(second === 0 ? 1001 : 0);
  }
  assert.equal((await atOnce(counter.count("kept", 1000)))?.used, 2);
  clock.advance(10);
  await failAll();
  const next = assert.rejects(async () => counter.count("kept", 1000), /away/);
  await failAll();
  await next;
});

test("two processes that count behind exceed a limit by no more than a hundredth each, and then refuse (R-061, R-063)", async () => {
  const clock = new ManualClock();
  const { shared, answerAll } = sharedCount(clock);
  const counters = [writeBehind(shared, clock), writeBehind(shared, clock)];
  let allowed = 0;
  for (let round = 0; round < 30; round++) {
    const counts = counters.flatMap((counter) => Array.from({ length: 60 }, async () => counter.count("both", 1000)));
    clock.advance(10);
    await answerAll();
    allowed += (await Promise.all(counts)).filter((count) => count.allowed).length;
  }
  // 300 ms have brought five tokens back.
  assert.ok(allowed >= 1000 && allowed <= 1025, `${allowed} allowed`);
  const last = counters[0]!.count("both", 1000);
  await answerAll();
  assert.equal((await last).allowed, (await last).used < 1000);
});
