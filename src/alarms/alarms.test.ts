import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { sql } from "kysely";
import { ManualClock } from "#src/kernel/testing.ts";
import { audit, createKeyring, type InstallationKeys, type Log, openInstallationKeys, sealRows, silentLog } from "#src/platform/index.ts";
import { type Fixture, sessionsFixture } from "#src/sessions/testing.ts";
import { startAlarms } from "./alarms.ts";
import { createInviteWatch } from "./index.ts";

type Line = Record<string, unknown> & { event: string };

/** Lines of warning and above, each with a promise for the next. */
function linesOf() {
  const lines: Line[] = [];
  const write = (event: string, fields = {}) => void lines.push({ event, ...fields });
  const log: Log = { ...silentLog, warn: write, error: write };
  return { lines, log };
}

describe("alarms of a worker", () => {
  let fixture: Fixture;
  let keys: InstallationKeys;
  before(async () => {
    fixture = await sessionsFixture();
    keys = await openInstallationKeys(fixture.database, createKeyring([new Uint8Array(32).fill(7)]));
  });
  after(() => fixture.close());
  beforeEach(async () => {
    await fixture.database.db.deleteFrom("payment_attempts").execute();
  });

  async function attempts(outcome: "approved" | "declined" | "unknown", count: number, ageMinutes = 1): Promise<void> {
    const { id } = await fixture.create();
    const started = sql<Date>`clock_timestamp() - ${ageMinutes} * interval '1 minute'`;
    for (let number = 1; number <= count; number++) {
      await fixture.database.db
        .insertInto("payment_attempts")
        .values({
          id: randomUUID(),
          session_id: id,
          number,
          reference: `${id}-${number}`,
          gateway: "stripe",
          environment: "live",
          mode: "charge",
          amount_minor: 5000,
          currency: "USD",
          credential_version: 1,
          endpoint: "https://api.stripe.com",
          card_brand: "visa",
          card_last4: "4242",
          owner: "a",
          outcome,
          notes: "{}",
          started_at: started,
          deadline_at: started,
          finished_at: started,
        })
        .execute();
    }
  }

  /** Runs the alarms for so many minutes. */
  async function linesAfter(minutes: number): Promise<Line[]> {
    const clock = new ManualClock();
    const { lines, log } = linesOf();
    const end = startAlarms({ database: fixture.database, auditKey: keys.audit, clock, log });
    for (let minute = 0; minute <= minutes; minute++) {
      // Both checks wait for their next time.
      while (clock.pending < 2) await new Promise(setImmediate);
      if (minute < minutes) clock.advance(60_000);
    }
    await end();
    return lines;
  }

  test("more than half of at least 20 attempts of a project declined within an hour is told, once an hour (S-18)", async () => {
    await attempts("declined", 11);
    await attempts("approved", 8);
    assert.deepEqual(await linesAfter(1), [], "19 attempts");
    await attempts("approved", 3);
    assert.deepEqual(await linesAfter(1), [], "half of 22");
    await attempts("declined", 1);
    const told = { event: "declines_high", project: fixture.projectId, environment: "live", count: 12, total: 23 };
    assert.deepEqual(await linesAfter(59), [told]);
    assert.deepEqual(await linesAfter(61), [told, told]);
  });

  test("attempts of more than an hour ago and lost answers are none of them (S-18)", async () => {
    await attempts("declined", 19);
    await attempts("declined", 10, 61);
    await attempts("unknown", 10);
    assert.deepEqual(await linesAfter(1), []);
  });

  test("a broken audit chain is told without anybody asking for it, and again as long as it is (S-18)", async () => {
    const { database } = fixture;
    await database.transaction((tx) => audit(tx, { actor: "operator", action: "thing.done", object: "thing" }));
    await sealRows(database, keys.audit);
    assert.deepEqual(await linesAfter(12), []);
    await sql`alter table audit_log disable trigger audit_log_only_grows`.execute(database.db);
    await sql`update audit_log set object = 'another' where action = 'thing.done'`.execute(database.db);
    const lines = await linesAfter(12);
    assert.deepEqual(
      lines.map(({ event }) => event),
      ["audit_chain_broken", "audit_chain_broken"],
    );
    assert.match(String(lines[0]?.["reason"]), /row \d+ at position \d+ was changed/);
  });
});

test("a hundred calls from one address in ten seconds is a flood, told once a minute (S-18)", () => {
  const clock = new ManualClock();
  const { lines, log } = linesOf();
  const watch = createInviteWatch({ clock, log });
  const calls = (address: string, count: number) => {
    for (let n = 0; n < count; n++) watch(address);
  };
  calls("192.0.2.1", 99);
  calls("192.0.2.2", 99);
  assert.deepEqual(lines, []);
  clock.advance(10_000);
  calls("192.0.2.1", 99);
  assert.deepEqual(lines, [], "a window later");
  calls("192.0.2.1", 500);
  assert.deepEqual(lines, [{ event: "invite_flood", host: "192.0.2.1", count: 100, ms: 10_000 }]);
  clock.advance(10_000);
  calls("192.0.2.1", 500);
  assert.equal(lines.length, 1);
  clock.advance(50_000);
  calls("192.0.2.1", 500);
  assert.equal(lines.length, 2);
});
