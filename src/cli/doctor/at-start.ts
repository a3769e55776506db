import type { Config } from "#src/config/index.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import type { Log } from "#src/platform/index.ts";
import type { CommandModules } from "../modules.ts";
import type { Sent } from "../operation.ts";
import { examine, type Facts } from "./checks.ts";
import { type DatabaseFacts, gatherFromDatabase } from "./database-facts.ts";
import { gatherFromHost } from "./host-facts.ts";

/**
 * Checks that stop a start with live keys (R-440, S-02, S-19): what they look at is the operator's to set, and this machine's. What
 * another check finds, such as a backlog, only a running service can put right: it goes to the log.
 */
const STOPPING: ReadonlySet<string> = new Set(["node", "clock", "master key", "log", "SIP trunks", "outbound", "encryption"]);

/** Runs the doctor's checks when there are live keys. Throws OperatorError with one sentence for each that stops the start. */
export async function checkBeforeStart(
  config: Config,
  opened: Pick<CommandModules, "database" | "projects" | "keys" | "payments">,
  log: Log,
): Promise<void> {
  // Live keys need PostgreSQL.
  if (opened.database.kind === "pglite") return;
  const keys = await opened.projects.listKeys(opened.database.db, null);
  if (!keys.some(({ mode, state }) => mode === "live" && state === "active")) return;
  const gathered = await gatherFromDatabase(opened, { thorough: false });
  const facts: Facts = {
    node: process.version,
    settingsFault: null,
    misspelt: [],
    config,
    host: await gatherFromHost(config, { ports: false }),
    databaseFault: null,
    database: JSON.parse(JSON.stringify(gathered)) as Sent<DatabaseFacts>,
    runsHere: false,
    asLive: false,
    nowMs: Date.now(),
  };
  const failed = examine(facts).filter(({ level }) => level === "fail");
  const stopping = failed.filter(({ check }) => STOPPING.has(check));
  if (stopping.length > 0) {
    const sentences = stopping.map(({ text, todo }) => `- ${text}: ${todo}.`);
    throw new OperatorError(`There are live keys, and with these settings the service does not start:\n${sentences.join("\n")}`);
  }
  for (const { check, text } of failed) log.error("check_failed", { reason: `${check}: ${text}` });
}
