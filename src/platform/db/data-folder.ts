import { chmodSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statfsSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { FolderInUse, OperatorError } from "#src/kernel/errors.ts";
import { makeFolder } from "../make-folder.ts";

interface DataFolder {
  /** Where PGlite keeps its files. */
  readonly path: string;
  /** Where nothing is yet, has `make` make the database in an empty folder, which is then renamed to `path`: whole, or not there. */
  begin(make: (folder: string) => Promise<void>): Promise<void>;
  release(): void;
}

/** The folder in which a first start makes the database; what was cut short stays of it. */
const UNFINISHED = "database.unfinished-";

/**
 * Takes the data folder for this process. PGlite has no lock of its own and two processes in one folder destroy it, so an
 * exclusive transaction is held on a small SQLite file beside it: the kernel drops that lock when the process dies, by
 * whatever cause. Of a first start that was cut short (half an initdb, nothing ever acknowledged) nothing is left.
 */
export function takeDataFolder(dataDir: string): DataFolder {
  const root = resolve(dataDir);
  const path = join(root, "database");
  try {
    makeFolder(root, 0o700);
  } catch (cause) {
    throw new OperatorError(`DATA_DIR: the folder ${root} cannot be made.`, { cause });
  }

  const lock = takeLock(root);
  for (const name of readdirSync(root)) if (name.startsWith(UNFINISHED)) remove(join(root, name));
  // PGlite makes files that everybody may write; the folder around them may be older than we are and open to all.
  if (existsSync(path)) chmodSync(path, 0o700);
  return {
    path,
    async begin(make) {
      if (existsSync(path) && readdirSync(path).length > 0) return;
      let unfinished: string | null = null;
      try {
        // The name is new each time: a process that makes one may outlive the service by a moment.
        unfinished = mkdtempSync(join(root, UNFINISHED));
        await make(unfinished);
        renameSync(unfinished, path);
      } catch (cause) {
        if (unfinished !== null) remove(unfinished);
        throw new OperatorError(`DATA_DIR: no database could be made in the folder ${root}; there may be too little space or memory.`, {
          cause,
        });
      }
    },
    release: () => lock.close(),
  };
}

/** A segment of its log, which opening it may have to make, has 16 MB. */
const LEAST_FREE = 20e6;

/** Why a database that is there cannot be opened, of which PGlite itself says no more than "Aborted()". */
export function whyNotOpened(path: string, free: number): string {
  const what = `DATA_DIR: the embedded database in ${path} cannot be opened`;
  if (free < LEAST_FREE) return `${what}: only ${Math.floor(free / 1e6)} MB are free there. Free some space first.`;
  return `${what}; it may be damaged. Put a back-up in its place, or move it away to begin anew.`;
}

/** Bytes that this user may still write where `path` is. */
export function freeIn(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Another process has the lock (sqlite.org/rescode.html). */
const SQLITE_BUSY = 5;

function cannotBeWritten(root: string, cause: unknown): OperatorError {
  const isFull = freeIn(root) < 1e6;
  return new OperatorError(`DATA_DIR: the folder ${root} cannot be written to${isFull ? ": its disk is full" : ""}.`, { cause });
}

function takeLock(root: string): DatabaseSync {
  let lock: DatabaseSync;
  try {
    lock = new DatabaseSync(join(root, "database.lock"), { timeout: 0 });
  } catch (cause) {
    throw cannotBeWritten(root, cause);
  }
  try {
    lock.exec("pragma locking_mode = exclusive; begin exclusive");
  } catch (cause) {
    lock.close();
    // The low byte is the kind, the others say more.
    if (((cause as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY) throw new FolderInUse(root, cause);
    throw cannotBeWritten(root, cause);
  }
  return lock;
}
