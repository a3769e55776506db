import assert from "node:assert/strict";
import { test } from "node:test";
import { ReceiverStatistics } from "./receiver-statistics.ts";

function receive(statistics: ReceiverStatistics, steps: [sequence: number, atMs: number][], ssrc = 1): void {
  for (const [sequence, atMs] of steps) {
    const packet = {
      marker: false,
      payloadType: 0,
      sequence: sequence & 0xffff,
      timestamp: sequence * 160,
      ssrc,
      payload: new Uint8Array(),
    };
    statistics.note(packet, atMs, true);
  }
}

test("loss is what the sequence numbers promise and did not come, across the wrap-around (RFC 3550 A.3)", () => {
  const statistics = new ReceiverStatistics();
  receive(statistics, [
    [65_533, 0],
    [65_534, 20],
    [65_537, 80],
    [65_536, 81],
    [65_540, 140],
  ]);
  assert.equal(statistics.packets, 5);
  assert.equal(statistics.lost, 3);
});

test("a sender that starts again or changes its SSRC loses nothing", () => {
  const statistics = new ReceiverStatistics();
  receive(statistics, [
    [1, 0],
    [2, 20],
  ]);
  receive(
    statistics,
    [
      [30_000, 40],
      [30_001, 60],
    ],
    2,
  );
  receive(statistics, [[9_000, 80]], 2);
  assert.equal(statistics.lost, 0);
});

test("duplicates do not make the loss negative", () => {
  const statistics = new ReceiverStatistics();
  receive(statistics, [
    [1, 0],
    [1, 1],
    [1, 2],
  ]);
  assert.equal(statistics.lost, 0);
});

test("a steady stream has no jitter; one that alternates by 8 ms tends to 8 ms (RFC 3550 A.8)", () => {
  const steady = new ReceiverStatistics();
  receive(
    steady,
    Array.from({ length: 200 }, (_, index) => [index, index * 20]),
  );
  assert.equal(steady.jitterMs, 0);
  const uneven = new ReceiverStatistics();
  receive(
    uneven,
    Array.from({ length: 200 }, (_, index) => [index, index * 20 + (index % 2) * 8]),
  );
  assert.ok(Math.abs(uneven.jitterMs - 8) < 0.1);
});

test("a report tells cycles, loss since the beginning and the share since the last report (RFC 3550 A.3)", () => {
  const statistics = new ReceiverStatistics();
  assert.equal(statistics.report(), null);
  receive(statistics, [
    [65_534, 0],
    [65_535, 20],
    [65_538, 80],
    [65_539, 100],
  ]);
  const first = statistics.report();
  assert.deepEqual([first?.highestSequence, first?.lost, first?.fractionLost], [65_539, 2, Math.floor((2 / 6) * 256)]);
  receive(statistics, [[65_540, 120]]);
  const second = statistics.report();
  assert.deepEqual([second?.highestSequence, second?.lost, second?.fractionLost], [65_540, 2, 0]);
  // Another source begins anew.
  receive(statistics, [[7, 140]], 2);
  const other = statistics.report();
  assert.deepEqual([other?.ssrc, other?.highestSequence, other?.lost, other?.fractionLost], [2, 7, 0, 0]);
});
