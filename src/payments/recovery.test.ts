import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { after, before, beforeEach, describe, test } from "node:test";
import { sql } from "kysely";
import { Secret } from "#src/kernel/secret.ts";
import { type Log, notify, silentLog } from "#src/platform/index.ts";
import { SETTINGS_CHANNEL } from "#src/projects/index.ts";
import { sessionsFixture } from "#src/sessions/testing.ts";
import type { Fixture } from "#src/sessions/testing.ts";
import type { Session } from "#src/sessions/index.ts";
import { needsOperator } from "./work-list.ts";
import {
  APPROVED,
  brokenSessions,
  collecting,
  declined,
  FakeGateway,
  LOST,
  testCard,
  testProcess,
  timePasses,
  without,
} from "./testing.ts";
import type { TestProcess } from "./testing.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

describe("recovering a payment whose answer was lost", () => {
  let fixture: Fixture;
  let fake: FakeGateway;
  before(async () => {
    fixture = await sessionsFixture();
  });
  after(() => fixture.close());
  beforeEach(async () => {
    fake = new FakeGateway();
    await fixture.forgetFinals();
    await fixture.database.db.deleteFrom("payment_attempts").execute();
    await fixture.database.db.deleteFrom("process_leases").execute();
  });

  const read = async (session: Session) => (await fixture.sessions.find(fixture.database.db, session.id)) ?? assert.fail();
  const isFinal = (session: Session) => async () => (await read(session)).completedAt !== null;
  const attemptOf = (session: Session) =>
    fixture.database.db.selectFrom("payment_attempts").selectAll().where("session_id", "=", session.id).executeTakeFirstOrThrow();
  const lease = (owner: string) => fixture.database.db.insertInto("process_leases").values({ owner, roles: "voice" }).execute();

  /** Settles with a lost answer: the session is in phase unknown and this process searches. */
  async function lost(process: TestProcess): Promise<Session> {
    fake.onCharge = async () => LOST;
    const session = await collecting(fixture);
    assert.deepEqual(await process.payments.settle({ session, card: testCard(), mayRetry: true }), { kind: "unknown" });
    return session;
  }

  /** A process that died in the middle of the gateway's call. */
  async function died(owner: string, gateway = fake.gateway()): Promise<Session> {
    fake.onCharge = () => new Promise(() => {});
    const session = await collecting(fixture);
    void testProcess(fixture, gateway, { owner }).payments.settle({ session, card: testCard(), mayRetry: true });
    await fake.called();
    return session;
  }

  /** Runs the janitor of `process` until `done`. */
  async function recover(process: TestProcess, done: () => boolean | Promise<boolean>): Promise<void> {
    const stop = process.payments.startJanitor();
    await timePasses(process.clock, done);
    await stop();
    assert.equal(process.clock.pending, 0);
  }

  test("the public status stays COLLECTING while the outcome is unknown, and cancel is refused (R-287, R-271)", async () => {
    const process = testProcess(fixture, fake.gateway());
    const session = await lost(process);
    const unknown = await read(session);
    assert.deepEqual([unknown.status, unknown.phase, unknown.errorCode], ["COLLECTING", "unknown", null]);
    assert.equal((await fixture.sessions.cancel(session.id, fixture.scope)).kind, "refused");
    await process.payments.startJanitor()();
  });

  test("a lost answer is looked up after 1, 2, 5, 10 and then every 30 seconds", async () => {
    const process = testProcess(fixture, fake.gateway());
    const session = await lost(process);
    await timePasses(process.clock, () => fake.lookUps.length === 6);
    fake.onLookUp = () => APPROVED;
    await timePasses(process.clock, isFinal(session));
    const gaps = fake.lookUps.slice(1).map((at, index) => at - (fake.lookUps[index] ?? 0));
    assert.deepEqual(
      gaps,
      [1, 2, 5, 10, 30, 30].map((seconds) => seconds * SECOND),
    );
    assert.equal((await read(session)).status, "payment-success");
    assert.deepEqual((await read(session)).processor, { stripe_charge_id: "ch_1", card_brand: "visa", card_last4: "4242" });
    assert.equal(fake.charges.length, 1);
    assert.equal((await fixture.finals()).length, 1);
  });

  test("a decline found later ends the session with it", async () => {
    const process = testProcess(fixture, fake.gateway());
    const session = await lost(process);
    fake.onLookUp = () => declined("card_declined");
    await timePasses(process.clock, isFinal(session));
    assert.deepEqual([(await read(session)).status, (await read(session)).errorCode], ["payment-failed", "card_declined"]);
  });

  test("absent is believed only after the vendor's delay", async () => {
    const process = testProcess(fixture, fake.gateway());
    const begin = process.clock.monotonic();
    fake.onLookUp = () => ({ outcome: "absent" });
    const session = await lost(process);
    await timePasses(process.clock, isFinal(session));
    const times = fake.lookUps.map((at) => at - begin);
    assert.ok((times.at(-1) ?? 0) >= 18 * SECOND, `believed after ${times.at(-1)} ms`);
    assert.ok(times.length > 3);
    assert.deepEqual([(await read(session)).status, (await read(session)).errorCode], ["payment-failed", "gateway_unavailable"]);
    assert.equal(fake.voids.length, 0);
  });

  test("a process counts the age of its own attempt by itself, though the database's clock was set forward while it was charged (R-288)", async () => {
    const process = testProcess(fixture, fake.gateway());
    const begin = process.clock.monotonic();
    fake.onCharge = async () => {
      const anHour = sql`interval '1 hour'`;
      await sql`update payment_attempts set started_at = started_at - ${anHour}, deadline_at = deadline_at - ${anHour}`.execute(
        fixture.database.db,
      );
      return LOST;
    };
    fake.onLookUp = () => ({ outcome: "absent" });
    const session = await collecting(fixture);
    await process.payments.settle({ session, card: testCard(), mayRetry: true });
    await timePasses(process.clock, isFinal(session));
    const last = (fake.lookUps.at(-1) ?? 0) - begin;
    assert.ok(last >= 18 * SECOND, `believed after ${last} ms`);
  });

  test("a card that may be stored and cannot be found fails the session once nobody waits for the answer, and stands on the operator's list (I4)", async () => {
    const session = await died("dead");
    fake.onLookUp = fake.onVoid = () => ({ outcome: "absent", mayBeStored: true });
    await lease("process-2");
    const process = testProcess(fixture, fake.gateway(), { owner: "process-2" });
    const begin = process.clock.monotonic();
    await recover(process, isFinal(session));
    assert.ok(process.clock.monotonic() - begin >= 34 * SECOND);
    assert.deepEqual([(await read(session)).status, (await read(session)).errorCode], ["payment-failed", "gateway_unavailable"]);
    await recover(process, async () => (await attemptOf(session)).reversal === "failed");
    assert.equal(fake.voids.length, 1);
    const listed = (await needsOperator(fixture.database.db, 10)).filter(({ session_id: id }) => id === session.id);
    assert.deepEqual(
      listed.map(({ outcome, reversal, reason }) => [outcome, reversal, reason]),
      [["declined", "failed", "the gateway may keep the card, and it cannot be found or taken out from here"]],
    );
  });

  test("an absence is proof again once the attempt's own credentials are applied again, after wrong ones meanwhile", async () => {
    const process = testProcess(fixture, fake.gateway());
    const session = await lost(process);
    const own = process.settings.credentials;
    await timePasses(process.clock, () => fake.lookUps.length > 0);
    Object.assign(process.settings, { credentials: { secret_key: new Secret("wrong") }, version: 4 });
    fake.onLookUp = () => ({ outcome: "absent" });
    const begin = process.clock.monotonic();
    await timePasses(process.clock, () => process.clock.monotonic() - begin > MINUTE);
    assert.equal((await read(session)).phase, "unknown", "another account never had it");
    Object.assign(process.settings, { credentials: { ...own }, version: 5 });
    await timePasses(process.clock, isFinal(session));
    assert.ok(process.clock.monotonic() - begin < 2 * MINUTE);
    assert.equal((await read(session)).errorCode, "gateway_unavailable");
  });

  test("a gateway whose settings are applied is asked again at once, though the search was given up and waits for ten minutes", async () => {
    const process = testProcess(fixture, fake.gateway());
    const stop = process.payments.startJanitor();
    const session = await lost(process);
    await timePasses(process.clock, isFinal(session));
    fake.onLookUp = () => APPROVED;
    const begin = process.clock.monotonic();
    do await notify(fixture.database.db, SETTINGS_CHANNEL, "stripe");
    while ((await attemptOf(session)).outcome !== "approved");
    assert.equal(process.clock.monotonic(), begin);
    await stop();
  });

  test("an absence is no proof under other credentials than the attempt's: another account never had it", async () => {
    const process = testProcess(fixture, fake.gateway());
    fake.onLookUp = () => ({ outcome: "absent" });
    const session = await lost(process);
    Object.assign(process.settings, { credentials: { secret_key: new Secret("another's") }, version: process.settings.version + 1 });
    await timePasses(process.clock, isFinal(session));
    assert.deepEqual([(await read(session)).status, (await read(session)).errorCode], ["payment-failed", "outcome_unknown"]);
    assert.equal((await attemptOf(session)).outcome, "unknown");
    // What is found by the attempt's own reference counts all the same.
    fake.onLookUp = () => APPROVED;
    await recover(process, async () => (await attemptOf(session)).outcome === "approved");
  });

  test("what a look-up notes, such as a refund that it sent, is known to the next one", async () => {
    const notes: Readonly<Record<string, string>>[] = [];
    const gateway = fake.gateway({
      async lookUp(attempt, io) {
        notes.push({ ...attempt.notes });
        if (notes.length === 3) return declined("card_declined");
        await io.note({ [`look-up ${notes.length}`]: "sent" });
        return { outcome: "unknown", reason: "money that must not stay could not be sent back" };
      },
    });
    const process = testProcess(fixture, gateway);
    const session = await lost(process);
    await timePasses(process.clock, isFinal(session));
    assert.deepEqual(notes, [{}, { "look-up 1": "sent" }, { "look-up 1": "sent", "look-up 2": "sent" }]);
  });

  test("a refusal as a duplicate that nothing bears out counts once absence is proven", async () => {
    const process = testProcess(fixture, fake.gateway());
    fake.onCharge = async (_order, io) => {
      await io.note({ refused_as: "duplicate_transaction" });
      return LOST;
    };
    fake.onLookUp = () => ({ outcome: "absent" });
    const session = await collecting(fixture);
    assert.deepEqual(await process.payments.settle({ session, card: testCard(), mayRetry: true }), { kind: "unknown" });
    await timePasses(process.clock, isFinal(session));
    assert.deepEqual([(await read(session)).status, (await read(session)).errorCode], ["payment-failed", "duplicate_transaction"]);
  });

  test("an unknown outcome ends as outcome_unknown after ten minutes, and the log says so for an alarm (R-287, S-18)", async () => {
    const errors: [string, unknown][] = [];
    const log = { ...silentLog, error: (event: string, fields?: object) => void errors.push([event, fields]) };
    const process = testProcess(fixture, fake.gateway(), { log });
    const session = await lost(process);
    const begin = process.clock.monotonic();
    await timePasses(process.clock, isFinal(session));
    assert.ok(process.clock.monotonic() - begin >= 9 * MINUTE + 30 * SECOND);
    assert.deepEqual([(await read(session)).status, (await read(session)).errorCode], ["payment-failed", "outcome_unknown"]);
    assert.equal((await attemptOf(session)).outcome, "unknown");
    await process.payments.startJanitor()();
    assert.deepEqual(errors, [["payment_outcome_unknown", { session: session.id, gateway: "stripe", attempt: 1 }]]);
  });

  test("a search that was given up ends after a day: the gateway is not asked for ever", async () => {
    const process = testProcess(fixture, fake.gateway());
    const session = await lost(process);
    const begin = process.clock.monotonic();
    await timePasses(process.clock, isFinal(session));
    let isOver = false;
    process.clock.after(48 * 60 * MINUTE, () => (isOver = true));
    await timePasses(process.clock, () => isOver);
    const last = fake.lookUps.at(-1)! - begin;
    assert.ok(last >= 23 * 60 * MINUTE && last <= 26 * 60 * MINUTE, `${last / MINUTE} min`);
    assert.equal((await attemptOf(session)).outcome, "unknown");
  });

  test("money found after the session has failed is given back, and the status stays", async () => {
    const process = testProcess(fixture, fake.gateway());
    const session = await lost(process);
    await timePasses(process.clock, isFinal(session));
    fake.onLookUp = () => APPROVED;
    await timePasses(process.clock, async () => (await attemptOf(session)).reason?.startsWith("voided") ?? false);
    assert.deepEqual(fake.voids, [`${session.id}-1`]);
    assert.equal((await attemptOf(session)).outcome, "approved");
    assert.equal((await read(session)).errorCode, "outcome_unknown");
    assert.equal((await fixture.finals()).length, 1);
  });

  test("a process that ends while the database is away leaves what it has found to the next one, and waits for nothing", async () => {
    let isAway = false;
    const tried = Promise.withResolvers<void>();
    const sessions = brokenSessions(fixture.sessions, (run) => {
      if (!isAway) return run();
      tried.resolve();
      return Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
    });
    const ending = testProcess(fixture, fake.gateway(), { sessions });
    const session = await lost(ending);
    isAway = true;
    fake.onLookUp = () => APPROVED;
    const stop = ending.payments.startJanitor();
    await timePasses(ending.clock, () => fake.lookUps.length > 0);
    await tried.promise;
    // The clock stands still: whoever waited for the database would never end.
    await stop();
    isAway = false;
    await lease("process-2");
    await recover(testProcess(fixture, fake.gateway(), { owner: "process-2" }), isFinal(session));
    assert.deepEqual([(await read(session)).status, fake.charges.length], ["payment-success", 1]);
  });

  test("an attempt of a dead process is looked up, not charged again, without waiting for its deadline", async () => {
    const session = await died("dead");
    fake.onLookUp = () => APPROVED;
    await lease("process-2");
    const process = testProcess(fixture, fake.gateway(), { owner: "process-2" });
    await recover(process, isFinal(session));
    assert.equal((await read(session)).status, "payment-success");
    assert.equal(fake.charges.length, 1);
    assert.equal((await attemptOf(session)).owner, "process-2");
  });

  test("an attempt of a process that died before the database server's clock was set back is taken up and ended in its time all the same", async () => {
    const session = await died("dead");
    await lease("dead");
    const { db } = fixture.database;
    await sql`update payment_attempts set started_at = started_at + interval '1 hour', deadline_at = deadline_at + interval '1 hour'`.execute(
      db,
    );
    await sql`update process_leases set heartbeat_at = heartbeat_at + interval '1 hour'`.execute(db);
    fake.onLookUp = () => ({ outcome: "absent" });
    const process = testProcess(fixture, fake.gateway(), { owner: "process-2" });
    const begin = process.clock.monotonic();
    const isLate = () => process.clock.monotonic() - begin > 10 * MINUTE;
    await recover(process, async () => isLate() || (await isFinal(session)()));
    assert.partialDeepStrictEqual(await read(session), { status: "payment-failed", errorCode: "gateway_unavailable" });
  });

  test("the attempt of a living process is never disturbed", async () => {
    await lease("living");
    const session = await died("living");
    const process = testProcess(fixture, fake.gateway(), { owner: "process-2" });
    const begin = process.clock.monotonic();
    await recover(process, () => process.clock.monotonic() - begin > MINUTE);
    assert.deepEqual(fake.lookUps, []);
    assert.equal((await attemptOf(session)).owner, "living");
    assert.equal((await read(session)).phase, "charging");
  });

  for (const [step, hours] of [
    ["forward", -1],
    ["back", 1],
  ] as const)
    test(`a living process keeps its attempt when the database's clock is set ${step}: it is waited for until it says that it lives (R-288)`, async () => {
      const session = await died("living");
      await lease("living");
      const moveHeartbeat = (at: number) =>
        fixture.database.db
          .updateTable("process_leases")
          .set({ heartbeat_at: sql<Date>`clock_timestamp() + ${at} * interval '1 hour'` })
          .execute();
      const { payments, clock } = testProcess(fixture, fake.gateway(), { owner: "process-2" });
      const stop = payments.startJanitor();
      const rounds = async (count: number) => {
        for (let round = 0; round < count; round++) {
          clock.advance(2 * SECOND);
          while (clock.pending === 0) await turn();
        }
      };
      while (clock.pending === 0) await turn();
      await moveHeartbeat(hours);
      await rounds(3);
      await moveHeartbeat(0);
      await rounds(5);
      assert.equal((await attemptOf(session)).owner, "living");
      await moveHeartbeat(hours);
      await rounds(5);
      assert.equal((await attemptOf(session)).owner, "process-2");
      await stop();
    });

  test("of several processes one takes over a dead one's attempt", async () => {
    const session = await died("dead");
    fake.onLookUp = () => ({ outcome: "pending" });
    const processes = ["a", "b", "c"].map((owner) => testProcess(fixture, fake.gateway(), { owner }));
    for (const owner of ["a", "b", "c"]) await lease(owner);
    const stops = processes.map((process) => process.payments.startJanitor());
    while (fake.lookUps.length === 0) await turn();
    for (const stop of stops) await stop();
    assert.equal(fake.lookUps.length, 1);
    assert.ok(["a", "b", "c"].includes((await attemptOf(session)).owner));
  });

  test("a process's own attempt that was never called is overdue after its deadline and found absent", async () => {
    const session = await died("process-1");
    await fixture.database.db
      .updateTable("payment_attempts")
      .set({
        started_at: sql<Date>`clock_timestamp() - interval '1 minute'`,
        deadline_at: sql<Date>`clock_timestamp() - interval '6 seconds'`,
      })
      .where("session_id", "=", session.id)
      .execute();
    await lease("process-1");
    fake.onLookUp = () => ({ outcome: "absent" });
    await recover(testProcess(fixture, fake.gateway()), isFinal(session));
    assert.equal((await read(session)).errorCode, "gateway_unavailable");
  });

  test("without a look-up the attempt is voided by its reference", async () => {
    const gateway = without(fake.gateway(), "lookUp");
    const session = await died("dead", gateway);
    await recover(testProcess(fixture, gateway), isFinal(session));
    assert.deepEqual(fake.voids, [`${session.id}-1`]);
    assert.equal((await read(session)).errorCode, "gateway_unavailable");
  });

  test("what the vendor said before its void, where that was no proof, is told with the failed session (R-417)", async () => {
    const gateway = without(fake.gateway(), "lookUp");
    fake.onCharge = async (_order, io) => {
      await io.note({ refused_as: "processing_error" });
      return LOST;
    };
    const process = testProcess(fixture, gateway);
    const session = await collecting(fixture);
    assert.deepEqual(await process.payments.settle({ session, card: testCard(), mayRetry: true }), { kind: "unknown" });
    await timePasses(process.clock, isFinal(session));
    assert.deepEqual(fake.voids, [`${session.id}-1`]);
    assert.equal((await read(session)).errorCode, "processing_error");
  });

  test("with neither look-up nor void the session ends as outcome_unknown once its owner has had its time", async () => {
    const gateway = without(fake.gateway(), "lookUp", "void");
    const session = await died("dead", gateway);
    const process = testProcess(fixture, gateway);
    await recover(process, isFinal(session));
    assert.equal((await read(session)).errorCode, "outcome_unknown");
  });

  describe("of card forwarding, whose lost answer has failed by rule", () => {
    const forwarding = () =>
      without(fake.gateway({}, { lookUp: "by rule", voidBy: "none", oneAttempt: true, absenceIsProofAfterMs: 0 }), "void");
    beforeEach(() => {
      fake.onLookUp = () => ({ ...declined("card_declined"), reason: "cut off" });
    });

    test("a cut-off attempt fails once its owner has had its deadline and 30 s more, is not sent again, and is told in the log (R-249)", async () => {
      const session = await died("dead", forwarding());
      const told: unknown[] = [];
      const log: Log = { ...silentLog, warn: (event, fields) => void told.push([event, fields?.session, fields?.reason]) };
      const process = testProcess(fixture, forwarding(), { owner: "process-2", log });
      const begin = process.clock.monotonic();
      await recover(process, isFinal(session));
      const seconds = (process.clock.monotonic() - begin) / SECOND;
      assert.ok(seconds >= 59 && seconds < 120, `decided after ${seconds} s`);
      assert.deepEqual([(await read(session)).status, (await read(session)).errorCode], ["payment-failed", "card_declined"]);
      assert.equal(fake.charges.length, 1);
      assert.deepEqual(told, [["card_forwarding_fault", session.id, "cut off"]]);
    });

    test("an owner that was only cut off from the database still has its answer count (R-249, R-287)", async () => {
      const { promise, resolve } = Promise.withResolvers<typeof APPROVED>();
      fake.onCharge = () => promise;
      const session = await collecting(fixture);
      const settling = testProcess(fixture, forwarding(), { owner: "cut-off" }).payments.settle({
        session,
        card: testCard(),
        mayRetry: true,
      });
      await fake.called();
      const process = testProcess(fixture, forwarding(), { owner: "process-2" });
      const begin = process.clock.monotonic();
      await recover(process, () => process.clock.monotonic() - begin > 50 * SECOND);
      assert.equal((await attemptOf(session)).owner, "process-2");
      assert.equal((await read(session)).phase, "charging");
      resolve(APPROVED);
      assert.deepEqual(await settling, { kind: "approved", capture: "captured" });
      assert.equal((await read(session)).status, "payment-success");
    });

    test("an answer that comes later still is no success, and stands on the operator's list (R-287)", async () => {
      const { promise, resolve } = Promise.withResolvers<typeof APPROVED>();
      fake.onCharge = () => promise;
      const session = await collecting(fixture);
      const slow = testProcess(fixture, forwarding(), { owner: "cut-off" });
      const settling = slow.payments.settle({ session, card: testCard(), mayRetry: true });
      await fake.called();
      await recover(testProcess(fixture, forwarding(), { owner: "process-2" }), isFinal(session));
      resolve(APPROVED);
      assert.deepEqual(await settling, { kind: "unknown" });
      await timePasses(slow.clock, async () => (await attemptOf(session)).reversal === "failed");
      assert.equal((await attemptOf(session)).reason, "money taken for a session that had ended otherwise");
      assert.equal((await read(session)).status, "payment-failed");
    });
  });

  test("absent is not believed while the attempt's owner may still be waiting for its answer", async () => {
    const gateway = fake.gateway({}, { absenceIsProofAfterMs: 0 });
    const session = await died("dead", gateway);
    fake.onLookUp = () => ({ outcome: "absent" });
    const process = testProcess(fixture, gateway, { owner: "process-2" });
    const begin = process.clock.monotonic();
    await recover(process, isFinal(session));
    const seconds = (process.clock.monotonic() - begin) / SECOND;
    assert.ok(seconds >= 34, `believed after ${seconds} s`);
    assert.equal((await read(session)).errorCode, "gateway_unavailable");
  });

  /** A payment whose owner is cut off, so that recovery finds nothing and declines it; `approve` brings the gateway's approval to the owner. */
  async function declinedByRecovery() {
    const { promise, resolve } = Promise.withResolvers<typeof APPROVED>();
    fake.onCharge = () => promise;
    const session = await collecting(fixture);
    const slow = testProcess(fixture, fake.gateway(), { owner: "cut-off" });
    const settling = slow.payments.settle({ session, card: testCard(), mayRetry: true });
    await fake.called();
    fake.onLookUp = () => ({ outcome: "absent" });
    await recover(testProcess(fixture, fake.gateway(), { owner: "process-2" }), isFinal(session));
    const approve = () => {
      resolve(APPROVED);
      return settling;
    };
    return { session, clock: slow.clock, approve };
  }

  test("an approval that arrives after recovery found nothing is voided, and the caller is not told success", async () => {
    const { session, clock, approve } = await declinedByRecovery();
    assert.equal((await read(session)).errorCode, "gateway_unavailable");
    assert.deepEqual(await approve(), { kind: "unknown" });
    await timePasses(clock, async () => (await attemptOf(session)).reversal === "done");
    assert.deepEqual(fake.voids, [`${session.id}-1`]);
    assert.equal((await read(session)).status, "payment-failed");
  });

  test("what a gateway approved after recovery had found nothing stays the operator's while the gateway does not show it (I4)", async () => {
    fake.onVoid = () => ({ outcome: "absent" });
    const { session, clock, approve } = await declinedByRecovery();
    const { db } = fixture.database;
    await db
      .updateTable("payment_attempts")
      .set({ started_at: sql<Date>`started_at - interval '1 minute'` })
      .execute();
    await approve();
    await timePasses(clock, async () => fake.voids.length === 1 && (await attemptOf(session)).reversal_tries === 1);
    // Its turn is over: postponed, or ended.
    await timePasses(clock, async () => ((await attemptOf(session)).reversal_at?.getTime() ?? 0) < Date.now() + 45_000);
    assert.deepEqual([(await attemptOf(session)).outcome, (await attemptOf(session)).reversal], ["declined", "due"]);
  });

  test("a search that the database interrupts goes on when it is back", async () => {
    let outages = 1;
    const sessions = {
      ...fixture.sessions,
      find: async (...given: Parameters<typeof fixture.sessions.find>) => {
        if (outages-- > 0) throw new Error("Connection terminated");
        return await fixture.sessions.find(...given);
      },
    };
    const process = testProcess(fixture, fake.gateway(), { sessions });
    const session = await lost(process);
    fake.onLookUp = () => APPROVED;
    await timePasses(process.clock, isFinal(session));
    assert.equal((await read(session)).status, "payment-success");
    assert.ok(outages < 0);
  });
});
