import { JsonError, JsonNumber, type JsonValue, parseJson } from "#src/kernel/json.ts";
import type { Json } from "./types.ts";

/** Readers of what platforms send: anything may be missing or of another type, and nothing of that is a fault of its own. */

const MAX_DEPTH = 64;
const NOTHING: Json = {};

export function isObject(value: JsonValue | undefined): value is { [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);
}

/** The member of that name as an object; empty where there is none. */
export function objectIn(parent: Json, name: string): Json {
  const value = memberOf(parent, name);
  return isObject(value) ? value : NOTHING;
}

/** The member of that name if it is text that says something, or a number, which models write for text in digits; else null. */
export function textIn(parent: Json, name: string): string | null {
  const value = memberOf(parent, name);
  if (value instanceof JsonNumber) return value.text;
  return typeof value === "string" && value.trim() !== "" ? value : null;
}

/** Own members alone: a body that names `constructor` finds no function. */
export function memberOf(parent: Json, name: string): JsonValue | undefined {
  return Object.hasOwn(parent, name) ? parent[name] : undefined;
}

/** Arguments of a tool: an object, or one written as text. Nothing is no arguments; null: they are not an object. */
export function argumentsOf(value: JsonValue | undefined): Json | null {
  if (value === undefined || value === null) return NOTHING;
  if (typeof value !== "string") return isObject(value) ? value : null;
  if (value.trim() === "") return NOTHING;
  try {
    const parsed = parseJson(value, { numbers: "text", maxDepth: MAX_DEPTH });
    return isObject(parsed) ? parsed : null;
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}
