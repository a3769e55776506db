import { parseArgs } from "node:util";
import { OperatorError } from "#src/kernel/errors.ts";
import { startReceiver } from "./receiver.ts";
import { untilSignal } from "./signal.ts";

export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { port: { type: "string" }, secret: { type: "string" }, json: { type: "boolean" } } });
  const port = Number(values.port ?? "9000");
  if (values.secret === undefined || !Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new OperatorError("Usage: voicetill listen --port N --secret whsec_... [--json]");
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
