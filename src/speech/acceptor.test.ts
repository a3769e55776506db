import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import { cardRule, digitAcceptor, exceptRule, lengthRule } from "./acceptor.ts";
import { EXPIRY } from "./phrases.ts";
import { NUMBER_PRELUDE } from "./prelude.ts";
import { wordsOfDigit } from "./spoken-numbers.ts";
import { accepts } from "./testing.ts";

const card = digitAcceptor(cardRule([15, 16]), { groups: false });
const grouped = digitAcceptor(cardRule([15, 16]), { groups: true });
const words = (digits: readonly number[]) => digits.map((digit) => wordsOfDigit(digit)[0] ?? "");

test("the card acceptor takes digits exactly when they begin like a card of their length (R-229)", () => {
  const digits = fc
    .integer({ min: 14, max: 17 })
    .chain((length) => fc.array(fc.integer({ min: 0, max: 9 }), { minLength: length, maxLength: length }));
  const beginnings = fc.constantFrom([3, 4], [3, 5], [3, 7], [3, 6], [2, 2], [2, 1], [4, 0], [1, 4], [8, 3]);
  fc.assert(
    fc.property(digits, beginnings, (number, beginning) => {
      number.splice(0, 2, ...beginning);
      const begins = /^(3[47].{13}|2[2-7].{14}|35.{14}|[456].{15})$/.test(number.join(""));
      assert.equal(accepts(card, words(number)), begins);
    }),
    { numRuns: 200 },
  );
});

for (const spoken of [
  "four two four two four two four two four two four two four two four two",
  "forty two forty two forty two forty two forty two forty two forty two forty two",
  "three seven eight two eight two two four six three one triple oh five",
  "five five five five five five five five five five double five double four double four",
]) {
  test(`with groups the card acceptor takes "${spoken}"`, () => {
    assert.equal(accepts(grouped, spoken.split(" ")), true);
  });
}

test("a digit too few and one too many are refused, in groups too", () => {
  for (const spoken of ["forty two ".repeat(7) + "four", "forty two ".repeat(8) + "oh"])
    assert.equal(accepts(grouped, spoken.trim().split(" ")), false, spoken);
});

test("without the card check any digits of the right length are taken, and no other length", () => {
  const zip = digitAcceptor(lengthRule([5, 9]), { groups: true });
  for (const [spoken, taken] of [
    ["oh two one three nine", true],
    ["ninety four one oh five", true],
    ["four two", false],
    ["one two three four five six", false],
    ["triple one triple two triple three", true],
  ] as const) {
    assert.equal(accepts(zip, spoken.split(" ")), taken, spoken);
  }
});

test("but for one string a rule takes the same, in words of any kind (R-441)", () => {
  const others = digitAcceptor(exceptRule(lengthRule([3]), [4, 2, 2]), { groups: true });
  for (const [spoken, taken] of [
    ["four two two", false],
    ["forty two two", false],
    ["four double two", false],
    ["four two three", true],
    ["forty three two", true],
    ["triple four", true],
    ["four two", false],
    ["four two two two", false],
  ] as const)
    assert.equal(accepts(others, spoken.split(" ")), taken, spoken);
});

test("with a prelude an answer may be introduced, and begun again after a correction", () => {
  const code = digitAcceptor(lengthRule([3]), { groups: true, prelude: NUMBER_PRELUDE });
  for (const [spoken, taken] of [
    ["four two two", true],
    ["it's four two two", true],
    ["um okay the security code is four two two", true],
    ["four two no wait four two two", true],
    ["four two <sil> no four two two", true],
    ["four two <sil> wait four two two", true],
    ["four two nine sorry it's four two two", true],
    ["four two four two two", false],
    ["four two two it's", false],
    ["four two two no wait", false],
  ] as const)
    assert.equal(accepts(code, spoken.split(" ")), taken, spoken);
});

test('a "no" or "wait" inside an answer begins it again after a pause alone: "nine oh" and "two eight" sound like them', () => {
  const zip = digitAcceptor(lengthRule([5, 3]), { groups: true, prelude: NUMBER_PRELUDE });
  for (const spoken of ["nine no two six two", "two wait five four three"]) {
    assert.equal(accepts(zip, spoken.split(" ")), false, spoken);
    assert.equal(accepts(EXPIRY, `one ${spoken.split(" ")[1]} two thirty`.split(" ")), false, spoken);
  }
  assert.equal(accepts(EXPIRY, "one <sil> wait two thirty".split(" ")), true);
});
