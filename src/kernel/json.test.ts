import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { JsonError, JsonNumber, parseJson, parseJsonBytes } from "./json.ts";

const faultOf = (text: string, options = {}): JsonError => {
  try {
    parseJson(text, options);
  } catch (error) {
    if (error instanceof JsonError) return error;
    throw error;
  }
  throw new Error(`${text} was read`);
};

test("whatever JSON.stringify writes is read as JSON.parse reads it", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      assert.deepEqual(JSON.stringify(parseJson(text)), JSON.stringify(JSON.parse(text)));
    }),
    { numRuns: 300 },
  );
});

test("text that is refused by JSON.parse is refused here, and the other way round", () => {
  const alphabet = fc.constantFrom(
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "\\",
    "u",
    "0",
    "1",
    "-",
    ".",
    "e",
    "true",
    "null",
    " ",
    "\n",
    "\t",
    "\u0001",
  );
  fc.assert(
    fc.property(fc.array(alphabet, { maxLength: 12 }), (pieces) => {
      const text = pieces.join("");
      const reads = (read: () => unknown) => {
        try {
          read();
          return true;
        } catch {
          return false;
        }
      };
      assert.equal(
        reads(() => parseJson(text)),
        reads(() => JSON.parse(text)),
        text,
      );
    }),
    { numRuns: 3000 },
  );
});

test("a fault says where it is (R-014)", () => {
  assert.equal(faultOf("{").offset, 1);
  assert.equal(faultOf('{"a":1,}').offset, 7);
  assert.equal(faultOf("[1 2]").offset, 3);
  assert.equal(faultOf('{"a" 1}').offset, 5);
  assert.equal(faultOf("NaN").offset, 0);
  assert.equal(faultOf("1 x").message, "text after the value");
  assert.equal(faultOf('"abc').message, "string without its end");
});

test("a text of more than half a million values is refused where the next one begins: megabytes of them hold the thread up (R-438)", () => {
  const list = (values: number) => `[${"1,".repeat(values - 2)}1]`;
  assert.equal((parseJson(list(500_000)) as unknown[]).length, 499_999);
  assert.equal(faultOf(list(500_001)).offset, 2 * 500_000 - 1);
});

const list = (objects: readonly (readonly string[])[]) =>
  `[${objects.map((names) => `{${names.map((name) => `"${name}":0`).join(",")}}`).join(",")}]`;

test("an object of more than twelve thousand different names is refused: megabytes of them hold the thread up for seconds (R-438)", () => {
  const names = (count: number, first = 0) => Array.from({ length: count }, (_, index) => `k${first + index}`);
  assert.equal(Object.keys((parseJson(list([names(11_940)])) as object[])[0]!).length, 11_940);
  const more = list([names(11_941)]);
  assert.deepEqual([faultOf(more).message, faultOf(more).offset], ["too many shapes of objects", more.indexOf('"k11940"')]);
  assert.throws(() => parseJson(list([names(6_000), names(6_001, 6_000)])), JsonError);
  // A transcript has the same few names in each of its words.
  assert.equal((parseJson(list(Array.from({ length: 100_000 }, () => ["word", "start"]))) as unknown[]).length, 100_000);
});

test("a few names in more than three thousand shapes are refused: the engine makes a class for each, of 64 KiB too (R-438)", () => {
  const names = "abcdefgh".split("");
  const orders = names.flatMap((one) => names.flatMap((two) => names.flatMap((three) => names.map((four) => [one, two, three, four]))));
  // Each order is a shape of its own, and shares with others those of its beginnings.
  const different = orders.filter((order) => new Set(order).size === order.length);
  assert.equal((parseJson(list(different)) as unknown[]).length, 1_680);
  const longer = list(different.map((order) => [...order, "x"]));
  assert.equal(faultOf(longer).message, "too many shapes of objects");
  assert.ok(longer.length < 64 * 1024);
});

test("a name that is a number takes no room for the numbers below it: 64 KiB of them took seventy megabytes (R-438)", () => {
  for (const [object, count] of [
    ['{"1000":0}', 5_900],
    ['{"999":0,"1998":0,"2997":0}', 2_200],
  ] as const) {
    const text = `[${Array.from({ length: count }, () => object).join(",")}]`;
    const before = process.memoryUsage().heapUsed;
    const value = parseJson(text) as object[];
    const taken = process.memoryUsage().heapUsed - before;
    assert.ok(taken < 20e6, `${object}: ${taken} bytes`);
    assert.deepEqual(value.at(-1), JSON.parse(object));
  }
  assert.deepEqual(parseJson('{"1000":1,"1000":2}'), { 1000: 2 });
});

test("megabytes of escapes are read at the pace of JSON.parse, not one by one (R-438)", () => {
  for (const escape of ["\\n", "\\u0041"]) {
    const text = `"${escape.repeat(8e6 / escape.length)}"`;
    const fastest = (read: (text: string) => unknown) =>
      Math.min(
        ...[1, 2, 3, 4, 5].map(() => {
          const begun = performance.now();
          read(text);
          return performance.now() - begun;
        }),
      );
    const [ours, theirs] = [fastest(parseJson), fastest(JSON.parse)];
    assert.ok(ours < 25 * theirs, `${escape}: ${ours} ms and ${theirs} ms`);
  }
});

test("a number keeps its text where asked, so money is never a double (R-113)", () => {
  const value = parseJson("[0.30000000000000004, 1e400, -0]", { numbers: "text" });
  assert.equal(Array.isArray(value) && value.every((item) => item instanceof JsonNumber), true);
  assert.deepEqual(
    (value as JsonNumber[]).map((number) => number.text),
    ["0.30000000000000004", "1e400", "-0"],
  );
  assert.equal((value as JsonNumber[])[0]?.value, 0.30000000000000004);
});

test("the last of two equal keys wins, or both are refused (R-021, R-254)", () => {
  const text = '{"success":false,"success":true}';
  assert.deepEqual(parseJson(text), { success: true });
  assert.equal(faultOf(text, { duplicateKeys: "refuse" }).message, "key that was there before");
});

test("nesting past the limit is refused without touching the stack (R-022)", () => {
  assert.equal(faultOf("[".repeat(60_000)).message, "too deeply nested");
  assert.equal(faultOf('{"a":'.repeat(60_000)).message, "too deeply nested");
  assert.equal(Array.isArray(parseJson("[".repeat(64) + "]".repeat(64))), true);
  assert.equal(Array.isArray(parseJson("[".repeat(64) + "1" + "]".repeat(64))), true);
  assert.equal(faultOf("[".repeat(65) + "]".repeat(65)).offset, 64);
});

test("__proto__ is a key like any other (R-020)", () => {
  const value = parseJson('{"__proto__":{"amount":1},"constructor":2}') as Record<string, unknown>;
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.deepEqual(Object.keys(value), ["__proto__", "constructor"]);
  assert.equal(({} as { amount?: number }).amount, undefined);
});

test("bytes must be UTF-8; a byte order mark is passed over (R-016, R-017)", () => {
  assert.deepEqual(parseJsonBytes(Uint8Array.of(0xef, 0xbb, 0xbf, 0x31)), 1);
  assert.throws(() => parseJsonBytes(Uint8Array.of(0x22, 0xff, 0x22)), JsonError);
  assert.equal(parseJsonBytes(new TextEncoder().encode('"😀\u2028"')), "😀\u2028");
});
