/**
 * Finds the card's fields in the bytes of a charge (RFC 8259) without making a string of any of them: V8 frees strings but
 * does not overwrite them (docs/security.md, Memory). What is found are places in the bytes; `card-body.ts` reads them.
 */

const CARD_FIELDS = ["number", "exp_month", "exp_year", "cvv", "cardholder_name", "postal_code"] as const;
export type CardField = (typeof CARD_FIELDS)[number];

/** Where a value stands, a string's quotes left out. `other`: an array, an object, true or false. */
export interface Span {
  kind: "string" | "number" | "null" | "other";
  start: number;
  end: number;
}

type Scan =
  | { kind: "card"; fields: Partial<Record<CardField, Span>> }
  /** Not JSON, from this byte on. */
  | { kind: "broken"; offset: number }
  /** JSON, but the body or its `card` is missing or no object. */
  | { kind: "no object"; at: "body" | "card"; missing: boolean };

const MAX_DEPTH = 64;
const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const WORDS: readonly (readonly [string, Span["kind"]])[] = [
  ["null", "null"],
  ["true", "other"],
  ["false", "other"],
];
const ENDS_A_NUMBER: ReadonlySet<number | undefined> = new Set([undefined, COMMA, CLOSE_BRACE, CLOSE_BRACKET, ...SPACES]);

class Broken extends Error {
  readonly offset: number;

  constructor(offset: number) {
    super("not JSON");
    this.offset = offset;
  }
}

/** Reads the whole body, unknown members included; of two members with one name the last counts. */
export function scanCard(bytes: Uint8Array): Scan {
  let at = 0;
  const found = { card: "missing" as "missing" | "object" | "other", fields: {} as Partial<Record<CardField, Span>> };

  const space = () => {
    while (SPACES.has(bytes[at] ?? 0)) at++;
  };
  const expect = (byte: number) => {
    if (bytes[at] !== byte) throw new Broken(at);
    at++;
  };
  const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39;

  const string = (): Span => {
    expect(QUOTE);
    const start = at;
    for (;;) {
      const byte = bytes[at];
      if (byte === undefined || byte < 0x20) throw new Broken(at);
      if (byte === QUOTE) return { kind: "string", start, end: at++ };
      at += byte === BACKSLASH ? escapeLength(bytes, at) : 1;
    }
  };
  const digits = () => {
    if (!isDigit(bytes[at])) throw new Broken(at);
    while (isDigit(bytes[at])) at++;
  };
  const number = (): Span => {
    const start = at;
    if (bytes[at] === 0x2d) at++;
    if (bytes[at] === 0x30) at++;
    else digits();
    if (bytes[at] === 0x2e) {
      at++;
      digits();
    }
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      at++;
      if (bytes[at] === 0x2b || bytes[at] === 0x2d) at++;
      digits();
    }
    if (!ENDS_A_NUMBER.has(bytes[at])) throw new Broken(at);
    return { kind: "number", start, end: at };
  };
  /** Reads what stands between the bracket here and its `end`, one by one. */
  const each = (depth: number, end: number, read: () => void) => {
    if (depth > MAX_DEPTH) throw new Broken(at);
    at++;
    space();
    if (bytes[at] === end) return void at++;
    for (;;) {
      read();
      space();
      if (bytes[at] === end) return void at++;
      expect(COMMA);
    }
  };
  const members = (depth: number, onMember: (name: Span) => void) =>
    each(depth, CLOSE_BRACE, () => {
      space();
      const name = string();
      space();
      expect(COLON);
      onMember(name);
    });
  const value = (depth: number): Span => {
    space();
    const start = at;
    const byte = bytes[at];
    if (byte === QUOTE) return string();
    if (byte === OPEN_BRACE) members(depth + 1, () => void value(depth + 1));
    else if (byte === OPEN_BRACKET) each(depth + 1, CLOSE_BRACKET, () => void value(depth + 1));
    else {
      const word = WORDS.find(([text]) => equals(bytes.subarray(at, at + text.length), text));
      if (!word) return number();
      at += word[0].length;
      return { kind: word[1], start, end: at };
    }
    return { kind: "other", start, end: at };
  };
  const cardMember = (name: Span) => {
    const span = value(2);
    const field = CARD_FIELDS.find((field) => equals(bytes.subarray(name.start, name.end), field));
    if (field) found.fields[field] = span;
  };
  const bodyMember = (name: Span) => {
    space();
    const isCard = equals(bytes.subarray(name.start, name.end), "card");
    const isObject = isCard && bytes[at] === OPEN_BRACE;
    if (isCard) {
      found.fields = {};
      found.card = isObject ? "object" : "other";
    }
    if (isObject) members(2, cardMember);
    else value(1);
  };

  try {
    space();
    if (bytes[at] === OPEN_BRACE) members(1, bodyMember);
    else {
      const { kind } = value(0);
      space();
      if (at < bytes.length) throw new Broken(at);
      return { kind: "no object", at: "body", missing: kind === "null" };
    }
    space();
    if (at < bytes.length) throw new Broken(at);
  } catch (error) {
    if (error instanceof Broken) return { kind: "broken", offset: error.offset };
    throw error;
  }
  if (found.card === "object") return { kind: "card", fields: found.fields };
  return { kind: "no object", at: "card", missing: found.card === "missing" };
}

/** Bytes of the escape that begins at `at`. */
function escapeLength(bytes: Uint8Array, at: number): number {
  const kind = bytes[at + 1];
  if (kind === 0x75) {
    for (let index = at + 2; index < at + 6; index++) if (hexDigit(bytes[index]) < 0) throw new Broken(at);
    return 6;
  }
  if (kind === undefined || !ESCAPES.has(kind)) throw new Broken(at);
  return 2;
}

/** What stands for a character after a backslash, and the character. */
const ESCAPES: ReadonlyMap<number, number> = new Map(
  Object.entries({ '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }).map(([letter, character]) => [
    letter.charCodeAt(0),
    character.charCodeAt(0),
  ]),
);

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : -1;
}

function equals(bytes: Uint8Array, text: string): boolean {
  return bytes.length === text.length && bytes.every((byte, index) => byte === text.charCodeAt(index));
}

/** The characters of a string's or a number's span in UTF-8: code points, and of escapes the code units they name. */
export function* unescaped(bytes: Uint8Array, { start, end }: Span): Generator<number> {
  for (let at = start; at < end;) {
    const byte = bytes[at]!;
    if (byte !== BACKSLASH) {
      const following = FOLLOWING_BYTES.find(([lead]) => byte >= lead)?.[1] ?? 0;
      let point = following === 0 ? byte : byte & (0x3f >> following);
      for (let index = 1; index <= following; index++) point = (point << 6) | (bytes[at + index]! & 0x3f);
      yield point;
      at += 1 + following;
    } else if (bytes[at + 1] === 0x75) {
      let unit = 0;
      for (let index = at + 2; index < at + 6; index++) unit = unit * 16 + hexDigit(bytes[index]);
      yield unit;
      at += 6;
    } else {
      yield ESCAPES.get(bytes[at + 1]!)!;
      at += 2;
    }
  }
}

/** Least first byte of a character of so many more bytes (RFC 3629 section 3). */
const FOLLOWING_BYTES = [
  [0xf0, 3],
  [0xe0, 2],
  [0xc0, 1],
] as const;
