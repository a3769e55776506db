import { type Log, silentLog } from "../log.ts";
import type { Database } from "./database.ts";

interface DatabaseOptions {
  /** A PostgreSQL connection string; null takes the embedded database. */
  databaseUrl: string | null;
  /** Folder of the embedded database; null keeps it in memory. */
  dataDir: string | null;
  log?: Log;
}

/**
 * Opens the database, whose code alone is loaded. The tables are made by `migrate`. Throws OperatorError when it is locked or cannot be
 * reached.
 */
export async function openDatabase({ databaseUrl, dataDir, log = silentLog }: DatabaseOptions): Promise<Database> {
  if (databaseUrl === null) return await (await import("./pglite.ts")).openPglite(dataDir);
  return await (await import("./postgres.ts")).openPostgres(databaseUrl, log);
}
