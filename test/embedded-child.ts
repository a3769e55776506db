/**
 * A process for `embedded.test.ts` to kill: opens the embedded database in the folder it is given, writes rows one after
 * another and prints each id once it is committed.
 */
import { randomUUID } from "node:crypto";
import { openDatabase } from "#src/platform/db/open.ts";

try {
  const database = await openDatabase({ databaseUrl: null, dataDir: process.argv[2]! });
  await database.migrate();
  for (;;) {
    const id = randomUUID();
    await database.transaction(async (tx) => {
      await tx.insertInto("organizations").values({ id, slug: id, name: "row" }).execute();
    });
    process.stdout.write(`${id}\n`);
  }
} catch (error) {
  process.stdout.write(`${(error as Error).name}: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
