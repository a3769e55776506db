import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { planWithoutTableScan } from "#src/platform/testing.ts";
import { type Fixture, sessionsFixture } from "#src/sessions/testing.ts";
import { keepBody, markDead, markDelivered, markWaiting, reviveEvent } from "./events.ts";
import { BACKLOG, backlogOf, FAILED, findEvent, listEvents } from "./listing.ts";

let fixture: Fixture;
const sessionOf = new Map<string, string>();

const insertEvent = (id: string, sessionId: string, body: unknown) =>
  fixture.database.db
    .insertInto("webhook_events")
    .values({ id, session_id: sessionId, project_id: fixture.projectId, event: "payment.expired", body: JSON.stringify(body) })
    .execute();

before(async () => {
  fixture = await sessionsFixture();
  const { db } = fixture.database;
  for (const id of ["evt_delivered", "evt_new", "evt_waiting", "evt_dead"]) {
    const session = await fixture.create();
    sessionOf.set(id, session.id);
    await insertEvent(id, session.id, "{}");
  }
  await markDelivered(db, "evt_delivered", "200");
  await markWaiting(db, { id: "evt_waiting", tries: 0 }, "503", 300_000);
  await markDead(db, { id: "evt_dead", tries: 0 }, "410");
});
after(() => fixture.close());

test("the list narrows to what is pending, what failed and what was given up", async () => {
  const ids = async (filter: Parameters<typeof listEvents>[1], limit = 10) =>
    (await listEvents(fixture.database.db, filter, limit)).map(({ id }) => id).sort();
  assert.deepEqual(await ids("all"), ["evt_dead", "evt_delivered", "evt_new", "evt_waiting"]);
  assert.deepEqual(await ids("pending"), ["evt_new", "evt_waiting"]);
  assert.deepEqual(await ids("failed"), ["evt_dead", "evt_waiting"]);
  assert.deepEqual(await ids("dead"), ["evt_dead"]);
  assert.equal((await ids("all", 2)).length, 2);
});

test("an event is found by its own id and by its session's, without its body", async () => {
  const { db } = fixture.database;
  const dead = await findEvent(db, "evt_dead");
  assert.deepEqual(
    [dead?.state, dead?.last_status, dead?.project, dead?.endpoint, dead?.next_try_at],
    ["dead", "410", "shop", "none", null],
  );
  assert.ok(dead && !("body" in dead));
  assert.deepEqual(await findEvent(db, sessionOf.get("evt_dead")!), dead);
  assert.equal(await findEvent(db, "evt_none"), null);
});

test("no text that the database refuses keeps an event from being written or looked for (R-436)", async () => {
  const { db } = fixture.database;
  const bad = "a\0b\ud800";
  const session = await fixture.create();
  await insertEvent("evt_bad", session.id, {});
  await keepBody(db, "evt_bad", bad);
  const row = await db.selectFrom("webhook_events").select("body").where("id", "=", "evt_bad").executeTakeFirstOrThrow();
  assert.equal(row.body, "ab\ufffd");
  assert.equal(await findEvent(db, bad), null);
  assert.equal(await reviveEvent(db, bad), null);
  await db.deleteFrom("webhook_events").where("id", "=", "evt_bad").execute();
});

test("the backlog is counted by the indexes of what waits and of what is dead, not in all events, and what failed is found by them", async () => {
  for (const query of [BACKLOG, sql`select id from webhook_events where ${FAILED}`])
    assert.match(await planWithoutTableScan(fixture.database, query), /webhook_events_waiting[^]*webhook_events_dead/);
});

test("the backlog counts what waits, what nobody takes up, and what was given up", async () => {
  const { db } = fixture.database;
  const before = await backlogOf(db);
  assert.deepEqual([before.pending, before.overdue, before.dead], [2, 0, 1]);
  const past = sql<Date>`clock_timestamp() - interval '2 hours'`;
  await db.updateTable("webhook_events").set({ next_try_at: past, created_at: past }).where("id", "=", "evt_new").execute();
  const later = await backlogOf(db);
  assert.equal(later.overdue, 1);
  assert.ok((later.oldestSeconds ?? 0) >= 7200);
});
