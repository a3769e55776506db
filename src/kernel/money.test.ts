import assert from "node:assert/strict";
import { test } from "node:test";
import { CURRENCIES, currencyNumber, decimalsOf, formatAmount, parseAmountText, parseNumberToken, toMinor } from "./money.ts";

/** Distance that is forgiven in JSON numbers, in major units (table C2). */
const NOISE = 1e-9;

function ofText(text: string, currency = "USD"): number | string {
  const decimal = parseAmountText(text);
  if (!decimal) return "no amount";
  const minor = toMinor(decimal, currency);
  return decimal.negative && minor !== 0 ? "negative" : minor;
}

function ofNumber(token: string, currency = "USD"): number | string {
  const decimal = parseNumberToken(token);
  if (!decimal) return "no amount";
  const minor = toMinor(decimal, currency, NOISE);
  return decimal.negative && minor !== 0 ? "negative" : minor;
}

test("texts and numbers of table C2 that are whole cents are read exactly (R-110, R-113)", () => {
  for (const text of ["10", "10.", "+10", "0010", "10.0", "10.00", "10.000"]) assert.equal(ofText(text), 1000, text);
  for (const token of ["10", "10.0", "1e1", "1E1", "1e+1", "100e-1", "10.000"]) assert.equal(ofNumber(token), 1000, token);
  for (const text of [".5", "0.5", "+.5", "00.50"]) assert.equal(ofText(text), 50, text);
  assert.equal(ofNumber("0.5"), 50);
  assert.equal(ofText("00.10"), 10);
  assert.equal(ofText("999999.99"), 99_999_999);
  assert.equal(ofText("1000000"), 100_000_000);
});

test("sub-cent amounts are told apart from cents (table C2)", () => {
  for (const text of ["10.005", "0.001", "0.30000000000000004"]) assert.equal(ofText(text), "fraction", text);
  for (const token of ["10.005", "0.001", "1e-9", "1e-400", "1e-399"]) assert.equal(ofNumber(token), "fraction", token);
});

test("the noise of a client's doubles is forgiven in numbers only, and never turns something into nothing (table C2)", () => {
  assert.equal(ofNumber("0.30000000000000004"), 30);
  assert.equal(ofNumber("19.990000000000002"), 1999);
  assert.equal(ofNumber("19.989999999999998"), 1999);
  assert.equal(ofNumber("0.0000000000000001"), "fraction");
});

test("every spelling of nothing is zero (table C2)", () => {
  for (const text of ["0", "-0", "0.00", "+0", "000"]) assert.equal(ofText(text), 0, text);
  for (const token of ["0", "0.0", "-0", "0e5"]) assert.equal(ofNumber(token), 0, token);
});

test("a sign is kept for the caller to refuse (table C2)", () => {
  for (const text of ["-1", "-0.01"]) assert.equal(ofText(text), "negative", text);
  assert.equal(ofNumber("-1"), "negative");
});

test("texts outside the published pattern are no amounts (table C2)", () => {
  const texts = [
    "1e3",
    "1E3",
    "0x10",
    "1_000",
    "1,000",
    "$10",
    " 10 ",
    "10\n",
    "١٠",
    "１０",
    "10 USD",
    "",
    "-",
    "+",
    ".",
    "+.",
    "-.",
    "--1",
    "++1",
    "1.2.3",
  ];
  for (const text of [...texts, "NaN", "Infinity", "-Infinity"]) assert.equal(ofText(text), "no amount", JSON.stringify(text));
});

test("amounts past what a double holds exactly are out of range, however they are written (table C2)", () => {
  assert.equal(ofNumber("9007199254740993"), "range");
  assert.equal(ofText("999999999999999999999"), "range");
  for (const token of ["1e400", "-1e400", "1e20", "123456789e12"]) {
    const minor = ofNumber(token);
    assert.equal(minor === "range" || minor === "negative", true, token);
  }
});

test("all cents from 0.01 to 10,000.00 survive as text and as number (R-113)", () => {
  for (let minor = 1; minor <= 1_000_000; minor++) {
    const text = formatAmount(minor, "USD");
    if (ofText(text) !== minor || ofNumber(String(minor / 100)) !== minor) assert.fail(text);
  }
});

test("currencies have their own decimals (R-112, R-115)", () => {
  assert.deepEqual(["USD", "JPY", "KWD", "MGA"].map(decimalsOf), [2, 0, 3, 2]);
  assert.equal(formatAmount(1000, "USD"), "10.00");
  assert.equal(formatAmount(5, "USD"), "0.05");
  assert.equal(formatAmount(0, "USD"), "0.00");
  assert.equal(formatAmount(500, "JPY"), "500");
  assert.equal(formatAmount(5, "KWD"), "0.005");
  assert.equal(ofText("500", "JPY"), 500);
  assert.equal(ofText("500.00", "JPY"), 500);
  assert.equal(ofText("500.5", "JPY"), "fraction");
  assert.equal(ofText("1.234", "KWD"), 1234);
});

test("every currency has an ISO 4217 number of its own, three digits, leading zeros too", () => {
  const numbers = CURRENCIES.map(currencyNumber);
  assert.ok(numbers.every((number) => /^[0-9]{3}$/.test(number ?? "")));
  assert.equal(new Set(numbers).size, CURRENCIES.length);
  assert.deepEqual(["AUD", "JPY", "USD", "EUR", "ZWG"].map(currencyNumber), ["036", "392", "840", "978", "924"]);
  assert.equal(currencyNumber("XTS"), undefined);
});
