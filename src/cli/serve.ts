import { startApp, type App } from "../app.ts";
import { describeSettings, readConfig, type Config } from "#src/config/index.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { createLog } from "#src/platform/index.ts";
import { addresses, banner } from "./banner.ts";
import { openControl } from "./control.ts";

/** Running calls may take this long to end after SIGTERM. */
const DRAIN_MS = 120_000;

export async function run(args: string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(`Usage: voicetill serve   (npm start)\n\nSettings, from the environment:\n\n${describeSettings()}\n`);
    return 0;
  }
  const [unknown] = args.filter((arg) => arg !== "--json");
  if (unknown !== undefined)
    throw new OperatorError(`serve knows --json and --help; "${unknown}" is neither. Settings come from the environment.`);
  const config = readConfig(process.env);
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  const app = await startApp(config, log);
  const control = config.embedded ? await openControl(config.dataDir, app) : null;
  process.stdout.write(`${args.includes("--json") ? JSON.stringify(addresses(app)) : banner(config, app)}\n`);
  await untilStopped(config, app);
  await control?.close();
  return 0;
}

/** SIGTERM drains: no new calls, running charges finish. A second signal ends at once. */
async function untilStopped(config: Config, app: App): Promise<void> {
  const signalled = Promise.withResolvers<NodeJS.Signals>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      signalled.resolve(signal);
      process.once(signal, () => process.exit(1));
    });
  }
  await signalled.promise;
  if (app.activeCalls > 0)
    process.stderr.write(`Draining ${app.activeCalls} calls, at most ${DRAIN_MS / 1000} s; a second signal ends them.\n`);
  await app.drain(DRAIN_MS);
  await app.stop();
}
