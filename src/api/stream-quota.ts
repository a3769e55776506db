import { sql } from "kysely";
import type { Clock } from "#src/kernel/clock.ts";
import type { Random } from "#src/kernel/random.ts";
import { type Database, type Db, isOwnerDead, repeat } from "#src/platform/index.ts";

/** Open streams at most (R-067). */
const PER_SESSION = 5;
const PER_KEY = 100;
const SWEEP_MS = 60_000;

/** Which key wants a stream, and of which session. */
interface StreamQuotaRequest {
  sessionId: string;
  keyId: string;
}

/** Counts open streams. */
export interface StreamQuota {
  /** Counts a stream under both limits and returns its release. Null when one of the limits is reached. */
  take(request: StreamQuotaRequest): Promise<(() => void) | null>;
  stop(): void;
}

export const unlimitedStreams: StreamQuota = { take: async () => () => {}, stop: () => {} };

/** Counts in this process: right where one process serves everything. */
export function memoryStreamQuota(): StreamQuota {
  const counts = new Map<string, number>();
  const add = (name: string, change: number) => {
    const open = (counts.get(name) ?? 0) + change;
    if (open > 0) counts.set(name, open);
    else counts.delete(name);
  };
  return {
    async take({ sessionId, keyId }) {
      const [session, key] = [`session ${sessionId}`, `key ${keyId}`];
      if ((counts.get(session) ?? 0) >= PER_SESSION || (counts.get(key) ?? 0) >= PER_KEY) return null;
      for (const name of [session, key]) add(name, 1);
      return () => [session, key].forEach((name) => add(name, -1));
    },
    stop: () => {},
  };
}

/**
 * Counts in the table `open_streams`, shared by all processes; a row counts while the process named in it keeps its lease, of
 * which `owner` is this process's. A row that could not be deleted is deleted later.
 */
export function databaseStreamQuota(database: Database, owner: string, clock: Clock, random: Pick<Random, "uuid">): StreamQuota {
  const released = new Set<string>();
  const deleteBatched = database.batched(async (db, ids: readonly string[]) => {
    await db.deleteFrom("open_streams").where("id", "in", ids).execute();
    return ids;
  });
  const release = (id: string) => {
    released.add(id);
    deleteBatched(id).then(
      () => released.delete(id),
      () => {},
    );
  };
  const sweep = async () => {
    for (const id of released) release(id);
    await deleteStreamsOfDead(database.db, owner);
  };
  const end = repeat({ clock, everyMs: SWEEP_MS, firstMs: SWEEP_MS, task: sweep, onFailure: () => {} });

  return {
    async take(request) {
      const id = random.uuid();
      try {
        const taken = await database.transaction((tx) => insertStream(tx, { id, owner, ...request }));
        return taken ? () => release(id) : null;
      } catch (error) {
        // The row may be there all the same.
        release(id);
        throw error;
      }
    },
    stop() {
      void end();
    },
  };
}

/** The streams of processes that are dead; never those of `owner`, this process. */
export async function deleteStreamsOfDead(db: Db, owner: string): Promise<void> {
  await db
    .deleteFrom("open_streams")
    .where(isOwnerDead(sql.ref("open_streams.owner")))
    .where("owner", "!=", owner)
    .execute();
}

/** Inserts a row if both limits allow it. Whoever asks for the same session or with the same key waits until that is committed. */
async function insertStream(tx: Db, { id, owner, sessionId, keyId }: StreamQuotaRequest & { id: string; owner: string }): Promise<boolean> {
  // Sessions first, then keys, so that no two wait for each other.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`stream of session ${sessionId}`}, 0))`.execute(tx);
  await sql`select pg_advisory_xact_lock(hashtextextended(${`stream with key ${keyId}`}, 0))`.execute(tx);
  const counts = sql`(owner = ${owner} or not ${isOwnerDead(sql.ref("open_streams.owner"))})`;
  const { rows } = await sql`
    insert into open_streams (id, owner, session_id, api_key_id)
    select ${id}, ${owner}, ${sessionId}, ${keyId}
    where (select count(*) from open_streams where session_id = ${sessionId} and ${counts}) < ${PER_SESSION}
      and (select count(*) from open_streams where api_key_id = ${keyId} and ${counts}) < ${PER_KEY}
    returning id`.execute(tx);
  return rows.length > 0;
}
