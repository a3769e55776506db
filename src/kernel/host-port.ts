import { isIPv6 } from "node:net";

/** `host:port` as it stands in a URI or a SIP Via: IPv6 addresses in brackets (RFC 3986 section 3.2.2). Without a port the host alone. */
export function formatHostPort(host: string, port: number | null): string {
  const bracketed = isIPv6(host) ? `[${host}]` : host;
  return port === null ? bracketed : `${bracketed}:${port}`;
}

/** `host` as a URL spells it, an IPv6 address without its brackets. */
export function unbracketed(host: string): string {
  return host.replace(/^\[|\]$/g, "");
}
