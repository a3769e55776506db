import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import ipaddr from "ipaddr.js";
import { isInside, parseCidrs } from "#src/platform/index.ts";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** More proxies than stand in a row anywhere; reading thousands of hops would take 100 ms. */
const MAX_HOPS = 32;

/** Where a request comes from, as far as it can be believed. */
export interface Client {
  /** What requests are counted by: an IPv4 address or the /64 of an IPv6 address. */
  key: string;
  /** The address itself; null when the connection is gone. */
  address: () => string | null;
  /** Whether the caller's own hop was encrypted: what a trusted proxy says, else the listener. */
  https: boolean;
}

/**
 * Reads the client of a request. `X-Forwarded-For` and `X-Forwarded-Proto` count only when the TCP peer is one of `trustedProxies` (CIDRs):
 * then the right-most address outside that list is the client. Anything odd in the header falls back to the peer,
 * and no other header is believed.
 */
export function clientReader(trustedProxies: readonly string[]): (request: IncomingMessage) => Client {
  const trusted = parseCidrs("TRUSTED_PROXIES", trustedProxies);
  const isTrusted = (address: Address) => isInside(address.toString(), trusted);
  /** Connections live long and their peer does not change. */
  const peers = new WeakMap<Socket, Address | null>();

  const forwarded = (header: string): Address | null => {
    const written = header.split(",", MAX_HOPS + 1);
    if (written.length > MAX_HOPS) return null;
    const hops = written.map((hop) => parse(hop.trim()));
    if (hops.includes(null)) return null;
    return hops.findLast((hop) => !isTrusted(hop!)) ?? hops[0] ?? null;
  };

  return ({ socket, headers }) => {
    const https = "encrypted" in socket && socket.encrypted === true;
    let peer = peers.get(socket);
    if (peer === undefined) peers.set(socket, (peer = parse(socket.remoteAddress ?? "")));
    if (!peer) return { key: "unknown", address: () => null, https };
    if (trusted.length === 0 || !isTrusted(peer)) return { key: keyOf(peer), address: () => peer.toString(), https };
    const header = headers["x-forwarded-for"];
    const client = (typeof header === "string" && forwarded(header)) || peer;
    return { key: keyOf(client), address: () => client.toString(), https: https || headers["x-forwarded-proto"] === "https" };
  };
}

/**
 * What the connections of an address are counted by, as its requests are; null for trusted proxies, which carry everybody's.
 */
export function connectionKeyReader(trustedProxies: readonly string[]): (remoteAddress: string) => string | null {
  const trusted = parseCidrs("TRUSTED_PROXIES", trustedProxies);
  return (remoteAddress) => {
    const peer = parse(remoteAddress);
    if (!peer) return "unknown";
    return isInside(peer.toString(), trusted) ? null : keyOf(peer);
  };
}

/** An address, IPv4 when it is one written as IPv6. Only plain notation: no octal parts, no missing parts, no zone, no port. */
function parse(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!text.includes(":") || text.includes("%") || !ipaddr.IPv6.isValid(text)) return null;
  const address = ipaddr.IPv6.parse(text);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function keyOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString();
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}
