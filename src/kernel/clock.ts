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
