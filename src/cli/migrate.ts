import { parseArgs } from "node:util";
import { readConfig } from "#src/config/index.ts";
import { openDatabase } from "#src/platform/index.ts";
import { isHelped } from "./help.ts";

const USAGE = `Usage: voicetill migrate [--json]
Brings the database that DATABASE_URL or DATA_DIR names to this version. Every start does the same.`;

export async function run(args: string[]): Promise<number> {
  if (isHelped(args, USAGE)) return 0;
  const { values } = parseArgs({ args, options: { json: { type: "boolean" } } });
  const config = readConfig(process.env);
  const database = await openDatabase({ databaseUrl: config.databaseUrl?.reveal() ?? null, dataDir: config.dataDir });
  try {
    const applied = await database.migrate();
    const lines = applied.length === 0 ? "The database is up to date." : applied.map((name) => `applied  ${name}`).join("\n");
    process.stdout.write(`${values.json ? JSON.stringify({ applied }) : lines}\n`);
  } finally {
    await database.close();
  }
  return 0;
}
