import { Cell } from "#src/kernel/card.ts";
import { JsonNumber } from "#src/kernel/json.ts";
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

/** Cells with fixed text between them as one value, such as an expiry date "2030-03". The text must need no escaping. */
export class Joined {
  readonly parts: readonly (Cell | PartOf | string)[];

  constructor(...parts: (Cell | PartOf | string)[]) {
    this.parts = parts;
  }
}

export type CardDigits = Cell | PartOf | NumberOf | Joined;
export type Scalar = string | number | boolean | Secret | CardDigits;

/** The digits where they lie: views of the cells, no copies, with the text that stands between them. */
export function digitsOf(value: CardDigits): readonly (Uint8Array | string)[] {
  if (value instanceof Joined) return value.parts.map((part) => (typeof part === "string" ? part : part.bytes()));
  if (value instanceof PartOf || value instanceof Cell) return [value.bytes()];
  const bytes = value.cell.bytes();
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0x30) start++;
  return [bytes.subarray(start)];
}

export function isDigits(value: unknown): value is CardDigits {
  return value instanceof Cell || value instanceof PartOf || value instanceof NumberOf || value instanceof Joined;
}

function writeDigits(writer: BodyWriter, value: CardDigits): void {
  for (const piece of digitsOf(value)) {
    if (typeof piece === "string") writer.text(piece);
    else writer.raw(piece);
  }
}

function plain(value: string | number | boolean | Secret): string {
  return value instanceof Secret ? value.reveal() : String(value);
}

/** Members become `name[member]`, items `name[0]`. */
export interface FormTree {
  readonly [name: string]: Scalar | null | undefined | FormTree | readonly (Scalar | FormTree)[];
}

/** Fields in the order they are sent, as a tree or (where a name may repeat) as a list; undefined and null are left out. */
export type FormFields = FormTree | readonly (readonly [string, Scalar | null | undefined])[];

type FormLeaf = readonly [name: string, value: Scalar];

function leavesOf(fields: FormFields): FormLeaf[] {
  const walk = (name: string, value: FormTree[string]): FormLeaf[] => {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return (value as readonly FormTree[string][]).flatMap((item, index) => walk(`${name}[${index}]`, item));
    if (typeof value !== "object" || isDigits(value) || value instanceof Secret) return [[name, value]];
    return Object.entries(value as FormTree).flatMap(([member, inner]) => walk(`${name}[${member}]`, inner));
  };
  const pairs = Array.isArray(fields) ? (fields as readonly (readonly [string, FormTree[string]])[]) : Object.entries(fields as FormTree);
  return pairs.flatMap(([name, value]) => walk(name, value));
}

/** application/x-www-form-urlencoded (WHATWG URL section 5.2). */
export function formBody(fields: FormFields): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter();
  for (const [index, [name, value]] of leavesOf(fields).entries()) {
    writer.text(`${index === 0 ? "" : "&"}${encodeURIComponent(name)}=`);
    if (isDigits(value)) writeDigits(writer, value);
    else writer.text(encodeURIComponent(plain(value).toWellFormed()));
  }
  return writer.finish();
}

/** A JSON number in just these digits, for decimal amounts and long ids: neither ever becomes a double. */
export const jsonNumber = (digits: string): JsonNumber => new JsonNumber(digits);

export type JsonBody = Scalar | JsonNumber | null | readonly JsonBody[] | { readonly [key: string]: JsonBody | undefined };

/** JSON (RFC 8259). A Cell, a part of one and Joined become strings, a NumberOf a number; undefined members are left out. */
export function jsonBody(value: JsonBody): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter();
  const write = (part: JsonBody): void => {
    if (part instanceof NumberOf) writeDigits(writer, part);
    else if (isDigits(part)) {
      writer.text('"');
      writeDigits(writer, part);
      writer.text('"');
    } else if (part instanceof Secret) writer.text(JSON.stringify(part.reveal()));
    else if (part instanceof JsonNumber) writer.text(part.text);
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

/** An element: its name, attributes, and text, children, or nothing. Undefined and null children are left out. */
export type XmlNode = readonly [name: string, content: Scalar | readonly (XmlNode | null | undefined)[] | null | undefined];

/** XML 1.0 in UTF-8, without a declaration unless `declared`. Text that XML cannot carry must have been cleaned. */
export function xmlBody(root: XmlNode, { declared = true }: { declared?: boolean } = {}): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter();
  if (declared) writer.text('<?xml version="1.0" encoding="UTF-8"?>');
  const write = ([name, content]: XmlNode): void => {
    if (content === undefined || content === null) return;
    writer.text(`<${name}>`);
    if (isDigits(content)) writeDigits(writer, content);
    else if (Array.isArray(content)) (content as readonly (XmlNode | null | undefined)[]).forEach((child) => child && write(child));
    else writer.text(escapedXml(plain(content as string | number | boolean | Secret)));
    writer.text(`</${name}>`);
  };
  write(root);
  return writer.finish();
}

const XML_ESCAPES = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&apos;"],
]);

function escapedXml(text: string): string {
  return text.toWellFormed().replace(/[&<>"']/g, (character) => XML_ESCAPES.get(character) ?? "");
}

/** `NAME[5]=value` joined by `&`, nothing encoded (NVP with length tags): values must be ASCII without quotes and line breaks. */
export function taggedBody(fields: FormFields): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter();
  for (const [index, [name, value]] of leavesOf(fields).entries()) {
    const pieces = isDigits(value) ? digitsOf(value) : [plain(value)];
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    writer.text(`${index === 0 ? "" : "&"}${name}[${length}]=`);
    for (const piece of pieces) writer.raw(typeof piece === "string" ? encoder.encode(piece) : piece);
  }
  return writer.finish();
}
