import { JsonNumber, parseJsonBytes } from "#src/kernel/json.ts";
import type { JsonValue } from "#src/kernel/json.ts";

export type JsonObject = { [key: string]: JsonValue };

/**
 * A vendor's JSON answer, read strictly: valid UTF-8, one object, no key twice. Null for anything else: HTML,
 * a truncated body, an array. Numbers keep their text: neither an amount nor an id is ever a double.
 */
export function readJson(body: Uint8Array): JsonObject | null {
  try {
    const value = parseJsonBytes(body, { duplicateKeys: "refuse", numbers: "text" });
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The same for an answer that is a list of objects. */
export function readJsonList(body: Uint8Array): JsonObject[] | null {
  try {
    return objectsAt(parseJsonBytes(body, { duplicateKeys: "refuse", numbers: "text" }));
  } catch {
    return null;
  }
}

type Node = JsonValue | undefined;

export function isObject(value: Node): value is JsonObject {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The member at the end of `path`; undefined as soon as one step is missing or no object. A number steps into an array. */
export function at(value: Node, ...path: (string | number)[]): JsonValue | undefined {
  let current = value;
  for (const key of path) {
    if (typeof key === "number") current = Array.isArray(current) ? current[key] : undefined;
    else current = isObject(current) && Object.hasOwn(current, key) ? current[key] : undefined;
  }
  return current;
}

/** The string at the end of `path`, or undefined when there is none or it is of another type. */
export function textAt(value: Node, ...path: (string | number)[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === "string" ? found : undefined;
}

/** The string or number at the end of `path`, a number in its own digits: codes and ids come as either. */
export function scalarAt(value: Node, ...path: (string | number)[]): string | undefined {
  const found = at(value, ...path);
  return found instanceof JsonNumber ? found.text : typeof found === "string" ? found : undefined;
}

/** The id at the end of `path` in the vendor's form, so that nothing else of an odd answer can be stored. */
export function idAt(value: Node, form: RegExp, ...path: (string | number)[]): string | undefined {
  const id = scalarAt(value, ...path);
  return id !== undefined && form.test(id) ? id : undefined;
}

/** Whether the answer is about something else: what stands at the end of `path` is not `expected`, in whatever type. */
export function saysOther(value: Node, expected: string, ...path: (string | number)[]): boolean {
  return (at(value, ...path) ?? null) !== null && scalarAt(value, ...path) !== expected;
}

/** The objects of the list at the end of `path`; null when it is no list, or one of its items is no object. */
export function objectsAt(value: Node, ...path: (string | number)[]): JsonObject[] | null {
  const list = at(value, ...path);
  return Array.isArray(list) && list.every((item): item is JsonObject => isObject(item)) ? list : null;
}
