import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { sql } from "kysely";
import { ManualClock } from "#src/kernel/testing.ts";
import { systemRandom } from "#src/kernel/random.ts";
import type { Database } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import { memoryStreamQuota, type StreamQuota, databaseStreamQuota } from "./stream-quota.ts";

let database: Database;
before(async () => {
  database = await testDatabase();
});
after(() => database.close());
beforeEach(async () => {
  await database.db.deleteFrom("open_streams").execute();
  await database.db.deleteFrom("process_leases").execute();
  await lease("one");
  await lease("two");
});

const lease = (owner: string) => database.db.insertInto("process_leases").values({ owner, roles: "api" }).execute();
const shared = (owner: string, clock = new ManualClock()) => databaseStreamQuota(database, owner, clock, systemRandom);
const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const [KEY, OTHER_KEY] = [uuid(1), uuid(2)];
const taken = async (quota: StreamQuota, count: number, sessionId: (n: number) => string, keyId = KEY) =>
  (await Promise.all(Array.from({ length: count }, (_, n) => quota.take({ sessionId: sessionId(n), keyId })))).filter(
    (leave) => leave !== null,
  );
const rowsLeft = async (count: number) => {
  // What is given back is deleted without anybody waiting for it.
  for (let tries = 0; tries < 1000; tries++)
    if ((await database.db.selectFrom("open_streams").select("id").execute()).length === count) return;
  assert.fail(`not ${count} rows`);
};

const BOTH: { name: string; open: () => [StreamQuota, StreamQuota] }[] = [
  {
    name: "in memory",
    open: () => {
      const quota = memoryStreamQuota();
      return [quota, quota];
    },
  },
  { name: "in the database, by two processes", open: () => [shared("one"), shared("two")] },
];
for (const { name, open } of BOTH) {
  test(`${name}: five streams of a session and a hundred of a key may be open, however many are asked for at once (R-067)`, async () => {
    const [one, two] = open();
    const session = uuid(1000);
    const releases = (await Promise.all([taken(one, 4, () => session), taken(two, 4, () => session, OTHER_KEY)])).flat();
    assert.equal(releases.length, 5);
    assert.equal(await two.take({ sessionId: session, keyId: KEY }), null);
    releases.pop()!();
    if (name !== "in memory") await rowsLeft(4);
    releases.push((await two.take({ sessionId: session, keyId: KEY }))!);
    assert.ok(releases.at(-1));
    for (const release of releases) release();
    if (name !== "in memory") await rowsLeft(0);

    // In turns: so many at once may wait for a connection for longer than anybody waits for one.
    let allowed = 0;
    for (let turn = 2; turn < 14; turn++)
      allowed += (
        await Promise.all([taken(one, 5, (n) => uuid(1000 * turn + n)), taken(two, 5, (n) => uuid(1000 * turn + 500 + n))])
      ).flat().length;
    assert.equal(allowed, 100);
    assert.equal((await taken(one, 1, () => session, OTHER_KEY)).length, 1);
  });
}

test("streams of a process that has died do not count, and are swept away (R-067, R-176)", async () => {
  const clock = new ManualClock();
  const [one, two] = [shared("one"), shared("two", clock)];
  const session = uuid(1000);
  assert.equal((await taken(one, 5, () => session)).length, 5);
  assert.equal((await taken(two, 1, () => session)).length, 0);
  await sql`update process_leases set heartbeat_at = heartbeat_at - interval '16 seconds' where owner = 'one'`.execute(database.db);
  assert.equal((await taken(two, 1, () => session)).length, 1);
  clock.advance(60_000);
  await rowsLeft(1);
  two.stop();
  assert.equal(clock.pending, 0);
});

test("a stream whose release failed is released by the next sweep (R-176)", async () => {
  const clock = new ManualClock();
  let fails = true;
  const batched: Database["batched"] = (work) => {
    const ask = database.batched(work);
    return async (item) => (fails ? Promise.reject(new Error("database gone")) : ask(item));
  };
  const quota = databaseStreamQuota({ ...database, batched }, "one", clock, systemRandom);
  const [release] = await taken(quota, 1, () => uuid(1000));
  release!();
  await rowsLeft(1);
  fails = false;
  clock.advance(60_000);
  await rowsLeft(0);
});

test("a stream whose place was taken and the answer to that lost with its connection gives it back (R-067)", async () => {
  const transaction: Database["transaction"] = async (work) => {
    await database.transaction(work);
    throw new Error("Connection terminated unexpectedly");
  };
  const quota = databaseStreamQuota({ ...database, transaction }, "one", new ManualClock(), systemRandom);
  await assert.rejects(quota.take({ sessionId: uuid(1000), keyId: KEY }), /Connection terminated/);
  await rowsLeft(0);
});
