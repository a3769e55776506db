import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { type Fixture, sessionsFixture } from "#src/sessions/testing.ts";
import { beginTry, endTry, MAX_TRIES, triesOf } from "./tries.ts";

let fixture: Fixture;
before(async () => {
  fixture = await sessionsFixture();
});
after(() => fixture.close());

const begin = (id: string, nonce: string) => fixture.database.transaction((tx) => beginTry(tx, id, nonce));
const tries = (id: string, nonce: string | null = null) => triesOf(fixture.database.db, id, nonce);

test("while a try is under way another one, with a nonce of its own, is not counted (R-282, R-367)", async () => {
  const { id } = await fixture.create({ channel: "widget" });
  const numbers = await Promise.all(Array.from({ length: 10 }, (_, index) => begin(id, `nonce ${index}`)));
  assert.deepEqual(
    numbers.filter((number) => number !== null),
    [1],
  );
  const winner = `nonce ${numbers.indexOf(1)}`;
  assert.deepEqual(await tries(id, winner), { used: 1, busy: true, spent: true });
  await endTry(fixture.database.db, id, "another's");
  assert.equal((await tries(id)).busy, true, "only the try itself can end it");
  await endTry(fixture.database.db, id, winner);
  assert.equal(await begin(id, winner), null, "its nonce was used");
  assert.equal(await begin(id, "next"), 2);
});

test("five tries and no more, however they ended (R-367)", async () => {
  const { id } = await fixture.create({ channel: "widget" });
  for (let number = 1; number <= MAX_TRIES; number++) {
    assert.equal(await begin(id, `nonce ${number}`), number);
    await endTry(fixture.database.db, id, `nonce ${number}`);
  }
  assert.equal(await begin(id, "one more"), null);
  assert.deepEqual(await tries(id, "one more"), { used: 5, busy: false, spent: false });
});

test("a try whose process died keeps others out for a minute, not for ever", async () => {
  const { id } = await fixture.create({ channel: "widget" });
  await begin(id, "dead");
  await sql`update widget_charges set busy_until = busy_until - interval '61 seconds' where session_id = ${id}`.execute(
    fixture.database.db,
  );
  assert.equal(await begin(id, "next"), 2);
});

test("also where the database server's clock was set back since (R-288)", async () => {
  const { id } = await fixture.create({ channel: "widget" });
  await begin(id, "dead");
  await sql`update widget_charges set busy_until = busy_until + interval '1 hour' where session_id = ${id}`.execute(fixture.database.db);
  assert.equal((await tries(id)).busy, false);
  assert.equal(await begin(id, "next"), 2);
});
