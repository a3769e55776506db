/**
 * A card-forwarding receiver (gateway `webhook`): gets the card, decides, answers. It must speak HTTPS with a certificate
 * that the service trusts; put your own in TLS_CERT and TLS_KEY (PEM files).
 *
 *   TLS_CERT=cert.pem TLS_KEY=key.pem SIGNING_SECRET=whsec_... npx node examples/card-receiver.ts
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

const SECRET = process.env["SIGNING_SECRET"] ?? "";
const PORT = Number(process.env["PORT"] ?? 8443);
const TOLERANCE_SECONDS = 300;
if (SECRET === "") throw new Error("SIGNING_SECRET is not set");

/** `X-Signature: t=<seconds>,v1=<hex>`: HMAC-SHA256 of `t.body` under the whole secret; two v1 while it is rolled. */
function isGenuine(header: string, rawBody: Buffer): boolean {
  const parts = header.split(",").map((part) => part.split("=") as [string, string]);
  const timestamp = parts.find(([name]) => name === "t")?.[1] ?? "";
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE_SECONDS)) return false;
  const expected = createHmac("sha256", SECRET).update(`${timestamp}.`).update(rawBody).digest();
  return parts.some(([name, hex]) => {
    const given = Buffer.from(name === "v1" ? hex : "", "hex");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

const server = createServer(
  { cert: readFileSync(process.env["TLS_CERT"] ?? "cert.pem"), key: readFileSync(process.env["TLS_KEY"] ?? "key.pem") },
  (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const rawBody = Buffer.concat(chunks);
      if (!isGenuine(String(request.headers["x-signature"] ?? ""), rawBody)) {
        response.writeHead(401).end();
        return;
      }
      const { session_id, mode, amount, card } = JSON.parse(rawBody.toString()) as {
        session_id: string;
        mode: string;
        amount: number;
        card: { last4: string };
      };
      // Charge or store the card here. session_id is the idempotency key: it is sent once, but be sure. Never log the card.
      console.log(`${mode} of ${amount} for ${session_id}, card ending in ${card.last4}`);
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify({
          success: true,
          transaction_id: `tx_${session_id}`,
          ...(mode === "tokenize" ? { token: `tok_${session_id}` } : {}),
        }),
      );
    });
  },
);
server.listen(PORT, () => console.log(`Receiving cards on port ${(server.address() as AddressInfo).port}; Ctrl-C ends it.`));
