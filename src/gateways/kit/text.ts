import { createHash } from "node:crypto";

/** Text of ours in the forms that vendors take. */

const MARKS = /\p{M}+/gu;
const NOT_PRINTABLE_ASCII = /[^\x20-\x7e]+/gu;

/** Printable ASCII of at most `limit` characters: accents are dropped, what has no ASCII form becomes one `?`. */
export function asciiText(text: string, limit: number): string {
  const plain = text.normalize("NFKD").replace(MARKS, "").replace(/\s+/gu, " ").replace(NOT_PRINTABLE_ASCII, "?");
  return plain.trim().slice(0, limit).trimEnd();
}

/**
 * Any script, but well-formed, without control characters (what XML 1.0 can carry), cut on a code point. The limit is in UTF-16
 * units: most vendors count so, and a text that fits is within one that is counted in characters as well.
 */
export function unicodeText(text: string, limit: number): string {
  const clean = text
    .toWellFormed()
    .replace(/[\p{Cc}\uFFFE\uFFFF]+/gu, " ")
    .trim();
  const isSplit = (clean.codePointAt(limit - 1) ?? 0) > 0xffff;
  return clean.slice(0, isSplit ? limit - 1 : limit).trimEnd();
}

/** The same for a text that may be missing; undefined when nothing is left: an empty field is often an error to a vendor. */
export function optionalText(
  clean: (text: string, limit: number) => string,
  text: string | null | undefined,
  limit: number,
): string | undefined {
  return clean(text ?? "", limit) || undefined;
}

/** A name as vendors that ask for two parts want it: the last word is the last name. */
export function splitName(name: string): { first: string; last: string } {
  const words = name.trim().split(/\s+/u);
  const last = words.pop() ?? "";
  return { first: words.join(" "), last };
}

/**
 * A card holder's name in Latin letters, for vendors that refuse other scripts: accents are dropped; undefined when fewer than
 * two letters are left.
 */
export function latinName(name: string, limit: number): string | undefined {
  const latin = name
    .normalize("NFKD")
    .replace(/[^A-Za-z '.-]+/g, "")
    .replace(/ +/g, " ")
    .trim()
    .slice(0, limit)
    .trimEnd();
  return /[A-Za-z].*[A-Za-z]/.test(latin) ? latin : undefined;
}

const digest = (reference: string) => createHash("sha512").update(reference).digest();

/**
 * A reference for vendors that take fewer characters than ours has: a cut hash of the whole of it, because the attempt's
 * number stands at its end. Lower-case letters alone (4.7 bits each), so that it can never look like a card number.
 */
export function shortReference(reference: string, length: number): string {
  return Array.from(digest(reference).subarray(0, length), (byte) => String.fromCharCode(97 + (byte % 26))).join("");
}

/** The same in the form of a UUID (RFC 9562 version 8), for vendors that want one: the same reference gives the same. */
export function uuidReference(reference: string): string {
  const bytes = digest(reference).subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
