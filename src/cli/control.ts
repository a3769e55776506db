import { createHash } from "node:crypto";
import { once } from "node:events";
import { lstatSync, rmSync, statSync } from "node:fs";
import { createServer, request, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { errorCode, OperatorError } from "#src/kernel/errors.ts";
import type { Log } from "#src/platform/index.ts";

/**
 * The way by which commands reach a running service on embedded storage: only one process can hold that database. A socket
 * in the data folder that only its owner may open; whoever can write there owns the service anyway.
 */

/** A Unix socket's path may not be longer (sun_path is 108 bytes on Linux, 104 on macOS). */
const MAX_SOCKET_PATH = 100;
const MAX_BODY = 16 * 1024 * 1024;

/** Where the socket of a data folder is: in it, or in the temporary folder when its path would be too long. */
export function socketOf(dataDir: string): string {
  const path = join(resolve(dataDir), "control.sock");
  if (path.length <= MAX_SOCKET_PATH) return path;
  return join(tmpdir(), `voicetill-${createHash("sha256").update(path).digest("hex").slice(0, 16)}.sock`);
}

/** Throws OperatorError when the data folder is there, but is none or not for this user: the service may run on it nevertheless. */
export function checkDataFolder(dataDir: string): void {
  const root = resolve(dataDir);
  try {
    // The folder by way of itself: it must be one, and open to this user.
    statSync(`${root}/.`);
  } catch (cause) {
    const code = errorCode(cause);
    if (code === "ENOENT") return;
    if (code === "ENOTDIR") throw new OperatorError(`DATA_DIR: ${root} is a file, or inside of one.`, { cause });
    if (code === "EACCES") throw notForThisUser(root, cause);
    throw cause;
  }
}

function notForThisUser(path: string, cause: unknown): OperatorError {
  return new OperatorError(`DATA_DIR: this user may not open ${path}: give the command as the user that the service runs as.`, { cause });
}

/**
 * Whether the socket belongs to the owner of the data folder, to us or to root; null when there is none. The temporary folder is
 * everybody's: whoever was there first would be sent what a command sends, keys and all. Throws OperatorError when it is another's.
 */
function isOurs(dataDir: string, path: string): true | null {
  checkDataFolder(dataDir);
  const socket = lstatSync(path, { throwIfNoEntry: false });
  if (!socket) return null;
  const trusted = [0, process.getuid?.(), statSync(dataDir, { throwIfNoEntry: false })?.uid];
  if (trusted.includes(socket.uid)) return true;
  throw new OperatorError(
    `${path} belongs to another user of this machine: it is not the service's. Choose a DATA_DIR with a shorter path.`,
  );
}

/** What a command asks for by its name, done by the running service; null when this version does not know it. */
type OperationHandler = (name: string, input: unknown) => Promise<{ output: unknown } | null>;

export async function openControl(dataDir: string, handle: OperationHandler, log: Log): Promise<{ close(): Promise<void> }> {
  const path = socketOf(dataDir);
  // We hold the data folder's lock: a socket that is there belongs to a process that was killed.
  if (isOurs(dataDir, path) !== null) rmSync(path, { force: true });
  const server = createServer((incoming, response) => {
    void serve(incoming, handle, log).then(({ status, body }) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
    );
  });
  const listening = once(server, "listening");
  // Never open to others, not even between its making, which is in this very turn, and a chmod.
  const umask = process.umask(0o077);
  server.listen(path);
  process.umask(umask);
  await listening;
  return {
    close: () => new Promise((done) => void server.close(() => done())),
  };
}

async function serve(incoming: IncomingMessage, handle: OperationHandler, log: Log): Promise<{ status: number; body: unknown }> {
  try {
    const { name, input } = JSON.parse(await read(incoming)) as { name: string; input: unknown };
    const body = await handle(name, input);
    return body ? { status: 200, body } : { status: 404, body: { error: "The running service is of another version: restart it." } };
  } catch (error) {
    if (error instanceof OperatorError) return { status: 422, body: { error: error.message } };
    log.error("command_failed", { error });
    return { status: 500, body: { error: "The running service could not do it: see its log." } };
  }
}

async function read(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY) throw new OperatorError("What was sent is larger than 16 MiB.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Whether a service runs on `dataDir` and takes commands. */
export async function isServed(dataDir: string): Promise<boolean> {
  const path = socketOf(dataDir);
  if (isOurs(dataDir, path) === null) return false;
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Asks the service that runs on `dataDir`; null when none does. Throws OperatorError with the service's refusal. */
export async function requestRunning(dataDir: string, name: string, input: object): Promise<{ output: unknown } | null> {
  const socketPath = socketOf(dataDir);
  if (isOurs(dataDir, socketPath) === null) return null;
  const response = await new Promise<{ status: number; text: string } | null>((done, failed) => {
    const outgoing = request({ socketPath, path: "/", method: "POST" }, (incoming) => {
      read(incoming).then(
        (text) => done({ status: incoming.statusCode ?? 0, text }),
        (cause: unknown) => failed(broken(cause)),
      );
    });
    // The socket of a killed process is a file that nobody answers.
    outgoing.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "ECONNREFUSED" || error.code === "ENOENT"
        ? done(null)
        : failed(error.code === "EACCES" ? notForThisUser(socketPath, error) : broken(error)),
    );
    outgoing.end(JSON.stringify({ name, input }));
  });
  if (!response) return null;
  const parsed = JSON.parse(response.text) as { output: unknown; error?: string };
  if (response.status !== 200) throw new OperatorError(parsed.error ?? "The running service refused.");
  return parsed;
}

/** The service ended, or was killed, in the middle of the response. */
function broken(cause: unknown): OperatorError {
  if (cause instanceof OperatorError) return cause;
  return new OperatorError("The running service ended before it answered; it may have done what was asked.", { cause });
}
