import { connect, createServer, type Server, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Clock } from "#src/kernel/clock.ts";
import { plainAddress } from "#src/kernel/host-port.ts";
import type { SipRequest } from "../grammar/message.ts";
import { type Frame, StreamFramer } from "../grammar/stream-framer.ts";
import type { TlsEndpoint } from "./tls.ts";
import type { Flow, Receiver, Transport } from "./transport.ts";

const CONNECT_TIMEOUT_MS = 4_000;
/** A message that has begun, and the first one of a connection, must be complete within this time. */
const MESSAGE_TIMEOUT_MS = 10_000;
/** Routers forget a connection without packets after a few minutes, and what is sent over it then is lost without a word: the kernel asks after it. */
const KEEP_ALIVE_MS = 30_000;
/** For connections that no dialog is kept by. */
const IDLE_TIMEOUT_MS = 600_000;
/** How long a connection that nothing more can be read from waits for the answers it still owes: 64*T1. */
const LINGER_MS = 32_000;
const MAX_CONNECTIONS = 1_000;
/** Of these, connections of guests, all together and of one address: trunks can always connect. */
const MAX_GUESTS = 200;
const MAX_OF_ONE_GUEST = 20;
/** A peer that does not read is cut off here. */
const MAX_UNSENT_BYTES = 256 * 1024;
const PONG = Buffer.from("\r\n");

/** SIP over TCP, and over TLS where it has a `TlsEndpoint`: connections kept and reused (RFC 3261 section 18). */
export class StreamTransport implements Transport {
  readonly protocol: "tcp" | "tls";
  readonly #receiver: Receiver;
  readonly #clock: Clock;
  readonly #tls: TlsEndpoint | null;
  readonly #sockets = new Set<Socket>();
  readonly #guests = new Set<Socket>();
  /** Connections that a request may leave by, under what was asked for. */
  readonly #usable = new Map<string, StreamConnection>();
  readonly #connecting = new Map<string, Promise<StreamConnection>>();
  #server: Server | null = null;

  constructor(receiver: Receiver, clock: Clock, tls: TlsEndpoint | null = null) {
    this.protocol = tls ? "tls" : "tcp";
    this.#receiver = receiver;
    this.#clock = clock;
    this.#tls = tls;
    if (tls) tls.onSecured = (socket) => this.#secured(socket);
  }

