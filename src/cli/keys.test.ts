import assert from "node:assert/strict";
import { test } from "node:test";
import { readExpiry } from "./keys.ts";
import { facts, moment, table } from "./table.ts";
import { todoOf } from "./unmatched.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");

test("--expires takes a span, a date and a time with its zone, and nothing that is over", () => {
  const readings: [string, string][] = [
    ["90d", "2026-08-30T12:00:00.000Z"],
    ["12h", "2026-06-02T00:00:00.000Z"],
    ["2027-01-31", "2027-01-31T00:00:00.000Z"],
    ["2027-01-31T10:00+02:00", "2027-01-31T08:00:00.000Z"],
    ["2027-01-31T10:00:00Z", "2027-01-31T10:00:00.000Z"],
  ];
  for (const [text, iso] of readings) assert.equal(readExpiry(text, NOW), iso, text);
  assert.equal(readExpiry(undefined, NOW), null);
  for (const text of ["", "soon", "0d", "90", "2027", "2027-13-01", "2027-02-31", "2027-02-31T10:00:00Z", "2027-01-31T10:00", "31.1.2027"])
    assert.throws(() => readExpiry(text, NOW), /--expires takes/, text);
  assert.throws(() => readExpiry("2026-06-01", NOW), /over already/);
});

test("a table without headings is its rows", () => {
  assert.equal(
    table(
      [],
      [
        ["  To", "x", "y"],
        ["  From", null, "z"],
      ],
    ),
    "  To    x  y\n  From  -  z",
  );
});

test("tables align, and say - where there is nothing", () => {
  assert.equal(
    table(
      ["A", "LONG"],
      [
        ["abc", null],
        [1, "x"],
      ],
    ),
    "A    LONG\nabc  -\n1    x",
  );
  assert.equal(
    facts([
      ["name", "x"],
      ["none", null],
      ["n", 1],
    ]),
    "name  x\nn     1",
  );
  assert.equal(moment("2026-06-01T12:00:00.123Z"), "2026-06-01 12:00:00");
});

test("every kind of unsettled payment says what is to be done with it", () => {
  const base = { outcome: "unknown", reversal: null, finished_at: null, mode: "charge", stored_as: null } as const;
  const sentences = [
    todoOf(base),
    todoOf({ ...base, finished_at: new Date() }),
    todoOf({ ...base, outcome: "approved", reversal: "due" }),
    todoOf({ ...base, outcome: "approved", reversal: "failed" }),
    todoOf({ ...base, outcome: "approved", reversal: "failed", mode: "tokenize" }),
    todoOf({ ...base, outcome: "declined", reversal: "failed", mode: "tokenize" }),
    todoOf({ ...base, outcome: "declined", reversal: "failed", mode: "tokenize", stored_as: "9997095516055002467" }),
  ];
  assert.match(sentences.at(-1) ?? "", /^delete the card 9997095516055002467 at the gateway by hand, unless/);
  assert.equal(new Set(sentences).size, sentences.length);
});
