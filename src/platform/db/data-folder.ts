import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { OperatorError } from "#src/kernel/errors.ts";
import { makeFolder } from "../make-folder.ts";

export interface DataFolder {
  /** Where PGlite keeps its files. */
  readonly path: string;
  /** The first start is over: from now on the folder is never thrown away. */
  started(): void;
  release(): void;
}

/**
 * Takes the data folder for this process. PGlite has no lock of its own and two processes in one folder destroy it, so an
 * exclusive transaction is held on a small SQLite file beside it: the kernel drops that lock when the process dies, by
 * whatever cause. A folder whose first start was cut short (half an initdb, nothing ever acknowledged) is begun anew.
 */
export function takeDataFolder(dataDir: string): DataFolder {
  const root = resolve(dataDir);
  const path = join(root, "database");
  const unfinished = join(root, "database.unfinished");
  try {
    makeFolder(root, 0o700);
  } catch (cause) {
    throw new OperatorError(`DATA_DIR: the folder ${root} cannot be made.`, { cause });
  }

  const lock = takeLock(root);
  if (existsSync(unfinished)) rmSync(path, { recursive: true, force: true });
  if (!existsSync(path)) writeFileSync(unfinished, "");
  // PGlite makes files that everybody may write; the folder around them may be older than we are and open to all.
  makeFolder(path);
  chmodSync(path, 0o700);
  return {
    path,
    started: () => rmSync(unfinished, { force: true }),
    release: () => lock.close(),
  };
}

function takeLock(root: string): DatabaseSync {
  let lock: DatabaseSync;
  try {
    lock = new DatabaseSync(join(root, "database.lock"), { timeout: 0 });
  } catch (cause) {
    throw new OperatorError(`DATA_DIR: the folder ${root} cannot be written to.`, { cause });
  }
  try {
    lock.exec("pragma locking_mode = exclusive; begin exclusive");
  } catch (cause) {
    lock.close();
    throw new OperatorError(`DATA_DIR: the folder ${root} is in use by another voicetill process.`, { cause });
  }
  return lock;
}
