/** Media types of INFO bodies that carry a key. */
export const DTMF_TYPES: readonly string[] = ["application/dtmf-relay", "application/dtmf", "application/vnd.nortelnetworks.digits"];

const CR = 0x0d;
const LF = 0x0a;
const EQUALS = 0x3d;
const QUOTE = 0x22;
const ZERO = 0x30;
const NINE = 0x39;
/** Names of the line that holds the key: `application/dtmf-relay`'s, and Nortel's. */
const NAMES: readonly Buffer[] = [Buffer.from("signal"), Buffer.from("d")];
const LAST_EVENT = 15;
/** Keys that are no digits, as RFC 4733 event codes. */
const EVENTS: ReadonlyMap<number, number> = new Map(Array.from(Buffer.from("*#ABCD"), (code, index) => [code, 10 + index]));

/**
 * The key in an INFO body as RFC 4733 event code: 0-9, 10 = "*", 11 = "#", 12-15 = A-D; null when there is none.
 * `application/dtmf-relay` holds "Signal=5" and "Duration=160", in either order, Nortel's digits "d=5" after other lines, `application/dtmf` the key alone; some peers put the key in quotes.
 * The key may be a card's digit, so the body is read as bytes and never becomes a string.
 */
export function digitOf(body: Uint8Array): number | null {
  let at = keyAt(body);
  const isQuoted = body[at] === QUOTE;
  if (isQuoted) at++;
  const first = body[at] ?? 0;
  const other = EVENTS.get(upper(first));
  const end = other === undefined ? skipDigits(body, at) : at + 1;
  if (end === at || (isQuoted && body[end] !== QUOTE) || (body[isQuoted ? end + 1 : end] ?? 0) > 0x20) return null;
  if (other !== undefined) return other;
  // Some peers write the event code instead of the key.
  let event = 0;
  for (const digit of body.subarray(at, end)) event = event * 10 + digit - ZERO;
  return event <= LAST_EVENT ? event : null;
}

/** Where the key begins: after the "=" of the line that is named for it; without one, the first line. */
function keyAt(body: Uint8Array): number {
  const first = skipBlank(body, 0);
  for (let at = first; at < body.length; at = nextLine(body, at)) {
    for (const name of NAMES) {
      const end = isNamed(body, at, name) ? skipBlank(body, at + name.length) : at;
      if (end > at && body[end] === EQUALS) return skipBlank(body, end + 1);
    }
  }
  return first;
}

function nextLine(body: Uint8Array, from: number): number {
  let at = from;
  while (at < body.length && body[at] !== CR && body[at] !== LF) at++;
  return skipBlank(body, at);
}

function isNamed(body: Uint8Array, at: number, name: Buffer): boolean {
  return name.every((byte, index) => upper(body[at + index] ?? 0) === upper(byte));
}

function skipBlank(body: Uint8Array, from: number): number {
  let at = from;
  while (at < body.length && (body[at] ?? 0) <= 0x20) at++;
  return at;
}

function skipDigits(body: Uint8Array, from: number): number {
  let at = from;
  while ((body[at] ?? 0) >= ZERO && (body[at] ?? 0) <= NINE && at < from + 2) at++;
  return at;
}

function upper(byte: number): number {
  return byte >= 0x61 && byte <= 0x7a ? byte - 0x20 : byte;
}
