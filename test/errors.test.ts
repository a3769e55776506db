import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ITEM_TYPES, renderErrors } from "../scripts/errors-page.ts";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");

test("docs/errors.md is current; `npm run errors` writes it (R-417)", () => {
  assert.equal(read("docs/errors.md"), renderErrors());
});

test("docs/errors.md explains every type that a 422 can have (R-006)", () => {
  const types = [...read("src/api/schemas/faults.ts").matchAll(/new Fault\("([a-z_]+)"/g)].map(([, type]) => type!);
  assert.ok(types.length > 15);
  assert.deepEqual(
    types.filter((type) => !ITEM_TYPES.has(type)),
    [],
  );
});
