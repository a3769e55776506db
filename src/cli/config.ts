import { parseArgs } from "node:util";
import { maskedSettings, readConfig } from "#src/config/index.ts";

export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { json: { type: "boolean" } } });
  // Reading them all tells of a bad one before anything is printed.
  readConfig(process.env);
  const settings = maskedSettings(process.env);
  const width = Math.max(...settings.map(({ name }) => name.length));
  const lines = settings.map(
    ({ name, value, source }) => `${name.padEnd(width)}  ${value ?? "(unset)"}${source === "default" ? "" : `  (${source})`}`,
  );
  process.stdout.write(`${values.json ? JSON.stringify(settings) : lines.join("\n")}\n`);
  return 0;
}
