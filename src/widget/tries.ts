import { type RawBuilder, sql } from "kysely";
import type { Db } from "#src/platform/index.ts";

/** Rows of widget_charges: how often a session was tried to be paid, and whether a try is under way. */

/** Tries for one session (R-367). */
export const MAX_TRIES = 5;
/**
 * How long a try keeps others out when nobody ends it, because its process died: the gateway itself is guarded by the
 * session's phase, so this only has to outlast the time from here to there.
 */
const BUSY_SECONDS = 60;

/** Whether a try keeps others out. An end that is further away than a try can put it says that the database server's clock was set back (R-288). */
const isBusy = (until: RawBuilder<unknown>) =>
  sql<boolean>`(${until} > clock_timestamp() and ${until} <= clock_timestamp() + make_interval(secs => ${2 * BUSY_SECONDS}))`;

export interface Tries {
  used: number;
  /** One is under way. */
  busy: boolean;
  /** The nonce that was asked about was used. */
  spent: boolean;
}

/**
 * Counts one try and keeps others out until `endTry`. One statement under the row's lock: of many at once one gets it.
 * Answers its number, or null when one is under way, the nonce was used, all are used up or the session's time is over. A call that has the session keeps it open.
 */
export async function beginTry(tx: Db, sessionId: string, nonce: string): Promise<number | null> {
  const { rows } = await sql<{ used: number }>`
    insert into widget_charges as tried (session_id, nonces, busy_until)
    select id, array[${nonce}::text], clock_timestamp() + make_interval(secs => ${BUSY_SECONDS}) from sessions
    where id = ${sessionId} and (expires_at > clock_timestamp() or call_id is not null)
    on conflict (session_id) do update set nonces = tried.nonces || excluded.nonces, busy_until = excluded.busy_until
    where not tried.nonces @> excluded.nonces and cardinality(tried.nonces) < ${MAX_TRIES}
      and not coalesce(${isBusy(sql`tried.busy_until`)}, false)
    returning cardinality(nonces) as used`.execute(tx);
  return rows[0]?.used ?? null;
}

/** The try is over: the next may begin. Nothing when another has begun since. */
export async function endTry(db: Db, sessionId: string, nonce: string): Promise<void> {
  await sql`update widget_charges set busy_until = null
    where session_id = ${sessionId} and nonces[cardinality(nonces)] = ${nonce}`.execute(db);
}

export async function triesOf(db: Db, sessionId: string, nonce: string | null): Promise<Tries> {
  const { rows } = await sql<Tries>`
    select cardinality(nonces) as used, coalesce(${isBusy(sql`busy_until`)}, false) as busy,
      coalesce(${nonce}::text = any(nonces), false) as spent
    from widget_charges where session_id = ${sessionId}`.execute(db);
  return rows[0] ?? { used: 0, busy: false, spent: false };
}

/** The session's time is over, by the database's clock. */
export async function isLate(db: Db, sessionId: string): Promise<boolean> {
  const late = sql<boolean>`expires_at <= clock_timestamp()`.as("late");
  const row = await db.selectFrom("sessions").select(late).where("id", "=", sessionId).executeTakeFirst();
  return row?.late ?? true;
}
