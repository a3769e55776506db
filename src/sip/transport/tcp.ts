import { connect, createServer, type Server, type Socket } from "node:net";
import type { Clock } from "#src/kernel/clock.ts";
import { StreamFramer } from "../grammar/stream-framer.ts";
import { type Flow, plainAddress, type Receiver, type Transport } from "./transport.ts";

const CONNECT_TIMEOUT_MS = 4_000;
/** A message that has begun must be complete within this time (docs/invariants.md, clerr). */
const MESSAGE_TIMEOUT_MS = 10_000;
/** Longer than any silent stretch of a call, so that a dialog keeps the connection it came by. */
const IDLE_TIMEOUT_MS = 600_000;
const MAX_CONNECTIONS = 1_000;
/** A peer that does not read is cut off here. */
const MAX_UNSENT_BYTES = 256 * 1024;
const PONG = Buffer.from("\r\n");

/** SIP over TCP: connections kept and reused in both directions (RFC 3261 section 18). */
export class TcpTransport implements Transport {
  readonly protocol = "tcp";
  readonly #receiver: Receiver;
  readonly #clock: Clock;
  readonly #connections = new Map<string, TcpConnection>();
  readonly #connecting = new Map<string, Promise<TcpConnection>>();
  #server: Server | null = null;

  constructor(receiver: Receiver, clock: Clock) {
    this.#receiver = receiver;
    this.#clock = clock;
  }

  listen(host: string, port: number): Promise<number> {
    const server = createServer({ noDelay: true }, (socket) => {
      if (this.#receiver.admits(plainAddress(socket.remoteAddress ?? ""))) this.#adopt(socket);
      else socket.destroy();
    });
    server.maxConnections = MAX_CONNECTIONS;
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        server.on("error", () => {});
        this.#server = server;
        const bound = server.address();
        resolve(typeof bound === "object" && bound ? bound.port : port);
      });
    });
  }

  async flowTo(address: string, port: number): Promise<Flow> {
    const key = `${address} ${port}`;
    const existing = this.#connections.get(key) ?? this.#connecting.get(key);
    if (existing) return existing;
    if (!this.#server) throw new Error("TCP transport is closed");
    const connecting = this.#connect(address, port).finally(() => this.#connecting.delete(key));
    this.#connecting.set(key, connecting);
    return connecting;
  }

  isAlive(): Promise<boolean> {
    return Promise.resolve(this.#server?.listening === true);
  }

  close(): Promise<void> {
    for (const connection of this.#connections.values()) connection.destroy();
    const server = this.#server;
    this.#server = null;
    return new Promise((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  #connect(address: string, port: number): Promise<TcpConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: address, port, noDelay: true });
      const cancel = this.#clock.after(CONNECT_TIMEOUT_MS, () => socket.destroy(new Error("TCP connection timed out")));
      socket.once("error", reject);
      socket.once("close", cancel);
      socket.once("connect", () => {
        cancel();
        socket.off("error", reject);
        resolve(this.#adopt(socket));
      });
    });
  }

  #adopt(socket: Socket): TcpConnection {
    const connection = new TcpConnection(socket, this.#receiver, this.#clock);
    const key = `${connection.address} ${connection.port}`;
    this.#connections.set(key, connection);
    socket.once("close", () => {
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
    });
    return connection;
  }
}

class TcpConnection implements Flow {
  readonly protocol = "tcp";
  readonly reliable = true;
  readonly address: string;
  readonly port: number;
  readonly #socket: Socket;
  readonly #receiver: Receiver;
  readonly #clock: Clock;
  readonly #framer = new StreamFramer();
  #cancelIdle: () => void;
  #cancelMessage: (() => void) | null = null;

  constructor(socket: Socket, receiver: Receiver, clock: Clock) {
    this.address = plainAddress(socket.remoteAddress ?? "");
    this.port = socket.remotePort ?? 0;
    this.#socket = socket;
    this.#receiver = receiver;
    this.#clock = clock;
    this.#cancelIdle = this.#idle();
    socket.on("data", (chunk: Buffer) => this.#received(chunk));
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#cancelIdle();
      this.#cancelMessage?.();
    });
  }

  get open(): boolean {
    return this.#socket.writable;
  }

  send(bytes: Uint8Array): Promise<void> {
    if (this.#socket.writableLength > MAX_UNSENT_BYTES) this.destroy();
    this.#touch();
    return new Promise((resolve, reject) => {
      if (!this.open) reject(new Error("TCP connection is closed"));
      else this.#socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #received(chunk: Buffer): void {
    this.#touch();
    for (const frame of this.#framer.feed(chunk)) {
      if (frame.kind === "ping") this.send(PONG).catch(() => this.destroy());
      else this.#receiver.receive(frame.parsed, this);
      if (frame.kind === "lost") this.#socket.destroySoon();
    }
    this.#watchMessage();
  }

  /** The time a message may take runs from its first byte, however many bytes keep coming. */
  #watchMessage(): void {
    if (!this.#framer.pending) {
      this.#cancelMessage?.();
      this.#cancelMessage = null;
    } else this.#cancelMessage ??= this.#clock.after(MESSAGE_TIMEOUT_MS, () => this.destroy());
  }

  #touch(): void {
    this.#cancelIdle();
    this.#cancelIdle = this.#idle();
  }

  #idle(): () => void {
    return this.#clock.after(IDLE_TIMEOUT_MS, () => this.destroy());
  }
}
