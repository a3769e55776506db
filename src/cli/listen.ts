import { parseArgs } from "node:util";
import { OperatorError } from "#src/kernel/errors.ts";
import { isHelped } from "./help.ts";
import { startReceiver } from "./receiver.ts";
import { untilSignal } from "./signal.ts";

const USAGE = `Usage: voicetill listen --secret whsec_... [--port N] [--json]
Receives status webhooks on 127.0.0.1:N (9000), verifies and prints them. The project's status_webhook must point there and have that secret.`;

export async function run(args: string[]): Promise<number> {
  if (isHelped(args, USAGE)) return 0;
  const { values } = parseArgs({ args, options: { port: { type: "string" }, secret: { type: "string" }, json: { type: "boolean" } } });
  const port = Number(values.port ?? "9000");
  if (values.secret === undefined || !Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new OperatorError(USAGE);
  }
  const receiver = await startReceiver(port, values.secret, ({ verified, reason, body }) => {
    if (values.json) process.stdout.write(`${JSON.stringify({ verified, reason, body })}\n`);
    else process.stdout.write(`${verified ? "verified" : `NOT VERIFIED (${reason})`}\n${JSON.stringify(body, null, 2)}\n`);
  });
  process.stderr.write(`Waiting for status webhooks at ${receiver.url}; Ctrl-C ends it.\n`);
  await untilSignal();
  await receiver.close();
  return 0;
}
