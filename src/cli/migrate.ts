import { parseArgs } from "node:util";
import { readConfig } from "#src/config/index.ts";
import { openDatabase } from "#src/platform/index.ts";

export async function run(args: string[]): Promise<number> {
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
