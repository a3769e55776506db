import { type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { ERRORS, type ErrorCode } from "#src/kernel/errors.ts";
import type { Clock } from "#src/kernel/clock.ts";
import type { Log } from "#src/platform/index.ts";

/** Connections cost memory and a descriptor each, whatever is sent on them. */

export interface ConnectionLimits {
  /** How long a client may take to send a head, and a whole request, ms (E10). */
  headMs: number;
  wholeRequestMs: number;
  /** How long a connection that was answered for the last time waits for the client to close it, ms. */
  lingerMs: number;
  /** A connection on which nothing moves for so long is dropped, ms: longer than a gateway may take, and than a stream's heartbeats. */
  stalledMs: number;
  /** Connections at a time, of all addresses and of one (an IPv6 address counts as its /64). */
  total: number;
  perAddress: number;
  /** Requests of one connection whose answers have not left: whoever sends more before he has read those is cut off. */
  unanswered: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  headMs: 10_000,
  wholeRequestMs: 15_000,
  lingerMs: 1000,
  stalledMs: 120_000,
  total: 12_000,
  perAddress: 1000,
  unanswered: 32,
};

const LOG_FULL_MS = 60_000;

/** The response to a connection's last request. */
const lastResponses = new WeakMap<Socket, ServerResponse>();
/** Connections with a line, the first of a request, behind the last whole head. */
const withLine = new WeakSet<Socket>();
const LF = 0x0a;

interface Connection {
  /** Null: counts for no address. */
  key: string | null;
  /** Requests that are not answered yet. */
  requests: number;
}

/**
 * Caps the server's connections. Where a cap is reached the oldest connection without a request is dropped for the new one, so
 * that clients that send nothing keep nobody out; the new one is dropped when all have a request. `keyOf`: of an address, null
 * for one without a cap of its own.
 */
export function limitConnections(
  server: Server,
  { total, perAddress, unanswered }: Pick<ConnectionLimits, "total" | "perAddress" | "unanswered">,
  keyOf: (remoteAddress: string) => string | null,
  clock: Clock,
  log: Log,
): void {
  const open = new Map<Socket, Connection>();
  const counts = new Map<string, number>();
  let nextLog = 0;

  const add = (key: string | null, change: number) => {
    if (key === null) return;
    const count = (counts.get(key) ?? 0) + change;
    if (count > 0) counts.set(key, count);
    else counts.delete(key);
  };
  const remove = (socket: Socket) => {
    const connection = open.get(socket);
    if (connection && open.delete(socket)) add(connection.key, -1);
  };
  /** Drops the oldest idle connection, of this address or of all; false when there is none. */
  const dropIdle = (key?: string): boolean => {
    for (const [socket, connection] of open) {
      if (connection.requests > 0 || (key !== undefined && connection.key !== key)) continue;
      remove(socket);
      socket.destroy();
      return true;
    }
    return false;
  };
  const admitOne = (key: string | null): boolean => {
    const [ofAddress, ofAll] = [key !== null && (counts.get(key) ?? 0) >= perAddress, open.size >= total];
    if (!ofAddress && !ofAll) return true;
    if (clock.monotonic() >= nextLog) {
      nextLog = clock.monotonic() + LOG_FULL_MS;
      log.warn("http_connections_full", { count: open.size, reason: ofAddress ? "one address" : "all addresses" });
    }
    return ofAddress ? dropIdle(key!) : dropIdle();
  };

  server.prependListener("connection", (socket: Socket) => {
    const key = keyOf(socket.remoteAddress ?? "");
    if (!admitOne(key)) return void socket.destroy();
    open.set(socket, { key, requests: 0 });
    add(key, 1);
    socket.once("close", () => remove(socket));
    socket.prependListener("data", (piece: Buffer) => piece.includes(LF) && withLine.add(socket));
    return undefined;
  });
  server.prependListener("request", ({ socket }, response) => {
    lastResponses.set(socket, response);
    withLine.delete(socket);
    const connection = open.get(socket);
    if (!connection) return;
    if (++connection.requests > unanswered) socket.destroy();
    response.once("close", () => connection.requests--);
  });
}

/**
 * Answers what is not HTTP, or did not come in time, by hand: there is no request yet to answer with Fastify. A client that keeps
 * its own side open after that is cut off.
 */
export function refuseConnection(
  error: Error & { code?: string },
  socket: Socket,
  { lingerMs }: Pick<ConnectionLimits, "lingerMs">,
  clock: Clock,
): void {
  if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) return void socket.destroy();
  const last = lastResponses.get(socket);
  // It is what comes behind a whole request, whose answer goes first and is the last one (RFC 9112 section 9.3.2).
  if (last?.req.complete && !last.headersSent) return void (last.shouldKeepAlive = false);
  const { status, detail } = ERRORS[parserFault(error, socket)];
  const body = JSON.stringify({ detail });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
  socket.once(
    "close",
    clock.after(lingerMs, () => socket.destroy()),
  );
}

function parserFault({ code }: { code?: string }, socket: Socket): ErrorCode {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "timed_out";
  if (code !== "HPE_HEADER_OVERFLOW") return "bad_request";
  return withLine.has(socket) ? "headers_too_large" : "uri_too_long";
}
