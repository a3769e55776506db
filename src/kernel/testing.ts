import type { Clock } from "./clock.ts";

/** A clock that stands still until `advance` is called; tasks then run in the order of their due times. */
export class ManualClock implements Clock {
  #time: number;
  #nextId = 0;
  readonly #tasks = new Map<number, { due: number; task: () => void }>();

  constructor(startMs = 1_795_000_000_000) {
    this.#time = startMs;
  }

  now(): number {
    return this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  after(ms: number, task: () => void): () => void {
    const id = this.#nextId++;
    this.#tasks.set(id, { due: this.#time + Math.max(0, ms), task });
    return () => void this.#tasks.delete(id);
  }

  /** Moves time forward by `ms`, running every task that falls due on the way, those set by tasks included. */
  advance(ms: number): void {
    const end = this.#time + ms;
    for (;;) {
      let next: [number, { due: number; task: () => void }] | undefined;
      for (const entry of this.#tasks) {
        if (entry[1].due <= end && (!next || entry[1].due < next[1].due)) next = entry;
      }
      if (!next) break;
      this.#tasks.delete(next[0]);
      this.#time = Math.max(this.#time, next[1].due);
      next[1].task();
    }
    this.#time = end;
  }

  /** How many tasks are waiting; a test asserts 0 to prove that nothing leaks. */
  get pending(): number {
    return this.#tasks.size;
  }
}
