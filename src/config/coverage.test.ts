import assert from "node:assert/strict";
import { test } from "node:test";
import { coversInternet } from "./coverage.ts";

const halves = (bits: number) => Array.from({ length: 2 ** bits }, (_, index) => `${(index * 256) / 2 ** bits}.0.0.0/${bits}`);

const EVERYBODY: readonly string[][] = [
  ["0.0.0.0/0"],
  ["1.2.3.4/0"],
  ["0.0.0.0/1", "128.0.0.0/1"],
  ["128.0.0.0/1", "10.0.0.0/8", "0.0.0.0/1"],
  halves(5),
  ["0.0.0.0/1", "128.0.0.0/2", "192.0.0.0/3"],
  Array.from({ length: 223 }, (_, first) => `${first + 1}.0.0.0/8`),
  ["::/0"],
  ["::/1", "8000::/1"],
  ["2000::/3"],
  ["2000::/4", "3000::/4"],
  ["::ffff:0.0.0.0/96"],
  ["::ffff:0:0/97", "::ffff:8000:0/97"],
  ["::ffff:0:0/97", "128.0.0.0/1"],
];
for (const ranges of EVERYBODY) {
  test(`everybody is meant by ${ranges.slice(0, 3).join(", ")}${ranges.length > 3 ? ` and ${ranges.length - 3} more` : ""} (R-440)`, () => {
    assert.equal(coversInternet(ranges), true);
    assert.equal(coversInternet(ranges.toReversed()), true);
  });
}

const SOMEBODY: readonly string[][] = [
  [],
  ["127.0.0.0/8", "::1/128"],
  ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
  ["54.172.60.0/30", "203.0.113.7", "2001:db8::1"],
  // The same half of a half again and again is no more than it is once.
  ["0.0.0.0/2", "0.0.0.0/2", "1.0.0.0/2", "32.0.0.0/3"],
  ["fe80::/10", "fc00::/7", "ff00::/8"],
];
for (const ranges of SOMEBODY) {
  test(`not everybody is meant by ${ranges.join(", ") || "an empty list"} (R-440)`, () => assert.equal(coversInternet(ranges), false));
}
