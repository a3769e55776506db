import type { EventEmitter } from "node:events";

/** SIGHUP: the terminal was closed. */
const STOPPING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** npm sends on to its child what a terminal or a supervisor has sent to the whole process group: the child gets it twice. */
const SENT_ON_WITHIN_MS = 500;

/** Resolves at the first of these signals. */
export function untilSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const signal of STOPPING) process.once(signal, () => resolve());
  return promise;
}

/**
 * Resolves at the first of these signals; calls `again` at a second one, which the same signal is when it comes later than
 * half a second after the first. `now` in ms.
 */
export function untilFirstSignal(
  again: () => void,
  source: Pick<EventEmitter, "on"> = process,
  now: () => number = () => performance.now(),
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let first: { signal: string; at: number } | null = null;
  for (const signal of STOPPING) {
    source.on(signal, () => {
      if (first === null) {
        first = { signal, at: now() };
        resolve();
      } else if (signal !== first.signal || now() - first.at > SENT_ON_WITHIN_MS) {
        again();
      }
    });
  }
  return promise;
}
