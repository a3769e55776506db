import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { verifyWebhook } from "#src/webhooks/index.ts";

/** One status webhook as it came in. */
export interface Received {
  verified: boolean;
  /** Why it was not, null when it was. */
  reason: string | null;
  body: unknown;
  /** What the address that it was passed on to answered; null when it was not passed on. */
  forwarded: number | "not reached" | null;
}

const MAX_BODY = 256 * 1024;

/** Longer than the service waits for an answer. */
const FORWARD_MS = 30_000;
/** What belongs to one connection (RFC 9110 section 7.6.1), and what the request that passes on says itself. */
const OF_THE_CONNECTION = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
  "te",
  "trailer",
  "host",
  "content-length",
  "expect",
]);

/**
 * A receiver of status webhooks on loopback: verifies, hands over, answers 204, or 400 to what it could not verify. With `forwardTo`, the
 * genuine ones are passed on there and answered with its status, 502 when it is not reached.
 */
export async function startReceiver(
  port: number,
  secret: string,
  onReceived: (received: Received) => void,
  forwardTo: string | null = null,
): Promise<{ port: number; url: string; close(): Promise<void> }> {
  const server = createServer((incoming, response) => {
    void readBody(incoming).then(async (text) => {
      // Its sender has gone in the middle of it: there is nothing to show, and nobody to answer.
      if (text === null) return;
      const check = verifyWebhook(incoming.headers, text, secret, Date.now());
      const forwarded = check.verified && forwardTo !== null ? await passOn(forwardTo, incoming, text) : null;
      onReceived({ verified: check.verified, reason: check.verified ? null : check.reason, body: parse(text), forwarded });
      response.writeHead(check.verified ? (forwarded === "not reached" ? 502 : (forwarded ?? 204)) : 400).end();
    });
  });
  await new Promise<void>((done, failed) => server.once("error", failed).listen(port, "127.0.0.1", done));
  const bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    url: `http://127.0.0.1:${bound}/`,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

/** The status of the answer. A redirection is an answer too: the service follows none. */
async function passOn(url: string, { headers }: IncomingMessage, body: string): Promise<number | "not reached"> {
  const kept = Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.has(name)) as [string, string][];
  try {
    const signal = AbortSignal.timeout(FORWARD_MS);
    const response = await fetch(url, { method: "POST", headers: kept, body, redirect: "manual", signal });
    await response.body?.cancel();
    return response.status;
  } catch {
    return "not reached";
  }
}

/** Null when it was cut short. */
async function readBody(incoming: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length <= MAX_BODY) chunks.push(chunk);
    }
  } catch {
    return null;
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
