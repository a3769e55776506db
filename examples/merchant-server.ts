/**
 * A merchant's server: creates a payment session and waits for its outcome by status webhook. Node's own modules alone.
 *
 *   API_KEY=svc_test_... npx node examples/merchant-server.ts
 *
 * The project's webhook must point at http://127.0.0.1:9000/ with the secret below (examples/apply.yaml does that).
 */
import { randomUUID } from "node:crypto";
import { receiveWebhooks } from "./verify-webhook.ts";

const BASE_URL = process.env["BASE_URL"] ?? "http://127.0.0.1:8080";
const API_KEY = process.env["API_KEY"] ?? "";
const SECRET = process.env["WEBHOOK_SECRET"] ?? "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const PROJECT = process.env["PROJECT"] ?? "shop";
const PORT = Number(process.env["PORT"] ?? 9000);

await receiveWebhooks(PORT, SECRET, ({ event, session_id, amount, currency, error }) => {
  // Mark the order as paid here, or say why not.
  console.log(`${event}: ${amount} ${currency}, session ${session_id}${error ? `, ${error.code}` : ""}`);
});

const created = await fetch(`${BASE_URL}/v1/sessions`, {
  method: "POST",
  headers: {
    authorization: `Bearer ${API_KEY}`,
    "content-type": "application/json",
    // One key for each payment: a repeat after a lost answer gets the same session. Keep it with your order.
    "idempotency-key": randomUUID(),
  },
  body: JSON.stringify({ project: PROJECT, caller: "+14155550100", amount: "49.95", mode: "charge", gateway: "stripe" }),
});
if (!created.ok) {
  console.error(`No session: ${created.status} ${await created.text()}`);
  process.exit(1);
}
const session = (await created.json()) as { session_id: string; sip_uri: string };
console.log(`Transfer the caller to ${session.sip_uri} within five minutes. Waiting for the webhook on port ${PORT}; Ctrl-C ends it.`);
