import { z } from "zod";
import { JsonNumber } from "#src/kernel/json.ts";
import { Fault, FAULTS, Invalid, type Item } from "./faults.ts";

/** Which part of the request a value came from; the first word of every `loc`. */
export type Part = "path" | "query" | "header" | "body";

/** Checks `value` against `schema`; throws Invalid with all its faults, in the order of the schema's fields. */
export function parse<T>(schema: z.ZodType<T>, value: unknown, part: Part): T {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  throw new Invalid(result.error.issues.map((issue) => itemOf(issue, part)));
}

/** Runs checks one after another and throws the faults of all of them together; anything else that one throws at once. */
export async function parseAll<T extends unknown[]>(...checks: { [K in keyof T]: () => T[K] | Promise<T[K]> }): Promise<T> {
  const items: Item[] = [];
  const results: unknown[] = [];
  for (const check of checks) {
    try {
      results.push(await check());
    } catch (error) {
      if (!(error instanceof Invalid)) throw error;
      items.push(...error.items);
    }
  }
  if (items.length > 0) throw new Invalid(items);
  return results as T;
}

/** A zod issue in the words of Pydantic. Our own checks put a Fault in `params`; zod's are translated here. */
function itemOf(issue: z.core.$ZodIssue, part: Part): Item {
  const { type, msg } = faultOf(issue);
  return { type, loc: [part, ...(issue.path as (string | number)[])], msg };
}

function faultOf(issue: z.core.$ZodIssue): Fault {
  if (issue.input === undefined) return FAULTS.missing;
  if (issue.code === "custom") return issue.params?.["fault"] as Fault;
  if (issue.code === "invalid_value") return FAULTS.choice(issue.values.map(String));
  if (issue.code === "invalid_type") return issue.expected === "object" ? FAULTS.notAnObject : FAULTS.stringType;
  throw new Error(`No words for the issue ${issue.code}`);
}

/** How a field that only its own code understands is shown in the description: JSON Schema. */
export type Shown = Record<string, unknown>;

/** A field of its own kind: `read` sees what was sent (undefined when absent) and returns the value or the fault. */
export function field<T>(shown: Shown, read: (input: unknown) => T | Fault): z.ZodType<T> {
  const schema = z.unknown().transform((input, context) => {
    const result = input === undefined ? FAULTS.missing : read(input);
    if (!(result instanceof Fault)) return result;
    context.issues.push({ code: "custom", input, params: { fault: result } });
    return z.NEVER;
  });
  return schema.meta(shown);
}

interface TextRules {
  /** Code points, as Python counts them. */
  min?: number;
  max?: number;
  /** UTF-8 bytes. */
  maxBytes?: number;
  pattern?: RegExp;
}

/** As `field`, for a string that obeys `rules`. */
export function textField<T>(shown: Shown, read: (text: string) => T | Fault, rules: TextRules = {}): z.ZodType<T> {
  return field({ type: "string", ...shownText(rules), ...shown }, (input) =>
    typeof input === "string" ? (textFault(input, rules) ?? read(input)) : FAULTS.stringType,
  );
}

/** A string that PostgreSQL can hold (no NUL, no lone surrogate) and that obeys `rules`. */
export function text(rules: TextRules = {}): z.ZodType<string> {
  const schema = z.string().check((payload) => {
    const fault = textFault(payload.value, rules);
    if (fault) payload.issues.push({ code: "custom", input: payload.value, params: { fault } });
  });
  return schema.meta(shownText(rules));
}

function shownText({ min, max, maxBytes, pattern }: TextRules): Shown {
  return {
    ...(min === undefined ? {} : { minLength: min }),
    ...(max === undefined ? {} : { maxLength: max }),
    ...(maxBytes === undefined ? {} : { description: `At most ${maxBytes} bytes of UTF-8.` }),
    ...(pattern ? { pattern: pattern.source } : {}),
  };
}

function textFault(value: string, { min, max, maxBytes, pattern }: TextRules): Fault | null {
  if (!value.isWellFormed() || value.includes("\0")) return FAULTS.stringUnicode;
  if (min !== undefined && codePoints(value, min) < min) return FAULTS.tooShort(min);
  if (max !== undefined && value.length > max && codePoints(value, max + 1) > max) return FAULTS.tooLong(max);
  if (maxBytes !== undefined && value.length * 3 > maxBytes && Buffer.byteLength(value) > maxBytes) return FAULTS.tooManyBytes(maxBytes);
  if (pattern && !pattern.test(value)) return FAULTS.pattern(pattern);
  return null;
}

/** Code points of `value`, counted no further than `enough`. */
function codePoints(value: string, enough: number): number {
  let points = 0;
  for (const _ of value) {
    if (++points >= enough) break;
  }
  return points;
}

/** An object with the given fields; unknown ones are ignored. Scalars and arrays are one fault, not many. */
export function model<S extends z.ZodRawShape>(shape: S): z.ZodType<z.output<z.ZodObject<S>>> {
  // A number's text is an object to zod: it must not pass for one whose fields are all missing.
  return z.preprocess((input) => (input instanceof JsonNumber ? 0 : input), z.object(shape)) as never;
}
