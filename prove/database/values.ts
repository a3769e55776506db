/** SQL values as the drivers give them to the program, and the operations on them that the statements of this project use. */
export type Value = null | string | number | boolean | Date | Interval | object;

export type Row = Record<string, Value>;

/** A value as words, for messages and keys. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

export class Interval {
  readonly ms: number;

  constructor(ms: number) {
    this.ms = ms;
  }

  valueOf(): number {
    return this.ms;
  }
}

const UNITS: Readonly<Record<string, number>> = { millisecond: 1, second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 };

export function parseInterval(text: string): Interval {
  const match = /^(\d+(?:\.\d+)?) (\w+?)s?$/.exec(text);
  const unit = UNITS[match?.[2] ?? ""];
  if (unit === undefined) throw new SyntaxError(`the model of the database cannot read the interval "${text}"`);
  return new Interval(Number(match?.[1]) * unit);
}

function comparable(value: Value): string | number | boolean {
  if (value instanceof Date || value instanceof Interval) return Number(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("latin1");
  if (typeof value === "object") throw new TypeError("the model of the database compares no JSON");
  return value;
}

/** Negative, 0, positive; null when either is null. */
export function compare(left: Value, right: Value): number | null {
  if (left === null || right === null) return null;
  const [a, b] = [comparable(left), comparable(right)];
  if (typeof a !== typeof b) throw new TypeError(`the model of the database compares ${typeof a} with ${typeof b}`);
  return a < b ? -1 : a > b ? 1 : 0;
}

export function add(left: Value, right: Value, sign: 1 | -1): Value {
  if (left === null || right === null) return null;
  if (left instanceof Date && right instanceof Interval) return new Date(left.getTime() + sign * right.ms);
  if (left instanceof Date && right instanceof Date && sign === -1) return new Interval(left.getTime() - right.getTime());
  if (typeof left === "number" && typeof right === "number") return left + sign * right;
  throw new TypeError("the model of the database cannot add these");
}

export function multiply(left: Value, right: Value): Value {
  if (left === null || right === null) return null;
  if (typeof left === "number" && right instanceof Interval) return new Interval(left * right.ms);
  if (left instanceof Interval && typeof right === "number") return new Interval(left.ms * right);
  return Number(left) * Number(right);
}

/** `||`: array to array, text to text, JSON object to JSON object. */
export function join(left: Value, right: Value): Value {
  if (left === null || right === null) return null;
  if (Array.isArray(left) && Array.isArray(right)) return [...left, ...right] as Value[];
  if (typeof left === "object" && typeof right === "object") return Object.assign({}, left, right);
  return textOf(left) + textOf(right);
}

/** `@>`: every element of the one array stands in the other; every member of the one JSON object, a literal of text, in the other. */
export function contains(left: Value, right: Value): Value {
  if (left === null || right === null) return null;
  if (Array.isArray(left)) return (right as Value[]).every((wanted) => (left as Value[]).some((item) => compare(item, wanted) === 0));
  const held = (typeof left === "string" ? JSON.parse(left) : left) as Record<string, Value>;
  const wanted = (typeof right === "string" ? JSON.parse(right) : right) as Record<string, Value>;
  return Object.entries(wanted).every(([name, value]) => held[name] === value);
}

export function cast(value: Value, type: string): Value {
  if (value === null) return null;
  switch (type) {
    case "interval":
      return typeof value === "string" ? parseInterval(value) : value;
    case "jsonb":
      return typeof value === "string" ? (JSON.parse(value) as Value) : value;
    case "bigint":
    case "integer":
    case "float8":
      return Number(value);
    case "timestamptz":
      return typeof value === "string" ? new Date(value) : value;
    case "uuid[]":
    case "text[]":
      return value === "{}" ? [] : value;
    case "text":
    case "uuid":
    case "boolean":
    case "bytea":
      return value;
    default:
      throw new SyntaxError(`the model of the database does not know the type ${type}`);
  }
}
