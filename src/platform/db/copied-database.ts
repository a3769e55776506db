import { constants, cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../make-folder.ts";
import { initdb } from "./initdb.ts";

/**
 * Puts a new embedded database into the data folder, as the first one was made that `cache` was given for: making one takes seconds. For
 * folders that are thrown away: all that are begun so have the same system identifier.
 */
export async function copyNewDatabase(dataDir: string, cache: string): Promise<void> {
  const kept = join(cache, `database-${pgliteVersion()}`);
  if (!existsSync(kept)) await make(cache, kept);
  cpSync(kept, join(dataDir, "database"), { recursive: true, mode: constants.COPYFILE_FICLONE });
}

/** Of the embedded database: another one may write its files otherwise. */
export function pgliteVersion(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.resolve("@electric-sql/pglite")), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

/** Whole or not there: another process may be at it too. */
async function make(cache: string, path: string): Promise<void> {
  makeFolder(cache);
  const unfinished = mkdtempSync(`${path}.unfinished-`);
  try {
    await initdb(unfinished);
    renameSync(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(path)) throw error;
  }
}
