import { type Log, silentLog } from "../log.ts";
import type { Database } from "./database.ts";
import { openPglite } from "./pglite.ts";
import { openPostgres } from "./postgres.ts";

export interface DatabaseOptions {
  /** A PostgreSQL connection string; null takes the embedded database. */
  databaseUrl: string | null;
  /** Folder of the embedded database; null keeps it in memory. */
  dataDir: string | null;
  log?: Log;
}

/** Opens the database. The tables are made by `migrate`. Throws OperatorError when it is locked or cannot be reached. */
export function openDatabase({ databaseUrl, dataDir, log = silentLog }: DatabaseOptions): Promise<Database> {
  return databaseUrl === null ? openPglite(dataDir) : openPostgres(databaseUrl, log);
}
