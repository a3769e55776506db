import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { ANYTHING } from "./certainty.ts";
import { ANSWERS } from "./answers.ts";
import { FREE_DIGITS } from "./fields.ts";
import { EXPIRY, SPOT_COMMAND, SPOT_TEST_WORD, commandOf } from "./phrases.ts";
import { accepts } from "./testing.ts";

test("every word of every grammar has a pronunciation", () => {
  const dictionary = readFileSync(new URL("telephone.dict", import.meta.url), "utf8");
  const known = new Set(dictionary.split("\n").map((line) => line.replace(/[( ].*/, "")));
  const grammars = [EXPIRY, SPOT_TEST_WORD, SPOT_COMMAND, ANSWERS, ANYTHING, FREE_DIGITS];
  const used = grammars.flatMap(({ arcs }) => arcs.flatMap(({ word }) => word ?? [])).filter((word) => word !== "<sil>");
  assert.ok(used.length > 200);
  assert.deepEqual(
    [...new Set(used)].filter((word) => !known.has(word)),
    [],
  );
});

test('a "slash" comes after the number of a month, and after no name, which "two slash" would be heard as', () => {
  for (const [spoken, isTaken] of [
    ["two slash thirty three", true],
    ["june thirty three", true],
    ["june slash thirty three", false],
  ] as const)
    assert.equal(accepts(EXPIRY, spoken.split(" ")), isTaken, spoken);
});

test("a command is a command alone, with politeness or a breath, and not inside a longer sentence", () => {
  assert.equal(commandOf(["repeat"]), "repeat");
  assert.equal(commandOf(["say", "it", "again", "please"]), "repeat");
  assert.equal(commandOf(["ph-hh", "go", "back"]), "back");
  assert.equal(commandOf(["cancel", "four", "two"]), null);
  assert.equal(commandOf(["cancel", "ph-hh", "ph-ae", "ph-sh", "ph-d"]), null);
  assert.equal(commandOf([]), null);
});
