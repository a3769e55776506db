import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import { ManualClock } from "#src/kernel/testing.ts";
import { sealRows, verifyChain } from "./audit-chain.ts";
import { headText, parseHead, startAuditSealer } from "./audit-sealer.ts";
import { audit, auditRun } from "./audit.ts";
import type { Database } from "./db/database.ts";
import { createLog, silentLog } from "./log.ts";
import { openInstallationKeys } from "./seal-installation.ts";
import { createKeyring } from "./seal-keyring.ts";
import { testDatabase } from "./testing.ts";

const MASTER_KEY = new Uint8Array(32).fill(7);
const ROWS = 12;

let database: Database;
let key: Uint8Array;

const write = (count: number) =>
  audit(
    database.db,
    ...Array.from({ length: count }, (_, index) => ({
      actor: "operator",
      action: "thing.done",
      object: `thing ${index}`,
      details: { b: 1, a: [index] },
    })),
  );
const verify = () => verifyChain(database.db, key);

/** What somebody does who owns the database and has no key: the guards against mistakes do not stop him. */
async function tamper(text: string): Promise<void> {
  await database.transaction(async (tx) => {
    await sql`alter table audit_log disable trigger all`.execute(tx);
    await sql.raw(text).execute(tx);
    await sql`alter table audit_log enable trigger all`.execute(tx);
  });
}

