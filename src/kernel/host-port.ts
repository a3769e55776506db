import { isIPv6, SocketAddress } from "node:net";

/** `host:port` as it stands in a URI or a SIP Via: IPv6 addresses in brackets (RFC 3986 section 3.2.2). Without a port the host alone. */
export function formatHostPort(host: string, port: number | null): string {
  const bracketed = isIPv6(host) ? `[${host}]` : host;
  return port === null ? bracketed : `${bracketed}:${port}`;
}

/** `host` as a URL spells it, an IPv6 address without its brackets. */
export function unbracketed(host: string): string {
  return host.replace(/^\[|\]$/g, "");
}

const MAPPED = "::ffff:";

/** An address without the IPv6 mapping that dual-stack sockets add to IPv4 peers. */
export function plainAddress(address: string): string {
  return address.startsWith(MAPPED) && address.includes(".") ? address.slice(MAPPED.length) : address;
}

/** An IPv4 address as a dual-stack socket sends to it. */
export function mappedAddress(address: string): string {
  return MAPPED + address;
}

/** A host as sockets tell of it: of the many spellings of an IPv6 address the one (RFC 5952), an IPv4 address not as one of them. */
export function canonicalHost(host: string): string {
  return isIPv6(host) && !host.includes("%") ? plainAddress(new SocketAddress({ address: host, family: "ipv6" }).address) : host;
}
