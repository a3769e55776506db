import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { sql } from "kysely";
import { notify } from "#src/platform/index.ts";
import { SETTINGS_CHANNEL } from "#src/projects/index.ts";
import { sessionsFixture } from "#src/sessions/testing.ts";
import type { Fixture } from "#src/sessions/testing.ts";
import type { Session } from "#src/sessions/index.ts";
import { needsOperator } from "./work-list.ts";
import { APPROVED, collecting, declined, FakeGateway, LOST, testCard, testProcess, timePasses, without } from "./testing.ts";
import type { TestProcess } from "./testing.ts";

describe("giving back what was taken for a session that ended otherwise", () => {
  let fixture: Fixture;
  let fake: FakeGateway;
  before(async () => {
    fixture = await sessionsFixture();
  });
  after(() => fixture.close());
  beforeEach(async () => {
    fake = new FakeGateway();
    await fixture.database.db.deleteFrom("payment_attempts").execute();
    await fixture.database.db.deleteFrom("process_leases").execute();
  });

  const attemptOf = (session: Session) =>
    fixture.database.db.selectFrom("payment_attempts").selectAll().where("session_id", "=", session.id).executeTakeFirstOrThrow();
  const reversalOf = async (session: Session) => (await attemptOf(session)).reversal;
  const statusOf = async (session: Session) => (await fixture.sessions.find(fixture.database.db, session.id))?.status;

  /** Moves the attempt's reversal into the past, as if so many seconds had gone by. */
  const secondsPass = (seconds: number) =>
    fixture.database.db
      .updateTable("payment_attempts")
      .set({
        reversal_at: sql<Date>`reversal_at - ${seconds} * interval '1 second'`,
        reversal_since: sql<Date>`reversal_since - ${seconds} * interval '1 second'`,
      })
      .execute();

  /** So many tries are over, and none is under way, whose turn is longer. */
  const isPostponed = (session: Session, tries: number) => async () => {
    const { reversal_tries, reversal_at } = await attemptOf(session);
    return reversal_tries === tries && reversal_at!.getTime() < Date.now() + 45_000;
  };

  /** The gateway approves what the session cannot be told any more: it was ended meanwhile. Answers once that is written. */
  async function approvedTooLate(process: TestProcess): Promise<Session> {
    const { promise, resolve } = Promise.withResolvers<typeof APPROVED>();
    fake.onCharge = () => promise;
    const session = await collecting(fixture);
    const settling = process.payments.settle({ session, card: testCard(), mayRetry: true });
    await fake.called();
    await fixture.sessions.apply(session.id, "fail", { errorCode: "outcome_unknown" });
    resolve(APPROVED);
    assert.deepEqual(await settling, { kind: "unknown" });
    return session;
  }

  /** Rounds of the janitor until `done`. */
  async function janitor(process: TestProcess, done: () => boolean | Promise<boolean>): Promise<void> {
    const stop = process.payments.startJanitor();
    await timePasses(process.clock, done);
    await stop();
  }

  test("a process that dies before the void leaves it to the next, in the commit that learned of the money (I4)", async () => {
    fake.onVoid = () => ({ outcome: "unknown", reason: "" });
    const dying = fake.gateway({ void: () => new Promise(() => {}) });
    const session = await approvedTooLate(testProcess(fixture, dying, { owner: "dead" }));
    assert.equal(await reversalOf(session), "due");
    fake.onVoid = () => ({ outcome: "voided" });
    await secondsPass(61);
    await janitor(testProcess(fixture, fake.gateway(), { owner: "process-2" }), async () => (await reversalOf(session)) === "done");
    assert.deepEqual(fake.voids, [`${session.id}-1`]);
    assert.equal(await statusOf(session), "payment-failed");
  });

  test("what one process is at is left alone by the others while its turn lasts", async () => {
    const { promise, resolve } = Promise.withResolvers<{ outcome: "voided" }>();
    const slow = fake.gateway({ void: () => promise });
    const session = await approvedTooLate(testProcess(fixture, slow, { owner: "slow" }));
    await timePasses(testProcess(fixture, slow).clock, async () => (await attemptOf(session)).reversal_tries === 1);
    const others = ["a", "b"].map((owner) => testProcess(fixture, fake.gateway(), { owner }));
    for (const other of others) {
      const begin = other.clock.monotonic();
      await janitor(other, () => other.clock.monotonic() - begin > 30_000);
    }
    assert.deepEqual(fake.voids, []);
    resolve({ outcome: "voided" });
    await timePasses(others[0]!.clock, async () => (await reversalOf(session)) === "done");
  });

  test("a void that fails is tried again after 5 s, and for 24 hours before it becomes the operator's (R-287)", async () => {
    fake.onVoid = () => ({ outcome: "unknown", reason: "" });
    const process = testProcess(fixture, fake.gateway());
    const session = await approvedTooLate(process);
    await timePasses(process.clock, isPostponed(session, 1));
    const wait = (await attemptOf(session)).reversal_at!.getTime() - Date.now();
    assert.ok(wait > 0 && wait <= 5_000, `next try in ${wait} ms`);
    assert.equal(fake.voids.length, 1);
    await secondsPass(6);
    await janitor(process, isPostponed(session, 2));
    assert.equal(await reversalOf(session), "due");
    await secondsPass(24 * 3600);
    await janitor(process, async () => (await reversalOf(session)) === "failed");
    assert.equal(fake.voids.length, 3);
    assert.equal((await attemptOf(session)).reason, "money taken for a session that had ended otherwise");
  });

  test("money is given back in its time also when the database server's clock was set back since the last try (R-288)", async () => {
    fake.onVoid = () => ({ outcome: "unknown", reason: "" });
    const process = testProcess(fixture, fake.gateway());
    const session = await approvedTooLate(process);
    await timePasses(process.clock, isPostponed(session, 1));
    fake.onVoid = () => ({ outcome: "voided" });
    await secondsPass(-3600);
    const begin = process.clock.monotonic();
    await janitor(process, async () => process.clock.monotonic() - begin > 60_000 || (await reversalOf(session)) === "done");
    assert.equal(await reversalOf(session), "done");
  });

  test("what is put off for minutes is tried again as soon as its gateway's settings are applied: the former credentials may have been wrong", async () => {
    fake.onVoid = () => ({ outcome: "unknown", reason: "" });
    const process = testProcess(fixture, fake.gateway());
    const session = await approvedTooLate(process);
    await timePasses(process.clock, isPostponed(session, 1));
    await secondsPass(-600);
    fake.onVoid = () => ({ outcome: "voided" });
    for (const [applied, expected] of [
      ["nmi", "due"],
      ["stripe", "done"],
    ] as const) {
      const begin = process.clock.monotonic();
      await janitor(process, async () => {
        await notify(fixture.database.db, SETTINGS_CHANNEL, applied);
        return process.clock.monotonic() - begin > 30_000 || (await reversalOf(session)) === "done";
      });
      assert.equal(await reversalOf(session), expected, applied);
    }
  });

  test("a try that is under way is made once, also when its gateway's settings are applied meanwhile (I3)", async () => {
    const { promise, resolve } = Promise.withResolvers<{ outcome: "voided" }>();
    const slow = fake.gateway({ void: () => promise });
    const session = await approvedTooLate(testProcess(fixture, slow, { owner: "slow" }));
    await timePasses(testProcess(fixture, slow).clock, async () => (await attemptOf(session)).reversal_tries === 1);
    const other = testProcess(fixture, fake.gateway(), { owner: "other" });
    const begin = other.clock.monotonic();
    await janitor(other, async () => {
      await notify(fixture.database.db, SETTINGS_CHANNEL, "stripe");
      return other.clock.monotonic() - begin > 30_000;
    });
    assert.deepEqual(fake.voids, []);
    resolve({ outcome: "voided" });
    await timePasses(other.clock, async () => (await reversalOf(session)) === "done");
  });

  test("nothing to void is not believed under other credentials than the attempt's: another account never had it", async () => {
    fake.onVoid = () => ({ outcome: "nothing to void" });
    const process = testProcess(fixture, fake.gateway());
    const session = await approvedTooLate(process);
    process.settings.version++;
    await timePasses(process.clock, isPostponed(session, 1));
    await fixture.database.db
      .updateTable("payment_attempts")
      .set({ started_at: sql<Date>`started_at - interval '20 seconds'` })
      .execute();
    await secondsPass(24 * 3600);
    await janitor(process, async () => (await reversalOf(session)) !== "due");
    assert.equal(await reversalOf(session), "failed");
  });

  test("nothing to void is believed only once the gateway would show what it has", async () => {
    fake.onVoid = () => ({ outcome: "nothing to void" });
    const process = testProcess(fixture, fake.gateway());
    const session = await approvedTooLate(process);
    await timePasses(process.clock, isPostponed(session, 1));
    assert.equal(await reversalOf(session), "due");
    await fixture.database.db
      .updateTable("payment_attempts")
      .set({ started_at: sql<Date>`started_at - interval '20 seconds'` })
      .execute();
    await secondsPass(6);
    await janitor(process, async () => (await reversalOf(session)) === "done");
  });

  for (const { mode, end } of [
    { mode: "charge", end: "failed" },
    { mode: "tokenize", end: "done" },
  ] as const)
    test(`a ${mode} that was approved and that the gateway does not show ends ${end}: only money may not be lost from sight`, async () => {
      fake.onVoid = () => ({ outcome: "absent" });
      const process = testProcess(fixture, fake.gateway());
      const session = await approvedTooLate(process);
      await timePasses(process.clock, isPostponed(session, 1));
      await fixture.database.db
        .updateTable("payment_attempts")
        .set({ mode, started_at: sql<Date>`started_at - interval '20 seconds'` })
        .execute();
      await secondsPass(24 * 3600);
      await janitor(process, async () => (await reversalOf(session)) !== "due");
      assert.equal(await reversalOf(session), end);
    });

  test("a stored card that the gateway can neither show nor take out stands on the operator's list, at once (I4)", async () => {
    fake.onVoid = () => ({ outcome: "absent", mayBeStored: true });
    const process = testProcess(fixture, fake.gateway());
    const session = await approvedTooLate(process);
    await fixture.database.db.updateTable("payment_attempts").set({ mode: "tokenize" }).execute();
    await secondsPass(6);
    await janitor(process, async () => (await reversalOf(session)) !== "due");
    const { reversal, reason } = await attemptOf(session);
    assert.deepEqual([reversal, reason], ["failed", "the gateway may keep the card, and it cannot be found or taken out from here"]);
  });

  test("a refused card that the gateway keeps under a name of its own is on the operator's list by that name (I4)", async () => {
    fake.onCharge = async () => ({ ...declined("lost_or_stolen"), mayBeStored: true, storedAs: "9997095516055002467" });
    fake.onVoid = () => ({ outcome: "absent", mayBeStored: true });
    const session = await collecting(fixture, { mode: "tokenize" });
    const process = testProcess(fixture, fake.gateway());
    await process.payments.settle({ session, card: testCard(), mayRetry: true });
    await janitor(process, async () => (await reversalOf(session)) === "failed");
    const listed = await needsOperator(fixture.database.db, 10);
    assert.deepEqual(
      listed.filter(({ session_id }) => session_id === session.id).map(({ stored_as }) => stored_as),
      ["9997095516055002467"],
    );
  });

  test("a refused card that may be stored is taken out while another one is asked for (I4)", async () => {
    fake.onCharge = async () => ({ outcome: "declined", code: "insufficient_funds", message: null, processor: {}, mayBeStored: true });
    const session = await collecting(fixture, { mode: "tokenize" });
    const process = testProcess(fixture, fake.gateway());
    assert.partialDeepStrictEqual(await process.payments.settle({ session, card: testCard(), mayRetry: true }), { final: false });
    fake.onVoid = () => ({ outcome: "unknown", reason: "" });
    await janitor(process, () => fake.voids.length === 1);
    assert.deepEqual([await statusOf(session), await reversalOf(session)], ["COLLECTING", "due"]);
    fake.onVoid = () => ({ outcome: "voided" });
    await secondsPass(61);
    await janitor(process, async () => (await reversalOf(session)) === "done");
    assert.deepEqual([await statusOf(session), fake.voids], ["COLLECTING", [`${session.id}-1`, `${session.id}-1`]]);
  });

  describe("at a gateway that can void and not look up", () => {
    const blind = () => without(fake.gateway(), "lookUp");

    test("what is being voided can no longer become a success (I3)", async () => {
      const { promise, resolve } = Promise.withResolvers<typeof APPROVED>();
      fake.onCharge = () => promise;
      const session = await collecting(fixture);
      const cutOff = testProcess(fixture, blind(), { owner: "cut-off" });
      const settling = cutOff.payments.settle({ session, card: testCard(), mayRetry: true });
      await fake.called();
      // The owner's answer comes in while the other process is voiding.
      fake.onVoid = () => {
        resolve(APPROVED);
        return { outcome: "voided" };
      };
      await janitor(testProcess(fixture, blind(), { owner: "process-2" }), async () => (await statusOf(session)) === "payment-failed");
      assert.deepEqual(await settling, { kind: "unknown" });
      await janitor(cutOff, async () => (await reversalOf(session)) === "done");
      assert.equal(await statusOf(session), "payment-failed");
    });

    test("a card that may be stored there fails the session, and stands on the operator's list (I4)", async () => {
      fake.onCharge = async () => LOST;
      fake.onVoid = () => ({ outcome: "absent", mayBeStored: true });
      const session = await collecting(fixture, { mode: "tokenize" });
      const process = testProcess(fixture, blind());
      await process.payments.settle({ session, card: testCard(), mayRetry: true });
      await timePasses(process.clock, async () => {
        await secondsPass(60);
        return (await statusOf(session)) === "payment-failed";
      });
      const { outcome, decline_code, reversal, reason } = await attemptOf(session);
      assert.deepEqual([outcome, decline_code, reversal], ["declined", "gateway_unavailable", "failed"]);
      assert.equal(reason, "the gateway may keep the card, and it cannot be found or taken out from here");
    });

    test("a lost answer fails the session once the void is confirmed, and not before", async () => {
      fake.onCharge = async () => LOST;
      fake.onVoid = () => ({ outcome: "unknown", reason: "" });
      const session = await collecting(fixture);
      const process = testProcess(fixture, blind());
      await process.payments.settle({ session, card: testCard(), mayRetry: true });
      await timePasses(process.clock, () => fake.voids.length === 1);
      assert.equal(await statusOf(session), "COLLECTING");
      fake.onVoid = () => ({ outcome: "voided" });
      await timePasses(process.clock, async () => {
        await secondsPass(60);
        return (await statusOf(session)) === "payment-failed";
      });
      assert.deepEqual([(await attemptOf(session)).outcome, await reversalOf(session)], ["declined", "done"]);
    });
  });

  test("a stored card that cannot be taken back stands on the operator's list (I4)", async () => {
    const session = await approvedTooLate(testProcess(fixture, without(fake.gateway(), "void")));
    await timePasses(testProcess(fixture, fake.gateway()).clock, async () => (await reversalOf(session)) === "failed");
  });
});
