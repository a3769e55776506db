import { isIPv6 } from "node:net";
import { telNumber } from "#src/kernel/phone.ts";
import { fromOctets } from "./octets.ts";
import { SipSyntaxError } from "./syntax-error.ts";

/** S-84 */
export const MAX_URI_LENGTH = 1024;

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;
const OPAQUE = /^[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a~]+$/;
/** user with its password; "#" must be escaped by the letter, but star codes are dialled with it. */
const USERINFO = /^(?:[A-Za-z0-9\-_.!~*'()&=+$,;?/:#]|%[0-9A-Fa-f][0-9A-Fa-f])+$/;
/** "_" is no letter of host names, but container networks use it. */
const HOSTNAME = /^[A-Za-z0-9._-]+$/;
const PORT = /^[0-9]{1,5}$/;
const PARAM = /^(?:[A-Za-z0-9\-_.!~*'()[\]/:&+$=]|%[0-9A-Fa-f][0-9A-Fa-f])+$/;
const HEADER = /^(?:[A-Za-z0-9\-_.!~*'()[\]/?:+$]|%[0-9A-Fa-f][0-9A-Fa-f])*$/;
const ESCAPE = /%([0-9A-Fa-f][0-9A-Fa-f])/g;

/** URI parameters or URI headers: names without case, values decoded. */
interface Lookup extends Iterable<[name: string, value: string]> {
  /** "" when the name stands there without a value, null when it does not; of equal names the first. */
  get(name: string): string | null;
}

/** What every URI can be asked. `toString` returns it as it was written. */
export interface Uri {
  readonly scheme: string;
  /** The user part of a SIP URI, the number of a `tel:` URI, decoded; null when there is none. */
  readonly user: string | null;
  readonly params: Lookup;
  /** The headers behind "?" (RFC 3261 section 19.1.1). */
  readonly headers: Lookup;
  toString(): string;
}

/** A SIP or SIPS URI (RFC 3261 section 19.1). */
export class SipUri implements Uri {
  readonly scheme: "sip" | "sips";
  readonly user: string | null;
  /** In lower case, an IPv6 address without its brackets. */
  readonly host: string;
  readonly port: number | null;
  readonly params: Lookup;
  readonly headers: Lookup;
  readonly #text: string;

  /** Throws SipSyntaxError. */
  constructor(text: string) {
    this.#text = text;
    this.scheme = text.slice(0, 4).toLowerCase() === "sips" ? "sips" : "sip";
    let rest = text.slice(this.scheme.length + 1);
    // "@" may stand nowhere in a URI but after the userinfo, so the first one ends it. Proxies write an empty one for a caller who has none.
    const at = rest.indexOf("@");
    this.user = at < 1 ? null : unescape(checked(rest.slice(0, at), USERINFO, "user").split(":", 1)[0] ?? "");
    rest = rest.slice(at + 1);
    const question = rest.indexOf("?");
    this.headers = new Decoded(question < 0 ? [] : uriHeaders(rest.slice(question + 1)));
    const [hostport = "", ...params] = (question < 0 ? rest : rest.slice(0, question)).split(";");
    this.params = new Decoded(params.map((param) => split(checked(param, PARAM, "parameter"), "=")));
    [this.host, this.port] = parseHostPort(hostport);
  }

  /** The URI as a Request-URI: without headers and `method` (section 19.1.5). */
  get requestUri(): string {
    return (this.#text.split("?", 1)[0] ?? "").replace(/;method=[^;]*/i, "");
  }

  toString(): string {
    return this.#text;
  }
}

/** A URI of any other scheme, unread but for the number and the parameters of `tel:` (RFC 3966). */
class OtherUri implements Uri {
  readonly scheme: string;
  readonly user: string | null;
  readonly params: Lookup;
  readonly headers: Lookup = new Decoded([]);
  readonly #text: string;

  constructor(text: string, scheme: string) {
    this.#text = text;
    this.scheme = scheme;
    const isNumber = scheme === "tel";
    this.user = isNumber ? unescape(telNumber(text.slice("tel:".length))) : null;
    this.params = new Decoded(isNumber ? text.split(";").slice(1).map((param) => split(param, "=")) : []); // prettier-ignore
  }

  toString(): string {
    return this.#text;
  }
}

class Decoded implements Lookup {
  readonly #entries: readonly [name: string, value: string][];

  constructor(raw: readonly (readonly [name: string, value: string | null])[]) {
    this.#entries = raw.map(([name, value]) => [unescape(name), unescape(value ?? "")]);
  }

  get(name: string): string | null {
    const wanted = name.toLowerCase();
    return this.#entries.find(([own]) => own.toLowerCase() === wanted)?.[1] ?? null;
  }

  [Symbol.iterator](): Iterator<[name: string, value: string]> {
    return this.#entries.values();
  }
}

/** Reads one URI without brackets or surrounding space. Throws SipSyntaxError. */
export function parseUri(text: string): Uri {
  if (text.length > MAX_URI_LENGTH) throw new SipSyntaxError("URI too long");
  const scheme = SCHEME.exec(text)?.[0].slice(0, -1).toLowerCase();
  if (scheme === "sip" || scheme === "sips") return new SipUri(text);
  if (scheme === undefined || !OPAQUE.test(text)) throw new SipSyntaxError("malformed URI");
  return new OtherUri(text, scheme);
}

/** `host [":" port]`, white space around the colon allowed (sent-by). The host is answered in lower case, an IPv6 address without brackets. */
export function parseHostPort(text: string): [host: string, port: number | null] {
  const bracket = text.startsWith("[") ? text.indexOf("]") : -1;
  const colon = text.indexOf(":", bracket + 1);
  const host = (colon < 0 ? text : text.slice(0, colon)).trim().toLowerCase();
  const address = bracket > 0 ? host.slice(1, -1) : host;
  if (bracket > 0 ? !host.endsWith("]") || !isIPv6(address) : !HOSTNAME.test(host)) throw new SipSyntaxError("malformed host");
  if (colon < 0) return [address, null];
  const port = text.slice(colon + 1).trim();
  if (!PORT.test(port) || Number(port) < 1 || Number(port) > 65_535) throw new SipSyntaxError("malformed port");
  return [address, Number(port)];
}

function uriHeaders(text: string): [string, string][] {
  return text.split("&").map((header) => {
    const [name, value] = split(header, "=");
    if (name === "" || value === null) throw new SipSyntaxError("malformed header in URI");
    return [checked(name, HEADER, "header"), checked(value, HEADER, "header")];
  });
}

function split(text: string, separator: string): [string, string | null] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
}

function checked(text: string, pattern: RegExp, what: string): string {
  if (!pattern.test(text)) throw new SipSyntaxError(`malformed ${what} in URI`);
  return text;
}

function unescape(text: string): string {
  return fromOctets(text.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))));
}
