import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import * as fc from "fast-check";
import { OperatorError } from "#src/kernel/errors.ts";
import { filterLine, LONGEST_LINE } from "./log-filter.ts";
import { createLog, type LogFields, type LogOptions } from "./log.ts";

function recording(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const log = createLog({ level: "info", format: "json", write: (line) => void lines.push(line), now: () => 0, ...options });
  return { lines, log };
}

test("a line is one JSON object with time, level, event and the given fields", () => {
  const { lines, log } = recording();
  log.child({ session: "s1" }).info("call_answered", { call: "c1", ms: 12.5, reason: null });
  assert.deepEqual(lines, [
    '{"time":"1970-01-01T00:00:00.000Z","level":"info","event":"call_answered","session":"s1","call":"c1","ms":12.5,"reason":null}\n',
  ]);
});

test("lines below the level are not written", () => {
  const { lines, log } = recording({ level: "warn" });
  log.debug("a");
  log.info("b");
  log.warn("c");
  log.error("d");
  assert.equal(lines.length, 2);
});

test("fields that are not on the list are left out, whoever passes them (S-70)", () => {
  const { lines, log } = recording();
  log.info("x", { session: "s1", memory: "secret", caller: "+14155550100" } as LogFields);
  assert.doesNotMatch(lines[0]!, /secret|4155550100/);
  assert.match(lines[0]!, /"session":"s1"/);
});

test("of an error only class, code and place are written; the words only of errors whose words are ours", () => {
  const { lines, log } = recording();
  log.error("x", { error: Object.assign(new TypeError("bad value 'mango'"), { code: "22P02" }) });
  log.error("y", { error: new OperatorError("PORT: taken.") });
  log.error("z", { error: "thrown text" });
  assert.match(lines[0]!, /"error":"TypeError 22P02 at src\/platform\/log\.test\.ts:\d+"/);
  assert.doesNotMatch(lines[0]!, /mango/);
  assert.match(lines[1]!, /"error":"OperatorError PORT: taken\./);
  assert.match(lines[2]!, /"error":"string"/);
});

test("control characters cannot make a second line or move the cursor (S-70)", () => {
  const evil = 'a\n{"level":"error"}\r\u001b[2J\u0085\u2028\u202e';
  for (const format of ["json", "pretty"] as const) {
    const { lines, log } = recording({ format });
    log.info("x", { reason: evil });
    assert.equal(lines.length, 1);
    assert.doesNotMatch(lines[0]!.slice(0, -1), /[\u0000-\u001f\u007f-\u009f\u2028-\u202e]/);
  }
});

test("a long value is cut", () => {
  const { lines, log } = recording();
  log.info("x", { reason: "r".repeat(100_000) });
  assert.ok(lines[0]!.length < 1000);
});

test("a value that is no scalar is not printed, even in a field of the list (S-70)", () => {
  const { lines, log } = recording();
  log.info("x", { reason: { number: "4111" }, count: [5555] } as unknown as LogFields);
  assert.match(lines[0]!, /"count":"\(object\)","reason":"\(object\)"/);
  assert.doesNotMatch(lines[0]!, /4111|5555/);
});

const SENTINEL = "zzSECRETzz";
/** Anything that a careless caller might hand over, with the sentinel somewhere in it. */
const anything = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    fc.constant(SENTINEL),
    fc.string().map((text) => text + SENTINEL),
    fc.constant(Object.assign(new Error(SENTINEL, { cause: SENTINEL }), { detail: SENTINEL })),
    fc.array(tie("value"), { minLength: 1, maxLength: 2 }),
    fc.dictionary(fc.string(), tie("value"), { minKeys: 1, maxKeys: 2 }),
  ),
})).value;
const LISTED = { session: "s", code: "c", reason: "r" };

test("no value outside the list reaches the output, by no name, nesting, error or child (S-70)", () => {
  const name = fc.oneof(
    fc.string(),
    fc.constantFrom(
      "caller",
      "memory",
      "number",
      "cvv",
      "body",
      "url",
      "query",
      "headers",
      "authorization",
      "message",
      "__proto__",
      "toString",
    ),
  );
  const unlisted = fc.dictionary(
    name.filter((one) => !["error", "call", "path", "host", "port", "method", ...Object.keys(LISTED)].includes(one)),
    anything,
  );
  const format = fc.constantFrom("json" as const, "pretty" as const);
  fc.assert(
    fc.property(unlisted, unlisted, anything, format, (fields, inherited, thrown, format) => {
      const { lines, log } = recording({ format });
      log.child(inherited).info("event", { ...LISTED, ...fields, error: thrown });
      assert.equal(lines.length, 1);
      assert.ok(!lines[0]!.includes(SENTINEL), lines[0]!);
      assert.match(lines[0]!, /"?session"?[=:]/);
    }),
  );
});

