import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { sql } from "kysely";
import { ManualClock } from "#src/kernel/clock.ts";
import type { Database } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import { Reservations } from "./reservations.ts";
import { SLOT_MS } from "./counter.ts";
import { databaseCounter } from "./database-counter.ts";

const slot = new Date(0);
const counted = (used: number) => ({ used, resetMs: 60_000, slot, slotMs: SLOT_MS });

test("requests are counted ahead only where the limit is far, few beside what was served, and for one slot (R-061, R-063)", () => {
  const reservations = new Reservations();
  const serve = (limit: number, count: number) => {
    for (let used = 1; used <= count; used++) reservations.confirm(`limit ${limit}`, limit, 0, counted(used), 0);
    return reservations.amountFor(`limit ${limit}`, 0);
  };
  assert.deepEqual([serve(20, 20), serve(100, 50), serve(1000, 7), serve(100_000, 800)], [0, 0, 0, 100]);
  assert.equal(serve(1000, 500), Math.floor((1000 - 500) / 64));
  // One reserves at a time; what it gets is gone with the slot.
  assert.equal(reservations.amountFor("limit 1000", 0), 0);
  reservations.confirm("limit 1000", 1000, 2, counted(503), 0);
  assert.deepEqual(reservations.take("limit 1000", 100), { used: 502, resetMs: 59_900 });
  assert.equal(reservations.take("limit 1000", SLOT_MS), null);
  assert.deepEqual(reservations.expireAll(SLOT_MS), [{ bucket: "limit 1000", slot, count: 1 }]);
});

let database: Database;
before(async () => {
  database = await testDatabase();
});
after(() => database.close());
beforeEach(() => database.db.deleteFrom("rate_buckets").execute());
const inTable = async () =>
  (await sql<{ hits: number }>`select coalesce(sum(hits), 0)::int as hits from rate_buckets`.execute(database.db)).rows[0]!.hits;

test("a busy bucket costs few statements; what was counted ahead and not used is released (R-061)", async () => {
  let statements = 0;
  const batched: Database["batched"] = (work) =>
    database.batched((db, items) => {
      statements++;
      return work(db, items);
    });
  const clock = new ManualClock();
  const counter = databaseCounter({ ...database, batched }, clock);
  for (let n = 0; n < 400; n++) assert.equal((await counter.count("busy", 100_000)).allowed, true);
  assert.ok(statements < 120, `${statements} statements`);
  assert.ok((await inTable()) >= 400);
  clock.advance(SLOT_MS);
  await counter.count("busy", 100_000);
  assert.equal(await inTable(), 401);
  for (let n = 0; n < 400; n++) await counter.count("busy", 100_000);
  clock.advance(SLOT_MS);
  await counter.sweep();
  assert.equal(await inTable(), 801);
});

test("two busy processes together never pass the limit, and with nothing left over they reach it (R-063)", async () => {
  const stores = [databaseCounter(database, new ManualClock()), databaseCounter(database, new ManualClock())];
  let allowed = 0;
  for (let n = 0; n < 800; n++) {
    const counts = await Promise.all(stores.map(async (store) => store.count("both", 1000)));
    allowed += counts.filter(({ allowed }) => allowed).length;
  }
  assert.ok(allowed <= 1000 && allowed > 900, `${allowed} allowed`);
  assert.ok((await inTable()) <= 1000);
});
