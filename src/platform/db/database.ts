import { type Kysely, sql } from "kysely";
import { systemClock, within } from "#src/kernel/clock.ts";
import { errorCode } from "#src/kernel/errors.ts";
import type { Tables } from "./tables.ts";

/** A handle to query through. A transaction's handle is one too; repositories take it as first argument. */
export type Db = Kysely<Tables>;

export interface Database {
  readonly db: Db;
  readonly kind: "pglite" | "postgres";
  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. Nothing is retried. A query
   * through `db` inside `work` throws: use the handle that `work` is given.
   */
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>;
  /**
   * Makes few calls of `work` out of many alike requests: what is asked for while a call is under way goes together into
   * the next. `work` returns one result per item, in their order, and commits all or nothing. An item is done when its
   * call has ended. Outside transactions only.
   */
  batched<T, R>(work: (db: Db, items: readonly T[]) => Promise<readonly R[]>): (item: T) => Promise<R>;
  /**
   * Calls `onPayload` for every notification on `channel` that any process commits, and `onGap` when some may have been
   * missed because the connection was lost and is back. The returned function ends it.
   */
  listen(channel: string, onPayload: (payload: string) => void, onGap?: () => void): Promise<() => Promise<void>>;
  /** Applies the missing files of `migrations/` and returns their names. Safe from many processes at once. */
  migrate(): Promise<string[]>;
  /** True when the database answered within `timeoutMs` and takes writes, also those that need space on its disk once one was refused. */
  ping(timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/** Whether a migration has made the table. */
export async function hasTable(db: Db, name: string): Promise<boolean> {
  const { rows } = await sql<{ there: boolean }>`select to_regclass(${name}) is not null as there`.execute(db);
  return rows[0]?.there === true;
}

/** NOTIFY inside the transaction of `tx`: delivered after its commit, never after a rollback. Payload: at most 7999 bytes. */
export async function notify(tx: Db, channel: string, payload: string): Promise<void> {
  await sql`select pg_notify(${channel}, ${payload})`.execute(tx);
}

/** True when `work` succeeded within `timeoutMs`. */
export async function answersWithin(timeoutMs: number, work: Promise<unknown>): Promise<boolean> {
  const succeeded = work.then(
    () => true,
    () => false,
  );
  return await within(systemClock, timeoutMs, succeeded, () => false);
}

/** SQLSTATE of a server that takes no writes: a standby, or one that a failover has left behind. */
export const READ_ONLY = "25006";
/**
 * SQLSTATE classes and codes of a server that cannot serve just now: 08 connection, 25006 read-only, 53 resources,
 * 25P03, 25P04, 55P03 and 57014 the time limits of transactions, locks and statements, 40001 and 40P01 another transaction in the way,
 * 57P shutting down.
 */
const UNAVAILABLE_STATES = new RegExp(`^(?:08|${READ_ONLY}|25P0[34]|40001|40P01|53|55P03|57014|57P0)`);
const UNAVAILABLE_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);
/** `pg` gives these no code. */
const UNAVAILABLE_MESSAGES =
  /Connection terminated|Query read timeout|timeout exceeded when trying to connect|is not queryable|has stopped/i;

/** True when `error` is the database's refusal of a value (SQLSTATE class 22, data exception): the same value is refused for ever. */
export function isDataError(error: unknown): boolean {
  return error instanceof Error && errorCode(error).startsWith("22");
}

/** The server took no connection, for whatever reason: nothing was asked of it. `code` is what it said. */
export class NotConnected extends Error {
  readonly code: string;

  constructor(cause: unknown) {
    super("the database took no connection", { cause });
    this.name = "NotConnected";
    this.code = errorCode(cause);
  }
}

/** True when `error` says that the database cannot be reached, as opposed to having refused the query (R-030: HTTP 503). */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof NotConnected) return true;
  if (error instanceof AggregateError && error.errors.some(isDatabaseUnavailable)) return true;
  const code = errorCode(error);
  return UNAVAILABLE_STATES.test(code) || UNAVAILABLE_CODES.has(code) || UNAVAILABLE_MESSAGES.test(error.message);
}
