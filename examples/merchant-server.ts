/**
 * A merchant's server: creates a payment session, receives the status webhook and verifies it. Node's own modules alone.
 *
 *   API_KEY=svc_test_... node examples/merchant-server.ts
 *
 * The project's webhook must point at http://127.0.0.1:9000/ with the secret below (examples/apply.yaml does that).
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";

const BASE_URL = process.env["BASE_URL"] ?? "http://127.0.0.1:8080";
const API_KEY = process.env["API_KEY"] ?? "";
const SECRET = process.env["WEBHOOK_SECRET"] ?? "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const PROJECT = process.env["PROJECT"] ?? "shop";

/** Standard Webhooks: base64 HMAC-SHA256 of `id.timestamp.body` under the decoded secret; several while it is rolled. */
function isGenuine(headers: IncomingHttpHeaders, body: string): boolean {
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    [headers[name] ?? ""].flat().join(),
  );
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const key = Buffer.from(SECRET.replace(/^whsec_/, ""), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest();
  return (signatures ?? "").split(" ").some((entry) => {
    const given = Buffer.from(entry.replace(/^v1,/, ""), "base64");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks).toString();
    const genuine = isGenuine(request.headers, body);
    // Answer at once; the event's `id` is the same on every retry, so handle each once.
    response.writeHead(genuine ? 204 : 400).end();
    if (genuine) console.log("paid or not:", JSON.parse(body));
  });
}).listen(9000, "127.0.0.1");

const created = await fetch(`${BASE_URL}/v1/sessions`, {
  method: "POST",
  headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
  body: JSON.stringify({ project: PROJECT, caller: "+14155550100", amount: "49.95", mode: "charge", gateway: "stripe" }),
});
const session = (await created.json()) as { session_id: string; sip_uri: string };
console.log(created.status, session);
console.log(`Transfer the caller to ${session.sip_uri} within five minutes. Waiting for the webhook on port 9000; Ctrl-C ends it.`);
