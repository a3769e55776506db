import { type RawBuilder, sql } from "kysely";
import type { Clock } from "#src/kernel/clock.ts";
import type { Database, Db } from "./db/database.ts";
import type { Log } from "./log.ts";
import { repeat } from "./repeat.ts";

const HEARTBEAT_MS = 5000;
/** Three heartbeats missed: recovery after a kill may take 30 s in all (E1). */
const DEAD_AFTER = "15 seconds";
const FORGOTTEN_AFTER = "1 day";

interface LeaseOptions {
  database: Pick<Database, "db">;
  clock: Clock;
  /** Unique for this run of this process. */
  owner: string;
  roles: string;
  /** Ids of the master keys that this process can open with: asked each time. */
  masterKeys?: () => readonly string[];
  log: Log;
}

/**
 * Says every 5 s, by the database's clock, that this process lives; resolves after the first time. The returned function
 * ends it and takes the lease away, so that others need not wait for it to run out.
 */
export async function startLease({ database, clock, owner, roles, masterKeys, log }: LeaseOptions): Promise<() => Promise<void>> {
  const beat = async () => {
    const known = masterKeys ? { master_keys: [...masterKeys()] } : {};
    await database.db
      .insertInto("process_leases")
      .values({ owner, roles, ...known })
      .onConflict((conflict) => conflict.column("owner").doUpdateSet({ heartbeat_at: sql`clock_timestamp()`, ...known }))
      .execute();
  };
  await sql`delete from process_leases where heartbeat_at < clock_timestamp() - ${FORGOTTEN_AFTER}::interval`.execute(database.db);
  await beat();
  const end = repeat({
    clock,
    everyMs: HEARTBEAT_MS,
    firstMs: HEARTBEAT_MS,
    task: beat,
    onFailure: (error) => log.warn("lease_heartbeat_failed", { error }),
  });
  return async () => {
    await end();
    await database.db.deleteFrom("process_leases").where("owner", "=", owner).execute();
  };
}

/** The living processes and their roles (`isOwnerDead`). */
export async function livingProcesses(db: Db): Promise<{ owner: string; roles: string[] }[]> {
  const rows = await db
    .selectFrom("process_leases")
    .select(["owner", "roles"])
    .where("heartbeat_at", ">", sql<Date>`clock_timestamp() - ${DEAD_AFTER}::interval`)
    .where("heartbeat_at", "<", sql<Date>`clock_timestamp() + ${DEAD_AFTER}::interval`)
    .orderBy("owner")
    .execute();
  return rows.map(({ owner, roles }) => ({ owner, roles: roles.split(",") }));
}

/**
 * SQL condition: the process named in `owner` (a column, as sql.ref) has not been heard of for 15 s, or ended in order. Nor has one whose
 * heartbeat lies ahead: the server's clock was set back, and whoever lives says so by the new one within 5 s.
 */
export function isOwnerDead(owner: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`not exists (
    select from process_leases
    where process_leases.owner = ${owner} and process_leases.heartbeat_at > clock_timestamp() - ${DEAD_AFTER}::interval
      and process_leases.heartbeat_at < clock_timestamp() + ${DEAD_AFTER}::interval
  )`;
}

/** Living processes that cannot open with the master key of this id: nothing may be sealed under it while there are any. */
export async function ownersWithoutKey(db: Db, keyId: string): Promise<string[]> {
  const rows = await db
    .selectFrom("process_leases")
    .select("owner")
    .where(sql<boolean>`heartbeat_at > clock_timestamp() - ${DEAD_AFTER}::interval and not ${keyId} = any (master_keys)`)
    .orderBy("owner")
    .execute();
  return rows.map(({ owner }) => owner);
}
