import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createClient } from "@redis/client";
import { sql } from "kysely";
import { systemClock } from "#src/kernel/clock.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { Secret } from "#src/kernel/secret.ts";
import { type Database, silentLog } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import type { RateCounter } from "./counter.ts";
import { memoryCounter } from "./memory-counter.ts";
import { type RedisCounter, redisCounter } from "./redis-counter.ts";
import { databaseCounter } from "./database-counter.ts";
import { startRedis, withoutRedis } from "./testing.ts";

/** What every counter does, whichever it is. */

interface Subject {
  /** The counters of two processes. The one in memory serves one process: it is both. */
  counters: [RateCounter, RateCounter];
  /** Makes every request of the bucket older. */
  age(bucket: string, ms: number): Promise<void>;
  /** Sets the clock that counts back by an hour; none where that is the monotonic one. */
  setBack?(bucket: string): Promise<void>;
  close(): Promise<void>;
}

async function inMemory(): Promise<Subject> {
  const clock = new ManualClock();
  const counter = memoryCounter(clock);
  return { counters: [counter, counter], age: async (_bucket, ms) => clock.advance(ms), close: async () => {} };
}

async function inDatabase(): Promise<Subject> {
  const database = await testDatabase();
  const clock = new ManualClock();
  return {
    counters: [databaseCounter(database, clock), databaseCounter(database, clock)],
    async age(bucket, ms) {
      clock.advance(ms);
      await sql`update token_buckets set full_at = full_at - make_interval(secs => ${ms / 1000}) where bucket = ${bucket}`.execute(
        database.db,
      );
    },
    async setBack(bucket) {
      await sql`update token_buckets set full_at = full_at + interval '1 hour' where bucket = ${bucket}`.execute(database.db);
    },
    close: () => database.close(),
  };
}

async function inRedis(): Promise<Subject> {
  const redis = await startRedis();
  const open = () => redisCounter({ url: new Secret(redis.url), clock: systemClock, log: silentLog });
  const counters: [RedisCounter, RedisCounter] = [await open(), await open()];
  const client = await createClient({ url: redis.url }).connect();
  return {
    counters,
    async age(bucket, ms) {
      const key = `voicetill:rate:${bucket}`;
      await client.set(key, String(Number(await client.get(key)) - ms), { KEEPTTL: true });
    },
    async setBack(bucket) {
      const key = `voicetill:rate:${bucket}`;
      await client.set(key, String(Number(await client.get(key)) + 3_600_000));
    },
    async close() {
      for (const counter of counters) counter.close();
      client.destroy();
      await redis.close();
    },
  };
}

const COUNTERS: { name: string; open: () => Promise<Subject>; skip: string | false }[] = [
  { name: "in memory", open: inMemory, skip: false },
  { name: "in the database", open: inDatabase, skip: false },
  { name: "in Redis", open: inRedis, skip: withoutRedis },
];

const parallel = async (counter: RateCounter, bucket: string, count: number, limit: number) =>
  (await Promise.all(Array.from({ length: count }, async () => counter.count(bucket, limit)))).filter(({ allowed }) => allowed).length;

