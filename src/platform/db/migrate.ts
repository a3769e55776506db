import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { sql } from "kysely";
import { OperatorError } from "#src/kernel/errors.ts";
import { type Db, hasTable } from "./database.ts";

const FOLDER = new URL("../../../migrations/", import.meta.url);
const FILE_NAME = /^[0-9]{4}_[a-z0-9_]+\.sql$/;
/** Any constant that no other use of advisory locks in this database has. */
const LOCK = 7_418_250_361;

export interface Migration {
  name: string;
  sql: string;
  checksum: string;
}

/** One session of the database, outside any transaction. */
export interface MigrationSession {
  query(sql: string, parameters?: readonly unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  exec(sql: string): Promise<unknown>;
}

/** The files of `migrations/` in the order of their numbers. */
export function readMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((name) => FILE_NAME.test(name))
    .sort()
    .map((name) => {
      const sql = readFileSync(new URL(name, FOLDER), "utf8");
      return { name, sql, checksum: createHash("sha256").update(sql).digest("hex") };
    });
}

/**
 * Brings the database up to date, each file in a transaction of its own, and returns the names applied now. Many
 * processes may call it at once: an advisory lock lets them take turns. A file that was changed after it was applied is an
 * OperatorError; a file that this version does not know is left alone, so that an older version runs beside a newer one.
 */
export async function migrate(session: MigrationSession, migrations: readonly Migration[] = readMigrations()): Promise<string[]> {
  await session.query("select pg_advisory_lock($1)", [LOCK]);
  try {
    await session.exec(`create table if not exists migrations (
      name text primary key, checksum text not null, applied_at timestamptz not null default clock_timestamp())`);
    const { rows } = await session.query("select name, checksum from migrations");
    const applied = new Map(rows.map((row) => [row["name"] as string, row["checksum"] as string]));
    const done: string[] = [];
    for (const { name, sql, checksum } of migrations) {
      const known = applied.get(name);
      if (known === checksum) continue;
      if (known !== undefined) throw new OperatorError(`The migration ${name} was changed after it had been applied to this database.`);
      await applyOne(session, sql, name, checksum);
      done.push(name);
    }
    return done;
  } finally {
    await session.query("select pg_advisory_unlock($1)", [LOCK]);
  }
}

/** Files of `migrations/` that this database has not had, by name; all of them when it has had none. Changes nothing. */
export async function pendingMigrations(db: Db, migrations: readonly Migration[] = readMigrations()): Promise<string[]> {
  const { rows } = (await hasTable(db, "migrations")) ? await sql<{ name: string }>`select name from migrations`.execute(db) : { rows: [] };
  const applied = rows.map(({ name }) => name);
  return migrations.map(({ name }) => name).filter((name) => !applied.includes(name));
}

async function applyOne(session: MigrationSession, sql: string, name: string, checksum: string): Promise<void> {
  await session.exec("begin");
  try {
    await session.exec(sql);
    await session.query("insert into migrations (name, checksum) values ($1, $2)", [name, checksum]);
    await session.exec("commit");
  } catch (error) {
    await session.exec("rollback");
    throw error;
  }
}
