import { parseArgs } from "node:util";
import { OperatorError } from "#src/kernel/errors.ts";
import { startSimulators } from "#simulators/index.ts";
import { isHelped, portOf } from "./help.ts";
import { untilSignal } from "./signal.ts";

const USAGE = `Usage: voicetill simulators [--port N] [--ledger FILE] [--json]
The gateway simulators alone, on 127.0.0.1:N (8090). Each entry of their ledger is appended to FILE, a JSON object a line.`;

export async function run(args: string[]): Promise<number> {
  if (isHelped(args, USAGE)) return 0;
  const { values } = parseArgs({ args, options: { port: { type: "string" }, ledger: { type: "string" }, json: { type: "boolean" } } });
  const port = portOf(values.port ?? "8090");
  const ledgerFile = values.ledger;
  const simulators = await startSimulators({ port, host: "127.0.0.1", ...(ledgerFile !== undefined && { ledgerFile }) }).catch(
    (cause: NodeJS.ErrnoException) => {
      if (cause.syscall !== "open") throw cause;
      throw new OperatorError(`--ledger: the file ${JSON.stringify(ledgerFile)} cannot be written.`, { cause });
    },
  );
  const { url, httpsUrl, ca } = simulators;
  process.stdout.write(
    values.json
      ? `${JSON.stringify({ url, https_url: httpsUrl, ca })}\n`
      : `Gateway simulators at ${url} and ${httpsUrl}; GET ${url}/ lists them.\n`,
  );
  await untilSignal();
  await simulators.close();
  return 0;
}
