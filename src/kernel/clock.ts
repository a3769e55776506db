/**
 * Time as the core sees it. Nothing below `main.ts` asks the host for the time or sets a timer on its own:
 * the simulation replaces this one object (docs/invariants.md, Simulation).
 */
export interface Clock {
  /** Wall clock, ms since the Unix epoch. It may jump: never measure a duration with it. */
  now(): number;
  /** Monotonic clock, ms, arbitrary origin. For durations and deadlines inside one process. */
  monotonic(): number;
  /** Calls `task` once after `ms` milliseconds; the returned function cancels it and is safe to call twice. */
  after(ms: number, task: () => void): () => void;
}

/** Resolves after `ms` milliseconds of `clock`; rejects with the signal's reason when aborted first. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = () => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** `work`, or what `late` gives (or throws) when that takes longer than `ms` of `clock`. */
export async function within<T, L>(clock: Clock, ms: number, work: Promise<T>, late: () => L): Promise<T | L> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(ms, resolve);
  try {
    return await Promise.race([work, promise.then(late)]);
  } finally {
    cancel();
  }
}

/** `performance.now()` counts from the start of its own thread. */
const THREAD_STARTED = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/** The host's clock, the same in all threads of the process. Chosen by `main.ts` and by tests that use real sockets. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => THREAD_STARTED + performance.now(),
  after: (ms, task) => {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
};

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
