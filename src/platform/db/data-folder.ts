import { chmodSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { OperatorError } from "#src/kernel/errors.ts";
import { makeFolder } from "../make-folder.ts";

/** Another process has the folder, a command perhaps, which ends soon. */
export class FolderInUse extends OperatorError {
  constructor(root: string, cause: unknown) {
    super(`DATA_DIR: the folder ${root} is in use by another voicetill process: the service that runs already, or a command.`, { cause });
  }
}

export interface DataFolder {
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

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
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
    throw new FolderInUse(root, cause);
  }
  return lock;
}
