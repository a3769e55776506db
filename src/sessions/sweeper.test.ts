import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { sql } from "kysely";
import { ManualClock } from "#src/kernel/testing.ts";
import { silentLog } from "#src/platform/index.ts";
import { type Fixture, sessionsFixture } from "./testing.ts";
import { startSweeper, type SweeperDeps } from "./sweeper.ts";

let fixture: Fixture;
let clock: ManualClock;
let stop = async () => {};
beforeEach(async () => {
  fixture = await sessionsFixture();
  clock = new ManualClock();
});
afterEach(async () => {
  await stop();
  await fixture.close();
});

function start(differences: Partial<SweeperDeps> = {}): void {
  stop = startSweeper({
    database: fixture.database,
    clock,
    log: silentLog,
    expire: (id) => fixture.sessions.apply(id, "expire"),
    release: (session) => fixture.sessions.apply(session.id, "release", { heldBy: session }),
    giveUp: (session) => fixture.sessions.apply(session.id, "abandon"),
    ...differences,
  });
}

/** Lets `count` sweeps run to their end. */
async function sweeps(count: number): Promise<void> {
  for (let sweep = 0; sweep < count; sweep++) {
    clock.advance(2000);
    while (clock.pending === 0) await new Promise(setImmediate);
  }
}

const statusOf = async (id: string) => (await fixture.sessions.find(fixture.database.db, id))?.status;

async function heard(owner: string, secondsAgo: number): Promise<void> {
  const heartbeat_at = sql<Date>`clock_timestamp() - make_interval(secs => ${secondsAgo})`;
  await fixture.database.db
    .insertInto("process_leases")
    .values({ owner, roles: "voice", heartbeat_at })
    .onConflict((conflict) => conflict.column("owner").doUpdateSet({ heartbeat_at }))
    .execute();
}

/** Heard of as lately as can be. */
const lives = (owner: string) => heard(owner, -14);

/** A session in a call of `owner` that has been going on for a while. */
async function inCall(owner: string, channel: "voice" | "widget" = "voice"): Promise<string> {
  const { id } = await fixture.create({ channel });
  await fixture.sessions.apply(id, "claim", { claimedBy: owner, callId: "c" });
  await fixture.database.db
    .updateTable("sessions")
    .set({ updated_at: sql<Date>`updated_at - interval '1 minute'` })
    .where("id", "=", id)
    .execute();
  return id;
}

test("an unused session is expired within two seconds of its time, and each session once (R-195)", async () => {
  const overdue = await Promise.all([fixture.create(), fixture.create()]);
  const waiting = await fixture.create();
  for (const { id } of overdue) await fixture.expireIn(id, -1);
  start();
  await sweeps(2);
  assert.deepEqual((await fixture.finals()).map(({ id }) => id).sort(), overdue.map(({ id }) => id).sort());
  assert.ok((await fixture.finals()).every(({ status }) => status === "expired"));
  assert.equal(await statusOf(waiting.id), "PENDING");
});

test("many processes that sweep at once expire each session once (R-273)", async () => {
  const sessions = await Promise.all(Array.from({ length: 20 }, () => fixture.create()));
  for (const { id } of sessions) await fixture.expireIn(id, -1);
  const clocks = Array.from({ length: 4 }, () => new ManualClock());
  const stops = clocks.map((clock) =>
    startSweeper({
      database: fixture.database,
      clock,
      log: silentLog,
      expire: (id) => fixture.sessions.apply(id, "expire"),
      release: async () => assert.fail("nobody is on a page"),
      giveUp: async () => assert.fail("nobody is in a call"),
    }),
  );
  clocks.forEach((clock) => clock.advance(2000));
  await Promise.all(stops.map((stop) => stop()));
  assert.equal((await fixture.finals()).length, 20);
  assert.equal(new Set((await fixture.finals()).map(({ id }) => id)).size, 20);
});

