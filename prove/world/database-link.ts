import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from "kysely";
import type { Clock } from "#src/kernel/clock.ts";
import type { Database, Tables } from "#src/platform/index.ts";
import { batched } from "#src/platform/db/batch.ts";
import { TransactionScope } from "#src/platform/db/transaction-scope.ts";
import { type Connection, DatabaseError, type ModelDatabase, type Result, type Value } from "../database/index.ts";

/** What can happen to one exchange with the database. */
export type DatabaseFault = "none" | "lost before" | "lost after";

/** A process on the way to the database. */
export interface DatabaseLink {
  /** Resolves when the message has arrived; never, when the process died on the way. */
  delay(): Promise<void>;
  databaseFault(what: "statement" | "begin" | "commit", connection: Connection): DatabaseFault;
  opened(connection: Connection): void;
  closed(connection: Connection): void;
  listen(channel: string, onPayload: (payload: string) => void, onGap: () => void): () => void;
}

const terminated = () => new DatabaseError("08006", "Connection terminated unexpectedly");

/** The model of the database as one process sees it: over a line that can break before or after anything is done. `clock`: the process's. */
export function databaseOver(link: DatabaseLink, model: ModelDatabase, clock?: Clock): Database {
  const scope = new TransactionScope();
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new LinkDriver(link, model, scope),
      createIntrospector: (introspected) => new PostgresIntrospector(introspected),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
  return {
    db,
    kind: "postgres",
    transaction: (work) => db.transaction().execute((tx) => scope.run(() => work(tx))),
    batched: (work) => batched(scope, (items) => work(db, items), clock),
    listen: async (channel, onPayload, onGap = () => {}) => {
      const stop = link.listen(channel, onPayload, onGap);
      return async () => stop();
    },
    migrate: async () => [],
    ping: async () => true,
    close: async () => {},
  };
}

class LinkDriver implements Driver {
  readonly #link: DatabaseLink;
  readonly #model: ModelDatabase;
  readonly #scope: TransactionScope;

  constructor(link: DatabaseLink, model: ModelDatabase, scope: TransactionScope) {
    this.#link = link;
    this.#model = model;
    this.#scope = scope;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    this.#scope.assertOutside();
    const connection = this.#model.connect();
    this.#link.opened(connection);
    return new LinkConnection(this.#link, connection);
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as LinkConnection).exchange("begin", (session) => session.begin());
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as LinkConnection).exchange("commit", (session) => session.commit());
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    const { session } = connection as LinkConnection;
    await this.#link.delay();
    session.rollback();
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    const { session } = connection as LinkConnection;
    session.rollback();
    this.#link.closed(session);
  }

  async destroy(): Promise<void> {}
}

class LinkConnection implements DatabaseConnection {
  readonly session: Connection;
  readonly #link: DatabaseLink;

  constructor(link: DatabaseLink, session: Connection) {
    this.#link = link;
    this.session = session;
  }

  async exchange<T>(what: "statement" | "begin" | "commit", work: (session: Connection) => T | Promise<T>): Promise<T> {
    const fault = this.#link.databaseFault(what, this.session);
    await this.#link.delay();
    if (fault === "lost before") {
      this.session.cut();
      throw terminated();
    }
    try {
      return await work(this.session);
    } finally {
      await this.#link.delay();
      if (fault === "lost after") {
        this.session.cut();
        // The program hears of the broken line instead of whatever was done.
        // oxlint-disable-next-line no-unsafe-finally
        throw terminated();
      }
    }
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const values = parameters as readonly Value[];
    const isCommit = !this.session.isOpen && !sql.startsWith("select");
    const { rows, affected } = isCommit
      ? await this.#commitAlone(sql, values)
      : await this.exchange("statement", (session) => session.query(sql, values));
    return { rows: rows as R[], numAffectedRows: BigInt(affected) };
  }

  /** A statement that is a transaction by itself: the line can break before it came, before its commit and after. */
  async #commitAlone(sql: string, values: readonly Value[]): Promise<Result> {
    const lost = (): never => {
      this.session.cut();
      throw terminated();
    };
    const arrives = this.#link.databaseFault("statement", this.session);
    await this.#link.delay();
    if (arrives !== "none") return lost();
    this.session.begin();
    let isDone: DatabaseFault;
    let result: Result;
    try {
      result = await this.session.query(sql, values);
      isDone = this.#link.databaseFault("statement", this.session);
      if (isDone === "none") isDone = this.#link.databaseFault("commit", this.session);
      if (isDone !== "lost before") this.session.commit();
    } catch (error) {
      this.session.rollback();
      await this.#link.delay();
      throw error;
    }
    await this.#link.delay();
    return isDone === "none" ? result : lost();
  }

  // oxlint-disable-next-line require-yield -- the interface asks for a generator
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error("no statement of this project streams");
  }
}
