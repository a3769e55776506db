import assert from "node:assert/strict";
import { test } from "node:test";
import { faultIn, matching, rules } from "./index.ts";

const fault = (table: Parameters<typeof faultIn>[1], sent: Record<string, unknown>) => {
  const found = faultIn(new Map(Object.entries(sent)), table);
  return found && `${found.kind} ${found.field}${found.code === undefined ? "" : ` ${found.code}`}`;
};

test("a table's words, ranges, lengths and codes are the rules of the same names", () => {
  const table = rules`type! is sale|auth, cvv digits 3-4 @5017, note 0-2, name 3, tax/tip whole 1-9, on bool`;
  assert.equal(fault(table, { type: "sale", cvv: "123", note: "", name: "abc", tax: 1, tip: 9, on: true }), null);
  assert.equal(fault(table, {}), "missing type");
  assert.equal(fault(table, { type: "void" }), "value type");
  assert.equal(fault(table, { type: "auth", cvv: "12" }), "length cvv 5017");
  assert.equal(fault(table, { type: "auth", note: "abc" }), "length note");
  assert.equal(fault(table, { type: "auth", name: "" }), "length name");
  assert.equal(fault(table, { type: "auth", tip: 10 }), "value tip");
  assert.equal(fault(table, { type: "auth", other: 1 }), "unknown other");
});

test("letters with how many of them, and forms of the whole value, are rules", () => {
  const table = rules`id! [a-z_-] 2-4, day /\d{1,2}(,\d)?/ 1-3 @9, size 1-${12}, page countText 1-300`;
  assert.equal(fault(table, { id: "a_-b", day: "1,2", size: "x" }), null);
  assert.equal(fault(table, { id: "abcde" }), "length id");
  assert.equal(fault(table, { id: "a" }), "length id");
  assert.equal(fault(table, { id: "aB" }), "value id");
  assert.equal(fault(table, { id: 12 }), "type id");
  assert.equal(fault(table, { id: "ab", day: "1st" }), "value day 9");
  assert.equal(fault(table, { id: "ab", day: "12,3" }), "length day 9");
  for (const page of ["0", "01", "301", "-1", 1]) assert.match(fault(table, { id: "ab", page }) ?? "", /page/);
  assert.equal(fault(table, { id: "ab", page: "300" }), null);
  assert.equal(fault(table, { id: "ab", size: "thirteen chars" }), "length size");
});

test("rules, tables and conditions made elsewhere stand in a table, below a path as well", () => {
  const code = matching(/^[A-Z]$/, "a capital");
  const table = rules`
    ${rules`id! 4`}, mark ${code}, why!${(sent) => sent.has("mark")} 8
    card?: number! digits 4, ${rules`exp! mmyy`}
  `;
  assert.equal(fault(table, { id: "1" }), null);
  assert.equal(fault(table, { id: "1", mark: "A" }), "missing why");
  assert.equal(fault(table, { id: "1", mark: "a" }), "value mark");
  assert.equal(fault(table, { id: "1", "card.exp": "0127" }), "missing card.number");
  assert.equal(fault(table, { id: "1", "card.number": "1234" }), "missing card.exp");
});

test("a condition behind = is the only place of a field, one behind ~ is no place for it", () => {
  const isCard = (sent: ReadonlyMap<string, unknown>) => sent.get("type") === "card";
  const table = rules`type! 8, number=${isCard} digits 4, token~${isCard} 8`;
  assert.equal(fault(table, { type: "card", number: "1234" }), null);
  assert.equal(fault(table, { type: "id", token: "x" }), null);
  assert.equal(fault(table, { type: "card" }), "missing number");
  assert.equal(fault(table, { type: "id", number: "1234" }), "forbidden number");
  assert.equal(fault(table, { type: "card", number: "1234", token: "x" }), "forbidden token");
  assert.throws(() => rules`a= 3`, /no field/);
});

test("a table with a word that is no rule is refused when it is read", () => {
  assert.throws(() => rules`a textt`, /"a textt" is no field with a rule/);
  assert.throws(() => rules`a digits x`, /"x" is no range/);
  assert.throws(() => rules`a`, /no field/);
  assert.throws(() => rules`a bool 3`, /no field with a rule/);
  assert.throws(() => rules`a!typed 3`, /no field/);
});
