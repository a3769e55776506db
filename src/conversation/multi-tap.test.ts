import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Cell } from "#src/kernel/card.ts";
import { spelledText } from "./multi-tap.ts";
import { multiTap } from "./testing.ts";

const spell = (keys: string) => spelledText(Cell.fromText(keys));
const letter = fc.constantFrom(...Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ "));

test("every text of letters and spaces, keyed letter by letter, is the text again (ITU-T E.161)", () => {
  fc.assert(
    fc.property(fc.string({ unit: letter, maxLength: 100 }), (text) => {
      assert.equal(spell(multiTap(text)), text);
    }),
  );
});

test("a key's presses in a row are one letter; 1 ends a letter wherever it stands, 0 is a space", () => {
  assert.equal(spell("56664466077776444844"), "JOHN SMITH");
  assert.equal(spell("22122"), "BB");
  assert.equal(spell("12111213"), "AAD");
  assert.equal(spell("0200220"), " A  B ");
  assert.equal(spell(""), "");
});

test("a key that is pressed more often than it has letters spells nothing", () => {
  for (const keys of ["2222", "77777", "99999", "53338888"]) assert.equal(spell(keys), null, keys);
});

test("keys of any kind never throw, and spell capital letters and spaces alone", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...Array.from("0123456789")), maxLength: 600 }), (keys) => {
      assert.match(spell(keys) ?? "", /^[A-Z ]*$/);
    }),
  );
});
