import { parseArgs } from "node:util";
import { type Config, readConfig } from "#src/config/index.ts";
import { openDatabase } from "#src/platform/index.ts";
import { isHelped } from "./help.ts";
import { inServiceElse, operation, type Operations } from "./operation.ts";

const USAGE = `Usage: voicetill migrate [--json]
Brings the database that DATABASE_URL or DATA_DIR names to this version. Every start does the same.`;

/** For the service that holds the embedded database, and migrated it at its start. */
export const operations: Operations = {
  migrate: operation({
    arguments: "",
    summary: "Brings the database to this version.",
    options: {},
    read: () => ({}),
    work: ({ database }) => database.migrate(),
    show: (applied) => applied.join("\n"),
  }),
};

export async function run(args: string[]): Promise<number> {
  if (isHelped(args, USAGE)) return 0;
  const { values } = parseArgs({ args, options: { json: { type: "boolean" } } });
  const config = readConfig(process.env);
  const applied = (await inServiceElse(config, "migrate", {}, () => migrateHere(config))) as string[];
  const lines = applied.length === 0 ? "The database is up to date." : applied.map((name) => `applied  ${name}`).join("\n");
  process.stdout.write(`${values.json ? JSON.stringify({ applied }) : lines}\n`);
  return 0;
}

/** Opens nothing but the database: migrating needs no key that is in it. */
async function migrateHere({ databaseUrl, dataDir }: Config): Promise<string[]> {
  const database = await openDatabase({ databaseUrl: databaseUrl?.reveal() ?? null, dataDir });
  try {
    return await database.migrate();
  } finally {
    await database.close();
  }
}
