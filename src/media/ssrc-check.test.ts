import assert from "node:assert/strict";
import { test } from "node:test";
import { SsrcCheck } from "./ssrc-check.ts";

/** A caller's packets, one each 20 ms; `take` says what becomes of one more. */
function rig() {
  const check = new SsrcCheck();
  const sequences = new Map<number, number>();
  let now = 0;
  const take = (ssrc: number, isEvent = false) => {
    const sequence = ((sequences.get(ssrc) ?? 100) + 1) & 0xffff;
    sequences.set(ssrc, sequence);
    return check.accepts({ ssrc, sequence }, isEvent, now);
  };
  return { take, pass: (ms: number) => void (now += ms) };
}
const [CALLER, INTRUDER] = [1, 2];

test("the first source of synchronisation counts, and another beside it does not: forged packets press no digit (S-85)", () => {
  const { take, pass } = rig();
  assert.ok(take(CALLER));
  assert.ok(take(CALLER, true), "the caller's own digits");
  for (let turn = 0; turn < 100; turn++) {
    pass(20);
    assert.ok(take(CALLER));
    assert.ok(!take(INTRUDER));
    assert.ok(!take(INTRUDER, true));
  }
});

test("a peer that starts again under another SSRC is heard as soon as the former one is silent (RFC 3550 section 8.2)", () => {
  const { take, pass } = rig();
  for (let turn = 0; turn < 10; turn++) {
    pass(20);
    assert.ok(take(CALLER));
  }
  const taken = Array.from({ length: 10 }, () => {
    pass(20);
    return take(INTRUDER);
  });
  assert.ok(taken.indexOf(true) <= 4, String(taken));
  assert.ok(taken.slice(4).every(Boolean));
  pass(20);
  assert.ok(!take(CALLER));
});

test("one lone packet under another SSRC is no new stream, however long the former one is silent (RFC 3550 appendix A.1)", () => {
  const { take, pass } = rig();
  take(CALLER);
  pass(5_000);
  assert.ok(!take(INTRUDER, true));
  assert.ok(take(CALLER));
});

test("a peer that sends its digits under an SSRC of their own beside its audio is understood, and keeps to it", () => {
  const { take, pass } = rig();
  const digits = 9;
  const taken = Array.from({ length: 20 }, () => {
    pass(20);
    assert.ok(take(CALLER));
    return take(digits, true);
  });
  assert.deepEqual([taken[0], taken.slice(1).every(Boolean)], [false, true]);
  assert.ok(!take(INTRUDER, true));
  assert.ok(!take(INTRUDER, true));
});

test("after a new description any SSRC may begin", () => {
  const { take } = rig();
  const check = new SsrcCheck();
  assert.ok(check.accepts({ ssrc: 1, sequence: 1 }, false, 0));
  check.reset();
  assert.ok(check.accepts({ ssrc: 2, sequence: 1 }, false, 1));
  assert.ok(take(CALLER));
});

test("a stream whose packets wait because the thread was held up is not taken for silent (S-85)", () => {
  const check = new SsrcCheck();
  assert.ok(check.accepts({ ssrc: CALLER, sequence: 1 }, false, 0, 0));
  // Half a second later everything is read at once; the turn before ended at 5 ms.
  for (const sequence of [1, 2, 3]) assert.ok(!check.accepts({ ssrc: INTRUDER, sequence }, true, 500, 5) || sequence > 1);
  assert.ok(check.accepts({ ssrc: CALLER, sequence: 2 }, false, 500, 5));
});
