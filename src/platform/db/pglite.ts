import { Kysely } from "kysely";
import { OperatorError } from "#src/kernel/errors.ts";
import { batched } from "./batch.ts";
import { answersWithin, type Database } from "./database.ts";
import { freeIn, takeDataFolder, whyNotOpened } from "./data-folder.ts";
import { DiskSpace } from "./disk-space.ts";
import { initdb } from "./initdb.ts";
import { migrate } from "./migrate.ts";
import { pgliteDialect } from "./pglite-dialect.ts";
import { PGliteThread } from "./pglite-thread.ts";
import type { WorkerOptions } from "./pglite-worker.ts";
import type { Tables } from "./tables.ts";
import { TransactionScope } from "./transaction-scope.ts";

/** What a database in memory may start from, where a process opens many. */
const NOTHING_PREPARED: Pick<WorkerOptions, "snapshot" | "program"> = { snapshot: null, program: null };

/**
 * Opens the embedded database, in `dataDir` or in memory. PGlite never calls fsync: what was committed survives the death
 * of the process, not that of the machine.
 */
export async function openPglite(dataDir: string | null, prepared = NOTHING_PREPARED): Promise<Database> {
  const folder = dataDir === null ? null : takeDataFolder(dataDir);
  const scope = new TransactionScope();
  const space = new DiskSpace();
  let thread: PGliteThread;
  try {
    await folder?.begin(initdb);
    thread = new PGliteThread({ folder: folder?.path ?? null, ...prepared }, scope, space);
    await thread.ready();
  } catch (cause) {
    folder?.release();
    if (!folder || cause instanceof OperatorError) throw cause;
    throw new OperatorError(whyNotOpened(folder.path, freeIn(folder.path)), { cause });
  }
  const db = new Kysely<Tables>({ dialect: pgliteDialect(thread) });
  const checkWritable = async (): Promise<void> => {
    await thread.query("select 1");
    await space.check((statement) => thread.query(statement));
  };

  return {
    db,
    kind: "pglite",
    transaction: (work) => scope.transaction(db, work),
    batched: (work) => batched(scope, (items) => work(db, items)),
    listen: (channel, onPayload) => thread.listen(channel, onPayload),
    migrate: async () => {
      const session = await thread.acquire();
      try {
        return await migrate(session);
      } finally {
        session.release();
      }
    },
    ping: (timeoutMs) => answersWithin(timeoutMs, checkWritable()),
    close: async () => {
      await thread.close();
      folder?.release();
    },
  };
}
