import type { SipRequest } from "../grammar/message.ts";
import type { Parsed } from "../grammar/parse.ts";

/** A transport protocol as URIs spell it (`;transport=`); Via has it in upper case. */
export type Protocol = "udp" | "tcp" | "tls";

/** The port meant where none is written (RFC 3261 section 19.1.2). */
export const DEFAULT_PORTS: Readonly<Record<Protocol, number>> = { udp: 5060, tcp: 5060, tls: 5061 };

/**
 * A way to one peer: a connection, or for UDP the pair of our socket and the peer's address. What arrives tells the flow
 * it came by, and responses leave by it (RFC 3261 section 18.2.2).
 */
export interface Flow {
  readonly protocol: Protocol;
  /** A reliable transport needs no retransmissions (section 17). */
  readonly reliable: boolean;
  /** The peer's IP address; an IPv4 address is never written as an IPv6 one. */
  readonly address: string;
  readonly port: number;
  /** False once the connection is gone; a datagram flow is always open. */
  readonly open: boolean;
  /** Whether the peer showed a certificate of the operator's own authority (mutual TLS). */
  readonly certified: boolean;
  /** Whether a request may leave by it: what comes back is read. A datagram flow always. */
  readonly listening: boolean;
  /** Calls `task` when the connection is gone, until the returned function is called. */
  onClose(task: () => void): () => void;
  /** Itself while a request may leave by it, else another connection to the same server. Rejects where there is none to be had. */
  renewed(): Promise<Flow>;
  /** Keeps a silent connection open until the returned function is called: whoever is behind a router cannot be connected to. */
  keep(): () => void;
  /** The final response to `request` has left, or never will: a connection that is to be closed waits for it. */
  settled(request: SipRequest): void;
  /** Rejects when the transport reports an error (section 18.4). */
  send(bytes: Uint8Array): Promise<void>;
}

/**
 * How an address is met before anything of it is read: a trunk; a guest, who may yet prove who he is or whom we have called; anybody
 * else, or more than is allowed, is dropped unread and unanswered (S-82, S-83).
 */
export type Admission = "known" | "guest" | "refused";

/** Who takes what a transport receives. */
export interface Receiver {
  /** Of a datagram or connection. */
  admits(address: string): Admission;
  /** Of a connection that wants TLS, and may bring a certificate. */
  admitsHandshake(address: string): Admission;
  /** Of one more message by a connection. */
  admitsStreamed(address: string): boolean;
  receive(parsed: Parsed, flow: Flow): void;
  /** These octets, a message or a ping, are about to leave by `flow`. */
  sends(bytes: Uint8Array, flow: Flow): void;
}

export interface Transport {
  readonly protocol: Protocol;
  /** Binds and returns the port. Rejects with the host's error. */
  listen(host: string, port: number): Promise<number>;
  /**
   * An open flow to the peer, an existing connection where there is one. Rejects when it cannot be had. `name`: what a certificate of the
   * peer must be for, a host name or an address.
   */
  flowTo(address: string, port: number, name: string): Promise<Flow>;
  /** Whether it is bound and reads what comes; `token`: 16 random bytes that it may send to itself. It may take for ever. */
  isAlive(token: Uint8Array): Promise<boolean>;
  close(): Promise<void>;
}