test("a session that cannot be expired keeps no other from it", async () => {
  const [broken, fine] = [await fixture.create(), await fixture.create()];
  await fixture.expireIn(broken.id, -2000);
  await fixture.expireIn(fine.id, -1000);
  start({ expire: (id) => (id === broken.id ? Promise.reject(new Error("broken")) : fixture.sessions.apply(id, "expire")) });
  await sweeps(1);
  assert.deepEqual(
    (await fixture.finals()).map(({ id }) => id),
    [fine.id],
  );
});

test("a call whose process died is abandoned, one whose process lives goes on (I10)", async () => {
  await lives("alive");
  await heard("dead", 60);
  const living = await inCall("alive");
  const orphaned = await inCall("dead");
  const unknown = await inCall("never heard of");
  const widget = await inCall("dead", "widget");
  const charging = await inCall("dead");
  await fixture.sessions.apply(charging, "charge");
  start();
  await sweeps(4);
  assert.deepEqual(
    (await fixture.finals()).map(({ id, status }) => `${id} ${status}`).sort(),
    [orphaned, unknown].map((id) => `${id} abandoned`).sort(),
  );
  assert.equal(await statusOf(living), "COLLECTING");
  assert.equal(await statusOf(widget), "COLLECTING", "a widget session belongs to no process");
  assert.equal(await statusOf(charging), "COLLECTING", "the gateway is asked first");
});

test("a call whose process died before the database server's clock was set back is abandoned without waiting for that time to come again (I10)", async () => {
  await heard("dead", -3_600);
  const id = await inCall("dead");
  await fixture.database.db
    .updateTable("sessions")
    .set({ updated_at: sql<Date>`updated_at + interval '1 hour'` })
    .where("id", "=", id)
    .execute();
  start();
  await sweeps(4);
  assert.equal(await statusOf(id), "abandoned");
});

test("when the database was away and processes are heard of again in time, no call is taken for dead", async () => {
  await heard("back", 60);
  const id = await inCall("back");
  start();
  await sweeps(3);
  await lives("back");
  await sweeps(4);
  assert.equal(await statusOf(id), "COLLECTING");
});

test("a widget session that was tried and left is given up at its time, an untouched or charging one is not (R-197)", async () => {
  const idle = await inCall("alive", "widget");
  const waiting = await inCall("alive", "widget");
  const charging = await inCall("alive", "widget");
  const voice = await inCall("alive");
  await lives("alive");
  await fixture.sessions.apply(charging, "charge");
  for (const id of [idle, charging, voice]) await fixture.expireIn(id, -1);
  start();
  await sweeps(1);
  assert.deepEqual(
    (await fixture.finals()).map(({ id, status }) => `${id} ${status}`),
    [`${idle} abandoned`],
  );
  for (const id of [waiting, charging, voice]) assert.equal(await statusOf(id), "COLLECTING");
});

test("a call that is over in this process without having ended its session is ended for it; one that goes on is not (I10)", async () => {
  const [over, running, others] = [await inCall("one"), await fixture.create(), await inCall("two")];
  await fixture.sessions.claim(running.id, { owner: "one", callId: "running" });
  for (const owner of ["one", "two"]) await lives(owner);
  start({ own: { owner: "one", calls: () => ["running"] } });
  await sweeps(5);
  assert.deepEqual(await Promise.all([over, running.id, others].map(statusOf)), ["abandoned", "COLLECTING", "COLLECTING"]);
});

test("a session that the page of its link has left is there for the caller again, whether the page's process lives or not (R-435)", async () => {
  const [left, died, tried] = [await fixture.create(), await fixture.create(), await fixture.create()];
  for (const owner of ["one", "two"]) await lives(owner);
  await heard("dead", 60);
  await fixture.sessions.apply(left.id, "claim", { claimedBy: "one" });
  await fixture.sessions.apply(died.id, "claim", { claimedBy: "dead" });
  await fixture.sessions.apply(tried.id, "claim", { claimedBy: "two" });
  await fixture.database.db
    .updateTable("sessions")
    .set({ updated_at: sql<Date>`updated_at - interval '1 minute'` })
    .execute();
  start({ own: { owner: "one", calls: () => ["running"] } });
  await sweeps(5);
  assert.deepEqual(await Promise.all([left.id, died.id, tried.id].map(statusOf)), ["PENDING", "PENDING", "COLLECTING"]);
});
