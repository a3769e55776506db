import { writeSync } from "node:fs";
import { startApp, type App } from "../app.ts";
import { describeSettings, takeConfig } from "#src/config/index.ts";
import { armCrash } from "#src/kernel/crash-points.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { createLog } from "#src/platform/index.ts";
import { addresses, banner } from "./banner.ts";
import { openControl } from "./control.ts";
import { checkBeforeStart } from "./doctor/at-start.ts";
import { runOperation } from "./operation.ts";
import { untilFirstSignal } from "./signal.ts";

/** Running calls may take this long to end after SIGTERM. */
export const DRAIN_MS = 120_000;

export async function run(args: string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(`Usage: voicetill serve   (npm start)\n\nSettings, from the environment:\n\n${describeSettings()}\n`);
    return 0;
  }
  const [unknown] = args.filter((arg) => arg !== "--json");
  if (unknown !== undefined)
    throw new OperatorError(`serve knows --json and --help; "${unknown}" is neither. Settings come from the environment.`);
  // The customary signal to reopen logs would open Node's debugger to every user of the machine.
  process.on("SIGUSR1", () => {});
  const config = takeConfig(process.env);
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  armCrash(config.crashAt, die);
  // Before anybody can know that the service runs: whoever stops it then is not answered by a process that just dies.
  const stopped = untilFirstSignal(() => process.exit(1));
  const app = await startApp(config, log, { check: (opened) => checkBeforeStart(config, opened, log) });
  const control = config.embedded
    ? await openControl(
        config.dataDir,
        async (name, input) => runOperation((await import("./operations.ts")).OPERATIONS, app, name, input),
        log,
      )
    : null;
  process.stdout.write(`${args.includes("--json") ? JSON.stringify(addresses(app)) : banner(config, app)}\n`);
  await stopped;
  await drain(app);
  await control?.close();
  return 0;
}

/** For the tests of crashes: no goodbye, and nothing of this process runs after it. */
function die(place: string): void {
  writeSync(process.stderr.fd, `killed at ${place}\n`);
  process.kill(process.pid, "SIGKILL");
}

async function drain(app: App): Promise<void> {
  if (app.activeCalls > 0)
    process.stderr.write(`Draining ${app.activeCalls} calls, at most ${DRAIN_MS / 1000} s; a second signal ends them.\n`);
  await app.drain(DRAIN_MS);
  await app.stop();
}
