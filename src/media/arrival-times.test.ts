import assert from "node:assert/strict";
import { test } from "node:test";
import { ArrivalTimes, ReadingTurns } from "./arrival-times.ts";

const SSRC = 7;

/** A thread that reads what came when it gets to it; `read(now, ...ages)` reads packets whose samples were taken at these times. */
function rig() {
  let now = 0;
  let ends: (() => void)[] = [];
  const turns = new ReadingTurns(
    () => now,
    (task) => ends.push(task),
  );
  const arrivals = new ArrivalTimes(turns);
  const endTurn = () => {
    for (const task of ends.splice(0)) task();
  };
  const read = (at: number, ...sampled: number[]) => {
    now = at;
    const times = sampled.map((ms) => {
      arrivals.noteRead();
      return arrivals.of({ ssrc: SSRC, timestamp: (0xffff_ff00 + ms * 8) >>> 0 }, now);
    });
    endTurn();
    return times;
  };
  return { arrivals, turns, read, endTurn, ended: () => (ends = []) };
}

test("a packet that is read at once came when it was read", () => {
  const { read } = rig();
  assert.deepEqual([...read(1_000, 0), ...read(1_020, 20), ...read(1_040, 40)], [1_000, 1_020, 1_040]);
});

test("what waited while the thread was held up came when its timestamps say, across their wrap-around", () => {
  const { read } = rig();
  read(1_000, 0);
  read(1_020, 20);
  assert.deepEqual(read(1_420, 40, 240, 400), [1_040, 1_240, 1_400]);
});

test("timestamps that say nothing about time do not move a packet before the turn in which it was read", () => {
  const { read } = rig();
  read(1_000, 0);
  // A sender that counts no time while its caller is silent.
  read(3_000, 20);
  assert.deepEqual(read(3_020, 40), [3_000 + 20]);
  assert.deepEqual(read(3_060, 60, 70), [3_040, 3_050]);
});

test("a sender that counts faster than time is never heard in the future", () => {
  const { read } = rig();
  read(1_000, 0);
  assert.deepEqual(read(1_020, 500), [1_020]);
  assert.deepEqual(read(1_040, 520), [1_040]);
});

test("a turn that read as much as one turn can read leaves the older packets to the next one", () => {
  const { read } = rig();
  read(1_000, 0);
  const sampled = Array.from({ length: 60 }, (_, index) => 20 * (index + 1));
  assert.deepEqual(
    [...read(2_300, ...sampled.slice(0, 32)), ...read(2_301, ...sampled.slice(32))],
    sampled.map((ms) => 1_000 + ms),
  );
});

test("another SSRC is counted from its own first packet", () => {
  const { read, arrivals, turns, endTurn } = rig();
  read(1_000, 0);
  turns.note();
  assert.equal(arrivals.of({ ssrc: 8, timestamp: 5 }, 1_010), 1_010);
  endTurn();
});

test("everything has been read when two seconds of a stream could have been", () => {
  const { turns, endTurn } = rig();
  let done = false;
  turns.afterAllRead(() => (done = true));
  for (let turn = 0; turn < 3; turn++) endTurn();
  assert.equal(done, false);
  endTurn();
  assert.equal(done, true);
});
