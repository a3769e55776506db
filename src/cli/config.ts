import { parseArgs } from "node:util";
import { maskedSettings } from "#src/config/index.ts";
import { isHelped } from "./help.ts";

const USAGE = `Usage: voicetill config [--json]
The settings in force in this environment, secrets masked, and where each that is no default comes from. \`voicetill serve --help\` tells their meaning.`;

export async function run(args: string[]): Promise<number> {
  if (isHelped(args, USAGE)) return 0;
  const { values } = parseArgs({ args, options: { json: { type: "boolean" } } });
  const settings = maskedSettings(process.env);
  const width = Math.max(...settings.map(({ name }) => name.length));
  const lines = settings.map(
    ({ name, value, source }) =>
      `${name.padEnd(width)}  ${value ?? "(unset)"}${source === "default" ? "" : `  (${/^[A-Z]/.test(source) ? `from ${source}` : source})`}`,
  );
  process.stdout.write(`${values.json ? JSON.stringify(settings) : lines.join("\n")}\n`);
  return 0;
}
