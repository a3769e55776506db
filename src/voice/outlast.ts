import { sleep } from "#src/kernel/clock.ts";
import { isDatabaseUnavailable } from "#src/platform/index.ts";
import type { CallDeps } from "./types.ts";

/** How long, and how far apart, what a transfer needs of the database is asked for again: a failover takes some seconds. */
const LONGEST_MS = 10_000;
const WAIT_MS = 1_000;

/**
 * Runs `work`, and again while the database is away and the caller on the line: without it nobody can be called, because transfers are
 * counted. Rejects as the last run did. `work` must bear being run twice: the answer to its commit may be what was lost.
 */
export async function outlast<T>(work: () => Promise<T>, signal: AbortSignal, { clock }: Pick<CallDeps, "clock">): Promise<T> {
  const end = clock.monotonic() + LONGEST_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || clock.monotonic() >= end || !isDatabaseUnavailable(error)) throw error;
    }
    await sleep(clock, WAIT_MS);
  }
}
