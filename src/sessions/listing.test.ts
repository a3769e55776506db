import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { planWithoutTableScan } from "#src/platform/testing.ts";
import { countNumberCallbacks, listNumberCallbacks } from "./index.ts";
import { hasStatus } from "./listing.ts";
import { type Fixture, sessionsFixture } from "./testing.ts";

let fixture: Fixture;
before(async () => {
  fixture = await sessionsFixture();
});
after(() => fixture.close());

const ALL = { status: null, project: null, limit: 10 } as const;
const list = (filter: Partial<Parameters<Fixture["sessions"]["list"]>[1]> = {}) =>
  fixture.sessions.list(fixture.database.db, { ...ALL, ...filter });

test("the operator's list has the newest first, however old they are, and tells a late unused session as expired (R-195)", async () => {
  const made = [];
  for (const age of ["100 days", "3 days", "2 hours", "0 hours"]) {
    const { id } = await fixture.create();
    const at = sql<Date>`clock_timestamp() - ${age}::interval`;
    await fixture.database.db.updateTable("sessions").set({ created_at: at }).where("id", "=", id).execute();
    made.unshift(id);
  }
  const [newest, , late] = made;
  await fixture.expireIn(late!, -1000);
  const idsOf = async (filter: Parameters<typeof list>[0]) => (await list(filter)).map(({ id }) => id);
  assert.deepEqual(await idsOf({}), made);
  assert.deepEqual(await idsOf({ limit: 1 }), [newest]);
  assert.deepEqual(await idsOf({ limit: 3 }), made.slice(0, 3));
  assert.deepEqual(await idsOf({ status: "expired" }), [late]);
  assert.deepEqual(
    await idsOf({ status: "PENDING" }),
    made.filter((id) => id !== late),
  );
  assert.deepEqual(await idsOf({ project: "shop", status: "PENDING", limit: 1 }), [newest]);
  assert.deepEqual(await idsOf({ project: fixture.projectId.toUpperCase(), limit: 1 }), [newest]);
  assert.deepEqual(await idsOf({ project: "other" }), []);
});

test("sessions of the last week that ask for a transfer to a telephone number are counted (R-432)", async () => {
  const { db } = fixture.database;
  const before = await countNumberCallbacks(db);
  for (const callback of ["+14155550100", "tel:+14155550100", "sip:agent@pbx.example", "SIPS:agent@pbx.example", null])
    await fixture.create({ callback });
  const { id } = await fixture.create({ callback: "+14155550100" });
  const old = sql<Date>`clock_timestamp() - interval '8 days'`;
  await db.updateTable("sessions").set({ created_at: old }).where("id", "=", id).execute();
  assert.equal((await countNumberCallbacks(db)) - before, 2);
  const listed = await listNumberCallbacks(db, 2);
  assert.deepEqual(
    listed.map(({ organization, project, status, transfer_status }) => [`${organization}/${project}`, status, transfer_status]),
    [
      ["acme/shop", "PENDING", null],
      ["acme/shop", "PENDING", null],
    ],
  );
  assert.ok(!JSON.stringify(listed).includes("4155550100"), "no telephone number");
});

test("open sessions are listed by the indexes of what waits and of what is collected, not out of all sessions", async () => {
  for (const [status, index] of [
    ["PENDING", /Index Scan using sessions_(?:waiting|pending_by_caller)/],
    ["COLLECTING", /Index Scan using sessions_collecting/],
  ] as const) {
    const query = sql`select id from sessions where ${hasStatus(status)} order by created_at desc`;
    assert.match(await planWithoutTableScan(fixture.database, query), index);
  }
});
