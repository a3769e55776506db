import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ITEM_TYPES } from "../scripts/errors-page.ts";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");

test("docs/errors.md explains every type that a 422 can have (R-006)", () => {
  const types = [...read("src/api/schemas/faults.ts").matchAll(/new Fault\("([a-z_]+)"/g)].map(([, type]) => type!);
  assert.ok(types.length > 15);
  assert.deepEqual(
    types.filter((type) => !ITEM_TYPES.has(type)),
    [],
  );
});

test("every row of docs/errors.md has its meaning and what to do, no cell is empty (R-417)", () => {
  const rows = read("docs/errors.md")
    .split("\n")
    .filter((line) => /^\| [^-]/.test(line));
  assert.ok(rows.length > 60);
  assert.deepEqual(
    rows.filter((line) => /\|\s*\|/.test(line) || (line.endsWith("| no |") && /^\| \d/.test(line))),
    [],
  );
});
