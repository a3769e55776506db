import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { type Fixture, sessionsFixture } from "#src/sessions/testing.ts";
import { collecting, declined, FakeGateway, LOST, testCard, testProcess } from "./testing.ts";
import { attemptsOf, countOpen, needsOperator } from "./work-list.ts";

let fixture: Fixture;
before(async () => {
  fixture = await sessionsFixture();
});
after(() => fixture.close());

test("the operator reads each attempt of a session, and what nobody can settle is on the work list (R-287)", async () => {
  const { db } = fixture.database;
  const fake = new FakeGateway();
  const { payments } = testProcess(fixture, fake.gateway());
  const session = await collecting(fixture);
  fake.onCharge = async () => declined("incorrect_cvc");
  await payments.settle({ session, card: testCard(), mayRetry: true });
  fake.onCharge = async () => LOST;
  await payments.settle({ session, card: testCard("5555555555554444"), mayRetry: true });

  const attempts = await attemptsOf(db, session.id);
  assert.deepEqual(
    attempts.map(({ number, reference, outcome, decline_code, card_last4 }) => [number, reference, outcome, decline_code, card_last4]),
    [
      [1, `${session.id}-1`, "declined", "incorrect_cvc", "4242"],
      [2, `${session.id}-2`, "unknown", null, "4444"],
    ],
  );
  assert.deepEqual(await countOpen(db), { stuck: 0, searched: 1, unsettled: 0 });
  const listed = await needsOperator(db, 10);
  assert.deepEqual(
    listed.map(({ reference, organization, project, status }) => [reference, organization, project, status]),
    [[`${session.id}-2`, "acme", "shop", "COLLECTING"]],
  );

  const update = (values: object) => db.updateTable("payment_attempts").set(values).where("reference", "=", `${session.id}-2`).execute();
  await update({ finished_at: sql<Date>`clock_timestamp()` });
  assert.deepEqual(await countOpen(db), { stuck: 0, searched: 0, unsettled: 1 });
  await update({ reversal: "done" });
  assert.deepEqual(
    [await countOpen(db), await needsOperator(db, 10)],
    [{ stuck: 0, searched: 0, unsettled: 0 }, []],
    "voided: nobody owes anything",
  );
  await update({ outcome: "approved", reversal: "failed" });
  assert.deepEqual(await countOpen(db), { stuck: 0, searched: 0, unsettled: 1 });
  assert.equal((await needsOperator(db, 10)).length, 1);
  await update({ reversal: "done" });
  assert.deepEqual([await countOpen(db), await needsOperator(db, 10)], [{ stuck: 0, searched: 0, unsettled: 0 }, []]);
  await update({ outcome: null, finished_at: null, deadline_at: sql<Date>`clock_timestamp() - interval '5 minutes'` });
  assert.equal((await countOpen(db)).stuck, 1);
});

test("money stands before stored cards on the work list, and each with the newest first (R-287)", async () => {
  const { db } = fixture.database;
  await db.deleteFrom("payment_attempts").execute();
  const fake = new FakeGateway();
  fake.onCharge = async () => LOST;
  const { payments } = testProcess(fixture, fake.gateway());
  const references: string[] = [];
  for (const mode of ["charge", "charge", "tokenize", "tokenize"] as const) {
    const session = await collecting(fixture, { mode });
    await payments.settle({ session, card: testCard(), mayRetry: true });
    references.push(`${session.id}-1`);
  }
  const [first, second, card, newestCard] = references;
  assert.deepEqual(
    (await needsOperator(db, 10)).map(({ reference }) => reference),
    [second, first, newestCard, card],
  );
});