for (const { name, open, skip } of COUNTERS) {
  describe(`counting ${name}`, { skip }, () => {
    let subject: Subject;
    before(async () => {
      subject = await open();
    });
    after(() => subject?.close());

    test("each count says how many tokens are missing; a request that finds none is refused and takes none (R-061)", async () => {
      const [counter] = subject.counters;
      for (const used of [1, 2, 3]) assert.partialDeepStrictEqual(await counter.count("few", 3), { allowed: true, used });
      for (let again = 0; again < 3; again++) assert.partialDeepStrictEqual(await counter.count("few", 3), { allowed: false, used: 3 });
      await subject.age("few", 60_000);
      assert.partialDeepStrictEqual(await counter.count("few", 3), { allowed: true, used: 1 });
    });

    test("a token comes back in its share of a minute and no sooner, and the wait that a refusal names suffices (R-061, R-062)", async () => {
      const [counter] = subject.counters;
      await counter.count("old", 2);
      await counter.count("old", 2);
      const refused = await counter.count("old", 2);
      assert.ok(!refused.allowed && refused.resetMs > 25_000 && refused.resetMs <= 30_000, `${refused.resetMs} ms`);
      await subject.age("old", 20_000);
      assert.equal((await counter.count("old", 2)).allowed, false);
      await subject.age("old", Math.max(0, refused.resetMs - 20_000));
      assert.partialDeepStrictEqual(await counter.count("old", 2), { allowed: true, used: 2 });
      assert.equal((await counter.count("old", 2)).allowed, false);
    });

    test("two processes share one limit, however many ask at once (R-063)", async () => {
      const [one, two] = subject.counters;
      const allowed = await Promise.all([parallel(one, "shared", 25, 20), parallel(two, "shared", 25, 20)]);
      assert.equal(allowed[0] + allowed[1], 20);
      assert.equal((await one.count("another", 20)).allowed, true);
    });

    const isMonotonic = name === "in memory" && "counts by the monotonic clock";
    test("a clock that is set back by an hour shuts nobody out for longer than a minute (R-288)", { skip: isMonotonic }, async () => {
      const [counter] = subject.counters;
      await counter.count("set back", 2);
      await subject.setBack?.("set back");
      const first = await counter.count("set back", 2);
      assert.ok(first.resetMs <= 60_000, `${first.resetMs} ms`);
      if (!first.allowed) await subject.age("set back", first.resetMs);
      assert.equal((await counter.count("set back", 2)).allowed, true);
    });

    test("requests that come together are kept apart by bucket, and what fits is allowed to the last one (R-061, R-063)", async () => {
      const [counter] = subject.counters;
      const counts = { three: 3, exact: 20, many: 30 };
      const allowed = await Promise.all(Object.entries(counts).map(([bucket, count]) => parallel(counter, bucket, count, 20)));
      assert.deepEqual(allowed, [3, 20, 20]);
      assert.equal((await counter.count("three", 20)).used, 4);
    });
  });
}

test("in the database a refusal is remembered without a statement until its time is up, and a sweep deletes old rows (R-061)", async () => {
  const database: Database = await testDatabase();
  const clock = new ManualClock();
  const counter = databaseCounter(database, clock);
  await counter.count("old", 1);
  const refused = await counter.count("old", 1);
  const age = (seconds: number) =>
    sql`update token_buckets set full_at = full_at - make_interval(secs => ${seconds}) where bucket = 'old'`.execute(database.db);
  await age(66);
  assert.equal((await counter.count("old", 1)).allowed, false);
  clock.advance(refused.resetMs);
  assert.equal((await counter.count("old", 1)).used, 1);
  await age(300);
  await counter.sweep();
  assert.deepEqual(await database.db.selectFrom("token_buckets").select("bucket").execute(), []);
  await database.close();
});

const onServer = process.env["TEST_DATABASE_URL"] ? false : "needs PostgreSQL: the embedded database has one session";
test(
  "requests that waited for others on the same bucket are counted by the time at which their turn came (R-061, R-063)",
  { skip: onServer },
  async () => {
    const database = await testDatabase();
    const counter = databaseCounter(database, systemClock);
    await counter.count("shared", 20);
    const [locked, waiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const others = database.transaction(async (tx) => {
      await tx.selectFrom("token_buckets").select("bucket").where("bucket", "=", "shared").forUpdate().execute();
      locked.resolve();
      await waiting.promise;
      // Fifteen are taken, some time after those that wait began.
      await sql`select pg_sleep(0.05)`.execute(tx);
      await sql`update token_buckets set full_at = clock_timestamp() + interval '45 seconds' where bucket = 'shared'`.execute(tx);
    });
    await locked.promise;
    const allowed = parallel(counter, "shared", 5, 20);
    const isWaiting = sql<object>`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    while ((await isWaiting.execute(database.db)).rows.length === 0);
    waiting.resolve();
    await others;
    assert.equal(await allowed, 5);
    await database.close();
  },
);
