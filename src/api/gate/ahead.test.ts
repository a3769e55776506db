import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { sql } from "kysely";
import { ManualClock } from "#src/kernel/clock.ts";
import type { Database } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import { HitsAhead } from "./ahead.ts";
import { SLOT_MS } from "./hits.ts";
import { sharedHits } from "./shared-hits.ts";

const slot = new Date(0);
const counting = (used: number) => ({ used, resetMs: 60_000, slot, slotMs: SLOT_MS });

test("hits are counted ahead only where the limit is far, few beside what was served, and for one slot (R-061, R-063)", () => {
  const ahead = new HitsAhead();
  const serve = (limit: number, count: number) => {
    for (let used = 1; used <= count; used++) ahead.counted(`limit ${limit}`, limit, 0, counting(used), 0);
    return ahead.ask(`limit ${limit}`, 0);
  };
  assert.deepEqual([serve(20, 20), serve(100, 50), serve(1000, 7), serve(100_000, 800)], [0, 0, 0, 100]);
  assert.equal(serve(1000, 500), Math.floor((1000 - 500) / 64));
  // One asks at a time; what it gets is gone with the slot.
  assert.equal(ahead.ask("limit 1000", 0), 0);
  ahead.counted("limit 1000", 1000, 2, counting(503), 0);
  assert.deepEqual(ahead.take("limit 1000", 100), { used: 502, resetMs: 59_900 });
  assert.equal(ahead.take("limit 1000", SLOT_MS), null);
  assert.deepEqual(ahead.ended(SLOT_MS), [{ bucket: "limit 1000", slot, hits: 1 }]);
});

let database: Database;
before(async () => {
  database = await testDatabase();
});
after(() => database.close());
beforeEach(() => database.db.deleteFrom("rate_buckets").execute());
const inTable = async () =>
  (await sql<{ hits: number }>`select coalesce(sum(hits), 0)::int as hits from rate_buckets`.execute(database.db)).rows[0]!.hits;

test("a busy bucket costs few statements; what was counted ahead and not used is given back (R-061)", async () => {
  let statements = 0;
  const batched: Database["batched"] = (work) =>
    database.batched((db, items) => {
      statements++;
      return work(db, items);
    });
  const clock = new ManualClock();
  const hits = sharedHits({ ...database, batched }, clock);
  for (let n = 0; n < 400; n++) assert.equal((await hits.hit("busy", 100_000)).allowed, true);
  assert.ok(statements < 120, `${statements} statements`);
  assert.ok((await inTable()) >= 400);
  clock.advance(SLOT_MS);
  await hits.hit("busy", 100_000);
  assert.equal(await inTable(), 401);
  for (let n = 0; n < 400; n++) await hits.hit("busy", 100_000);
  clock.advance(SLOT_MS);
  await hits.sweep();
  assert.equal(await inTable(), 801);
});

test("two busy processes together never pass the limit, and with nothing left over they reach it (R-063)", async () => {
  const stores = [sharedHits(database, new ManualClock()), sharedHits(database, new ManualClock())];
  let allowed = 0;
  for (let n = 0; n < 800; n++) {
    const answers = await Promise.all(stores.map(async (store) => store.hit("both", 1000)));
    allowed += answers.filter((hit) => hit.allowed).length;
  }
  assert.ok(allowed <= 1000 && allowed > 900, `${allowed} allowed`);
  assert.ok((await inTable()) <= 1000);
});
