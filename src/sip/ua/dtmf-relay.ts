/** Media types of INFO bodies that carry a key. */
export const DTMF_TYPES: readonly string[] = ["application/dtmf-relay", "application/dtmf"];

const CR = 0x0d;
const LF = 0x0a;
const EQUALS = 0x3d;
const QUOTE = 0x22;
const ZERO = 0x30;
const NINE = 0x39;
const SIGNAL = Buffer.from("signal");
const LAST_EVENT = 15;
/** Keys that are no digits, as RFC 4733 event codes. */
const EVENTS: ReadonlyMap<number, number> = new Map(Array.from(Buffer.from("*#ABCD"), (code, index) => [code, 10 + index]));

/**
 * The key in an INFO body as RFC 4733 event code: 0-9, 10 = "*", 11 = "#", 12-15 = A-D; null when there is none.
 * `application/dtmf-relay` holds "Signal=5" and "Duration=160", in either order, `application/dtmf` the key alone; some peers put the key in quotes. The key may be a card's digit, so the
 * body is read as bytes and never becomes a string.
 */
export function digitOf(body: Uint8Array): number | null {
  let at = lineAt(body);
  if (startsWithSignal(body, at)) {
    at = skipBlank(body, at + SIGNAL.length);
    if (body[at] !== EQUALS) return null;
    at = skipBlank(body, at + 1);
  }
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

/** Where the line that tells the signal begins; without one, the first line. */
function lineAt(body: Uint8Array): number {
  const first = skipBlank(body, 0);
  let at = first;
  while (at < body.length && !startsWithSignal(body, at)) {
    while (at < body.length && body[at] !== CR && body[at] !== LF) at++;
    at = skipBlank(body, at);
  }
  return at < body.length ? at : first;
}

function startsWithSignal(body: Uint8Array, at: number): boolean {
  return SIGNAL.every((byte, index) => (body[at + index] ?? 0) === byte || (body[at + index] ?? 0) === upper(byte));
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
