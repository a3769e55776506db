import { workerData } from "node:worker_threads";
import { MemoryFS, PGlite } from "@electric-sql/pglite";
import { NodeFS } from "@electric-sql/pglite/nodefs";

/**
 * Makes a database in the empty folder it is given, and ends with status 0 once it is whole. For a process of its own (`initdb.ts`): two
 * copies of a PGlite's 128 MB are in use at the same time.
 */

const folder = workerData as string;

/** PGlite makes a database in memory first, and then copies it, unless its files are in one of these. */
class Files extends MemoryFS {
  override init(...of: Parameters<MemoryFS["init"]>): ReturnType<MemoryFS["init"]> {
    return new NodeFS(folder).init(...of);
  }

  /** Called when initdb is done. Nothing is left to do: to open it is the service's. */
  override async syncToFs(): Promise<void> {
    process.exit(0);
  }
}

// The default of 128 MB is used by initdb too.
await new PGlite({ fs: new Files(), initDbStartParams: ["-c", "shared_buffers=16MB"] }).waitReady;
