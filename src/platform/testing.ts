import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import { type RawBuilder, sql } from "kysely";
import { Client } from "pg";
import { silentLog } from "./log.ts";
import { pgliteVersion } from "./db/copied-database.ts";
import type { Database } from "./db/database.ts";
import { migrate, readMigrations } from "./db/migrate.ts";
import { openPglite } from "./db/pglite.ts";
import { openPostgres } from "./db/postgres.ts";

/**
 * An empty, migrated database of its own for one test: PGlite in memory, or with TEST_DATABASE_URL a new database on that
 * PostgreSQL server, dropped by `close`.
 */
export function testDatabase(): Promise<Database> {
  const server = process.env["TEST_DATABASE_URL"];
  return server ? onServer(server) : inMemory();
}

/** How the database would answer a query if it could not read a table from end to end, which it does with small ones: EXPLAIN's lines. */
export async function planWithoutTableScan(database: Database, query: RawBuilder<unknown>): Promise<string> {
  return await database.transaction(async (tx) => {
    await sql`set local enable_seqscan = off`.execute(tx);
    const { rows } = await sql<{ "QUERY PLAN": string }>`explain ${query}`.execute(tx);
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  });
}

async function onServer(server: string): Promise<Database> {
  const { url, drop } = await createDatabase(server, "", process.env[TEMPLATE]);
  const database = await openPostgres(url, silentLog);
  await database.migrate();
  return { ...database, close: () => database.close().then(drop) };
}

/** Names a migrated database on that server: a copy of it is there in half the time that migrations take. */
const TEMPLATE = "TEST_DATABASE_TEMPLATE";

/** Makes the database of which `testDatabase` gives copies from now on, in this process and those that it starts. Returns what drops it. */
export async function openTemplate(server: string): Promise<() => Promise<void>> {
  const { url, drop } = await createDatabase(server);
  const database = await openPostgres(url, silentLog);
  await database.migrate();
  await database.close();
  process.env[TEMPLATE] = new URL(url).pathname.slice(1);
  return drop;
}

/** A database on the server at this address, made with these `options`: empty, or a copy of the `template`. */
export async function createDatabase(
  server: string,
  options = "",
  template = "template0",
): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `voicetill_test_${randomBytes(8).toString("hex")}`;
  await administer(server, `create database ${name} template ${template} ${options}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(server, `drop database ${name} with (force)`) };
}

async function administer(server: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

const CACHE = new URL("../../node_modules/.cache/voicetill/", import.meta.url);

/** Compiled once for all databases of a test process. */
let program: WebAssembly.Module | null = null;

async function inMemory(): Promise<Database> {
  program ??= new WebAssembly.Module(readFileSync(new URL("pglite.wasm", import.meta.resolve("@electric-sql/pglite"))));
  return await openPglite(null, { snapshot: await migratedSnapshot(), program });
}

/** A segment of the write-ahead log is else two thirds of the tar. When a checkpoint is due stays as it is by default. */
const INITDB = ["--wal-segsize=1", "-c", "max_wal_size=1GB"];

/** A tar of the embedded database's folder, migrated and empty. It takes seconds to make, so it is cached in a file named after what it was made from. */
export async function migratedSnapshot(): Promise<Uint8Array<ArrayBuffer>> {
  const made = createHash("sha256").update(pgliteVersion() + INITDB.join(" "));
  for (const { checksum } of readMigrations()) made.update(checksum);
  const file = new URL(`database-${made.digest("hex").slice(0, 16)}.tar`, CACHE);

  const cached = read(file);
  if (cached) return cached;
  const lite = new PGlite({ initDbStartParams: INITDB });
  await migrate({ query: (text, parameters = []) => lite.query(text, [...parameters]), exec: (text) => lite.exec(text) });
  // Nothing is made from these two any more, and they are more than a third of the tar, which is copied for each test.
  await lite.exec("update pg_database set datistemplate = false");
  for (const name of ["template0", "template1"]) await lite.exec(`drop database ${name}`);
  const snapshot = new Uint8Array(await (await lite.dumpDataDir("none")).arrayBuffer());
  await lite.close();
  mkdirSync(CACHE, { recursive: true });
  const partial = new URL(`${file.href}.${randomBytes(4).toString("hex")}`);
  writeFileSync(partial, snapshot);
  renameSync(partial, file);
  return snapshot;
}

function read(file: URL): Uint8Array<ArrayBuffer> | null {
  try {
    return new Uint8Array(readFileSync(file));
  } catch {
    return null;
  }
}
