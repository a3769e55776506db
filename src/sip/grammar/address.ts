import { fromOctets } from "./octets.ts";
import { type Params, Scanner, trimBlank, unquote } from "./scanner.ts";
import { parseUri, type Uri } from "./uri.ts";

/** `name-addr` or `addr-spec` with header parameters: From, To, Contact, Route, P-Asserted-Identity (RFC 3261 section 20.10). */
export interface Address {
  /** The display name, decoded; null when there is none. */
  display: string | null;
  uri: Uri;
  params: Params;
}

/**
 * Without quotes it should be tokens alone, but "AT&T" and "Bell, Alexander" are sent. What has a colon or a semicolon may be meant as a URI with
 * its parameters instead.
 */
const DISPLAY = /[^<>":;\x00-\x08\x0a-\x1f\x7f]*/y;
const BRACKETED = /<[^<>]*>/y;
/** Without brackets a ";" begins the header's parameters, and "," and "?" may not stand in the URI at all. */
const BARE = /[^\s<>;,?"]+/y;

/** Reads one address. Throws SipSyntaxError. */
export function parseAddress(value: string): Address {
  const scanner = new Scanner(value);
  scanner.space();
  const quoted = scanner.quoted();
  const start = scanner.at;
  let display = quoted === null ? null : unquote(quoted);
  if (quoted === null) display = trimBlank(scanner.match(DISPLAY) ?? "") || null;
  scanner.space();
  let target = scanner.match(BRACKETED)?.slice(1, -1);
  if (target === undefined && quoted === null) {
    display = null;
    scanner.at = start;
    target = scanner.match(BARE) ?? undefined;
  }
  target ??= scanner.fail("address expected");
  const address = { display: display === null ? null : fromOctets(display), uri: parseUri(target), params: scanner.params() };
  scanner.end();
  return address;
}
