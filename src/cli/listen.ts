import { parseArgs } from "node:util";
import { OperatorError } from "#src/kernel/errors.ts";
import { isWebhookSecret } from "#src/projects/index.ts";
import { isHelped, portOf } from "./help.ts";
import { type Received, startReceiver } from "./receiver.ts";
import { untilSignal } from "./signal.ts";

const USAGE = `Usage: voicetill listen --secret whsec_... [--port N] [--forward-to URL] [--json]
Receives status webhooks on 127.0.0.1:N (9000), verifies and prints them. The project's status_webhook must point there and have that secret.
With --forward-to, each one that is genuine is passed on as it came, signature included, and answered with what URL answers.`;

export async function run(args: string[]): Promise<number> {
  if (isHelped(args, USAGE)) return 0;
  const text = { type: "string" } as const;
  const { values } = parseArgs({ args, options: { port: text, secret: text, "forward-to": text, json: { type: "boolean" } } });
  const port = portOf(values.port ?? "9000");
  const needed = "the project's, whsec_ and base64 behind it, as voicetill apply printed it or its file has it.";
  if (values.secret === undefined) throw new OperatorError(`--secret is missing: it takes ${needed}`);
  if (!isWebhookSecret(values.secret)) throw new OperatorError(`--secret takes ${needed}`);
  const forwardTo = values["forward-to"] ?? null;
  if (forwardTo !== null && !/^https?:$/.test(URL.parse(forwardTo)?.protocol ?? ""))
    throw new OperatorError(`--forward-to takes an http or https address; ${JSON.stringify(forwardTo)} is none.`);
  const show = ({ verified, reason, body, forwarded }: Received) => {
    if (values.json) return `${JSON.stringify({ verified, reason, body, forwarded })}\n`;
    const passedOn = forwarded === null ? "" : `, passed on: ${forwarded === "not reached" ? "not reached" : `answered ${forwarded}`}`;
    return `${verified ? "verified" : `NOT VERIFIED (${reason})`}${passedOn}\n${JSON.stringify(body, null, 2)}\n`;
  };
  const receiver = await startReceiver(port, values.secret, (received) => void process.stdout.write(show(received)), forwardTo);
  process.stderr.write(`Waiting for status webhooks at ${receiver.url}; Ctrl-C ends it.\n`);
  await untilSignal();
  await receiver.close();
  return 0;
}
