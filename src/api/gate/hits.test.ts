import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createClient } from "@redis/client";
import { sql } from "kysely";
import { ManualClock, systemClock } from "#src/kernel/clock.ts";
import { Secret } from "#src/kernel/secret.ts";
import { type Database, silentLog } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import { type HitStore, SLOT_MS } from "./hits.ts";
import { memoryHits } from "./memory-hits.ts";
import { type RedisHits, redisHits } from "./redis-hits.ts";
import { sharedHits } from "./shared-hits.ts";
import { startRedis, withoutRedis } from "./testing.ts";

/** What every store of hits does, whichever it is. */

interface Bench {
  /** The stores of two processes. The store in memory serves one process: it is both. */
  stores: [HitStore, HitStore];
  /** Makes every hit of the bucket older. */
  age(bucket: string, ms: number): Promise<void>;
  close(): Promise<void>;
}

async function inMemory(): Promise<Bench> {
  const clock = new ManualClock();
  const store = memoryHits(clock);
  return { stores: [store, store], age: async (_bucket, ms) => clock.advance(ms), close: async () => {} };
}

async function inDatabase(): Promise<Bench> {
  const database = await testDatabase();
  const clock = new ManualClock();
  return {
    stores: [sharedHits(database, clock), sharedHits(database, clock)],
    async age(bucket, ms) {
      clock.advance(ms);
      await sql`update rate_buckets set window_start = window_start - make_interval(secs => ${ms / 1000}) where bucket = ${bucket}`.execute(
        database.db,
      );
    },
    close: () => database.close(),
  };
}

async function inRedis(): Promise<Bench> {
  const redis = await startRedis();
  const open = () => redisHits({ url: new Secret(redis.url), clock: systemClock, log: silentLog });
  const stores: [RedisHits, RedisHits] = [await open(), await open()];
  const client = await createClient({ url: redis.url }).connect();
  return {
    stores,
    async age(bucket, ms) {
      const key = `voicetill:hits:${bucket}`;
      const slots = Object.entries(await client.hGetAll(key));
      await client.del(key);
      for (const [slot, hits] of slots) await client.hSet(key, String(Number(slot) - Math.ceil(ms / SLOT_MS)), hits);
    },
    async close() {
      for (const store of stores) store.close();
      client.destroy();
      await redis.close();
    },
  };
}

const STORES: { name: string; open: () => Promise<Bench>; skip: string | false }[] = [
  { name: "in memory", open: inMemory, skip: false },
  { name: "in the database", open: inDatabase, skip: false },
  { name: "in Redis", open: inRedis, skip: withoutRedis },
];

const parallel = async (hits: HitStore, bucket: string, count: number, limit: number) =>
  (await Promise.all(Array.from({ length: count }, async () => hits.hit(bucket, limit)))).filter(({ allowed }) => allowed).length;

for (const { name, open, skip } of STORES) {
  describe(`hits ${name}`, { skip }, () => {
    let bench: Bench;
    before(async () => {
      bench = await open();
    });
    after(() => bench?.close());

    test("each hit says how many count; one past the limit is refused and does not count (R-061)", async () => {
      const [hits] = bench.stores;
      for (const used of [1, 2, 3]) assert.partialDeepStrictEqual(await hits.hit("few", 3), { allowed: true, used });
      for (let again = 0; again < 3; again++) assert.partialDeepStrictEqual(await hits.hit("few", 3), { allowed: false, used: 3 });
      await bench.age("few", 66_000);
      assert.partialDeepStrictEqual(await hits.hit("few", 3), { allowed: true, used: 1 });
    });

    test("a hit is forgotten a minute later and no sooner, and the wait that a refusal names suffices (R-061, R-062)", async () => {
      const [hits] = bench.stores;
      await hits.hit("old", 2);
      await bench.age("old", 30_000);
      await hits.hit("old", 2);
      const refused = await hits.hit("old", 2);
      assert.ok(!refused.allowed && refused.resetMs > 25_000 && refused.resetMs <= 33_000, `${refused.resetMs} ms`);
      await bench.age("old", 27_000);
      assert.equal((await hits.hit("old", 2)).allowed, false);
      await bench.age("old", Math.max(0, refused.resetMs - 27_000));
      assert.partialDeepStrictEqual(await hits.hit("old", 2), { allowed: true, used: 2 });
      assert.equal((await hits.hit("old", 2)).allowed, false);
    });

    test("two processes share one limit, however many ask at once (R-063)", async () => {
      const [one, two] = bench.stores;
      const allowed = await Promise.all([parallel(one, "shared", 25, 20), parallel(two, "shared", 25, 20)]);
      assert.equal(allowed[0] + allowed[1], 20);
      assert.equal((await one.hit("another", 20)).allowed, true);
    });

    test("hits that come together are kept apart by bucket, and what fits is allowed to the last one (R-061, R-063)", async () => {
      const [hits] = bench.stores;
      const counts = { three: 3, exact: 20, many: 30 };
      const allowed = await Promise.all(Object.entries(counts).map(([bucket, count]) => parallel(hits, bucket, count, 20)));
      assert.deepEqual(allowed, [3, 20, 20]);
      assert.equal((await hits.hit("three", 20)).used, 4);
    });
  });
}

test("in the database a refusal is remembered without a statement until its time is up, and a sweep deletes old rows (R-061)", async () => {
  const database: Database = await testDatabase();
  const clock = new ManualClock();
  const hits = sharedHits(database, clock);
  await hits.hit("old", 1);
  const refused = await hits.hit("old", 1);
  const age = (seconds: number) =>
    sql`update rate_buckets set window_start = window_start - make_interval(secs => ${seconds}) where bucket = 'old'`.execute(database.db);
  await age(66);
  assert.equal((await hits.hit("old", 1)).allowed, false);
  clock.advance(refused.resetMs);
  assert.equal((await hits.hit("old", 1)).used, 1);
  await age(300);
  await hits.sweep();
  assert.deepEqual(await database.db.selectFrom("rate_buckets").select("bucket").execute(), []);
  await database.close();
});
