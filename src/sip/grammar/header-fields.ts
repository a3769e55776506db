import { fromOctets, toOctets } from "./octets.ts";
import { isToken, splitList } from "./scanner.ts";

/** Compact forms (RFC 3261 section 7.3.3 and the registry's later ones). */
const COMPACT: ReadonlyMap<string, string> = new Map([
  ["a", "accept-contact"],
  ["b", "referred-by"],
  ["c", "content-type"],
  ["d", "request-disposition"],
  ["e", "content-encoding"],
  ["f", "from"],
  ["i", "call-id"],
  ["j", "reject-contact"],
  ["k", "supported"],
  ["l", "content-length"],
  ["m", "contact"],
  ["o", "event"],
  ["r", "refer-to"],
  ["s", "subject"],
  ["t", "to"],
  ["u", "allow-events"],
  ["v", "via"],
  ["x", "session-expires"],
  ["y", "identity"],
]);

/** The name headers are compared by: lower case, long form. */
export function fieldKey(name: string): string {
  const lower = name.toLowerCase();
  return COMPACT.get(lower) ?? lower;
}

interface Field {
  readonly key: string;
  readonly name: string;
  /** Octet string, folding undone, no white space at the ends. */
  readonly value: string;
}

const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/;

/** The header fields of one message, in their order. Values go in and come out as octet strings (octets.ts). */
export class HeaderFields {
  readonly #fields: Field[] = [];

  add(name: string, value: string): this {
    this.#fields.push({ key: fieldKey(name), name, value });
    return this;
  }

  /**
   * Adds a header the application chose. Throws TypeError when the name is no token or the value would not stay one line
   * of printable text: header injection ends here (S-87).
   */
  addText(name: string, value: string): this {
    if (!isToken(name)) throw new TypeError("not a SIP header name");
    if (CONTROL.test(value)) throw new TypeError(`control character in SIP header ${name}`);
    return this.add(name, toOctets(value.trim()));
  }

  /** Copies every field called `name` from `other`, as written there. */
  copy(name: string, other: HeaderFields): this {
    for (const value of other.all(name)) this.add(name, value);
    return this;
  }

  /** Replaces the first field called `name`. */
  replaceFirst(name: string, value: string): void {
    const key = fieldKey(name);
    const index = this.#fields.findIndex((field) => field.key === key);
    if (index >= 0) this.#fields[index] = { key, name, value };
  }

  /** Puts a field before all others. */
  prepend(name: string, value: string): this {
    this.#fields.unshift({ key: fieldKey(name), name, value });
    return this;
  }

  /** The first value of that name as an octet string; null when absent. */
  first(name: string): string | null {
    const key = fieldKey(name);
    return this.#fields.find((field) => field.key === key)?.value ?? null;
  }

  /** The values of that name, one per header line. */
  all(name: string): string[] {
    const key = fieldKey(name);
    return this.#fields.filter((field) => field.key === key).map((field) => field.value);
  }

  /** The elements of that name's lines, lists split at their commas, empty elements left out. */
  list(name: string): string[] {
    return this.all(name).flatMap((value) => splitList(value));
  }

  text(name: string): string | null {
    const value = this.first(name);
    return value === null ? null : fromOctets(value);
  }

  /** Names as they were written, in order. */
  get names(): string[] {
    return this.#fields.map(({ name }) => name);
  }

  get size(): number {
    return this.#fields.length;
  }

  /** The lines as they go on the wire, each with its CRLF; without Content-Length, which the message computes. */
  toString(): string {
    const lines = this.#fields.filter(({ key }) => key !== "content-length");
    return lines.map((field) => `${field.name}: ${field.value}\r\n`).join("");
  }

  clone(): HeaderFields {
    return this.without([]);
  }

  /** A copy without the fields of these names. */
  without(names: readonly string[]): HeaderFields {
    const keys = names.map(fieldKey);
    const copy = new HeaderFields();
    for (const field of this.#fields) if (!keys.includes(field.key)) copy.#fields.push(field);
    return copy;
  }
}
