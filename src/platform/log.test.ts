import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatorError } from "#src/kernel/errors.ts";
import { filterLine } from "./log-filter.ts";
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

const CARD_LINES = [
  "4242424242424242",
  "4242 4242 4242 4242",
  "4242-4242-4242-4242",
  "4242 - 4242 - 4242 - 4242",
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
  "+15550001111",
];
for (const line of INNOCENT_LINES) {
  test(`the last filter leaves alone: ${line}`, () => {
    assert.equal(filterLine(line), line);
  });
}

test("the last filter masks API keys (S-70)", () => {
  assert.equal(filterLine("key svc_live_0123456789abcdefghijABCDEFGHIJ01 and svc_test_x"), "key [key] and [key]");
});
