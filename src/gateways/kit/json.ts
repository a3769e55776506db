import { parseJsonBytes } from "#src/kernel/json.ts";
import type { JsonValue } from "#src/kernel/json.ts";

export type JsonObject = { [key: string]: JsonValue };

/**
 * A vendor's JSON answer, read strictly: valid UTF-8, one object, no key twice. Null for anything else: HTML,
 * a truncated body, an array. Numbers keep their text with `numbers: "text"`.
 */
export function readJsonObject(body: Uint8Array, numbers: "double" | "text" = "double"): JsonObject | null {
  try {
    const value = parseJsonBytes(body, { duplicateKeys: "refuse", numbers });
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The member at the end of `path`; undefined as soon as one step is missing or no object. */
export function at(value: JsonValue | undefined, ...path: string[]): JsonValue | undefined {
  let current = value;
  for (const key of path) {
    if (!isObject(current) || !Object.hasOwn(current, key)) return undefined;
    current = current[key];
  }
  return current;
}

/** The string at the end of `path`, or undefined when there is none or it is of another type. */
export function textAt(value: JsonValue | undefined, ...path: string[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === "string" ? found : undefined;
}
