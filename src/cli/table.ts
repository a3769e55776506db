/** Rows as aligned columns for a terminal, under their headings when there are any. */
export function table(headings: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  const lines = headings.length === 0 ? rows : [headings, ...rows];
  const cells = lines.map((row) => row.map((cell) => String(cell ?? "-")));
  const widths: number[] = [];
  for (const row of cells) for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return cells.map((row) => line(row).trimEnd()).join("\n");
}

/** Name and value, one a line; what is null is left out. */
export function facts(rows: readonly (readonly [string, string | number | null])[]): string {
  return table(
    [],
    rows.filter(([, value]) => value !== null),
  );
}

/** `2026-03-01 12:00:05` UTC, from the ISO form. */
export function moment(iso: string | null): string | null {
  return iso === null ? null : iso.slice(0, 19).replace("T", " ");
}
