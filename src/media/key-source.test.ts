import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { KeySource, type KeyPath } from "./key-source.ts";

/** Which of these keys count; each comes `ms` after the one before. */
function counted(keys: readonly (readonly [path: KeyPath, ms: number])[]): boolean[] {
  const clock = new ManualClock();
  const source = new KeySource(clock);
  return keys.map(([path, ms]) => {
    clock.advance(ms);
    return source.accepts(path);
  });
}

test("a key that comes by RTP and by INFO counts once, whichever is first (R-226, R-228)", () => {
  assert.deepEqual(counted([["rtp", 0], ["info", 120], ["rtp", 60], ["info", 120]]), [true, false, true, false]); // prettier-ignore
  assert.deepEqual(counted([["info", 0], ["rtp", 20], ["info", 100], ["rtp", 20]]), [true, false, true, false]); // prettier-ignore
  // Slowly, by hand: each time the faster way is first.
  assert.deepEqual(counted([["rtp", 0], ["info", 120], ["rtp", 5_000], ["info", 120]]), [true, false, true, false]); // prettier-ignore
});

test("keys by one way alone all count, the same one twice included (R-228)", () => {
  for (const path of ["rtp", "info"] as const) assert.deepEqual(counted([[path, 0], [path, 40], [path, 40]]), [true, true, true]); // prettier-ignore
});

test("an INFO that was retransmitted twice is still the echo of its key (RFC 3261 section 17.1.2.2)", () => {
  assert.deepEqual(counted([["rtp", 0], ["info", 1_700]]), [true, false]); // prettier-ignore
});

test("a peer that changes its way in the middle of a call is heard by the new one (R-226)", () => {
  assert.deepEqual(counted([["info", 0], ["rtp", 2_000], ["rtp", 100]]), [true, true, true]); // prettier-ignore
});
