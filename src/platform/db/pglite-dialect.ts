import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from "kysely";
import type { PGliteSession, PGliteThread } from "./pglite-thread.ts";

/**
 * Kysely over the PGlite thread. Kysely's own PGliteDialect queues callers before they reach the thread, where a query
 * that left its transaction could not be told from one that may wait; here the thread alone hands out the session.
 */
export function pgliteDialect(thread: PGliteThread): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new ThreadDriver(thread),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}

class ThreadDriver implements Driver {
  readonly #thread: PGliteThread;

  constructor(thread: PGliteThread) {
    this.#thread = thread;
  }

  async init(): Promise<void> {
    await this.#thread.ready();
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return new ThreadConnection(await this.#thread.acquire());
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin"));
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    const { command } = await (connection as ThreadConnection).session.query("commit");
    if (command === "ROLLBACK") throw new Error("the transaction was rolled back: one of its statements had failed");
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("rollback"));
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    (connection as ThreadConnection).session.release();
  }

  async destroy(): Promise<void> {
    await this.#thread.close();
  }
}

class ThreadConnection implements DatabaseConnection {
  readonly session: PGliteSession;

  constructor(session: PGliteSession) {
    this.session = session;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, affectedRows } = await this.session.query(sql, parameters);
    return { rows: rows as R[], ...(affectedRows === undefined ? {} : { numAffectedRows: BigInt(affectedRows) }) };
  }

  // oxlint-disable-next-line require-yield -- the interface asks for a generator
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error("rows cannot be streamed from the embedded database");
  }
}
