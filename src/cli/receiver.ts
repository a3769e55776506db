import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { verifyWebhook } from "#src/webhooks/index.ts";

/** One status webhook as it came in. */
export interface Received {
  verified: boolean;
  /** Why it was not, null when it was. */
  reason: string | null;
  body: unknown;
}

const MAX_BODY = 256 * 1024;

/** A receiver of status webhooks on loopback: verifies, hands over, answers 204, or 400 to what it could not verify. */
export async function startReceiver(
  port: number,
  secret: string,
  onReceived: (received: Received) => void,
): Promise<{ port: number; url: string; close(): Promise<void> }> {
  const server = createServer((incoming, response) => {
    void readBody(incoming).then((text) => {
      const check = verifyWebhook(incoming.headers, text, secret, Date.now());
      onReceived({ verified: check.verified, reason: check.verified ? null : check.reason, body: parse(text) });
      response.writeHead(check.verified ? 204 : 400).end();
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

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= MAX_BODY) chunks.push(chunk);
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
