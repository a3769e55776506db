import assert from "node:assert/strict";
import test from "node:test";
import { digitsOf, expiryOf } from "./spoken-numbers.ts";

const split = (text: string) => text.split(" ");

for (const [spoken, digits] of [
  ["four two four two", "4242"],
  ["oh zero oh", "000"],
  ["double four triple oh", "44000"],
  ["forty two forty two", "4242"],
  ["forty fifty one", "4051"],
  ["twenty twenty nine", "2029"],
  ["fifteen ten nineteen", "151019"],
  ["three seven eighty two", "3782"],
  ["ninety", "90"],
  ["twenty oh three", "2003"],
] as const) {
  test(`"${spoken}" are the digits ${digits} (R-229)`, () => {
    assert.equal(digitsOf(split(spoken))?.join(""), digits);
  });
}

test("words that are no digits, and a double of nothing, make no number", () => {
  for (const spoken of ["four slash two", "mango", "four double", "double forty"]) assert.equal(digitsOf(split(spoken)), null);
});

for (const [spoken, month, year] of [
  ["oh three thirty", 3, 2030],
  ["zero three two zero three zero", 3, 2030],
  ["march twenty thirty", 3, 2030],
  ["march thirty", 3, 2030],
  ["three slash thirty", 3, 2030],
  ["three thirty", 3, 2030],
  ["march of twenty thirty one", 3, 2031],
  ["december two thousand thirty one", 12, 2031],
  ["december two thousand and twenty six", 12, 2026],
  ["twelve twenty nine", 12, 2029],
  ["one two two nine", 12, 2029],
  ["ten twenty nine", 10, 2029],
  ["oh one two nine", 1, 2029],
  ["one two nine", 1, 2029],
  ["eleven two oh three oh", 11, 2030],
] as const) {
  test(`"${spoken}" is ${month}/${year} (R-229)`, () => {
    assert.deepEqual(expiryOf(split(spoken)), { month, year });
  });
}

test("a thirteenth month, a month alone and four digits too many are no expiry date", () => {
  for (const spoken of ["thirteen thirty", "march", "oh three one nine three oh", "oh three two zero three zero one"]) {
    assert.equal(expiryOf(split(spoken)), null, spoken);
  }
});
