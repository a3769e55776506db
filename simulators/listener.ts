import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import type { Identity } from "./tls.ts";

/** First byte of a TLS record that carries a handshake (RFC 8446 section 5.1); no HTTP method begins with it. */
const TLS_HANDSHAKE = 0x16;

/** Longer than clients keep an idle connection (Node's 10 minutes at most): a request never meets our end of one, which would be no fault that was armed. */
const KEEP_ALIVE_MS = 15 * 60_000;

export interface Listener {
  port: number;
  close(): Promise<void>;
}

/** `cut` ends the request's connection with a TCP reset, TLS or not. */
export type Handler = (request: IncomingMessage, response: ServerResponse, cut: () => void) => void;

/** Serves HTTP and HTTPS on one port: the first byte of a connection tells which it is. */
export async function listen(options: { port: number; host: string; identity: Identity }, handler: Handler): Promise<Listener> {
  const sockets = new Map<string, Socket>();
  const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    // The request's socket may be the TLS one; the reset belongs to the TCP connection beneath.
    const name = nameOf(request.socket);
    handler(request, response, () => sockets.get(name)?.resetAndDestroy());
  };
  const plain = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, serve);
  const secure = createTlsServer({ key: options.identity.key, cert: options.identity.cert, keepAliveTimeout: KEEP_ALIVE_MS }, serve);
  secure.on("tlsClientError", (_error, socket) => socket.destroy());
  const tcp = createTcpServer((socket) => {
    const name = nameOf(socket);
    sockets.set(name, socket);
    socket.on("close", () => sockets.delete(name));
    socket.on("error", () => socket.destroy());
    socket.once("data", (first: Buffer) => {
      socket.pause();
      (first[0] === TLS_HANDSHAKE ? secure : plain).emit("connection", socket);
      socket.unshift(first);
      process.nextTick(() => socket.resume());
    });
  });
  await new Promise<void>((resolve, reject) => {
    tcp.once("error", reject);
    tcp.listen(options.port, options.host, resolve);
  });
  return {
    port: (tcp.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        tcp.close(() => resolve());
        for (const socket of sockets.values()) socket.destroy();
      }),
  };
}
