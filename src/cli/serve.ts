import { writeSync } from "node:fs";
import { resolve } from "node:path";
import { startApp } from "../app.ts";
import { type Config, describeSettings, takeConfig } from "#src/config/index.ts";
import { armCrash } from "#src/kernel/crash-points.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { createLog, type LogFields } from "#src/platform/index.ts";
import { addresses, banner } from "./banner.ts";
import { isServed, openControl } from "./control.ts";
import { checkBeforeStart } from "./doctor/at-start.ts";
import { isHelped, portFault } from "./help.ts";
import { runOperation, whenFolderIsFree } from "./operation.ts";
import { untilFirstSignal } from "./signal.ts";

/** Running calls may take this long to end after SIGTERM. */
export const DRAIN_MS = 120_000;
/** After that the log says what keeps the process: its supervisor is about to kill it. */
const STOP_MS = 10_000;

export async function run(args: string[]): Promise<number> {
  if (isHelped(args, `Usage: voicetill serve   (npm start)\n\nSettings, from the environment:\n\n${describeSettings()}`)) return 0;
  const [unknown] = args.filter((arg) => arg !== "--json");
  if (unknown !== undefined)
    throw new OperatorError(`serve knows --json and --help; "${unknown}" is neither. Settings come from the environment.`);
  // The customary signal to reopen logs would open Node's debugger to every user of the machine.
  process.on("SIGUSR1", () => {});
  const config = takeConfig(process.env);
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  /** A line of the log like any other where that is JSON; on a terminal in words. */
  const say = (event: string, fields: LogFields, words: string) => {
    if (config.logFormat === "json") log.info(event, fields);
    else process.stderr.write(`${words}\n`);
  };
  // Node would print what a fault says and holds, past the log's filter.
  process.on("uncaughtException", (error) => {
    log.error("process_died", { error });
    process.exit(1);
  });
  armCrash(config.crashAt, die);
  // Before anybody can know that the service runs: whoever stops it then is not answered by a process that just dies.
  const stopped = untilFirstSignal(() => process.exit(1));
  const app = await whenFolderIsFree(
    () => startApp(config, log, { check: (opened) => checkBeforeStart(config, opened, log) }),
    async (inUse, tries) => {
      // A service keeps the folder, a command gives it back.
      if (await isServed(config.dataDir)) throw inUse;
      const path = resolve(config.dataDir);
      if (tries === 1) say("waiting_for_folder", { path }, `Waiting for a command to end that has the folder ${path}.`);
    },
  ).catch((error: unknown) => {
    const sentence = portFault(error, (port) => settingsOfPort(config, port));
    throw sentence === null ? error : new OperatorError(sentence);
  });
  const control = config.embedded
    ? await openControl(
        config.dataDir,
        async (name, input) => runOperation((await import("./operations.ts")).OPERATIONS, app, name, input),
        log,
      )
    : null;
  process.stdout.write(`${args.includes("--json") ? JSON.stringify(addresses(app)) : banner(config, app)}\n`);
  await stopped;
  const calls = app.activeCalls;
  const words = `Draining ${calls} ${calls === 1 ? "call" : "calls"}, at most ${DRAIN_MS / 1000} s; a second signal ends them.`;
  if (calls > 0) say("draining", { count: calls, ms: DRAIN_MS }, words);
  const overdue = setTimeout(() => log.error("stop_overdue", { reason: process.getActiveResourcesInfo().join(" ") }), DRAIN_MS + STOP_MS);
  await app.drain(DRAIN_MS);
  await app.stop();
  await control?.close();
  clearTimeout(overdue);
  // What the network holds open, a connection to a database that is gone without a word, keeps no process that has ended its work.
  return process.exit(0);
}

/** Whose value the port is; undefined when it was any free one. */
function settingsOfPort({ port: http, sipPort, sipTlsPort, simulatorsPort }: Config, port: number | undefined): string | undefined {
  const settings = { PORT: http, SIP_PORT: sipPort, SIP_TLS_PORT: sipTlsPort, SIMULATORS_PORT: simulatorsPort };
  const names = Object.entries(settings).flatMap(([name, value]) => (value === port ? [name] : []));
  return names.length > 0 ? names.join(" or ") : undefined;
}

/** For the tests of crashes: no goodbye, and nothing of this process runs after it. */
function die(place: string): void {
  writeSync(process.stderr.fd, `killed at ${place}\n`);
  process.kill(process.pid, "SIGKILL");
}
