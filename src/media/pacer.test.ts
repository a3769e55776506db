import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock as StandingClock } from "#src/kernel/testing.ts";
import type { Paced } from "./pacer.ts";
import { Pacer } from "./pacer.ts";

class ManualClock extends StandingClock {
  #stalled = 0;

  override monotonic(): number {
    return super.monotonic() + this.#stalled;
  }

  /** Time passes while a task runs. */
  stall(ms: number): void {
    this.#stalled += ms;
  }
}

class Ticker implements Paced {
  readonly slots: number[] = [];
  #due: number;
  constructor(due: number) {
    this.#due = due;
  }
  onSlot(_now: number, slot: number): number {
    this.slots.push(slot);
    this.#due += 20;
    return this.#due;
  }
}

test("a thousand periods later nobody has drifted", () => {
  const clock = new ManualClock(1_000);
  const pacer = new Pacer(clock);
  const ticker = new Ticker(1_007);
  pacer.schedule(ticker, 1_007);
  clock.advance(20_010);
  assert.equal(ticker.slots.length, 1_001);
  assert.deepEqual([ticker.slots[0], ticker.slots.at(-1)], [1_006, 21_006]);
});

test("legs that start at different times stay in different slots", () => {
  const clock = new ManualClock(0);
  const pacer = new Pacer(clock);
  const tickers = [0, 3, 9, 18].map((due) => new Ticker(due));
  for (const [index, ticker] of tickers.entries()) pacer.schedule(ticker, [2, 3, 9, 18][index] ?? 0);
  clock.advance(100);
  assert.deepEqual(
    tickers.map(({ slots }) => (slots[1] ?? 0) % 20),
    [0, 2, 8, 18],
  );
});

test("after a stall longer than the wheel every task is called again and catches up in order", () => {
  const clock = new ManualClock(0);
  let stalled = 0;
  // A host clock that is found 500 ms later at the next timer.
  const pacer = new Pacer({
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + stalled,
    after: (ms, task) => clock.after(ms, task),
  });
  const ticker = new Ticker(20);
  pacer.schedule(ticker, 20);
  clock.advance(40);
  stalled = 500;
  clock.advance(20);
  assert.ok(ticker.slots.length >= 3);
  assert.deepEqual(
    ticker.slots,
    ticker.slots.toSorted((a, b) => a - b),
  );
  assert.ok((ticker.slots.at(-1) ?? 0) > 60);
});

test("a cancelled task is not called, and nothing ticks when nobody is left", () => {
  const clock = new ManualClock(0);
  const pacer = new Pacer(clock);
  const ticker = new Ticker(20);
  pacer.schedule(ticker, 20);
  pacer.cancel(ticker);
  clock.advance(100);
  assert.deepEqual(ticker.slots, []);
  assert.equal(clock.pending, 0);
});

test("what is due after a stall keeps its slot: it is not run early with the slots that went by", () => {
  const clock = new ManualClock(0);
  const pacer = new Pacer(clock);
  const slots: [number, number][] = [];
  const later: Paced = {
    onSlot(now, slot) {
      slots.push([now, slot]);
      return null;
    },
  };
  const stalled: Paced = {
    onSlot() {
      // 200 ms of work in one slot; whoever is scheduled next counts from the present.
      clock.stall(200);
      pacer.schedule(later, clock.monotonic() + 30);
      return null;
    },
  };
  pacer.schedule(stalled, 10);
  clock.advance(10);
  clock.advance(100);
  assert.deepEqual(slots, [[240, 240]]);
});