  listen(host: string, port: number): Promise<number> {
    // Half-open: who has said everything may still wait for the answer.
    const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => this.#connected(socket));
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

  async flowTo(address: string, port: number, name: string): Promise<Flow> {
    const key = this.#tls ? `${address} ${port} ${name}` : `${address} ${port}`;
    const open = this.#usable.get(key);
    const existing = open?.listening ? open : this.#connecting.get(key);
    if (existing) return existing;
    if (!this.#server) throw new Error("the transport is closed");
    const connecting = this.#connect(address, port, name)
      .then((socket) => this.#adopt(socket, key, () => this.flowTo(address, port, name)))
      .finally(() => this.#connecting.delete(key));
    this.#connecting.set(key, connecting);
    return connecting;
  }

  isAlive(): Promise<boolean> {
    return Promise.resolve(this.#server?.listening === true);
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const server = this.#server;
    this.#server = null;
    return new Promise((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  /** A connection from outside. */
  #connected(socket: Socket): void {
    const address = plainAddress(socket.remoteAddress ?? "");
    socket.on("error", () => {});
    const admission = this.#tls ? this.#receiver.admitsHandshake(address) : this.#receiver.admits(address);
    if (admission === "refused" || (admission === "guest" && !this.#mayConnect(address))) return void socket.destroy();
    if (admission === "guest") this.#keep(this.#guests, socket);
    this.#keep(this.#sockets, socket);
    if (this.#tls) this.#tls.accept(socket);
    else this.#adopt(socket, `${address} ${socket.remotePort}`, null);
  }

  #mayConnect(address: string): boolean {
    const own = [...this.#guests].filter((guest) => plainAddress(guest.remoteAddress ?? "") === address);
    return this.#guests.size < MAX_GUESTS && own.length < MAX_OF_ONE_GUEST;
  }

  /** Nothing may leave by it but what belongs to its requests: its peer has proved no name (RFC 5923 section 9). */
  #secured(socket: TLSSocket): void {
    const isAdmitted = socket.authorized || this.#receiver.admits(plainAddress(socket.remoteAddress ?? "")) !== "refused";
    if (!isAdmitted) return void socket.destroy();
    this.#keep(this.#sockets, socket);
    this.#adopt(socket, null, null);
  }

  #connect(address: string, port: number, name: string): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = this.#tls ? this.#tls.connect(address, port, name) : connect({ host: address, port, noDelay: true });
      this.#keep(this.#sockets, socket);
      const cancel = this.#clock.after(CONNECT_TIMEOUT_MS, () => socket.destroy(new Error("the connection timed out")));
      socket.once("error", reject);
      socket.once("close", () => {
        cancel();
        reject(new Error("the connection was closed"));
      });
      socket.once(this.#tls ? "secureConnect" : "connect", () => {
        cancel();
        socket.off("error", reject);
        resolve(socket);
      });
    });
  }

  #adopt(socket: Socket, key: string | null, reconnect: ConnectionParts["reconnect"]): StreamConnection {
    const connection = new StreamConnection(socket, { protocol: this.protocol, receiver: this.#receiver, clock: this.#clock, reconnect });
    if (key === null) return connection;
    this.#usable.set(key, connection);
    socket.once("close", () => {
      if (this.#usable.get(key) === connection) this.#usable.delete(key);
    });
    return connection;
  }

  #keep(set: Set<Socket>, socket: Socket): void {
    set.add(socket);
    socket.once("close", () => set.delete(socket));
  }
}

interface ConnectionParts {
  protocol: "tcp" | "tls";
  receiver: Receiver;
  clock: Clock;
  /** Null: the peer connected to us, so it has something to say. */
  reconnect: (() => Promise<Flow>) | null;
}

class StreamConnection implements Flow {
  readonly protocol: "tcp" | "tls";
  readonly reliable = true;
  readonly address: string;
  readonly port: number;
  readonly certified: boolean;
  readonly #socket: Socket;
  readonly #receiver: Receiver;
  readonly #clock: Clock;
  readonly #reconnect: ConnectionParts["reconnect"];
  readonly #framer = new StreamFramer();
  /** Requests without their final response, by `answerKey`. */
  readonly #owed = new Set<string>();
  #cancelIdle: () => void;
  #cancelMessage: (() => void) | null = null;
  /** Who waits for something that it was to bring. */
  readonly #onClose = new Set<() => void>();
  /** Dialogs that it is kept for. */
  #users = 0;
  /** Nothing more is read: it closes when nothing is owed. */
  #closing = false;

  constructor(socket: Socket, { protocol, receiver, clock, reconnect }: ConnectionParts) {
    const isIncoming = reconnect === null;
    this.protocol = protocol;
    this.address = plainAddress(socket.remoteAddress ?? "");
    this.port = socket.remotePort ?? 0;
    this.certified = isIncoming && socket instanceof TLSSocket && socket.authorized;
    this.#socket = socket.setKeepAlive(true, KEEP_ALIVE_MS);
    this.#receiver = receiver;
    this.#clock = clock;
    this.#reconnect = reconnect;
    this.#cancelIdle = this.#idle();
    if (isIncoming) this.#expectMessage();
    socket.on("data", (chunk: Buffer) => this.#received(chunk));
    socket.on("end", () => this.#closeWhenAnswered());
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#cancelIdle();
      this.#cancelMessage?.();
      for (const task of this.#onClose) task();
    });
  }

  get open(): boolean {
    return this.#socket.writable;
  }

  /** Whether the response to a request could be heard. */
  get listening(): boolean {
    return this.open && !this.#closing;
  }

  onClose(task: () => void): () => void {
    this.#onClose.add(task);
    return () => void this.#onClose.delete(task);
  }

  async renewed(): Promise<Flow> {
    if (this.listening) return this;
    if (!this.#reconnect) throw new Error("the connection was the peer's");
    return await this.#reconnect();
  }

  keep(): () => void {
    this.#users++;
    let isKept = true;
    return () => {
      if (isKept) this.#users--;
      isKept = false;
    };
  }

  send(bytes: Uint8Array): Promise<void> {
    if (this.#socket.writableLength > MAX_UNSENT_BYTES) this.destroy();
    this.#touch();
    this.#receiver.sends(bytes, this);
    return new Promise((resolve, reject) => {
      if (!this.open) reject(new Error("the connection is closed"));
      else this.#socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  settled(request: SipRequest): void {
    if (this.#owed.delete(answerKey(request)) && this.#closing) this.#closeWhenAnswered();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #received(chunk: Buffer): void {
    if (this.#closing) return;
    this.#touch();
    const frames = this.#framer.feed(chunk);
    // Answers may leave while the frames are gone through: all are owed before the first is taken.
    for (const frame of frames) if (isAnswerable(frame)) this.#owed.add(answerKey(frame.parsed.request));
    for (const frame of frames) this.#take(frame);
    if (this.#closing) return;
    if (this.#framer.pending) this.#expectMessage();
    else if (frames.length > 0) this.#stopExpecting();
  }

  #take(frame: Frame): void {
    if (this.#socket.destroyed) return;
    if (!this.certified && !this.#receiver.admitsStreamed(this.address)) return this.destroy();
    if (frame.kind === "ping") this.send(PONG).catch(() => this.destroy());
    else this.#receiver.receive(frame.parsed, this);
    // Where the next message begins cannot be told; those before it are still answered (RFC 3261 section 18.3).
    if (frame.kind === "lost") this.#closeWhenAnswered();
  }

  #closeWhenAnswered(): void {
    if (!this.#closing) {
      this.#closing = true;
      this.#stopExpecting();
      this.#cancelIdle();
      this.#cancelIdle = this.#clock.after(LINGER_MS, () => this.destroy());
    }
    if (this.#owed.size === 0) this.#socket.destroySoon();
  }

  /** The time a message may take runs from its first byte, however many bytes keep coming. */
  #expectMessage(): void {
    this.#cancelMessage ??= this.#clock.after(MESSAGE_TIMEOUT_MS, () => this.destroy());
  }

  #stopExpecting(): void {
    this.#cancelMessage?.();
    this.#cancelMessage = null;
  }

  #touch(): void {
    if (this.#closing) return;
    this.#cancelIdle();
    this.#cancelIdle = this.#idle();
  }

  #idle(): () => void {
    return this.#clock.after(IDLE_TIMEOUT_MS, () => (this.#users > 0 ? this.#touch() : this.destroy()));
  }
}

function isAnswerable(frame: Frame): frame is Frame & { kind: "message"; parsed: { kind: "request"; request: SipRequest } } {
  return frame.kind === "message" && frame.parsed.kind === "request" && frame.parsed.request.method !== "ACK";
}

/** The same for a request and its retransmission, unlike its Via untouched on the way in. */
function answerKey({ fields }: SipRequest): string {
  return `${fields.first("call-id") ?? ""}\n${fields.first("cseq") ?? ""}`;
}
