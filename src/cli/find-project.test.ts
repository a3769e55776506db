import assert from "node:assert/strict";
import { test } from "node:test";
import { findProject } from "./find-project.ts";

const projects = [
  { organization: "acme", project: "shop", archived: false },
  { organization: "other", project: "shop", archived: true },
  { organization: "acme", project: "old", archived: true },
  { organization: "acme", project: "both", archived: false },
  { organization: "other", project: "both", archived: false },
];

test("a project is found by its slug or with its organisation, and an archived one stands in nobody's way", () => {
  assert.equal(findProject(projects, "shop").organization, "acme");
  assert.equal(findProject(projects, "other/both").organization, "other");
});

test("what cannot be meant is refused in words that say why: unknown, archived, or of several organisations", () => {
  assert.throws(
    () => findProject(projects, "nowhere"),
    /^OperatorError: There is no project "nowhere"; there are acme\/shop, other\/shop, acme\/old, acme\/both, other\/both\.$/,
  );
  const many = Array.from({ length: 22 }, (_, index) => ({ organization: "acme", project: `p${index}`, archived: false }));
  assert.throws(() => findProject(many, "p99"), /acme\/p19 and 2 more, which voicetill export shows\.$/);
  assert.throws(() => findProject([], "shop"), /there are none\.$/);
  assert.throws(() => findProject(projects, "old"), /The project "old" is archived; archived: false in the apply file brings it back/);
  assert.throws(() => findProject(projects, "both"), /Several organisations have a project "both": acme\/both, other\/both/);
});
