import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { readConfig, type Config } from "#src/config/index.ts";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { loadMasterKey, openDatabase } from "#src/platform/index.ts";
import { createProjects, variablesOf, type ApplyReport } from "#src/projects/index.ts";
import { askRunning } from "./control.ts";

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { json: { type: "boolean" } } });
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0)
    throw new OperatorError("Usage: voicetill apply FILE [--json]   (FILE: YAML or JSON, - for standard input)");
  const text = readText(file);
  const config = readConfig(process.env);
  const report =
    (config.embedded ? await askRunning<ApplyReport>(config.dataDir, "apply", { text, env: chosen(text) }) : null) ??
    (await applyHere(config, text));
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : describe(report));
  return 0;
}

function readText(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (cause) {
    throw new OperatorError(`The file ${JSON.stringify(file)} cannot be read.`, { cause });
  }
}

/** The variables that the file names: no other part of the environment goes to another process. */
function chosen(text: string): Record<string, string | undefined> {
  return Object.fromEntries(variablesOf(text).map((name) => [name, process.env[name]]));
}

async function applyHere(config: Config, text: string): Promise<ApplyReport> {
  const database = await openDatabase({ databaseUrl: config.databaseUrl?.reveal() ?? null, dataDir: config.dataDir });
  try {
    await database.migrate();
    const masterKey = loadMasterKey(config.masterKey, config.dataDir);
    const projects = createProjects({ database, masterKey, random: systemRandom, gateways: GATEWAYS_BUILT, simulatorsUrl: () => null });
    return await projects.applyFile(text, chosen(text));
  } finally {
    await database.close();
  }
}

function describe({ changes, generated }: ApplyReport): string {
  const done = changes.length === 0 ? ["Nothing to change."] : changes.map(({ object, action }) => `${action.padEnd(9)}${object}`);
  const secrets = generated.map(({ object, secret }) => `  ${object}: ${secret}`);
  return [...done, ...(secrets.length > 0 ? ["", "Shown once, keep them now:", ...secrets] : []), ""].join("\n");
}
