import { Cell } from "#src/kernel/card.ts";
import { Secret } from "#src/kernel/secret.ts";

/**
 * Request bodies as bytes of their own. Card digits go from their cell into the body and nowhere else, never through a
 * string; `platform/http` overwrites the body once it was sent.
 */

const encoder = new TextEncoder();

/** A growing buffer that leaves no copy behind: the old one is overwritten when it grows. */
export class BodyWriter {
  #buffer = new Uint8Array(new ArrayBuffer(2048));
  #length = 0;

  raw(bytes: Uint8Array): this {
    if (this.#length + bytes.length > this.#buffer.length) {
      const larger = new Uint8Array(new ArrayBuffer(2 ** Math.ceil(Math.log2((this.#length + bytes.length) * 2))));
      larger.set(this.#buffer.subarray(0, this.#length));
      this.#buffer.fill(0);
      this.#buffer = larger;
    }
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  text(text: string): this {
    return this.raw(encoder.encode(text));
  }

  /** The finished body. The writer is spent: the bytes are the writer's own memory, not a copy. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#length);
  }
}

/** Digits of a cell to be written as a JSON number: leading zeros dropped. */
export class NumberOf {
  readonly cell: Cell;

  constructor(cell: Cell) {
    this.cell = cell;
  }
}

/** A part of a cell, such as the last two digits of the year. */
export class PartOf {
  readonly cell: Cell;
  readonly start: number;
  readonly end: number | undefined;

  constructor(cell: Cell, start: number, end?: number) {
    this.cell = cell;
    this.start = start;
    this.end = end;
  }

  bytes(): Uint8Array {
    return this.cell.bytes(this.start, this.end);
  }
}

export type Scalar = string | number | boolean | Secret | Cell | PartOf | NumberOf;

function digitsOf(value: Cell | PartOf | NumberOf): Uint8Array {
  if (value instanceof PartOf || value instanceof Cell) return value.bytes();
  const bytes = value.cell.bytes();
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0x30) start++;
  return bytes.subarray(start);
}

function isDigits(value: unknown): value is Cell | PartOf | NumberOf {
  return value instanceof Cell || value instanceof PartOf || value instanceof NumberOf;
}

function plain(value: string | number | boolean | Secret): string {
  return value instanceof Secret ? value.reveal() : String(value);
}

/** Fields in the order they are sent; undefined and null values are left out. */
export type FormFields = readonly (readonly [string, Scalar | null | undefined])[];

/** application/x-www-form-urlencoded (WHATWG URL section 5.2). */
export function formBody(fields: FormFields): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter();
  let first = true;
  for (const [name, value] of fields) {
    if (value === undefined || value === null) continue;
    writer.text(`${first ? "" : "&"}${encodeURIComponent(name)}=`);
    first = false;
    if (isDigits(value)) writer.raw(digitsOf(value));
    else writer.text(encodeURIComponent(plain(value).toWellFormed()));
  }
  return writer.finish();
}

export type JsonBody = Scalar | null | readonly JsonBody[] | { readonly [key: string]: JsonBody | undefined };

/** JSON (RFC 8259). A Cell becomes a string of digits, a NumberOf a number; undefined members are left out. */
export function jsonBody(value: JsonBody): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter();
  const write = (part: JsonBody): void => {
    if (part instanceof NumberOf) writer.raw(digitsOf(part));
    else if (part instanceof Cell || part instanceof PartOf) writer.text('"').raw(digitsOf(part)).text('"');
    else if (part instanceof Secret) writer.text(JSON.stringify(part.reveal()));
    else if (Array.isArray(part)) {
      writer.text("[");
      for (const [index, item] of (part as readonly JsonBody[]).entries()) {
        if (index > 0) writer.text(",");
        write(item);
      }
      writer.text("]");
    } else if (part !== null && typeof part === "object") {
      writer.text("{");
      let first = true;
      for (const [key, member] of Object.entries(part as { [key: string]: JsonBody | undefined })) {
        if (member === undefined) continue;
        writer.text(`${first ? "" : ","}${JSON.stringify(key)}:`);
        first = false;
        write(member);
      }
      writer.text("}");
    } else writer.text(JSON.stringify(part));
  };
  write(value);
  return writer.finish();
}
