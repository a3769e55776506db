import type { Clock } from "#src/kernel/clock.ts";

/**
 * A clock whose waiting tasks can be dropped all at once: a stopped user agent leaves no timer behind. A task that throws
 * is reported and harms nobody else.
 */
export class StoppableClock implements Clock {
  readonly #clock: Clock;
  readonly #onFault: (error: unknown) => void;
  readonly #cancels = new Set<() => void>();
  #stopped = false;

  constructor(clock: Clock, onFault: (error: unknown) => void) {
    this.#clock = clock;
    this.#onFault = onFault;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(ms: number, task: () => void): () => void {
    if (this.#stopped) return () => {};
    const cancel = () => {
      this.#cancels.delete(cancel);
      cancelTask();
    };
    const cancelTask = this.#clock.after(ms, () => {
      this.#cancels.delete(cancel);
      try {
        task();
      } catch (error) {
        this.#onFault(error);
      }
    });
    this.#cancels.add(cancel);
    return cancel;
  }

  /** Drops what waits; from here on nothing is called any more. */
  stop(): void {
    this.#stopped = true;
    for (const cancel of this.#cancels) cancel();
  }
}
