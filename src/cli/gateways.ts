import { parseArgs } from "node:util";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { isHelped } from "./help.ts";

const USAGE = `Usage: voicetill gateways [--json]
The gateways that are built, with the names of their credentials and options for the apply file.`;

export async function run(args: string[]): Promise<number> {
  if (isHelped(args, USAGE)) return 0;
  const { values } = parseArgs({ args, options: { json: { type: "boolean" } } });
  const gateways = Object.values(GATEWAYS_BUILT).map(({ name, credentialFields, optionFields }) => ({
    name,
    credentials: credentialFields,
    options: optionFields,
  }));
  if (values.json) {
    process.stdout.write(`${JSON.stringify(gateways)}\n`);
    return 0;
  }
  for (const { name, credentials, options } of gateways) {
    process.stdout.write(`${name}\n`);
    for (const field of credentials) {
      const marks = [field.required ? "required" : "optional", ...(field.secret ? ["secret"] : [])].join(", ");
      process.stdout.write(`  ${field.name} (${marks}): ${field.meaning}\n`);
    }
    for (const option of options)
      process.stdout.write(
        `  option ${option.name} = ${option.values.join(" | ")} (default ${String(option.default)}): ${option.meaning}\n`,
      );
  }
  return 0;
}
