/**
 * A receiver of status webhooks: verifies, refuses old ones, handles each event once. Node's own modules alone.
 *
 *   WEBHOOK_SECRET=whsec_... npx node examples/verify-webhook.ts
 *
 * It listens on PORT, 9000 by default; the project's webhook must point there (examples/apply.yaml does that).
 * `npx node` is the Node.js of this folder; elsewhere 24 or later runs the file as it is.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

const TOLERANCE_SECONDS = 300;

/** Standard Webhooks: base64 HMAC-SHA256 of `id.timestamp.body` under the decoded secret; several while it is rolled. */
export function isGenuine(headers: IncomingHttpHeaders, rawBody: Buffer, secret: string): boolean {
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => String(headers[name]));
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE_SECONDS)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(rawBody).digest();
  return (signatures ?? "").split(" ").some((entry) => {
    const given = Buffer.from(entry.replace(/^v1,/, ""), "base64");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

export interface StatusWebhook {
  id: string;
  event: string;
  session_id: string;
  /** In units of the currency, unless the project has amount_unit: cents. */
  amount: number;
  /** In the currency's smallest unit, which is not everywhere a hundredth. */
  amount_cents: number;
  currency: string;
  error: { code: string } | null;
}

/** Calls `onEvent` once for each event, however often it is sent. Resolves once it listens on loopback. */
export async function receiveWebhooks(port: number, secret: string, onEvent: (event: StatusWebhook) => void): Promise<Server> {
  // A real receiver keeps the ids where they survive a restart: a unique index, in the transaction that handles the event.
  const seen = new Set<string>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const rawBody = Buffer.concat(chunks);
      if (!isGenuine(request.headers, rawBody, secret)) {
        response.writeHead(400).end();
        return;
      }
      const event = JSON.parse(rawBody.toString()) as StatusWebhook;
      if (!seen.has(event.id)) onEvent(event);
      seen.add(event.id);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((listening) => server.listen(port, "127.0.0.1", listening));
  return server;
}

if (import.meta.main) {
  const secret = process.env["WEBHOOK_SECRET"] ?? "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
  const server = await receiveWebhooks(Number(process.env["PORT"] ?? 9000), secret, ({ id, event, session_id, error }) =>
    console.log(`${id}: ${event} of ${session_id}${error ? ` (${error.code})` : ""}`),
  );
  console.log(`Receiving status webhooks at http://127.0.0.1:${(server.address() as AddressInfo).port}/; Ctrl-C ends it.`);
}
