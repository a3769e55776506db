import assert from "node:assert/strict";
import { inspect } from "node:util";
import { test } from "node:test";
import { CardCells, Cell, brandOf, cvvLengthOf, isCompleteNumber, isUnexpired, lengthsByBeginning, lengthsOf, passesLuhn } from "./card.ts";
import type { CardBrand } from "./card.ts";

function card(number: string): CardCells {
  const cells = new CardCells();
  for (const character of number) cells.number.push(Number(character));
  cells.expMonth.push(0);
  cells.expMonth.push(3);
  for (const digit of [2, 0, 3, 0]) cells.expYear.push(digit);
  for (const digit of [1, 2, 3]) cells.cvv.push(digit);
  cells.postalCode = "94105";
  cells.cardholderName = "A Holder";
  return cells;
}

test("a cell takes digits as numbers and as ASCII, and refuses everything else and what is past its capacity", () => {
  const cell = new Cell(3);
  assert.deepEqual(
    [4, 0x35, -1, 10, 1.5, 0x3a, Number.NaN, 6, 7].map((digit) => cell.push(digit)),
    [true, true, false, false, false, false, false, true, false],
  );
  assert.deepEqual([cell.digit(0), cell.digit(1), cell.digit(-1)], [4, 5, 6]);
  assert.equal(String.fromCharCode(...cell.bytes()), "456");
  assert.throws(() => cell.digit(3), RangeError);
  assert.throws(() => cell.digit(-4), RangeError);
});

test("wiping overwrites the memory itself, views handed out before included", () => {
  const cell = Cell.fromText("4242");
  const view = cell.bytes();
  cell.wipe();
  assert.deepEqual([...view], [0, 0, 0, 0]);
  assert.equal(cell.length, 0);
  assert.equal(cell.push(7), true);
  assert.equal(cell.digit(0), 7);
});

test("neither a cell nor a card can be printed (S-61)", () => {
  const cells = card("4242424242424242");
  for (const printed of [
    String(cells.number),
    JSON.stringify(cells),
    JSON.stringify({ cells }),
    inspect(cells),
    inspect({ cell: cells.number }),
  ]) {
    assert.doesNotMatch(printed, /4242|94105|Holder|2030/);
  }
});

test("cells with the same digits are equal", () => {
  assert.equal(Cell.fromText("42").equals(Cell.from([4, 2])), true);
  assert.equal(Cell.fromText("42").equals(Cell.fromText("43")), false);
  assert.equal(Cell.fromText("42").equals(Cell.fromText("420")), false);
});

test("a copied card survives the wiping of its original, and a wiped card holds nothing", () => {
  const original = card("4242424242424242");
  const copy = original.copy();
  original.wipe();
  assert.deepEqual([original.number.length, original.expMonth.length, original.expYear.length, original.cvv.length], [0, 0, 0, 0]);
  assert.deepEqual([original.postalCode, original.cardholderName], [null, null]);
  assert.equal(copy.last4, "4242");
  assert.deepEqual([copy.expMonth.digit(1), copy.expYear.digit(-1), copy.cvv.digit(0)], [3, 0, 1]);
  assert.deepEqual([copy.postalCode, copy.cardholderName], ["94105", "A Holder"]);
});

test("the last four keep their leading zeros (R-403)", () => {
  assert.equal(card("4000000000000007").last4, "0007");
});

/** Numbers that the brands publish for tests. */
const PUBLISHED: readonly (readonly [string, CardBrand, 3 | 4])[] = [
  ["4242424242424242", "visa", 3],
  ["4111111111111111", "visa", 3],
  ["5555555555554444", "mastercard", 3],
  ["2223003122003222", "mastercard", 3],
  ["378282246310005", "amex", 4],
  ["6011111111111117", "discover", 3],
  ["30569309025904", "diners", 3],
  ["3566002020360505", "jcb", 3],
  ["6200000000000005", "unionpay", 3],
  ["6759649826438453", "maestro", 3],
  ["6362970000457013", "elo", 3],
  ["1000000000000008", "unknown", 3],
];

test("the published test numbers have their brand, are complete, and one wrong digit is found (R-229, R-402)", () => {
  for (const [number, brand, cvvLength] of PUBLISHED) {
    const cell = Cell.fromText(number);
    assert.equal(brandOf(cell), brand, number);
    assert.equal(cvvLengthOf(cell), cvvLength, number);
    assert.equal(isCompleteNumber(cell), true, number);
    const last = Number(number.at(-1));
    assert.equal(passesLuhn(Cell.fromText(`${number.slice(0, -1)}${(last + 1) % 10}`)), false, number);
  }
});

test("a number with a right check digit and a wrong length is not complete", () => {
  const cell = Cell.fromText("42424242424242");
  assert.equal(passesLuhn(cell), true);
  assert.equal(isCompleteNumber(cell), false);
  assert.equal(passesLuhn(new Cell(4)), false);
});

test("a number that has only begun has every length before it", () => {
  assert.equal(brandOf(new Cell(19)), "unknown");
  assert.equal(lengthsOf(Cell.fromText("37")).join(), "15");
  for (const [number] of PUBLISHED) {
    const lengths = lengthsOf(Cell.fromText(number));
    assert.deepEqual(
      [...lengths],
      [...lengths].toSorted((a, b) => a - b),
      number,
    );
  }
});

test("a card is good to the end of its month in the last time zone (R-229)", () => {
  const end = Date.UTC(2027, 3, 1, 12);
  assert.equal(isUnexpired(3, 2027, end - 1), true);
  assert.equal(isUnexpired(3, 2027, end), false);
  assert.equal(isUnexpired(12, 2026, Date.UTC(2027, 0, 1, 11)), true);
  assert.equal(isUnexpired(12, 2026, Date.UTC(2027, 0, 1, 12)), false);
  assert.equal(isUnexpired(0, 2030, 0), false);
  assert.equal(isUnexpired(13, 2030, 0), false);
});

test("the lengths by beginning, compared as text, are those of each number", () => {
  const table = lengthsByBeginning();
  // Every four digits, and what lies beside each border.
  const starts = Array.from({ length: 10_000 }, (_, index) => String(index).padStart(4, "0"));
  for (const [beginning] of table)
    starts.push(beginning.padEnd(8, "0"), String(Math.max(0, Number(beginning.padEnd(8, "0")) - 1)).padStart(8, "0"));
  for (const start of starts) {
    const number = start.padEnd(16, "0");
    const entry = table.findLast(([beginning]) => beginning <= number);
    assert.deepEqual(entry?.[1], lengthsOf(Cell.fromText(number)), start);
  }
});
