/**
 * Text that PostgreSQL takes: it refuses NUL in any text, and half a surrogate pair in JSON, with a fault that would come back however
 * often the statement is tried. Here the sign goes, not the row.
 */
export function storable(text: string): string {
  return text.includes("\0") || !text.isWellFormed() ? text.replaceAll("\0", "").toWellFormed() : text;
}

/** A value as JSON text for a query, all its texts and names storable. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item === "string") return storable(item);
    if (item === null || typeof item !== "object" || Array.isArray(item)) return item;
    return Object.keys(item).every((name) => storable(name) === name)
      ? item
      : Object.fromEntries(Object.entries(item).map(([name, member]) => [storable(name), member]));
  });
}
