import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, describe, test } from "node:test";
import { sql } from "kysely";
import { ManualClock } from "#src/kernel/testing.ts";
import { type Log, silentLog } from "#src/platform/index.ts";
import type { NewSession, Session } from "#src/sessions/index.ts";
import { type Fixture, sessionsFixture } from "#src/sessions/testing.ts";
import { eraseSession, type RetentionDeps, round, startRetention } from "./index.ts";

const DAY_MS = 86_400_000;
const PERSONAL: Partial<NewSession> = {
  caller: "+14155550100",
  memory: "order 1001",
  description: "Invoice 1001",
  billingAddress: {
    street: "1 Main",
    city: "X",
    state: "CA",
    zip: "94105",
    country: "US",
    first_name: null,
    last_name: null,
  },
};

describe("retention", () => {
  let fixture: Fixture;
  before(async () => {
    fixture = await sessionsFixture();
  });
  after(() => fixture.close());
  afterEach(async () => {
    for (const table of ["webhook_events", "widget_charges", "payment_attempts", "sessions"] as const)
      await fixture.database.db.deleteFrom(table).execute();
  });

  /** The database's clock, so many days on. */
  const inDays =
    (days: number): RetentionDeps["now"] =>
    async (db) => {
      const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
      return new Date(rows[0]!.now.getTime() + days * DAY_MS);
    };
  const deps = (differences: Partial<RetentionDeps> = {}): RetentionDeps => ({
    database: fixture.database,
    clock: new ManualClock(),
    log: silentLog,
    personalDays: 30,
    days: 400,
    leftovers: [],
    ...differences,
  });
  const roundIn = (days: number, differences: Partial<RetentionDeps> = {}) => round(deps({ now: inDays(days)!, ...differences }));

  async function completed(differences: Partial<NewSession> = {}): Promise<Session> {
    const { id } = await fixture.create({ ...PERSONAL, ...differences });
    const session = await fixture.sessions.apply(id, "cancel");
    assert.ok(session);
    return session;
  }
  const rowOf = ({ id }: Pick<Session, "id">) =>
    fixture.database.db.selectFrom("sessions").selectAll().where("id", "=", id).executeTakeFirst();
  const eventOf = ({ id }: Pick<Session, "id">) =>
    fixture.database.db.selectFrom("webhook_events").selectAll().where("session_id", "=", id).executeTakeFirst();
  const addEvent = ({ id }: Pick<Session, "id">, state: "delivered" | "dead" | "pending") =>
    fixture.database.db
      .insertInto("webhook_events")
      .values({
        id: `evt_${id}`,
        session_id: id,
        project_id: fixture.projectId,
        event: "payment.cancelled",
        body: JSON.stringify('{"caller":"+14155550100"}'),
        delivered_at: state === "delivered" ? new Date() : null,
        dead_at: state === "dead" ? new Date() : null,
      })
      .execute();
  const settleEvent = ({ id }: Pick<Session, "id">) =>
    fixture.database.db.updateTable("webhook_events").set({ delivered_at: new Date() }).where("session_id", "=", id).execute();
  const addAttempt = ({ id }: Pick<Session, "id">, differences: { reversal?: "due" | "done"; finished_at?: Date | null } = {}) =>
    fixture.database.db
      .insertInto("payment_attempts")
      .values({
        id: randomUUID(),
        session_id: id,
        number: 1,
        reference: `${id}-1`,
        gateway: "stripe",
        environment: "test",
        mode: "charge",
        amount_minor: 5000,
        currency: "USD",
        credential_version: 1,
        endpoint: "https://api.stripe.com",
        card_brand: "visa",
        card_last4: "4242",
        owner: "a",
        outcome: "declined",
        notes: "{}",
        deadline_at: new Date(),
        finished_at: new Date(),
        ...differences,
      })
      .execute();
  const audited = async (action: string) =>
    (
      await fixture.database.db.selectFrom("audit_log").select(["object", "details"]).where("action", "=", action).orderBy("id").execute()
    ).map(({ object, details }) => [object, (details as { count?: number }).count]);
  const forgottenAudit = async () => (await audited("sessions.erase")).length + (await audited("sessions.delete")).length;

  test("30 days after its end a session no longer tells who called; its outcome stays, and a read of it works (R-433, S-03)", async () => {
    const session = await completed();
    await addEvent(session, "delivered");
    await roundIn(29.9);
    assert.equal((await rowOf(session))?.caller, PERSONAL.caller);
    assert.ok((await eventOf(session))?.body);

    await roundIn(30.1);
    const row = await rowOf(session);
    assert.deepEqual([row?.caller, row?.memory, row?.description, row?.billing_address], [null, null, null, null]);
    assert.ok(row?.erased_at);
    assert.equal((await eventOf(session))?.body, null);
    const read = await fixture.sessions.find(fixture.database.db, session.id, fixture.scope);
    assert.deepEqual(read, { ...session, caller: null, memory: null, description: null, billingAddress: null });
    assert.equal(await fixture.sessions.findByCaller(fixture.database.db, fixture.scope, "+14155550100"), null);
  });

  test("a session that has not ended is left alone however old it is (R-433)", async () => {
    const open = await fixture.create(PERSONAL);
    await roundIn(5000);
    assert.equal((await rowOf(open))?.caller, PERSONAL.caller);
  });

  test("a body that is still to be delivered is erased once it is, or was given up (R-433)", async () => {
    const session = await completed();
    await addEvent(session, "pending");
    await roundIn(31);
    assert.equal((await rowOf(session))?.caller, null);
    assert.ok((await eventOf(session))?.body, "the merchant has not been told yet");
    await roundIn(31);
    assert.ok((await eventOf(session))?.body);
    await settleEvent(session);
    await roundIn(31);
    assert.equal((await eventOf(session))?.body, null);
  });

  test("400 days after its end a session is deleted with its attempts, tries and webhook (R-433, S-03)", async () => {
    const [old, young] = [await completed(), await completed()];
    for (const session of [old, young]) {
      await addEvent(session, "dead");
      await addAttempt(session, { reversal: "done" });
      await fixture.database.db
        .insertInto("widget_charges")
        .values({ session_id: session.id, nonces: ["n"] })
        .execute();
    }
    await fixture.database.db
      .updateTable("sessions")
      .set({ completed_at: sql<Date>`completed_at - interval '2 days'` })
      .where("id", "=", old.id)
      .execute();
    await roundIn(399);
    assert.equal(await rowOf(old), undefined);
    assert.equal((await rowOf(young))?.id, young.id);
    for (const table of ["webhook_events", "payment_attempts", "widget_charges"] as const) {
      const rows = await fixture.database.db.selectFrom(table).select("session_id").execute();
      assert.deepEqual(
        rows.map(({ session_id }) => session_id),
        [young.id],
        table,
      );
    }
  });

  test("nothing is deleted whose webhook is to be delivered, or whose payment is looked for or sent back (R-433)", async () => {
    const [untold, looked, due] = [await completed(), await completed(), await completed()];
    await addEvent(untold, "pending");
    await addAttempt(looked, { finished_at: null });
    await addAttempt(due, { reversal: "due" });
    await roundIn(401);
    for (const session of [untold, looked, due]) assert.ok(await rowOf(session));
    await settleEvent(untold);
    await roundIn(401);
    assert.equal(await rowOf(untold), undefined);
  });

  test("0 days is never, each for itself (R-433)", async () => {
    const session = await completed();
    await roundIn(5000, { personalDays: 0, days: 0 });
    assert.equal((await rowOf(session))?.caller, PERSONAL.caller);
    await roundIn(5000, { personalDays: 0 });
    assert.equal(await rowOf(session), undefined);
    const other = await completed();
    await roundIn(5000, { days: 0 });
    assert.equal((await rowOf(other))?.caller, null);
  });

  test("many are done in batches of 500, one row of the audit log for each; two workers share them (R-433, S-16)", async () => {
    const { db } = fixture.database;
    const one = await completed();
    await sql`insert into sessions (id, organization_id, project_id, environment, channel, status, mode, gateway, amount_minor, currency, caller, expires_at, completed_at)
      select gen_random_uuid(), organization_id, project_id, environment, channel, status, mode, gateway, amount_minor, currency, caller, expires_at, completed_at
      from sessions, generate_series(1, 1199) where id = ${one.id}`.execute(db);
    const before = await audited("sessions.erase");
    await Promise.all([roundIn(31), roundIn(31)]);
    await roundIn(31);
    const rows = (await audited("sessions.erase")).slice(before.length);
    assert.ok(rows.every(([, count]) => (count as number) <= 500));
    assert.ok(rows.every(([object, count]) => object === `${count} sessions`));
    assert.equal(
      rows.reduce((sum, [, count]) => sum + (count as number), 0),
      1200,
    );
    const deletedBefore = await audited("sessions.delete");
    await roundIn(401);
    assert.deepEqual(
      (await audited("sessions.delete")).slice(deletedBefore.length).map(([, count]) => count),
      [500, 500, 200],
    );
  });

  test("a round that finds nothing writes nothing to the audit log (S-16)", async () => {
    const before = await forgottenAudit();
    await completed();
    await roundIn(1);
    assert.equal(await forgottenAudit(), before);
  });

  test("one session is erased at once, and that is in the audit log; an open one is refused (R-433, S-16)", async () => {
    const [session, open] = [await completed(), await fixture.create(PERSONAL)];
    await addEvent(session, "delivered");
    assert.equal(await eraseSession(fixture.database, session.id), "erased");
    assert.equal((await rowOf(session))?.caller, null);
    assert.equal((await eventOf(session))?.body, null);
    assert.equal((await audited("session.erase")).at(-1)?.[0], `session ${session.id}`);
    assert.equal(await eraseSession(fixture.database, session.id), "erased");
    assert.equal(await eraseSession(fixture.database, open.id), "open");
    assert.equal((await rowOf(open))?.caller, PERSONAL.caller);
    assert.equal(await eraseSession(fixture.database, randomUUID()), "missing");
  });

  test("the worker does a round at its start and every ten minutes, leftovers too, and a failure does not end it (R-433)", async () => {
    const clock = new ManualClock();
    const failures: string[] = [];
    const log: Log = { ...silentLog, warn: (event) => void failures.push(event) };
    let rounds = 0;
    let told = Promise.withResolvers<void>();
    const leftover = async () => {
      rounds++;
      told.resolve();
      if (rounds === 1) throw new Error("the database is away");
    };
    const end = startRetention(deps({ clock, log, leftovers: [leftover] }));
    await told.promise;
    while (clock.pending === 0) await new Promise(setImmediate);
    assert.deepEqual([rounds, failures], [1, ["retention_failed"]]);
    clock.advance(599_000);
    assert.equal(rounds, 1);
    told = Promise.withResolvers<void>();
    clock.advance(1_000);
    await told.promise;
    await end();
    clock.advance(3_600_000);
    assert.deepEqual([rounds, failures], [2, ["retention_failed"]]);
  });
});
