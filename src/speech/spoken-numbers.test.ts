import assert from "node:assert/strict";
import test from "node:test";
import { digitsOf, expiryOf, hasRegularPairs } from "./spoken-numbers.ts";

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

for (const spoken of [
  "four two four two four two four two four two four two four two four two",
  "forty two forty two forty two forty two forty two forty two forty two forty two",
  "forty six zero eight zero nine twenty eight eighty one fifty eight fifty one double oh",
  "four two four two forty two forty two four double two four triple two four",
]) {
  test(`"${spoken}" is a way to read four groups of four`, () => {
    assert.equal(hasRegularPairs(split(spoken), [4, 4, 4, 4]), true);
  });
}

test("who reads in pairs reads the odd digit of a group first", () => {
  assert.equal(
    hasRegularPairs(split("thirty four zero three oh seven forty seven zero nine eight thirty eight ninety nine"), [4, 6, 5]),
    true,
  );
});

for (const misheard of [
  "four eight seven nine zero two three two oh ninety nine two six seven five seven",
  "sixty five twenty four nineteen seven eighty five thirty five fourteen seven sixty six",
  "two five six zero two nine nine two two thirty two nine seven nine four two",
]) {
  test(`"${misheard}" is no way to read a card number: digits were misheard`, () => {
    assert.equal(hasRegularPairs(split(misheard), [4, 4, 4, 4]), false);
  });
}

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
