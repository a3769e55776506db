import type { Server } from "node:http";
import { Socket } from "node:net";

/**
 * Node's HTTP server reads every connection into one buffer inside its parser, which no script can reach: the last request, card
 * and all, stays there until longer ones come (S-60). Here all connections read into one buffer of ours, which is overwritten as
 * soon as the parser has seen what came.
 *
 * For a socket that connects, Node offers that as `onread`; a server's sockets have the same fields under the same symbols, but no
 * option to set them. test/journeys/memory.test.ts watches that it works.
 */

/** Whatever stands in it is parsed in one go, and may be a request for every thirty bytes: few enough not to hold the thread up. */
const BUFFER_BYTES = 4 * 1024;
const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);

/** The part of a server's socket that Node keeps to itself. */
interface Internals {
  [symbol: symbol]: unknown;
  _handle: { useUserBuffer(buffer: Uint8Array): void; _consumed: boolean } | null;
}

/** Throws when this version of Node has no such fields. Call it before the server listens. */
export function readIntoOwnBuffer(server: Server): void {
  const [userBuffer, onRead] = [symbolOf("kBuffer"), symbolOf("kBufferCb")];
  server.prependListener("connection", (socket: Socket) => {
    const internals = socket as unknown as Internals;
    if (!internals._handle) return;
    internals[userBuffer] = buffer;
    internals[onRead] = (length: number) => {
      const bytes = buffer.subarray(0, length);
      // The parser listens to this event and is done with the bytes when it returns; a body's it has copied.
      socket.emit("data", bytes);
      bytes.fill(0);
    };
    internals._handle.useUserBuffer(buffer);
    // Keeps the parser from reading the connection by itself.
    internals._handle._consumed = true;
  });
}

function symbolOf(description: string): symbol {
  const found = Object.getOwnPropertySymbols(new Socket()).find((symbol) => symbol.description === description);
  if (!found) throw new Error(`Node ${process.version} has no ${description}: cards would stay in memory`);
  return found;
}
