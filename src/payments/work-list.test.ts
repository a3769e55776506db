import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { type Fixture, sessionsFixture } from "#src/sessions/testing.ts";
import { collecting, declined, FakeGateway, LOST, testCard, testProcess } from "./testing.ts";
import { requireReversalOfUnknown } from "./reversal-rows.ts";
import { attemptsOf, closeEntry, countOpen, needsOperator } from "./work-list.ts";

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

/** An attempt whose answer was lost, and a way to write into its row. */
async function lostAttempt() {
  const { db } = fixture.database;
  await db.deleteFrom("payment_attempts").execute();
  const fake = new FakeGateway();
  fake.onCharge = async () => LOST;
  const session = await collecting(fixture);
  await testProcess(fixture, fake.gateway()).payments.settle({ session, card: testCard(), mayRetry: true });
  const reference = `${session.id}-1`;
  const update = (values: object) => db.updateTable("payment_attempts").set(values).where("reference", "=", reference).execute();
  return { reference, update };
}

const NOW = sql<Date>`clock_timestamp()`;

test("an entry that the operator has dealt with is closed once, is audited, and is neither listed nor counted any more (R-287, S-16)", async () => {
  const { db } = fixture.database;
  const { reference, update } = await lostAttempt();
  await update({ finished_at: NOW });
  const closings = await Promise.all([1, 2].map(() => closeEntry(fixture.database, reference)));
  assert.deepEqual(closings.map((result) => (typeof result === "string" ? result : result.reference)).sort(), [reference, "closed"].sort());
  assert.deepEqual([await needsOperator(db, 10), (await countOpen(db)).unsettled], [[], 0]);
  const audited = await db.selectFrom("audit_log").selectAll().where("action", "=", "payment.close").execute();
  assert.deepEqual(
    audited.map(({ actor, object, organization_id, details }) => [actor, object, organization_id, details]),
    [["operator", `payment ${reference}`, fixture.scope.organizationId, { outcome: "unknown", reversal: null }]],
  );
});

test("what the service still works at, what is settled and what is no payment is not closed", async () => {
  const { reference, update } = await lostAttempt();
  assert.equal(await closeEntry(fixture.database, reference), "pending");
  await update({ finished_at: NOW, reversal: "due", reversal_since: NOW });
  assert.equal(await closeEntry(fixture.database, reference), "pending");
  await update({ reversal: "done" });
  assert.equal(await closeEntry(fixture.database, reference), "missing");
  await update({ outcome: "approved", reversal: null });
  assert.equal(await closeEntry(fixture.database, reference), "missing");
  assert.equal(await closeEntry(fixture.database, "none"), "missing");
});

test("money that shows after its entry was closed is on the list again, and is closed again (R-287)", async () => {
  const { database } = fixture;
  const { reference, update } = await lostAttempt();
  await update({ finished_at: NOW });
  assert.equal(typeof (await closeEntry(database, reference)), "object");
  const { id } = await database.db.selectFrom("payment_attempts").select("id").executeTakeFirstOrThrow();
  await requireReversalOfUnknown(database.db, id, "found");
  assert.deepEqual(
    (await needsOperator(database.db, 10)).map(({ reversal }) => reversal),
    ["due"],
  );
  await update({ reversal: "failed" });
  assert.deepEqual([(await needsOperator(database.db, 10)).length, (await countOpen(database.db)).unsettled], [1, 1]);
  assert.equal(typeof (await closeEntry(database, reference)), "object");
  assert.deepEqual([await needsOperator(database.db, 10), (await countOpen(database.db)).unsettled], [[], 0]);
});
