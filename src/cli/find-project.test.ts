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
  assert.throws(() => findProject(projects, "nowhere"), /There is no project "nowhere"/);
  assert.throws(() => findProject(projects, "old"), /The project "old" is archived; archived: false in the apply file brings it back/);
  assert.throws(() => findProject(projects, "both"), /Several organisations have a project "both": acme\/both, other\/both/);
});
