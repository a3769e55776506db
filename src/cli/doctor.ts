import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Config, misspeltSettings, readConfig } from "#src/config/index.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { checkDataFolder } from "./control.ts";
import { type DatabaseFacts, gatherFromDatabase } from "./doctor/database-facts.ts";
import { examine, type Facts } from "./doctor/checks.ts";
import type { Finding } from "./doctor/finding.ts";
import { gatherFromHost } from "./doctor/host-facts.ts";
import { isHelped } from "./help.ts";
import { operation, type Operations, perform, type Sent } from "./operation.ts";

const doctor = operation({
  arguments: "",
  summary: "Checks the installation and this machine, and says what to do.",
  options: {},
  opening: { asItIs: true },
  read: () => ({}),
  work: (modules) => gatherFromDatabase(modules, { thorough: true }),
  show: (facts) => JSON.stringify(facts),
});

/** The doctor's database half; the command itself adds the machine and the checks. */
export const operations: Operations = { doctor };

const USAGE = `voicetill doctor [--live] [--json]
    ${doctor.summary} Exit status 1 when a check fails.
    --live: judges as though there were live keys, before you make one.`;

/** Exit status 1 when any check fails; warnings are 0. */
export async function run(args: string[]): Promise<number> {
  if (isHelped(args, USAGE)) return 0;
  const { values } = parseArgs({ args, options: { live: { type: "boolean", default: false }, json: { type: "boolean" } } });
  const findings = examine({ ...(await gather()), asLive: values.live });
  process.stdout.write(values.json ? `${JSON.stringify(findings)}\n` : `${report(findings)}\n`);
  return findings.some(({ level }) => level === "fail") ? 1 : 0;
}

async function gather(): Promise<Omit<Facts, "asLive">> {
  const unknown = {
    node: process.version,
    misspelt: misspeltSettings(process.env),
    config: null,
    host: null,
    databaseFault: null,
    database: null,
    runsHere: false,
    nowMs: Date.now(),
  };
  let config: Config;
  try {
    config = readConfig(process.env);
  } catch (error) {
    return { ...unknown, settingsFault: sentenceOf(error) };
  }
  const { database, databaseFault } = await askDatabase(config);
  const host = await gatherFromHost(config, { ports: true });
  const isOurs = ({ owner }: { owner: string }) => owner.startsWith(`${hostname()}-`);
  const runsHere = database?.installation?.processes.some(isOurs) ?? false;
  return { ...unknown, settingsFault: null, config, host, database, databaseFault, runsHere };
}

async function askDatabase(config: Config): Promise<Pick<Facts, "database" | "databaseFault">> {
  try {
    if (config.embedded) checkDataFolder(config.dataDir);
    if (config.embedded && !existsSync(join(config.dataDir, "database"))) {
      return { database: null, databaseFault: { text: `there is no installation in ${resolve(config.dataDir)} yet`, absent: true } };
    }
    return { database: (await perform(config, "doctor", doctor, {})) as Sent<DatabaseFacts>, databaseFault: null };
  } catch (error) {
    return { database: null, databaseFault: { text: sentenceOf(error), absent: false } };
  }
}

/** The operator's own faults in their words; of anything else only what kind it is. */
function sentenceOf(error: unknown): string {
  return error instanceof OperatorError ? error.message : `it could not be asked (${(error as Error).name})`;
}

function report(findings: readonly Finding[]): string {
  const width = findings.reduce((widest, { check }) => Math.max(widest, check.length), 0);
  const lines = findings.map(
    ({ check, level, text, todo }) =>
      `${level.padEnd(4)}  ${check.padEnd(width)}  ${text}${todo === null ? "" : `\n${" ".repeat(width + 8)}-> ${todo}`}`,
  );
  const count = (level: Finding["level"]) => findings.filter((finding) => finding.level === level).length;
  const warnings = count("warn");
  return `${lines.join("\n")}\n\n${count("ok")} ok, ${warnings} ${warnings === 1 ? "warning" : "warnings"}, ${count("fail")} failed`;
}
