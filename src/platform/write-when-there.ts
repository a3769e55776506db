import { type Clock, sleep } from "#src/kernel/clock.ts";
import type { Background } from "./background.ts";
import { isDatabaseUnavailable } from "./db/database.ts";

interface WriteRetry {
  clock: Clock;
  waitMs: number;
  /** In all. */
  tries: number;
  /** Told of the error that ended it. */
  onFailed: (error: unknown) => void;
  /** What keeps the process until it is over; without it, it may be lost with the process. */
  background?: Background;
}

/** Resolves after the first try, whatever came of it: nobody waits for a database. Where that is away, `write` is tried again in the background. */
export async function writeWhenThere(write: () => Promise<unknown>, retry: WriteRetry): Promise<void> {
  const { clock, waitMs, tries, onFailed, background } = retry;
  try {
    await write();
  } catch (error) {
    if (tries === 1 || !isDatabaseUnavailable(error)) return onFailed(error);
    const later = sleep(clock, waitMs).then(() => writeWhenThere(write, { ...retry, tries: tries - 1 }));
    void (background?.run(later) ?? later);
  }
}
