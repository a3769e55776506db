import type { PostgresPoolClient } from "kysely";
import { Pool, type PoolClient, type PoolConfig } from "pg";
import { errorCode } from "#src/kernel/errors.ts";
import type { Log } from "../log.ts";
import { NotConnected, READ_ONLY } from "./database.ts";
import type { DiskSpace } from "./disk-space.ts";
import { preparedName } from "./statement.ts";

/** The server gives a statement up after this long, and says so. */
const STATEMENT_MS = 10_000;
/** An answer that is later than the server's own limit never comes: the network is gone without a word. */
const SILENCE_MS = STATEMENT_MS + 2_000;
/** A request that cannot be served is refused, not left hanging (E2: 503 within 2.5 s). */
const CONNECT_MS = 2_000;

/** What `pg` says when `query_timeout` is over; it has no code. */
const SILENT = "Query read timeout";

/** A migration of a newer process changed what a prepared statement selects: the server refuses it on this connection for ever, before it does anything. */
const isOutdated = (error: unknown) => (error as { routine?: unknown }).routine === "RevalidateCachedQuery";

/** Nobody waits for a server that has fallen silent; TCP itself would, for a quarter of an hour. */
const LIMITS = {
  keepAlive: true,
  connectionTimeoutMillis: CONNECT_MS,
  statement_timeout: STATEMENT_MS,
  query_timeout: SILENCE_MS,
  idle_in_transaction_session_timeout: 30_000,
} satisfies PoolConfig;

/**
 * What our statements rely on, whatever the defaults of the server, of the database or of its user are. With `off` a commit that was told, the
 * intent of a charge among them, is lost when the server crashes; anything beyond `on` is left.
 */
const RELIED_ON = `set default_transaction_isolation = 'read committed';
  set datestyle = 'ISO';
  select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`;

/** A pool, and its `connect` that opens connections anew before they are used again once one as old has fallen silent. */
export function openPool(config: PoolConfig, log: Log, space: DiskSpace): { pool: Pool; connect: () => Promise<PostgresPoolClient> } {
  const pool = new Pool({
    ...LIMITS,
    ...config,
    // Before a new connection is first used.
    verify: (client, done) => void client.query(RELIED_ON).then(() => done(), done),
  });
  const openedIn = new WeakMap<PoolClient, number>();
  /** What was opened in an earlier era than this is not trusted: each silence of a trusted connection begins the next. */
  let era = 0;
  pool.on("error", (error) => log.warn("database_connection_lost", { error }));
  pool.on("connect", (client) => {
    openedIn.set(client, era);
    // The pool listens to idle connections alone: without this, one that is lost in a transaction would end the process. Whoever
    // uses it hears of it by the next query.
    client.on("error", () => {});
  });

  async function connect(): Promise<PostgresPoolClient> {
    const client = await pool.connect().catch((cause: unknown) => {
      throw new NotConnected(cause);
    });
    if (openedIn.get(client) === era) return watched(client);
    client.release(true);
    return await connect();
  }

  /** Asks by name for what `statement` declared: the server parses it with the connection's first use. */
  function watched(client: PoolClient): PostgresPoolClient {
    let silent = false;
    let outdated = false;
    const query = async (text: string, values: unknown[]) => {
      // The rollback of what was lost need not be waited for as well.
      if (silent) throw new Error(SILENT);
      try {
        return await client.query({ name: preparedName(text), text, values });
      } catch (error) {
        space.onError(error);
        // A new connection may lead to a server that takes writes; this one never will.
        if (errorCode(error) === READ_ONLY) outdated = true;
        if (isOutdated(error)) {
          outdated = true;
          return await client.query({ text, values });
        }
        if (error instanceof Error && error.message === SILENT) {
          silent = true;
          if (openedIn.get(client) === era) era++;
          log.warn("database_silent", { error });
        }
        throw error;
      }
    };
    return { query: query as never, release: (destroy) => client.release(destroy === true || silent || outdated) };
  }

  return { pool, connect };
}
