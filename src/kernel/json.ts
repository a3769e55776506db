/**
 * The one JSON parser of this project (RFC 8259), for bodies that others wrote. `JSON.parse` cannot do what they need:
 * say where it stopped, keep a number's text (money is never a double), bound the depth, refuse duplicate keys.
 */
export class JsonError extends Error {
  /** Characters from the start of the text, counted as code units. */
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.name = "JsonError";
    this.offset = offset;
  }
}

/** A number as it was written. Only where `numbers: "text"` was asked for. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  get value(): number {
    return Number(this.text);
  }
}

export type JsonValue = null | boolean | number | string | JsonNumber | JsonValue[] | { [key: string]: JsonValue };

interface JsonOptions {
  /** What a second key of the same name does. A gateway's answer must refuse it: success:false,success:true. */
  duplicateKeys: "last wins" | "refuse";
  /** `text` gives a JsonNumber for every number. */
  numbers: "double" | "text";
  /** Nested arrays and objects, at most. */
  maxDepth: number;
}

/** More than any call's transcript has: eight megabytes of nothing but numbers would hold the thread up for a second, and take a gigabyte. */
const MOST_VALUES = 500_000;
/** The names that an object has so far, in their order, and what they become by one more. */
type Shape = Map<string, Shape>;
/** Of these, in all: each costs as much as ten values. No call has as many. */
const MOST_SHAPES = 12_000;
/** For each of them the engine keeps a class, which costs four times as much, unless an object has more than some twenty names. */
const CLASS = { weight: 4, mostNames: 20 };
/** With its colon, value and comma. A text that is too short for more shapes need not have them counted. */
const SHORTEST_MEMBER = '"a":0,'.length;
const DEFAULTS: JsonOptions = { duplicateKeys: "last wins", numbers: "double", maxDepth: 64 };
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const BACKSLASH = 0x5c;
const ESCAPES = '"\\/bfnrt';
/** By their first letter. */
const LITERALS: ReadonlyMap<string, { word: string; value: null | boolean }> = new Map([
  ["n", { word: "null", value: null }],
  ["t", { word: "true", value: true }],
  ["f", { word: "false", value: false }],
]);

/** Decodes UTF-8 strictly (a leading BOM is dropped) and parses. Throws JsonError. */
export function parseJsonBytes(bytes: Uint8Array, options: Partial<JsonOptions> = {}): JsonValue {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new JsonError(0, "invalid UTF-8");
  }
  return parseJson(text, options);
}

/**
 * Parses `text`. Objects have no prototype's setters in play: `__proto__` becomes an own key. Throws JsonError, whose
 * message is the one Python's json module gives for the same fault, as clients of Pydantic services expect it.
 */
export function parseJson(text: string, options: Partial<JsonOptions> = {}): JsonValue {
  const settings = { ...DEFAULTS, ...options };
  let [at, values] = [0, 0];
  const empty: Shape | null = text.length > (MOST_SHAPES / CLASS.weight) * SHORTEST_MEMBER ? new Map() : null;
  let shapes = 0;

  /** Takes what the sticky `pattern` matches here, which may be nothing. */
  const match = (pattern: RegExp): string => {
    const start = at;
    pattern.lastIndex = at;
    if (pattern.test(text)) at = pattern.lastIndex;
    return text.slice(start, at);
  };
  const space = () => {
    for (let code = text.charCodeAt(at); code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;) code = text.charCodeAt(++at);
  };

  /** Looks for its end, escape by escape; what they say is read in one go. */
  const string = (): string => {
    const start = at;
    let isPlain = true;
    for (at++; text[at] !== '"'; at++) {
      const code = text.charCodeAt(at);
      if (Number.isNaN(code)) throw new JsonError(start, "string without its end");
      if (code < 0x20) throw new JsonError(at, "control character in a string");
      if (code !== BACKSLASH) continue;
      isPlain = false;
      const escape = text[at + 1];
      if (escape === undefined) throw new JsonError(start, "string without its end");
      if (escape === "u") {
        if (!/^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6))) throw new JsonError(at + 1, "\\u without four hexadecimal digits");
        at += 5;
      } else {
        if (!ESCAPES.includes(escape)) throw new JsonError(at, "unknown escape");
        at++;
      }
    }
    at++;
    return isPlain ? text.slice(start + 1, at - 1) : (JSON.parse(text.slice(start, at)) as string);
  };

  /** Reads what stands between the bracket here and its `end`, one by one. */
  const each = (end: string, read: () => void) => {
    at++;
    space();
    if (text[at] === end) return void at++;
    for (;;) {
      read();
      space();
      if (text[at] === end) return void at++;
      if (text[at] !== ",") throw new JsonError(at, "no comma between two values");
      at++;
    }
  };

  const array = (depth: number): JsonValue[] => {
    const items: JsonValue[] = [];
    each("]", () => items.push(value(depth + 1)));
    return items;
  };

  /** The shape that this one becomes by a name, its object's `count`th. */
  const extended = (shape: Shape, name: string, count: number, nameAt: number): Shape => {
    const known = shape.get(name);
    if (known) return known;
    shapes += count > CLASS.mostNames ? 1 : CLASS.weight;
    if (shapes > MOST_SHAPES) throw new JsonError(nameAt, "too many shapes of objects");
    const made: Shape = new Map();
    shape.set(name, made);
    return made;
  };

  const object = (depth: number): { [key: string]: JsonValue } => {
    const members: { [key: string]: JsonValue } = {};
    let [shape, count] = [empty, 0];
    each("}", () => {
      space();
      if (text[at] !== '"') throw new JsonError(at, "no key in double quotes");
      const keyAt = at;
      const key = string();
      if (shape) shape = extended(shape, key, ++count, keyAt);
      space();
      if (text[at] !== ":") throw new JsonError(at, "no colon after a key");
      at++;
      if (settings.duplicateKeys === "refuse" && Object.hasOwn(members, key)) throw new JsonError(keyAt, "key that was there before");
      const member = value(depth + 1);
      if (isSpecial(key)) Object.defineProperty(members, key, { value: member, writable: true, enumerable: true, configurable: false });
      else members[key] = member;
    });
    return members;
  };

  const value = (depth: number): JsonValue => {
    space();
    if (++values > MOST_VALUES) throw new JsonError(at, "too many values");
    const character = text[at];
    const opens = character === "{" || character === "[";
    if (opens && depth >= settings.maxDepth) throw new JsonError(at, "too deeply nested");
    if (character === '"') return string();
    if (character === "{") return object(depth);
    if (character === "[") return array(depth);
    const literal = character === undefined ? undefined : LITERALS.get(character);
    if (literal && text.startsWith(literal.word, at)) {
      at += literal.word.length;
      return literal.value;
    }
    const number = match(NUMBER);
    if (number === "") throw new JsonError(at, "no value");
    return settings.numbers === "text" ? new JsonNumber(number) : Number(number);
  };

  const result = value(0);
  space();
  if (at < text.length) throw new JsonError(at, "text after the value");
  return result;
}

/**
 * Names that are not assigned: `__proto__` would set the prototype, and a number of three digits and more would make the engine keep room for
 * all below it, a thousand times what was sent; for one that cannot be taken away again it keeps no more than the name.
 */
function isSpecial(name: string): boolean {
  const first = name.charCodeAt(0);
  return name === "__proto__" || (name.length > 2 && first >= ONE && first <= NINE);
}

const [ONE, NINE] = [0x31, 0x39];
