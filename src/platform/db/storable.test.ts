import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { storable, storableJson } from "./storable.ts";

test("a text loses NUL and half of a surrogate pair and nothing else (R-436)", () => {
  assert.equal(storable("a\0b\ud800c\udc00\u{1f600}\u0001\n"), "ab\ufffdc\ufffd\u{1f600}\u0001\n");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      if (!text.includes("\0") && text.isWellFormed()) assert.equal(storable(text), text);
      assert.ok(storable(text).isWellFormed() && !storable(text).includes("\0"));
    }),
  );
});

test("a value becomes JSON without an escape that PostgreSQL refuses, names of members too (R-436)", () => {
  const value = { "a\0": ["x\ud800", { "\udfff": "\0" }], b: 1, c: null, d: new Date(0), e: "\\u0000" };
  const text = storableJson(value);
  assert.deepEqual(JSON.parse(text), { a: ["x\ufffd", { "\ufffd": "" }], b: 1, c: null, d: "1970-01-01T00:00:00.000Z", e: "\\u0000" });
  assert.equal(storableJson({ plain: [1, "two"] }), JSON.stringify({ plain: [1, "two"] }));
});
