import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { cited, readRequirements, renderRequirements } from "../scripts/requirement-rows.ts";

test("docs/requirements.md is current; `npm run requirements` writes it", () => {
  const { sections } = readRequirements();
  assert.equal(readFileSync(new URL("../docs/requirements.md", import.meta.url), "utf8"), renderRequirements(sections));
});

test("no test cites a row that does not exist", () => {
  const { sections, strays } = readRequirements();
  assert.deepEqual(strays, []);
  assert.ok(sections.flatMap(({ rows }) => rows).length > 280);
});

test("a citation is one row or all rows of a range", () => {
  const known = ["R-007", "R-008", "R-010", "R-011", "table C2"];
  assert.deepEqual(cited("something holds (R-007 to R-010, R-011)", known), ["R-007", "R-008", "R-010", "R-011"]);
  assert.deepEqual(cited("amounts (table C2, R-008)", known), ["table C2", "R-008"]);
  assert.deepEqual(cited("an unknown one (R-999)", known), ["R-999"]);
});
