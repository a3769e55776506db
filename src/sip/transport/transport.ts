import type { Parsed } from "../grammar/parse.ts";

/** A transport protocol as URIs spell it (`;transport=`); Via has it in upper case. */
export type Protocol = "udp" | "tcp";

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
  /** Rejects when the transport reports an error (section 18.4). */
  send(bytes: Uint8Array): Promise<void>;
}

/** Who takes what a transport receives. */
export interface Receiver {
  /** Whether anything from this address is looked at; otherwise it is dropped unread and unanswered (S-82). */
  admits(address: string): boolean;
  receive(parsed: Parsed, flow: Flow): void;
}

export interface Transport {
  readonly protocol: Protocol;
  /** Binds and returns the port. Rejects with the host's error. */
  listen(host: string, port: number): Promise<number>;
  /** An open flow to the peer, an existing connection where there is one. Rejects when it cannot be had. */
  flowTo(address: string, port: number): Promise<Flow>;
  /** Whether it is bound and reads what comes; `token`: 16 random bytes that it may send to itself. It may take for ever. */
  isAlive(token: Uint8Array): Promise<boolean>;
  close(): Promise<void>;
}

const MAPPED = "::ffff:";

/** An address without the IPv6 mapping that dual-stack sockets add to IPv4 peers. */
export function plainAddress(address: string): string {
  return address.startsWith(MAPPED) && address.includes(".") ? address.slice(MAPPED.length) : address;
}
