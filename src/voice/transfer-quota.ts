import { sql } from "kysely";
import { type Database, isOwnerDead } from "#src/platform/index.ts";

/** How many transfers there may be: calls cost the operator money, and whoever holds an API key names their destination. */
export interface TransferLimits {
  /** Of the installation, from the dialling to the hang-up. */
  atOnce: number;
  /** Of one project, in a day of UTC. */
  perDay: number;
}

interface NewTransfer {
  sessionId: string;
  projectId: string;
  /** This run of this process, as in its lease. */
  owner: string;
}

/** Longer than any transfer lasts: one whose end could not be written counts no more. */
const LONGEST = "3 hours";
const KEPT = "2 days";
/**
 * Where there are other projects, none has more transfers than so many times what is free: a flood leaves a part to them, and what it has
 * shrinks as theirs grow (dynamic thresholds, Choudhury and Hahne 1998). Of 50 one project has 40 at most.
 */
const TIMES_FREE = 4;
/** Any number that no other advisory lock has: transfers are counted one after the other. */
const LOCK = 7_330_001;

/** Counts a transfer, over all processes; a limit that it would pass is the answer instead. Outside transactions only. */
export function beginTransfer(
  database: Database,
  { sessionId, projectId, owner }: NewTransfer,
  limits: TransferLimits,
): Promise<{ id: number } | "at once" | "share" | "per day"> {
  return database.transaction(async (tx) => {
    await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx);
    // A session has one transfer: one that is open was begun by this call, and the answer to its commit lost.
    await sql`delete from transfers where started_at < clock_timestamp() - ${KEPT}::interval
      or (session_id = ${sessionId} and owner = ${owner} and ended_at is null)`.execute(tx);
    const { rows } = await sql<{ running: number; own: number; is_alone: boolean; today: number }>`
      with running as (select project_id from transfers
        where ended_at is null and started_at > clock_timestamp() - ${LONGEST}::interval and not ${isOwnerDead(sql.ref("transfers.owner"))})
      select
        (select count(*) from running) as running,
        (select count(*) from running where project_id = ${projectId}) as own,
        not exists (select from projects where id <> ${projectId} and not archived) as is_alone,
        (select count(*) from transfers
          where project_id = ${projectId} and started_at >= date_trunc('day', clock_timestamp(), 'UTC')) as today`.execute(tx);
    const { running, own, is_alone, today } = rows[0]!;
    const free = limits.atOnce - running;
    if (free <= 0) return "at once";
    if (!is_alone && own >= TIMES_FREE * free) return "share";
    if (today >= limits.perDay) return "per day";
    const row = { session_id: sessionId, project_id: projectId, owner };
    return await tx.insertInto("transfers").values(row).returning("id").executeTakeFirstOrThrow();
  });
}

/** The transfer is over. */
export async function endTransfer({ db }: Pick<Database, "db">, id: number): Promise<void> {
  await db
    .updateTable("transfers")
    .set({ ended_at: sql<Date>`clock_timestamp()` })
    .where("id", "=", id)
    .execute();
}