/** A number that passes the Luhn check, of a card's length and beginning. */
const cardNumber = fc
  .tuple(
    fc.constantFrom("4", "51", "2221", "34", "37", "6011", "65", "36", "3528", "62"),
    fc.stringMatching(/^[0-9]{18}$/),
    fc.integer({ min: 13, max: 19 }),
  )
  .map(([begin, rest, length]) => {
    const body = (begin + rest).slice(0, length - 1);
    const check = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].find((digit) => luhnSum(`${body}${digit}`) % 10 === 0);
    return `${body}${check}`;
  });

function luhnSum(digits: string): number {
  return Array.from(digits)
    .toReversed()
    .map((digit, index) => Number(digit) * (index % 2 === 0 ? 1 : 2))
    .reduce((sum, value) => sum + (value > 9 ? value - 9 : value), 0);
}

const inFours = (digits: string, joint: string) => (digits.match(/.{1,4}/g) ?? []).join(joint);
const each = (digits: string, write: (digit: string) => string) => Array.from(digits, write).join("");
const FORMS: Readonly<Record<string, (digits: string) => string>> = {
  plain: (digits) => digits,
  spaced: (digits) => inFours(digits, " "),
  "spaced widely": (digits) => inFours(digits, " \u00a0 "),
  dashed: (digits) => inFours(digits, "-"),
  "dashed with a long dash": (digits) => inFours(digits, "\u2013"),
  "one digit at a time": (digits) => each(digits, (digit) => `${digit} `),
  "in a URL": (digits) => `https://x.example/pay?card=${digits}&zip=94105`,
  "in a URL, spaces escaped": (digits) => `/pay?card=${encodeURIComponent(inFours(digits, " "))}`,
  "in a form": (digits) => `card=${inFours(digits, "+")}`,
  "in a URL, every digit escaped": (digits) => each(digits, (digit) => `%3${digit}`),
  "in JSON": (digits) => JSON.stringify({ card: { number: digits } }),
  "in JSON in JSON": (digits) => JSON.stringify(JSON.stringify({ number: inFours(digits, " ") })),
  "a list in JSON": (digits) => JSON.stringify(Array.from(digits)),
  "a list in JSON in JSON": (digits) => JSON.stringify(JSON.stringify(Array.from(digits))),
  "escaped in JSON": (digits) => each(digits, (digit) => `\\u003${digit}`),
  "line breaks in JSON": (digits) => JSON.stringify(inFours(digits, "\n")),
  "in base64": (digits) => Buffer.from(digits).toString("base64"),
  "in base64 with more": (digits) => Buffer.from(`{"number":"${digits}","cvv":"123"}`).toString("base64"),
  "in base64 for URLs": (digits) => Buffer.from(`card ${inFours(digits, " ")}?>`).toString("base64url"),
  "in hexadecimal": (digits) => Buffer.from(digits).toString("hex"),
  "in hexadecimal with more": (digits) => Buffer.from(`{"number":"${digits}"}`).toString("hex"),
  "as a list of bytes": (digits) => Array.from(Buffer.from(digits)).join(","),
  "as JSON of a Buffer": (digits) => JSON.stringify(Buffer.from(digits)),
  "as JSON of a Buffer in JSON, indented": (digits) => JSON.stringify(JSON.stringify({ number: Buffer.from(digits) }, null, 2)),
  "as JSON of a Uint8Array": (digits) => JSON.stringify(new Uint8Array(Buffer.from(digits))),
  "as a printed Buffer": (digits) => inspect(Buffer.from(digits)),
  "as a printed Uint8Array": (digits) => inspect(new Uint8Array(Buffer.from(digits))),
  "as a list of hexadecimal bytes": (digits) => each(digits, (digit) => `0x3${digit}, `),
  "in full-width digits": (digits) => each(digits, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  "in Arabic digits, spaced": (digits) => inFours(digits, " ").replaceAll(/[0-9]/g, (digit) => String.fromCodePoint(0x660 + Number(digit))),
  "in mathematical digits": (digits) => each(digits, (digit) => String.fromCodePoint(0x1d7ce + Number(digit))),
  "in superscript digits": (digits) =>
    each(digits, (digit) => "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[Number(digit)]!),
  "in full-width digits in a URL": (digits) => encodeURIComponent(each(digits, (digit) => String.fromCodePoint(0xff10 + Number(digit)))),
  "in full-width digits escaped in JSON": (digits) => each(digits, (digit) => `\\uff1${digit}`),
  "in XML character references": (digits) => each(digits, (digit) => `&#${digit.charCodeAt(0)};`),
};
const RUN = fc.constantFrom("", " ", '"', "x=", "error: ", "(", "[");
for (const [name, write] of Object.entries(FORMS)) {
  test(`the last filter masks every card number written ${name} (S-70)`, () => {
    fc.assert(
      fc.property(cardNumber, RUN, (digits, before) => {
        const written = write(digits);
        const filtered = filterLine(`${before}${written}`);
        assert.match(filtered, /\[pan\]/);
        assert.ok(!filtered.includes(written));
        assert.doesNotMatch(filtered, /[0-9](?:[ -]*[0-9]){12}/);
      }),
    );
  });
}

test("dots, slashes or commas between a card's groups do not hide it (S-70)", () => {
  for (const line of ["4242.4242.4242.4242", "5555/5555/5555/4444", "3782.822463.10005", "card=4000,0000,0000,0002"])
    assert.match(filterLine(line), /\[pan\]/, line);
});

const CARD_LINES = [
  "4242424242424242",
  "4242 4242 4242 4242",
  "4242-4242-4242-4242",
  "4242 - 4242 - 4242 - 4242",
  "4242(4242)4242-4242",
  "4 2 4 2 4 2 4 2 4 2 4 2 4 2 4 2",
  "3782 822463 10005",
  "6304000000000000",
  "5018 0000 0009",
  "card:5555555555554444.",
  '{"reason":"4000000000000002"}',
  "4242424242424242123",
  "1 4242424242424242",
  "12/29 4242424242424242 123",
  "+14242424242424242",
  "0004242424242424242000",
];
for (const line of CARD_LINES) {
  test(`the last filter finds the card number in: ${line} (S-70)`, () => {
    const filtered = filterLine(line);
    assert.match(filtered, /\[pan\]/);
    assert.doesNotMatch(filtered, /[0-9](?:[ -]*[0-9]){9}/);
  });
}

const INNOCENT_LINES = [
  '{"time":"2026-11-20T23:58:38.123Z","level":"info"}',
  "session=42424242-4242-4242-8242-424242424242",
  "1111111111111111",
  "42424242424",
  "192.168.100.200:65535",
  "evt_0123456789abcdefghijABCD",
  "src/platform/log.ts:117 node_modules/kysely/dist/query-executor.js:42",
  '{"ms":12.5,"count":3,"tries":1,"lost":0,"packets_in":50412,"packets_out":50398}',
  "127.0.0.1:5060 1, 2, 3, 4, 5, 6, 7",
  "+15550001111",
];
for (const line of INNOCENT_LINES) {
  test(`the last filter leaves alone: ${line}`, () => {
    assert.equal(filterLine(line), line);
  });
}

test("a line is cut before it is filtered: what stands behind the cut costs nothing (R-438)", () => {
  const filtered = filterLine(`${"y".repeat(LONGEST_LINE * 2)} 4242424242424242`);
  assert.equal(filtered, "y".repeat(LONGEST_LINE));
});

test("the cut never leaves the first digits of a card number standing (S-70, R-438)", () => {
  for (const written of ["4242424242424242", "4242 4242 4242 4242", JSON.stringify(Buffer.from("4242424242424242"))]) {
    for (let before = LONGEST_LINE - written.length - 1; before <= LONGEST_LINE; before++) {
      const filtered = filterLine("y".repeat(before) + written + " and more");
      assert.doesNotMatch(filtered, /42|5[02],/, `${before}`);
    }
  }
});

test("a value is masked before it is cut: no part of a card number stands at its end (S-70)", () => {
  const { lines, log } = recording();
  for (let before = 280; before <= 300; before++) log.info("x", { reason: "r".repeat(before) + "4242424242424242" });
  for (const line of lines) assert.doesNotMatch(line, /42/);
});

test("a run of backslashes is read once, however long it is (R-438)", () => {
  const masked = filterLine(`${"\\".repeat(4000)}u0034 ${"\\n".repeat(500)}4242424242424242`);
  assert.match(masked, /\[pan\]$/);
});

test("the last filter masks the secrets of status webhooks (S-70)", () => {
  assert.equal(filterLine("secret whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD/zz== left"), "secret [secret] left");
  assert.equal(filterLine(String.raw`{"secret":"whsec_C2FVsBQI\/hrscC"}`), '{"secret":"[secret]"}');
});

test("the last filter masks API keys (S-70)", () => {
  assert.equal(filterLine("key svc_live_0123456789abcdefghijABCDEFGHIJ01 and svc_test_x"), "key [key] and [key]");
});
