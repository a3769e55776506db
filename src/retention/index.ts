import { sql } from "kysely";
import type { Clock } from "#src/kernel/clock.ts";
import { deleteAttempts, isUnsettled } from "#src/payments/index.ts";
import { audit, type Database, type Db, type Log, repeat } from "#src/platform/index.ts";
import { deleteSessions, eraseCallers, lockCompleted, lockToErase } from "#src/sessions/index.ts";
import { deleteEvents, eraseBodies, eraseSettledBodies, isUndelivered } from "#src/webhooks/index.ts";

/** What is no longer needed is erased (R-433, S-03): by the worker in batches, or one session at once by the operator. */

export interface RetentionDeps {
  database: Database;
  clock: Clock;
  log: Log;
  /** Days from a session's end until it no longer tells who called; 0: never. */
  personalDays: number;
  /** Days from a session's end until it is deleted with all that hangs on it; 0: never. */
  days: number;
  /** Rows with a bound of their own, which others delete as they go: deletes what they have left. */
  leftovers: readonly (() => Promise<unknown>)[];
  /** The time that ages are counted to; the database's clock, as for every other limit. */
  now?: (db: Db) => Promise<Date>;
}

const EVERY_MS = 600_000;
const BATCH = 500;
const DAY_MS = 86_400_000;

/** A round now and every ten minutes. Any number of workers may: a session is taken by one. Returns the end. */
export function startRetention(deps: RetentionDeps): () => Promise<void> {
  return repeat({
    clock: deps.clock,
    everyMs: EVERY_MS,
    task: (isStopped) => round(deps, isStopped),
    onFailure: (error) => deps.log.warn("retention_failed", { error }),
  });
}

/** Erases and deletes all that is due, a batch a transaction. */
export async function round(deps: RetentionDeps, isStopped = () => false): Promise<void> {
  const { database, personalDays, days, now = databaseTime } = deps;
  const nowMs = (await now(database.db)).getTime();
  const before = (age: number) => new Date(nowMs - age * DAY_MS);
  const untilDone = async (batch: () => Promise<number>) => {
    while (!isStopped() && (await batch()) === BATCH);
  };
  if (personalDays > 0) await untilDone(() => eraseBatch(database, before(personalDays)));
  if (days > 0) {
    for (const erased of [true, false]) await untilDone(() => deleteBatch(database, before(days), erased));
  }
  await eraseSettledBodies(database.db);
  for (const deleteLeftovers of deps.leftovers) await deleteLeftovers();
}

async function eraseBatch(database: Database, before: Date): Promise<number> {
  return await database.transaction(async (tx) => {
    const ids = await lockCompleted(tx, { before, erased: false, limit: BATCH });
    if (ids.length > 0) {
      await eraseCallers(tx, ids);
      await eraseBodies(tx, ids);
      await note(tx, "sessions.erase", ids.length, before);
    }
    return ids.length;
  });
}

async function deleteBatch(database: Database, before: Date, erased: boolean): Promise<number> {
  const id = sql.ref("sessions.id");
  const except = sql<boolean>`(${isUndelivered(id)} or ${isUnsettled(id)})`;
  return await database.transaction(async (tx) => {
    const ids = await lockCompleted(tx, { before, erased, limit: BATCH, except });
    if (ids.length > 0) {
      for (const forget of [deleteEvents, deleteAttempts, deleteSessions]) await forget(tx, ids);
      await note(tx, "sessions.delete", ids.length, before);
    }
    return ids.length;
  });
}

async function note(tx: Db, action: string, count: number, before: Date): Promise<void> {
  await audit(tx, { actor: "service", action, object: `${count} sessions`, details: { count, completed_before: before.toISOString() } });
}

async function databaseTime(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  return rows[0]!.now;
}

/**
 * Erases at once who called, as the worker would: what is left is the outcome. A webhook that is still to be delivered keeps its body
 * until it is. `open`: the session is not completed.
 */
export async function eraseSession(database: Database, id: string): Promise<"erased" | "open" | "missing"> {
  return await database.transaction(async (tx) => {
    const found = await lockToErase(tx, id);
    if (found !== "ready") return found;
    await eraseCallers(tx, [id]);
    await eraseBodies(tx, [id]);
    await audit(tx, { actor: "operator", source: "command", action: "session.erase", object: `session ${id}` });
    return "erased";
  });
}
