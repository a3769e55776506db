import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { ManualClock } from "#src/kernel/testing.ts";
import type { Database } from "./db/database.ts";
import { isOwnerDead, startLease } from "./lease.ts";
import { silentLog } from "./log.ts";
import { testDatabase } from "./testing.ts";

let database: Database;
before(async () => {
  database = await testDatabase();
});
after(() => database.close());

async function isDead(owner: string): Promise<boolean> {
  const { rows } = await sql<{ dead: boolean }>`select ${isOwnerDead(sql`${owner}::text`)} as dead`.execute(database.db);
  return rows[0]!.dead;
}

async function heartbeatAt(owner: string): Promise<Date | undefined> {
  const row = await database.db.selectFrom("process_leases").select("heartbeat_at").where("owner", "=", owner).executeTakeFirst();
  return row?.heartbeat_at;
}

async function age(owner: string, seconds: number): Promise<void> {
  const heartbeat_at = sql<Date>`clock_timestamp() - make_interval(secs => ${seconds})`;
  await database.db.updateTable("process_leases").set({ heartbeat_at }).where("owner", "=", owner).execute();
}

test("a process lives while it is heard of, is dead 15 s after its last heartbeat, and at once when it ends in order", async () => {
  const clock = new ManualClock();
  assert.equal(await isDead("p1"), true, "never heard of");
  const end = await startLease({ database, clock, owner: "p1", roles: "voice", log: silentLog });
  assert.equal(await isDead("p1"), false);
  await age("p1", 10);
  assert.equal(await isDead("p1"), false);
  await age("p1", 16);
  assert.equal(await isDead("p1"), true);
  await end();
  assert.equal(await heartbeatAt("p1"), undefined);
  assert.equal(clock.pending, 0);
});

test("a process that died before the server's clock was set back is dead all the same, however far back", async () => {
  const clock = new ManualClock();
  const end = await startLease({ database, clock, owner: "p3", roles: "voice", log: silentLog });
  await age("p3", -10);
  assert.equal(await isDead("p3"), false, "clocks are corrected by seconds while all live");
  await age("p3", -3_600);
  assert.equal(await isDead("p3"), true);
  await end();
});

test("the heartbeat comes every five seconds, and again after one that failed", async () => {
  const clock = new ManualClock();
  const failed = Promise.withResolvers<void>();
  let broken = false;
  const db = new Proxy(database.db, {
    get: (target, key) => {
      if (broken && key === "insertInto") throw new Error("database away");
      const member = Reflect.get(target, key) as unknown;
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
  const log = { ...silentLog, warn: () => failed.resolve() };
  const end = await startLease({ database: { db }, clock, owner: "p2", roles: "voice", log });
  await age("p2", 60);

  broken = true;
  clock.advance(5000);
  await failed.promise;
  assert.equal(await isDead("p2"), true);
  broken = false;

  await until(() => clock.pending === 1);
  clock.advance(5000);
  await until(async () => !(await isDead("p2")));
  await end();
});

/** Waits for what other promises of this process are about to do. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise(setImmediate);
}
