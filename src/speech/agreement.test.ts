import assert from "node:assert/strict";
import test from "node:test";
import { editDistance, isConfirmed } from "./agreement.ts";

const digits = (text: string) => Array.from(text, Number);

for (const [why, card, plain, free, believed] of [
  ["all agree", "4242424242424242", "4242424242424242", "4242424242424242", true],
  ["the free one inserted a digit", "4242424242424242", "4242424242424242", "42424242424242420", true],
  ["the plain one alone has one digit wrong", "4242424242424242", "4242424242429242", "4242424242424242", true],
  ["the plain and the free one agree on an invalid number", "4242424242424242", "4242424242424243", "4242424242424243", false],
  ["the plain one has two digits wrong", "4242424242424242", "4242424942429242", "4242424242424242", false],
  ["the free one is far off", "4242424242424242", "4242424242424242", "4213142421142", false],
  ["two digits were never said", "4242424242424242", "4242424242424242", "42424242424242", false],
  ["the lengths differ", "4242424242424242", "424242424242424", "4242424242424242", false],
] as const) {
  test(`a card number is ${believed ? "" : "not "}believed when ${why}`, () => {
    assert.equal(isConfirmed(digits(card), digits(plain), digits(free)), believed);
  });
}

test("a card number that only the constrained decoding found is not believed", () => {
  assert.equal(isConfirmed(digits("4242424242424242"), null, digits("4242424242424242")), false);
});

test("the edit distance counts insertions, omissions and confusions", () => {
  for (const [a, b, distance] of [
    ["", "", 0],
    ["123", "", 3],
    ["123", "13", 1],
    ["123", "1323", 1],
    ["4242", "2424", 2],
  ] as const) {
    assert.equal(editDistance(digits(a), digits(b)), distance, `${a} ${b}`);
  }
});
