import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import type { Outcome } from "#src/gateways/index.ts";
import type { Db } from "#src/platform/index.ts";
import type { Session } from "#src/sessions/index.ts";
import { sessionsFixture } from "#src/sessions/testing.ts";
import type { Fixture } from "#src/sessions/testing.ts";
import { addNotes } from "./attempts.ts";
import { effectsOf } from "./outcome.ts";
import { requireReversalOfUnknown } from "./reversal-rows.ts";
import { APPROVED, collecting, declined, FakeGateway, testCard, testProcess } from "./testing.ts";
import { beginAttempt, endAttempt } from "./transitions.ts";

const skip = !process.env["TEST_DATABASE_URL"] && "needs TEST_DATABASE_URL: several connections";

describe("a statement that waits for a row judges it as it is by then", { skip }, () => {
  let fixture: Fixture;
  before(async () => {
    fixture = await sessionsFixture();
  });
  after(() => fixture.close());

  const begin = (db: Db, session: Session, id: string = randomUUID()) =>
    beginAttempt(db, fixture.sessions, {
      id,
      session,
      connectedAccount: null,
      credentialVersion: 1,
      endpoint: "https://sandbox.example",
      cardBrand: "visa",
      cardLast4: "4242",
      owner: "process-1",
      deadlineMs: 30_000,
    });
  const end = (db: Db, session: Session, id: string, outcome: Outcome, mayRetry = true) => {
    const { attempt, event, changes } = effectsOf(outcome, { brand: "visa", last4: "4242" }, mayRetry);
    return endAttempt(db, fixture.sessions, { id, sessionId: session.id }, attempt, event, changes);
  };
  const charging = async () => {
    const [session, id] = [await collecting(fixture), randomUUID()];
    await begin(fixture.database.db, session, id);
    return { session, id };
  };
  const attemptsOf = ({ id }: Session) =>
    fixture.database.db.selectFrom("payment_attempts").selectAll().where("session_id", "=", id).orderBy("number").execute();
  const statusOf = async ({ id }: Session) => (await fixture.sessions.find(fixture.database.db, id))?.status;

  /** Begins `second` while a transaction has done `first`, and commits that once `second` waits for it. */
  async function whileLocked<T>(first: (tx: Db) => Promise<unknown>, second: () => Promise<T>): Promise<T> {
    const { database } = fixture;
    const [done, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = database.transaction(async (tx) => {
      await first(tx);
      done.resolve();
      await commit.promise;
    });
    await done.promise;
    const waiting = second().finally(commit.resolve);
    const blocked = sql<{ count: number }>`select count(*) from pg_locks where not granted and pg_backend_pid() <> pid
      and pid in (select pid from pg_stat_activity where datname = current_database())`;
    while ((await blocked.execute(database.db)).rows[0]!.count === 0);
    commit.resolve();
    await holding;
    return await waiting;
  }

  test("a result that waits for the gateway's notes keeps them, and is written once", async () => {
    const { session, id } = await charging();
    const written = await whileLocked(
      (tx) => addNotes(tx, id, { early: "1" }),
      () => end(fixture.database.db, session, id, APPROVED),
    );
    const [attempt] = await attemptsOf(session);
    assert.deepEqual([written, attempt?.outcome, attempt?.reversal], ["written", "approved", null]);
    assert.partialDeepStrictEqual(attempt?.notes, { early: "1", stripe_charge_id: "ch_1" });
    assert.equal(await statusOf(session), "payment-success");
  });

  test("an approval that waits for the decision to give it back is late: due, and no success", async () => {
    const { session, id } = await charging();
    const written = await whileLocked(
      (tx) => requireReversalOfUnknown(tx, id, "lost"),
      () => end(fixture.database.db, session, id, APPROVED),
    );
    const [attempt] = await attemptsOf(session);
    assert.deepEqual([written, attempt?.reversal, await statusOf(session)], ["late", "due", "COLLECTING"]);
  });

  test("an approval that waits for another decision of its attempt is given back", async () => {
    const { session, id } = await charging();
    const written = await whileLocked(
      (tx) => end(tx, session, id, declined("card_declined"), false),
      () => end(fixture.database.db, session, id, APPROVED),
    );
    const [attempt] = await attemptsOf(session);
    assert.deepEqual([written, attempt?.outcome, attempt?.reversal], ["late", "declined", "due"]);
    assert.equal(await statusOf(session), "payment-failed");
  });

  test("of two approvals of one attempt at once one is written, and the other finds it", async () => {
    const { session, id } = await charging();
    const written = await whileLocked(
      (tx) => end(tx, session, id, APPROVED),
      () => end(fixture.database.db, session, id, APPROVED),
    );
    const [attempt] = await attemptsOf(session);
    assert.deepEqual([written, attempt?.outcome, attempt?.reversal], ["written", "approved", null]);
    assert.equal((await fixture.finals()).filter((final) => final.id === session.id).length, 1);
  });

  test("a card that waits while another was tried and refused is the next attempt, under its own number", async () => {
    const session = await collecting(fixture);
    const fake = new FakeGateway();
    const result = await whileLocked(
      async (tx) => {
        const id = randomUUID();
        await begin(tx, session, id);
        await end(tx, session, id, declined("card_declined"));
      },
      () => testProcess(fixture, fake.gateway()).payments.settle({ session, card: testCard(), mayRetry: true }),
    );
    assert.equal(result.kind, "approved");
    assert.deepEqual(
      fake.charges.map(({ attempt }) => attempt),
      [2],
    );
    assert.deepEqual(
      (await attemptsOf(session)).map(({ number, outcome }) => [number, outcome]),
      [
        [1, "declined"],
        [2, "approved"],
      ],
    );
  });

  test("a card that waits for a cancel is not charged", async () => {
    const session = await collecting(fixture);
    const begun = await whileLocked(
      (tx) => fixture.sessions.transition(tx, session.id, "cancel"),
      () => begin(fixture.database.db, session),
    );
    assert.deepEqual([begun, (await attemptsOf(session)).length, await statusOf(session)], [null, 0, "cancelled"]);
  });
});
