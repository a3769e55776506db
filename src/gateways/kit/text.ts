import { createHash } from "node:crypto";

/** Text of ours in the forms that vendors take. */

const MARKS = /\p{M}+/gu;
const NOT_PRINTABLE_ASCII = /[^\x20-\x7e]+/gu;

/** Printable ASCII of at most `limit` characters: accents are dropped, what has no ASCII form becomes one `?`. */
export function asciiText(text: string, limit: number): string {
  const plain = text.normalize("NFKD").replace(MARKS, "").replace(/\s+/gu, " ").replace(NOT_PRINTABLE_ASCII, "?");
  return plain.trim().slice(0, limit);
}

/** A name as vendors that ask for two parts want it: the last word is the last name. */
export function splitName(name: string): { first: string; last: string } {
  const words = name.trim().split(/\s+/u);
  const last = words.pop() ?? "";
  return { first: words.join(" "), last };
}

/**
 * A reference for vendors that take fewer characters than ours has: a cut hash of the whole of it, because the attempt's
 * number stands at its end. Lower-case letters alone (4.7 bits each), so that it can never look like a card number.
 */
export function shortReference(reference: string, length: number): string {
  const hash = createHash("sha512").update(reference).digest();
  return Array.from(hash.subarray(0, length), (byte) => String.fromCharCode(97 + (byte % 26))).join("");
}