describe("the audit log's chain", () => {
  before(async () => {
    database = await testDatabase();
  });
  after(() => database.close());
  beforeEach(async () => {
    await tamper("truncate audit_log restart identity");
    await tamper("truncate audit_head, installation_keys");
    ({ audit: key } = await openInstallationKeys(database, createKeyring([MASTER_KEY])));
    await write(ROWS);
    await sealRows(database, key);
  });

  test("rows are sealed in the order they were written, without gaps, and the chain is whole (S-16)", async () => {
    const rows = await database.db.selectFrom("audit_log").select(["id", "position"]).orderBy("id").execute();
    assert.deepEqual(
      rows.map(({ position }) => position),
      Array.from({ length: ROWS }, (_, index) => index + 1),
    );
    const { head, ...report } = await verify();
    assert.deepEqual(report, { verified: ROWS, fault: null, unsealed: 0, overdue: 0 });
    assert.equal(head?.position, ROWS);
    assert.deepEqual(parseHead(headText(head)), head);
  });

  test("a row with a text that the database refuses is written without the sign, and sealed (R-436)", async () => {
    const bad = "a\0b\ud800";
    await database.transaction((tx) =>
      audit(tx, { actor: bad, action: "thing.done", object: bad, source: bad, result: bad, details: { [bad]: [bad] } }),
    );
    await sealRows(database, key);
    const row = await database.db.selectFrom("audit_log").selectAll().orderBy("id", "desc").limit(1).executeTakeFirstOrThrow();
    const good = "ab\ufffd";
    assert.deepEqual([row.actor, row.object, row.source, row.result, row.details], [good, good, good, good, { [good]: [good] }]);
    assert.equal((await verify()).fault, null);
  });

  test("an empty log is whole", async () => {
    await tamper("truncate audit_log restart identity");
    await tamper("truncate audit_head, installation_keys");
    ({ audit: key } = await openInstallationKeys(database, createKeyring([MASTER_KEY])));
    assert.deepEqual(await sealRows(database, key), { position: 0, seal: "A".repeat(43) });
    assert.equal((await verify()).fault, null);
  });

  const columns: readonly (readonly [string, string])[] = [
    ["at", "at = at + interval '1 microsecond'"],
    ["organization_id", "organization_id = gen_random_uuid()"],
    ["actor", "actor = 'nobody'"],
    ["action", "action = 'thing.undone'"],
    ["object", "object = 'thing 99'"],
    ["source", "source = '203.0.113.9'"],
    ["result", "result = 'refused'"],
    ["details", `details = '{"a":[4],"b":2}'`],
    ["seal", "seal = sha256('forged')"],
  ];
  for (const [column, change] of columns) {
    test(`a changed ${column} is found and its row is named (S-16)`, async () => {
      await tamper(`update audit_log set ${change} where position = 5`);
      const { fault, verified } = await verify();
      assert.equal(verified, 4);
      assert.match(fault ?? "", /^row 5 at position 5 was changed/);
    });
  }

  test("a row that was taken out is found by its position (S-16)", async () => {
    await tamper("delete from audit_log where position in (5, 6)");
    assert.match((await verify()).fault ?? "", /^positions 5 to 6 are missing: rows were taken out before row 7/);
  });

  test("a row that was put in between, moved or put in twice is found", async () => {
    await tamper(`update audit_log set position = position + 100 where position > 5`);
    await tamper(`update audit_log set position = position - 99 where position > 100`);
    await tamper(
      `insert into audit_log (actor, action, object, position, seal) select 'mallory', action, object, 6, seal from audit_log where position = 5`,
    );
    assert.match((await verify()).fault ?? "", /^row \d+ at position 6 was changed or put in/);
  });

  test("two rows that changed places are found", async () => {
    await tamper("update audit_log set position = -1 where position = 3");
    await tamper("update audit_log set position = 3 where position = 4");
    await tamper("update audit_log set position = 4 where position = -1");
    assert.match((await verify()).fault ?? "", /at position 3 was changed/);
  });

  test("a row that was put in after the chain's end is found", async () => {
    await tamper(`insert into audit_log (actor, action, object, position, seal) values ('mallory', 'x', 'y', ${ROWS + 1}, sha256('x'))`);
    assert.match((await verify()).fault ?? "", /put in after the chain's end at 12/);
  });

  test("an end that was cut off is found, and stays found when the service goes on (S-16)", async () => {
    await tamper(`delete from audit_log where position > 9`);
    assert.match((await verify()).fault ?? "", /^positions 10 to 12 are missing: the end of the log was cut off/);
    await write(2);
    await sealRows(database, key);
    assert.match((await verify()).fault ?? "", /^positions 10 to 12 are missing/);
  });

  test("a record of the chain's end that was changed or removed is found, and nothing is sealed on top of it", async () => {
    const seal = (await database.db.selectFrom("audit_log").select("seal").where("position", "=", 9).executeTakeFirstOrThrow()).seal!;
    await tamper(`delete from audit_log where position > 9`);
    await database.db.updateTable("audit_head").set({ position: 9, seal }).execute();
    assert.match((await verify()).fault ?? "", /how far the chain reaches was changed/);
    await write(1);
    await assert.rejects(sealRows(database, key), { name: "ChainBrokenError" });
    await database.db.deleteFrom("audit_head").execute();
    assert.match((await verify()).fault ?? "", /how far the chain reaches is gone/);
    await assert.rejects(sealRows(database, key), { name: "ChainBrokenError" });
  });

  test("a cut that put an older head back is found with a head that was noted elsewhere, and by it alone", async () => {
    const older = await database.db.selectFrom("audit_head").selectAll().executeTakeFirstOrThrow();
    await write(3);
    const noted = (await sealRows(database, key))!;
    await tamper(`delete from audit_log where position > ${ROWS}`);
    await database.db.updateTable("audit_head").set({ position: older.position, seal: older.seal, proof: older.proof }).execute();
    assert.equal((await verify()).fault, null);
    assert.match((await verifyChain(database.db, key, noted)).fault ?? "", /ends at position 12, and once reached 15/);
    // The service goes on, past the noted position: another row stands there now.
    await write(5);
    await sealRows(database, key);
    assert.equal((await verify()).fault, null);
    assert.match((await verifyChain(database.db, key, noted)).fault ?? "", /position 15 is not what the noted head says/);
  });

  test("a log whose rows were all removed does not pass for a new one", async () => {
    await tamper("delete from audit_log");
    assert.match((await verify()).fault ?? "", /^positions 1 to 12 are missing/);
  });

  test("the chain does not fit another installation's key", async () => {
    assert.match((await verifyChain(database.db, new Uint8Array(32))).fault ?? "", /^row 1 at position 1 was changed/);
  });

  test("rows not sealed for over a minute are counted", async () => {
    await write(2);
    await tamper(`update audit_log set at = at - interval '61 seconds' where object = 'thing 1' and position is null`);
    const { unsealed, overdue, fault } = await verify();
    assert.deepEqual({ unsealed, overdue, fault }, { unsealed: 2, overdue: 1, fault: null });
  });

  test("a row that is written while others are sealed gets its place later, whatever its number", async () => {
    // The transaction with the lower id commits after one with a higher id was sealed; the embedded database has one session.
    await sql`insert into audit_log (id, actor, action, object) overriding system value values (1000, 'a', 'b', 'c')`.execute(database.db);
    await sealRows(database, key);
    await write(1);
    await sealRows(database, key);
    const rows = await database.db
      .selectFrom("audit_log")
      .select(["id", "position"])
      .where("position", ">", ROWS)
      .orderBy("position")
      .execute();
    assert.deepEqual(rows, [
      { id: 1000, position: 13 },
      { id: 13, position: 14 },
    ]);
    assert.equal((await verify()).fault, null);
  });

  test("many workers at once seal every row once", async () => {
    await write(1200);
    await Promise.all(Array.from({ length: 5 }, () => sealRows(database, key)));
    await sealRows(database, key);
    const { verified, fault } = await verify();
    assert.deepEqual({ verified, fault }, { verified: ROWS + 1200, fault: null });
  });

  test("the database refuses to change, to seal twice, to delete or to empty what was logged", async () => {
    const refused = (text: string) => assert.rejects(sql.raw(text).execute(database.db), /audit_log only grows/);
    await write(1);
    await refused("update audit_log set actor = 'nobody' where position = 3");
    await refused("update audit_log set actor = 'nobody' where position is null");
    await refused("update audit_log set seal = sha256('x') where position = 3");
    await refused("update audit_log set position = null where position = 3");
    await refused("delete from audit_log where position = 3");
    await refused("truncate audit_log");
  });
});

describe("the sealer", () => {
  before(async () => {
    database = await testDatabase();
    ({ audit: key } = await openInstallationKeys(database, createKeyring([MASTER_KEY])));
  });
  after(() => database.close());

  test("seals every second, tells the head at its start and its end, and seals what was written last", async () => {
    const lines: { event: string; audit_head?: string }[] = [];
    const log = createLog({ level: "info", format: "json", write: (line) => void lines.push(JSON.parse(line) as { event: string }) });
    const clock = new ManualClock();
    const stopRun = await auditRun(database, log, { owner: "here-1", roles: ["worker"], version: "1" });
    const stop = startAuditSealer({ database, key, clock, log });
    await stopRun();
    await stop();
    const { head, ...report } = await verify();
    assert.deepEqual(report, { verified: 2, fault: null, unsealed: 0, overdue: 0 });
    assert.equal(lines.at(-1)?.audit_head, headText(head!));
    const rows = await database.db.selectFrom("audit_log").select(["actor", "action", "object", "details"]).orderBy("id").execute();
    const details = { roles: ["worker"], version: "1" };
    assert.deepEqual(
      rows,
      ["service.start", "service.stop"].map((action) => ({ actor: "service", action, object: "process here-1", details })),
    );
  });

  test("a broken chain is told as an error", async () => {
    await database.db.updateTable("audit_head").set({ position: 99 }).execute();
    const lines: { level: string; event: string }[] = [];
    const log = createLog({
      level: "info",
      format: "json",
      write: (line) => void lines.push(JSON.parse(line) as { level: string; event: string }),
    });
    await startAuditSealer({ database, key, clock: new ManualClock(), log })();
    assert.deepEqual([lines[0]?.level, lines[0]?.event], ["error", "audit_chain_broken"]);
  });

  test("a process whose database is away ends all the same", async () => {
    const stop = await auditRun(database, silentLog, { owner: "here-2", roles: [], version: "1" });
    const gone = await testDatabase();
    const stopGone = await auditRun(gone, silentLog, { owner: "here-3", roles: [], version: "1" });
    await gone.close();
    await stopGone();
    await stop();
  });
});

test("nothing in the product updates or deletes a row of the audit log but the sealing of it (S-16)", () => {
  const src = fileURLToPath(new URL("../", import.meta.url));
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && !name.endsWith(".test.ts"),
  );
  const writes = files.flatMap((name) => {
    const text = readFileSync(join(src, name), "utf8");
    const found = text.match(
      /(?:updateTable|deleteFrom|mergeInto)\(\s*["'`]audit_log|(?:update|delete\s+from|truncate(?:\s+table)?|merge\s+into)\s+audit_log/gi,
    );
    return (found ?? []).map((write) => `${name}: ${write}`);
  });
  assert.deepEqual(writes, ["platform/audit-chain.ts: update audit_log"]);
  const inserts = files.filter((name) => /insertInto\(\s*"audit_log|insert into audit_log/.test(readFileSync(join(src, name), "utf8")));
  assert.deepEqual(inserts, ["platform/audit.ts"]);
});
