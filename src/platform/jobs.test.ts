import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { type Database } from "./db/database.ts";
import { createJobs, type Jobs } from "./jobs.ts";
import { type LogFields, silentLog } from "./log.ts";
import { testDatabase } from "./testing.ts";

let database: Database;
let jobs: Jobs;
beforeEach(async () => {
  database = await testDatabase();
  jobs = createJobs(database, silentLog);
});
afterEach(async () => {
  await jobs.stop();
  await database.close();
});

const ONCE = { retryLimit: 0, retryDelaySeconds: 1 };

/** Collects what a handler is given; `until(n)` resolves with the n-th. */
function collector<T>() {
  const seen: T[] = [];
  const waiting: (() => void)[] = [];
  return {
    seen,
    take: async (data: T) => {
      seen.push(data);
      waiting.forEach((check) => check());
    },
    until: (count: number) =>
      new Promise<void>((resolve) => {
        const check = () => seen.length >= count && resolve();
        waiting.push(check);
        check();
      }),
  };
}

test("a job runs when its transaction commits, and never when it rolls back", { timeout: 60_000 }, async () => {
  const { seen, take, until } = collector<{ n: number }>();
  jobs.define<{ n: number }>("count", ONCE, take);
  await jobs.start();
  await database.transaction((tx) => jobs.send(tx, "count", { n: 1 }));
  await assert.rejects(
    database.transaction(async (tx) => {
      await jobs.send(tx, "count", { n: 2 });
      throw new Error("rolled back");
    }),
  );
  await database.transaction((tx) => jobs.send(tx, "count", { n: 3 }));
  await until(2);
  assert.deepEqual(seen, [{ n: 1 }, { n: 3 }]);
});

test("a handler that throws is tried again with the same data, and its words stay out of the log", { timeout: 60_000 }, async () => {
  const { seen, take, until } = collector<{ n: number }>();
  const logged: [string, LogFields | undefined][] = [];
  await jobs.stop();
  jobs = createJobs(database, { ...silentLog, warn: (event, fields) => void logged.push([event, fields]) });
  jobs.define<{ n: number }>("fragile", { retryLimit: 2, retryDelaySeconds: 1 }, async (data) => {
    await take(data);
    if (seen.length === 1) throw new Error("first try");
  });
  await jobs.start();
  await database.transaction((tx) => jobs.send(tx, "fragile", { n: 7 }));
  await until(2);
  assert.deepEqual(seen, [{ n: 7 }, { n: 7 }]);
  assert.equal(logged.find(([event]) => event === "job_failed")?.[1]?.queue, "fragile");
});

test("a delayed job waits for its time", { timeout: 60_000 }, async () => {
  const { seen, take, until } = collector<{ name: string }>();
  jobs.define<{ name: string }>("later", ONCE, take);
  await jobs.start();
  await database.transaction(async (tx) => {
    await jobs.send(tx, "later", { name: "delayed" }, { startAfterMs: 1500 });
    await jobs.send(tx, "later", { name: "at once" });
  });
  await until(2);
  assert.deepEqual(
    seen.map(({ name }) => name),
    ["at once", "delayed"],
  );
});

test("a process that does not work can send, one that works picks up what waits", { timeout: 60_000 }, async () => {
  const { seen, take, until } = collector<{ n: number }>();
  jobs.define<{ n: number }>("shared", ONCE, async () => assert.fail("this process only sends"));
  await jobs.start({ work: false });
  await database.transaction((tx) => jobs.send(tx, "shared", { n: 1 }));

  const worker = createJobs(database, silentLog);
  worker.define<{ n: number }>("shared", ONCE, take);
  await worker.start();
  await until(1);
  await worker.stop();
  assert.deepEqual(seen, [{ n: 1 }]);
});

test("a queue is alive while its handlers fetch jobs, and not without them (R-056)", { timeout: 60_000 }, async (t) => {
  jobs.define("idle", ONCE, async () => {});
  assert.equal(jobs.isAlive(), false, "before the start");
  await jobs.start({ work: false });
  assert.equal(jobs.isAlive(), false, "in a process without the role");
  await jobs.stop();

  jobs = createJobs(database, silentLog);
  const { take, until } = collector<object>();
  jobs.define("idle", ONCE, take);
  await jobs.start();
  await database.transaction((tx) => jobs.send(tx, "idle", {}));
  await until(1);
  assert.equal(jobs.isAlive(), true);
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() + 61_000 });
  assert.equal(jobs.isAlive(), false, "a minute after the last fetch, and after a job may run");
  t.mock.timers.reset();
  await jobs.stop();
  assert.equal(jobs.isAlive(), false, "after the end");
});
