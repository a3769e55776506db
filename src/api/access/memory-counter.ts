import type { Clock } from "#src/kernel/clock.ts";
import { countOf, type RateCounter, tokensIn, WINDOW_MS } from "./counter.ts";

/** Past this many buckets the oldest are forgotten: an attacker with a whole network must not fill the memory. */
const MAX_BUCKETS = 100_000;

/** Counts in this process: right where one process serves everything. */
export function memoryCounter(clock: Clock): RateCounter {
  /** When each is full again, by the monotonic clock. */
  const fullAt = new Map<string, number>();

  return {
    count(bucket, limit) {
      const now = clock.monotonic();
      const before = Math.max(fullAt.get(bucket) ?? 0, now);
      const allowed = tokensIn(before - now, limit) > 0;
      const after = allowed ? before + WINDOW_MS / limit : before;
      if (!fullAt.has(bucket) && fullAt.size >= MAX_BUCKETS) fullAt.delete(fullAt.keys().next().value!);
      fullAt.set(bucket, after);
      return countOf(allowed, after - now, limit);
    },

    sweep() {
      const now = clock.monotonic();
      for (const [bucket, at] of fullAt) if (at <= now) fullAt.delete(bucket);
    },
  };
}
