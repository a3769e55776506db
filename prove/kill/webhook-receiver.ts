import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { verifyWebhook } from "#src/webhooks/index.ts";
import type { ReceivedWebhook } from "./invariants.ts";

/** A failed first try is tried again after 5 s, a second one only after five minutes: so only fresh events fail. */
const FRESH_MS = 3_000;

/** How a receiver may fail an event's first arrival. */
export type ReceiverFault = "none" | "answers 500" | "drops the connection";

export interface Receiver {
  url: string;
  hooks: readonly ReceivedWebhook[];
  close(): void;
}

/** Receives status webhooks, journals each before it answers, and now and then fails. */
export async function startReceiver(options: { secret: string; folder: string; receiverFault: () => ReceiverFault }): Promise<Receiver> {
  const hooks: ReceivedWebhook[] = [];
  const known = new Set<string>();
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("error", () => response.destroy());
    incoming.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const check = verifyWebhook(incoming.headers, text, options.secret, Date.now());
      const body = JSON.parse(text) as ReceivedWebhook["body"] & { completed_at?: string };
      const id = check.verified ? check.id : null;
      const isFresh = Date.now() - Date.parse(body.completed_at ?? "") < FRESH_MS;
      const receiverFault = id !== null && isFresh && !known.has(id) ? options.receiverFault() : "none";
      if (id !== null) known.add(id);
      const answered = { none: "204", "answers 500": "500", "drops the connection": "dropped" }[receiverFault];
      const hook: ReceivedWebhook = { at: Date.now(), id, why: check.verified ? null : check.reason, body, answered };
      appendFileSync(join(options.folder, "webhooks.jsonl"), `${JSON.stringify(hook)}\n`);
      hooks.push(hook);
      if (answered === "dropped") incoming.socket.resetAndDestroy();
      else response.writeHead(Number(answered)).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    hooks,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
