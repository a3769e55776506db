import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { sql } from "kysely";
import type { Database } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import type { Miss } from "./match.ts";
import { keepUnmatched, listUnmatched } from "./unmatched.ts";

let database: Database;
before(async () => {
  database = await testDatabase();
});
after(() => database.close());
beforeEach(() => database.db.deleteFrom("unmatched_calls").execute());

const miss = (value: string | null, readings: string[] = []): Miss => ({ rule: "To", value, why: "not a telephone number", readings });
const keep = (callId: string, ...misses: Miss[]) => keepUnmatched(database.db, { callId, source: "192.0.2.1", misses });

test("an unmatched call is kept as it came, the newest first", async () => {
  await keep("first", miss("+447911123456", ["+447911123456"]));
  await keep("second", miss(null));
  const [second, first] = await listUnmatched(database.db, 10);
  assert.deepEqual([second?.call_id, first?.call_id, first?.source], ["second", "first", "192.0.2.1"]);
  assert.deepEqual(first?.misses, [miss("+447911123456", ["+447911123456"])]);
});

test("a card number that somebody dialled is masked, in every spelling; a telephone number that passes the check digit is not", async () => {
  const luhn = "+447700900007";
  await keep(
    "cards",
    miss("4242424242424242"),
    miss("+378282246310005", ["+378282246310005"]),
    miss("sip:4242-4242-4242-4242@x"),
    miss(luhn, [luhn]),
  );
  const kept = JSON.stringify((await listUnmatched(database.db, 1))[0]);
  for (const card of ["42424242", "37828224", "4242-4242"]) assert.ok(!kept.includes(card), kept);
  assert.ok(kept.includes(luhn));
});

test("a card number is masked however its digits are mixed with signs and escapes; a session's id is not", async () => {
  const spelt = [
    "4242(4242)4242-4242",
    "42424242%3442424242424242",
    "4242.4242/4242-4242",
    "4;2;4;2;4;2;4;2;4;2;4;2;4;2;4;2",
    "4242424242424242".padEnd(32, "0"),
  ];
  await keep("mixed", ...spelt.map((text) => miss(text, [text])));
  const [call] = await listUnmatched(database.db, 1);
  assert.deepEqual(
    call?.misses.map(({ value, readings }) => [value, ...readings]),
    spelt.map(() => ["[pan]", "[pan]"]),
  );
  const id = "42424242-4242-4242-8242-424242424242";
  await keep("named", miss(id));
  assert.equal((await listUnmatched(database.db, 1))[0]?.misses[0]?.value, id);
});

test("a value is cut before it is searched for card numbers: 8 KiB of it cost no more than its first characters (R-438)", async () => {
  await keep("long", miss(`${"x".repeat(5000)}4242424242424242`), miss(`${"x".repeat(70)}4242424242424242`));
  const [call] = await listUnmatched(database.db, 1);
  assert.deepEqual(
    call?.misses.map(({ value }) => value),
    ["x".repeat(80), "[pan]"],
  );
});

test("control characters and endless values do not reach the operator's terminal", async () => {
  await keep("\u001b[2J", miss(`\u001b]0;x\u0007${"a".repeat(500)}`));
  const [call] = await listUnmatched(database.db, 1);
  assert.ok(!/[\u0000-\u001f]/.test(`${call?.call_id}${call?.misses[0]?.value}`));
  assert.ok((call?.misses[0]?.value?.length ?? 0) <= 80);
});

test("at most a thousand calls are kept, and none for longer than a week", async () => {
  const { db } = database;
  await sql`insert into unmatched_calls (call_id, source, misses) select 'flood ' || n, '192.0.2.1', '[]' from generate_series(1, 1500) n`.execute(
    db,
  );
  await keep("last", miss(null));
  assert.equal((await listUnmatched(db, 10_000)).length, 1000);
  await db
    .updateTable("unmatched_calls")
    .set({ at: sql<Date>`clock_timestamp() - interval '8 days'` })
    .execute();
  await keep("fresh", miss(null));
  assert.deepEqual(
    (await listUnmatched(db, 10)).map(({ call_id }) => call_id),
    ["fresh"],
  );
});
