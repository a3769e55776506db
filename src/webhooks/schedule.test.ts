import assert from "node:assert/strict";
import { test } from "node:test";
import { nextWait, parseRetryAfter } from "./schedule.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test("nine waits follow the failures, about 76 hours in all, and then none (R-349)", () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((tries) => nextWait(tries, 0.5, null));
  assert.deepEqual(waits, [5_000, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]);
  assert.equal(nextWait(10, 0.5, null), null);
  const total = waits.reduce<number>((sum, wait) => sum + (wait ?? 0), 0);
  assert.ok(total > 75 * HOUR && total < 76 * HOUR, `${total / HOUR} hours in all`);
});

test("a wait is spread by twenty per cent either way (R-349)", () => {
  assert.equal(nextWait(2, 0, null), 4 * MINUTE);
  assert.equal(nextWait(2, 1, null), 6 * MINUTE);
});

test("Retry-After lengthens a wait up to a day and never shortens it (R-349)", () => {
  assert.equal(nextWait(1, 0.5, 10 * MINUTE), 10 * MINUTE);
  assert.equal(nextWait(3, 0.5, 1_000), 30 * MINUTE);
  assert.equal(nextWait(1, 0.5, 100 * HOUR), 24 * HOUR);
});

test("Retry-After is read as seconds or as a date (R-349)", () => {
  assert.equal(parseRetryAfter("120", 0), 120_000);
  assert.equal(parseRetryAfter("Thu, 01 Jan 1970 00:01:00 GMT", 10_000), 50_000);
  assert.equal(parseRetryAfter("Thu, 01 Jan 1970 00:00:01 GMT", 10_000), 0);
  assert.equal(parseRetryAfter("soon", 0), null);
  assert.equal(parseRetryAfter(undefined, 0), null);
});
