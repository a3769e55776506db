import type { Clock } from "#src/kernel/clock.ts";
import { Lateness } from "./lateness.ts";

/** The period of all legs: one packet of 20 ms. */
export const PERIOD_MS = 20;
/** Legs are spread over slots this wide: fewer timer wake-ups than one each, smaller bursts than one for all. */
const SLOT_MS = 2;
/** Slots ahead that the wheel can hold: 64 ms, over three periods. */
const WHEEL = 32;

/** Something that sends when its time comes. */
export interface Paced {
  /** Sends what is due at `now`; `slot` is when it was to be. Returns when to be called again, or null for never. */
  onSlot(now: number, slot: number): number | null;
}

/**
 * The one clock of all legs of a media thread: a timer wheel of 2 ms slots on the monotonic clock. Each slot is computed
 * from the start of time, never from the last wake-up, so nothing drifts; one setInterval for each leg loses 2-4 % of packets.
 */
export class Pacer {
  /** How late tasks were run, since it was last cleared. */
  readonly lateness = new Lateness();
  readonly #clock: Clock;
  readonly #onRun: () => void;
  readonly #wheel: Set<Paced>[] = Array.from({ length: WHEEL }, () => new Set());
  readonly #slotOf = new Map<Paced, number>();
  /** The last slot run. */
  #done = 0;
  #armedFor = Number.POSITIVE_INFINITY;
  #disarm: () => void = () => {};

  /** `onRun` is called whenever the wheel turns. */
  constructor(clock: Clock, onRun: () => void = () => {}) {
    this.#clock = clock;
    this.#onRun = onRun;
  }

  /** Calls `task` in the slot of `at` (monotonic ms), or in the next one when that is past. Replaces its earlier slot. */
  schedule(task: Paced, at: number): void {
    if (this.#armedFor === Number.POSITIVE_INFINITY) this.#done = this.#currentSlot();
    this.cancel(task);
    // After a stall `#done` is behind the present.
    const latest = Math.max(this.#done, this.#currentSlot()) + WHEEL - 1;
    const slot = Math.min(Math.max(Math.floor(at / SLOT_MS), this.#done + 1), latest);
    this.#wheel[slot % WHEEL]?.add(task);
    this.#slotOf.set(task, slot);
    if (slot < this.#armedFor) this.#arm(slot);
  }

  cancel(task: Paced): void {
    const slot = this.#slotOf.get(task);
    if (slot === undefined) return;
    this.#wheel[slot % WHEEL]?.delete(task);
    this.#slotOf.delete(task);
  }

  #currentSlot(): number {
    // Host timers count whole milliseconds and can fire up to one early: half of one is not worth another wake-up.
    return Math.floor((this.#clock.monotonic() + 0.5) / SLOT_MS);
  }

  #arm(slot: number): void {
    this.#disarm();
    this.#armedFor = slot;
    this.#disarm = this.#clock.after(Math.max(0, slot * SLOT_MS - this.#clock.monotonic()), () => this.#run());
  }

  #run(): void {
    this.#onRun();
    // Held at minus infinity while running: a task that schedules itself must not arm the timer.
    this.#armedFor = Number.NEGATIVE_INFINITY;
    const current = this.#currentSlot();
    // After a stall longer than the wheel every slot is visited once, oldest first.
    for (let slot = Math.max(this.#done + 1, current - WHEEL + 1); slot <= current; slot++) {
      this.#done = slot;
      // What shares the slot's place on the wheel may be due a whole turn later.
      for (const task of this.#wheel[slot % WHEEL] ?? []) if ((this.#slotOf.get(task) ?? 0) <= current) this.#call(task);
    }
    this.#armedFor = Number.POSITIVE_INFINITY;
    for (let slot = this.#done + 1; slot < this.#done + WHEEL; slot++) {
      if ((this.#wheel[slot % WHEEL]?.size ?? 0) > 0) return this.#arm(slot);
    }
  }

  #call(task: Paced): void {
    const slot = this.#slotOf.get(task);
    if (slot === undefined) return;
    this.cancel(task);
    const now = this.#clock.monotonic();
    this.lateness.note(now - slot * SLOT_MS);
    const next = task.onSlot(now, slot * SLOT_MS);
    if (next !== null) this.schedule(task, next);
  }
}
