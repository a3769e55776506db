import type { Statement } from "./expressions.ts";
import { readMigrations } from "./schema.ts";
import { prepare, type Prepared, type Result } from "./statements.ts";
import type { Table } from "./table.ts";
import { type Change, DatabaseError, Transaction } from "./transaction.ts";
import type { Row, Value } from "./values.ts";

/**
 * PostgreSQL as far as this project uses it, in memory and with a clock that is told to it: transactions at READ COMMITTED,
 * row locks, NOTIFY at commit, and connections that can be cut at any moment (docs/decisions/0007).
 */
export class ModelDatabase {
  readonly tables: Map<string, Table>;
  /** After each commit, before anybody hears of it. */
  onCommit: (changes: readonly Change[]) => void = () => {};
  onNotify: (channel: string, payload: string) => void = () => {};
  readonly #now: () => number;
  readonly #prepared = new Map<string, Prepared>();

  constructor(now: () => number) {
    this.#now = now;
    this.tables = readMigrations();
  }

  connect(): Connection {
    return new Connection(this);
  }

  async run(sql: string, parameters: readonly Value[], transaction: Transaction): Promise<Result> {
    let prepared = this.#prepared.get(sql);
    if (!prepared) this.#prepared.set(sql, (prepared = prepare(sql, this.tables)));
    const now = () => new Date(Math.floor(this.#now()));
    const notify = (channel: string, payload: string) => void transaction.notifications.push([channel, payload]);
    const statement: Statement = { parameters, now, began: now(), notify, once: new Map(), parts: new Map(), transaction };
    return await prepared(statement, transaction);
  }

  commit(transaction: Transaction): void {
    const { notifications } = transaction;
    const changes = transaction.commit();
    this.onCommit(changes);
    for (const [channel, payload] of notifications) this.onNotify(channel, payload);
  }

  /** The committed rows of a table, or those with one value, for the checks. */
  committed(name: string, [column, value]: [string?, string?] = []): Row[] {
    const table = this.tables.get(name);
    const holders = column === undefined ? table?.holders : table?.having(column, value ?? null);
    const rows = [...(holders ?? [])].flatMap(({ committed }) => (committed ? [committed] : []));
    return column === undefined ? rows : rows.filter((row) => row[column] === value);
  }

  /** Inserts a row as it is, committed: a fixture. */
  insertFixture(table: string, row: Row): void {
    const transaction = new Transaction();
    const into = this.tables.get(table);
    if (!into) throw new Error(`there is no table ${table}`);
    transaction.insert(into, Object.fromEntries([...into.columns.keys()].map((name) => [name, row[name] ?? null])));
    transaction.commit();
  }
}

/** One session with the database. */
export class Connection {
  readonly #database: ModelDatabase;
  #open: Transaction | null = null;
  #running: Transaction | null = null;
  isCut = false;

  constructor(database: ModelDatabase) {
    this.#database = database;
  }

  async query(sql: string, parameters: readonly Value[]): Promise<Result> {
    if (this.isCut) throw new DatabaseError("08006", "Connection terminated");
    if (this.#open?.failed) throw new DatabaseError("25P02", "current transaction is aborted");
    const transaction = this.#open ?? new Transaction();
    this.#running = transaction;
    try {
      const result = await this.#database.run(sql, parameters, transaction);
      if (!this.#open && !transaction.over) this.#database.commit(transaction);
      return result;
    } catch (error) {
      if (this.#open) this.#open.failed = true;
      else if (!transaction.over) transaction.rollback();
      throw error;
    } finally {
      this.#running = null;
    }
  }

  /** The rows of a table as the open transaction has made them. */
  changed(table: string): Row[] {
    return this.#open?.changed(table) ?? [];
  }

  /** Between `begin` and the end. */
  get isOpen(): boolean {
    return this.#open !== null;
  }

  begin(): void {
    if (this.isCut) throw new DatabaseError("08006", "Connection terminated");
    this.#open = new Transaction();
  }

  commit(): void {
    const transaction = this.#open;
    this.#open = null;
    if (this.isCut || !transaction) throw new DatabaseError("08006", "Connection terminated");
    if (!transaction.failed) return this.#database.commit(transaction);
    transaction.rollback();
    throw new Error("the transaction was rolled back: one of its statements had failed");
  }

  rollback(): void {
    this.#open?.rollback();
    this.#open = null;
  }

  /** The client is gone: what was not committed never happened. */
  cut(): void {
    this.isCut = true;
    const transaction = this.#open ?? this.#running;
    this.#open = null;
    if (transaction && !transaction.over) transaction.rollback();
  }
}
