import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { planWithoutTableScan, testDatabase } from "../testing.ts";
import type { Database } from "./database.ts";
import { ago } from "./newest.ts";

let database: Database;
before(async () => {
  database = await testDatabase();
});
after(() => database.close());

test("what was made since a time is found by the index of times", async () => {
  const plan = await planWithoutTableScan(database, sql`select id from sessions where created_at > ${ago("1 hour")}`);
  assert.match(plan, /Index Cond: \(created_at > /);
});
