/** Just enough DER (ITU-T X.690) to write an X.509 certificate. */

/** One element: tag, length in the shortest form, content. */
export function element(tag: number, ...content: Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(body.length)]), body]);
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 + bytes.length, ...bytes];
}

export const sequence = (...items: Uint8Array[]): Buffer => element(0x30, ...items);
export const set = (...items: Uint8Array[]): Buffer => element(0x31, ...items);
export const octets = (bytes: Uint8Array): Buffer => element(0x04, bytes);
export const bits = (bytes: Uint8Array, unused = 0): Buffer => element(0x03, Buffer.from([unused]), bytes);
export const boolean = (value: boolean): Buffer => element(0x01, Buffer.from([value ? 0xff : 0]));
export const utf8 = (text: string): Buffer => element(0x0c, Buffer.from(text));

/** A positive integer: a zero byte in front where the first bit would make it negative, no other leading zeros. */
export function integer(value: Uint8Array | number): Buffer {
  const bytes = typeof value === "number" ? [value] : Array.from(value);
  while (bytes.length > 1 && bytes[0] === 0) bytes.shift();
  return element(0x02, Buffer.from((bytes[0] ?? 0) >= 0x80 ? [0, ...bytes] : bytes));
}

/** An object identifier from its dotted form (X.690 section 8.19). */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second, ...rest].flatMap((arc) => {
    const septets = [arc & 0x7f];
    for (let more = arc >>> 7; more > 0; more >>>= 7) septets.unshift((more & 0x7f) | 0x80);
    return septets;
  });
  return element(0x06, Buffer.from(bytes));
}

/** GeneralizedTime after 2049, else UTCTime (RFC 5280 section 4.1.2.5). */
export function time(when: Date): Buffer {
  const digits = when.toISOString().replace(/[-:T]|\..*/g, "");
  const long = when.getUTCFullYear() >= 2050;
  return element(long ? 0x18 : 0x17, Buffer.from(`${long ? digits : digits.slice(2)}Z`));
}

/** A context-specific element: `constructed` when it holds other elements. */
export function tagged(number: number, content: Uint8Array, constructed = true): Buffer {
  return element(0x80 + (constructed ? 0x20 : 0) + number, content);
}
