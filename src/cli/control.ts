import { createHash } from "node:crypto";
import { chmodSync, existsSync, rmSync } from "node:fs";
import { createServer, request, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { App } from "../app.ts";
import { OperatorError } from "#src/kernel/errors.ts";

/**
 * The door by which commands reach a running service on embedded storage: only one process can hold that database. A socket
 * in the data folder that only its owner may open; whoever can write there owns the service anyway.
 */

/** A Unix socket's path may not be longer (sun_path is 108 bytes on Linux, 104 on macOS). */
const MAX_SOCKET_PATH = 100;
const MAX_BODY = 4 * 1024 * 1024;

function socketOf(dataDir: string): string {
  const path = join(resolve(dataDir), "control.sock");
  if (path.length <= MAX_SOCKET_PATH) return path;
  return join(tmpdir(), `voicetill-${createHash("sha256").update(path).digest("hex").slice(0, 16)}.sock`);
}

export async function openControl(dataDir: string, app: App): Promise<{ close(): Promise<void> }> {
  const path = socketOf(dataDir);
  // We hold the data folder's lock: a socket that is there belongs to a process that was killed.
  rmSync(path, { force: true });
  const server = createServer((incoming, response) => {
    void serve(incoming, app).then(({ status, body }) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
    );
  });
  await new Promise<void>((done, failed) => server.once("error", failed).listen(path, done));
  chmodSync(path, 0o600);
  return {
    close: () => new Promise((done) => void server.close(() => done())),
  };
}

async function serve(incoming: IncomingMessage, app: App): Promise<{ status: number; body: unknown }> {
  try {
    const { text, env } = JSON.parse(await read(incoming)) as { text: string; env: Record<string, string> };
    if (incoming.url !== "/apply") return { status: 404, body: { error: "The running service is of another version: restart it." } };
    return { status: 200, body: await app.projects.applyFile(text, env) };
  } catch (error) {
    if (error instanceof OperatorError) return { status: 422, body: { error: error.message } };
    return { status: 500, body: { error: "The running service could not do it: see its log." } };
  }
}

async function read(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY) throw new OperatorError("The file is larger than 4 MiB.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Asks the service that runs on `dataDir`; null when none does. Throws OperatorError with the service's refusal. */
export async function askRunning<T>(dataDir: string, command: "apply", body: object): Promise<T | null> {
  const socketPath = socketOf(dataDir);
  if (!existsSync(socketPath)) return null;
  const answer = await new Promise<{ status: number; text: string } | null>((done, failed) => {
    const outgoing = request({ socketPath, path: `/${command}`, method: "POST" }, (incoming) => {
      read(incoming).then((text) => done({ status: incoming.statusCode ?? 0, text }), failed);
    });
    // The socket of a killed process is a file that nobody answers.
    outgoing.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "ECONNREFUSED" || error.code === "ENOENT" ? done(null) : failed(error),
    );
    outgoing.end(JSON.stringify(body));
  });
  if (!answer) return null;
  const parsed = JSON.parse(answer.text) as T & { error?: string };
  if (answer.status !== 200) throw new OperatorError(parsed.error ?? "The running service refused.");
  return parsed;
}
