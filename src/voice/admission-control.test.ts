import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { AdmissionControl, type RefusalReason, WINDOW_MS } from "./admission-control.ts";

/** The clock of a main thread that gets to its timers late. */
class BusyClock extends ManualClock {
  lateMs = 0;

  override after(ms: number, task: () => void): () => void {
    return super.after(ms + this.lateMs, task);
  }
}

function rig(maxCalls = 1_000) {
  const clock = new BusyClock();
  const lines: string[] = [];
  const refused: RefusalReason[] = [];
  const log = {
    warn: (event: string, fields = {}) => void lines.push(`${event} ${JSON.stringify(fields)}`),
    info: (event: string, fields = {}) => void lines.push(`${event} ${JSON.stringify(fields)}`),
  };
  const admission = new AdmissionControl({ clock, log, maxCalls, onRefused: (reason) => refused.push(reason) });
  admission.start();
  /** Time in which the media thread reports that it is so late. */
  const pass = (ms: number, mediaMs = 0) => {
    for (let at = 0; at < ms; at += WINDOW_MS) {
      admission.noteMedia(mediaMs);
      clock.advance(WINDOW_MS);
    }
  };
  return { clock, lines, refused, admission, pass };
}

test("a pacer that is late for half a second refuses new calls, until it has been in time for two seconds (R-219)", () => {
  const { admission, pass, lines, refused } = rig();
  pass(5_000, 9);
  assert.equal(admission.refuse(25), null);
  pass(750, 11);
  assert.equal(admission.refuse(24), null, "so few calls are not what makes it late");
  assert.deepEqual(admission.refuse(25), { reason: "overload", retryAfterS: 10 });
  pass(10_000, 7);
  assert.equal(admission.isOverloaded, true, "between the two limits nothing changes");
  pass(1_500, 2);
  pass(250, 11);
  pass(1_500, 2);
  pass(1_000, 6);
  assert.equal(admission.isOverloaded, true);
  pass(1_000, 2);
  assert.equal(admission.refuse(25), null);
  assert.deepEqual(refused, ["overload"]);
  assert.match(lines[0] ?? "", /^calls_refused \{"reason":"media thread late","ms":11\}$/);
  assert.match(lines[1] ?? "", /^calls_admitted_again \{"ms":\d+,"count":1\}$/);
  assert.equal(lines.length, 2);
});

test("INVITEs that are being looked up are no calls on the line: fifty at once are told what is wrong with each, a flood is not (R-219, R-220)", () => {
  const { admission, pass } = rig();
  pass(750, 11);
  assert.equal(admission.refuse(49, 49), null);
  assert.equal(admission.refuse(73, 49), null);
  for (const [active, pending] of [
    [74, 49],
    [50, 50],
  ] as const) {
    assert.equal(admission.refuse(active, pending)?.reason, "overload");
    assert.equal(admission.busyFor(active, pending), 10);
  }
});

test("who only asks is told as a call would be, and is not counted", () => {
  const { admission, refused } = rig(20);
  assert.equal(admission.busyFor(19), null);
  assert.equal(admission.busyFor(20), 30);
  admission.drain();
  assert.equal(admission.busyFor(0), 30);
  assert.deepEqual(refused, []);
});

test("one stall refuses nobody", () => {
  const { admission, pass, clock } = rig();
  pass(2_000, 1);
  pass(WINDOW_MS, 300);
  clock.lateMs = 400;
  clock.advance(20);
  clock.lateMs = 0;
  pass(5_000, 1);
  assert.equal(admission.isOverloaded, false);
});

test("a main thread whose timers run late refuses new calls", () => {
  const { admission, pass, clock, lines } = rig();
  clock.lateMs = 110;
  pass(1_000);
  assert.equal(admission.refuse(25)?.reason, "overload");
  assert.match(lines[0] ?? "", /main thread late/);
  clock.lateMs = 0;
  pass(3_000);
  assert.equal(admission.isOverloaded, false);
});

test("a media thread that does not report is late by as much as its report", () => {
  const { admission, pass, clock } = rig();
  pass(1_000, 1);
  clock.advance(1_250);
  assert.equal(admission.isOverloaded, true);
  assert.ok(admission.measured.media >= 500);
});

test("MAX_CALLS and draining refuse at once, and the log tells once that the former was reached (R-219, R-292)", () => {
  const { admission, lines, refused } = rig(2);
  assert.equal(admission.refuse(1), null);
  assert.deepEqual(admission.refuse(2), { reason: "max_calls", retryAfterS: 30 });
  assert.deepEqual(admission.refuse(2)?.reason, "max_calls");
  assert.equal(admission.refuse(1), null);
  admission.refuse(2);
  assert.deepEqual(lines, ['max_calls_reached {"count":2}', 'max_calls_reached {"count":2}']);
  admission.drain();
  assert.deepEqual(admission.refuse(0), { reason: "draining", retryAfterS: 30 });
  assert.deepEqual(refused, ["max_calls", "max_calls", "max_calls", "draining"]);
});
