import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { DIGITS, EXPIRY, SPOT_COMMAND, SPOT_TEST_WORD, YES_NO, answerOf, commandOf } from "./phrases.ts";

const split = (text: string) => text.split(" ");

test("every word of every grammar has a pronunciation", () => {
  const dictionary = readFileSync(new URL("telephone.dict", import.meta.url), "utf8");
  const known = new Set(dictionary.split("\n").map((line) => line.replace(/[( ].*/, "")));
  const text = [DIGITS, EXPIRY, YES_NO, SPOT_TEST_WORD, SPOT_COMMAND]
    .map(({ jsgf }) => jsgf)
    .join("\n")
    .replaceAll(/#JSGF.*|grammar g|public|<\w+>|\/[\d.]+\//g, " ");
  const used = text.match(/[a-z][a-z'-]*/g) ?? [];
  assert.ok(used.length > 200);
  assert.deepEqual(
    [...new Set(used)].filter((word) => !known.has(word)),
    [],
  );
});

for (const [answer, phrases] of [
  ["yes", ["yes", "yeah", "yep", "correct", "right", "that's right", "yes it is", "yes that's correct", "okay"]],
  ["no", ["no", "nope", "nah", "wrong", "no that's wrong", "not correct", "that's not right", "no it isn't", "incorrect"]],
] as const) {
  for (const phrase of phrases) {
    test(`"${phrase}" means ${answer}`, () => {
      assert.equal(answerOf(split(phrase)), answer);
    });
  }
}

test("a command is a command alone, with politeness or a breath, and not inside a longer sentence", () => {
  assert.equal(commandOf(["repeat"]), "repeat");
  assert.equal(commandOf(["say", "it", "again", "please"]), "repeat");
  assert.equal(commandOf(["ph-hh", "go", "back"]), "back");
  assert.equal(commandOf(["cancel", "four", "two"]), null);
  assert.equal(commandOf(["cancel", "ph-hh", "ph-ae", "ph-sh", "ph-d"]), null);
  assert.equal(commandOf([]), null);
});
