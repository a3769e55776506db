import { sql } from "kysely";
import type { Clock } from "#src/kernel/clock.ts";
import { type Database, isOwnerDead, type Log, repeat } from "#src/platform/index.ts";
import { overdueIds, select } from "./repository.ts";
import { fromRow, type Session } from "./session.ts";

const EVERY_MS = 2000;
const BATCH = 200;
/**
 * Sweeps in a row that must find a session's process dead, longer in all than a heartbeat takes: after the database was
 * away every lease looks dead until its process has been heard of again.
 */
const FINDINGS_IN_A_ROW = 4;

export interface SweeperDeps {
  database: Database;
  clock: Clock;
  log: Log;
  expire: (id: string) => Promise<unknown>;
  /** Gives a session back that the page of its link had for one try: its call may still come. */
  release: (session: Session) => Promise<unknown>;
  /** Ends a session that was being collected and has been left: by its process, or by its shopper. */
  giveUp: (session: Session) => Promise<unknown>;
  /** Left out: no call of a living process is ever given up. */
  own?: OwnCalls;
}

/** The calls of this process. */
export interface OwnCalls {
  owner: string;
  /** Ids of those under way. */
  calls: () => readonly string[];
}

/**
 * Expires the unused sessions, so that their webhook goes out within 5 s, and ends those whose process died in the
 * middle of a call (I10), whose call is over and did not end them, or whose shopper left the widget. What the page of a link has left goes
 * back. Every process sweeps: each move is a conditional UPDATE, so it is made once. Returns the end.
 */
export function startSweeper(deps: SweeperDeps): () => Promise<void> {
  let timesFound = new Map<string, number>();

  /** False when it failed: one session that cannot be ended must not keep the others waiting. */
  const attempt = async (id: string, end: () => Promise<unknown>): Promise<boolean> => {
    try {
      await end();
      return true;
    } catch (error) {
      deps.log.error("session_sweep_failed", { session: id, error });
      return false;
    }
  };
  const sweep = async (isStopped: () => boolean) => {
    for (let more = true; more;) {
      if (isStopped()) return;
      const ids = await overdueIds(deps.database.db, BATCH);
      more = ids.length === BATCH;
      for (const id of ids) more = (await attempt(id, () => deps.expire(id))) && more;
    }
    for (const session of await idleWidgets(deps.database)) await attempt(session.id, () => deps.giveUp(session));
    const found = await orphans(deps.database, deps.own);
    timesFound = new Map(found.map(({ id }) => [id, (timesFound.get(id) ?? 0) + 1]));
    for (const session of found) {
      if (timesFound.get(session.id)! < FINDINGS_IN_A_ROW) continue;
      await attempt(session.id, () => (session.callId === null ? deps.release(session) : deps.giveUp(session)));
    }
  };
  return repeat({
    clock: deps.clock,
    everyMs: EVERY_MS,
    firstMs: EVERY_MS,
    task: sweep,
    onFailure: (error) => {
      timesFound.clear();
      deps.log.warn("session_sweep_failed", { error });
    },
  });
}

/**
 * Widget sessions that were tried and left: past their time, and no card at the gateway. They cannot expire, because they
 * were used; they end as a call does whose caller left.
 */
async function idleWidgets({ db }: Pick<Database, "db">): Promise<Session[]> {
  const rows = await select(db)
    .where("status", "=", "COLLECTING")
    .where("phase", "=", "collecting")
    .where("channel", "=", "widget")
    .where(sql<boolean>`sessions.expires_at <= clock_timestamp()`)
    .limit(BATCH)
    .execute();
  return rows.map(fromRow);
}

/**
 * Voice sessions being collected by a process that is dead, or by this one for a call that is over: a fault, mostly of the
 * database, kept its end from being written. A session in phase charging or unknown is not among them: its attempt is settled
 * with the gateway first (`payments/`). A widget session belongs to no process between two tries.
 */
export async function orphans({ db }: Pick<Database, "db">, own?: OwnCalls): Promise<Session[]> {
  const isDead = isOwnerDead(sql.ref("sessions.claimed_by"));
  // Time for a new process to be heard of. What lies ahead is from before the server's clock was set back.
  const isOld = sql<boolean>`(sessions.updated_at < clock_timestamp() - interval '15 seconds'
    or sessions.updated_at > clock_timestamp() + interval '15 seconds')`;
  const rows = await select(db)
    .where("status", "=", "COLLECTING")
    .where("phase", "=", "collecting")
    .where("channel", "=", "voice")
    .where((row) => {
      const isLeft = row.and([isDead, isOld]);
      if (!own) return isLeft;
      // No call: the page of its link has it for one try, and should have given it back.
      const isOver = sql<boolean>`(call_id is null or call_id <> all(${[...own.calls()]}::text[]))`;
      return row.or([isLeft, row.and([row("claimed_by", "=", own.owner), isOver])]);
    })
    .limit(BATCH)
    .execute();
  return rows.map(fromRow);
}
