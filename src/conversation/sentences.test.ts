import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { QUESTIONS } from "./questions.ts";
import { ASK, CLOSING, FAULT, fixedPrompts } from "./sentences.ts";
import { moneyInWords, numberInWords } from "./money-in-words.ts";

test("amounts are said as callers say them", () => {
  const amounts: readonly (readonly [number, string, string])[] = [
    [4995, "USD", "forty nine dollars and ninety five cents"],
    [100, "USD", "one dollar"],
    [200, "USD", "two dollars"],
    [1, "USD", "one cent"],
    [0, "USD", "zero dollars"],
    [101, "USD", "one dollar and one cent"],
    [123456, "USD", "one thousand two hundred thirty four dollars and fifty six cents"],
    [99999999, "USD", "nine hundred ninety nine thousand nine hundred ninety nine dollars and ninety nine cents"],
    [101, "GBP", "one pound and one penny"],
    [250, "EUR", "two euros and fifty cents"],
    [199, "CAD", "one Canadian dollar and ninety nine cents"],
  ];
  for (const [minor, currency, words] of amounts) assert.equal(moneyInWords(minor, currency), words);
});

test("currencies without a fraction have none in words, those without a familiar coin have a decimal point", () => {
  assert.equal(moneyInWords(500, "JPY"), "five hundred Japanese yen");
  assert.equal(moneyInWords(1205, "CHF"), "twelve point zero five Swiss francs");
  assert.equal(moneyInWords(1250, "KWD"), "one point two five zero Kuwaiti dinars");
});

test("numbers in words have no gap and no leftover", () => {
  assert.equal(numberInWords(0), "zero");
  assert.equal(numberInWords(13), "thirteen");
  assert.equal(numberInWords(40), "forty");
  assert.equal(numberInWords(1_000_000), "one million");
  assert.equal(numberInWords(1_000_001), "one million one");
  assert.equal(numberInWords(90_017), "ninety thousand seventeen");
  const all = new Set(Array.from({ length: 10_000 }, (_, value) => numberInWords(value)));
  assert.equal(all.size, 10_000);
});

test("every question can be put for the keypad alone, without a word about saying anything", () => {
  for (const { keypad } of Object.values(ASK)) assert.doesNotMatch(keypad, /\bsay\b/i);
});

test("the fixed fragments are sentences or words without a digit, none twice", () => {
  const fragments = fixedPrompts();
  assert.equal(new Set(fragments).size, fragments.length);
  assert.equal(fragments.length > 60, true);
  for (const fragment of fragments) assert.match(fragment, /^[A-Za-z][A-Za-z ,.?']*$/);
});

test("docs/conversation.md names every question, fault and closing, and quotes the faults' sentences", () => {
  const page = readFileSync(new URL("../../docs/conversation.md", import.meta.url), "utf8");
  const names = [
    ...Object.values(QUESTIONS).map(({ prompt }) => prompt),
    ...Object.keys(CLOSING),
    "success",
    "declined",
    "declined_try_again",
  ];
  for (const name of names) assert.equal(page.includes(`\`${name}\``), true, name);
  for (const [name, sentence] of Object.entries(FAULT)) assert.equal(page.includes(`| \`${name}\` | ${sentence} |`), true, name);
});
