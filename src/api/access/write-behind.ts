import type { Clock } from "#src/kernel/clock.ts";
import { type Count, countOf, type RateCounter, tokensIn, WINDOW_MS } from "./counter.ts";

/** Of a bucket's tokens this share may be taken before the shared count knows: of fewer than a hundred none, so that each request waits. */
const SHARE = 0.01;
/** Requests of so long are counted together, ms. */
const GATHER_MS = 10;
/** What the shared count said is believed for so long, ms. */
const FRESH_MS = 1000;
/** Bounded like every table that anybody can fill: past it the oldest are forgotten, and wait for their next count. */
const MAX_BUCKETS = 10_000;

interface Bucket {
  /** When it is full again after all that was taken here, by the monotonic clock, ms. */
  fullAt: number;
  /** When the shared count last answered. */
  answeredAt: number;
  /** Tokens taken here that it has not answered for. */
  behind: number;
}

/**
 * Counts with `counter`, which several processes share, but keeps no request waiting whose bucket had tokens to spare a moment ago: it is
 * allowed here and counted behind (write-behind), because the count takes longer than most of what is asked for. Each other process can
 * so let through a hundredth of the limit too much; under low limits, where one more matters, nothing is counted behind.
 */
export function writeBehind(counter: RateCounter, clock: Clock): RateCounter {
  const buckets = new Map<string, Bucket>();

  /** Keeps what the shared count answered, and returns it with the tokens that it does not know of yet. */
  function record(name: string, limit: number, count: Count): Count {
    const bucket = buckets.get(name) ?? { fullAt: 0, answeredAt: 0, behind: 0 };
    buckets.delete(name);
    if (!count.allowed) return count;
    const fullInMs = count.resetMs + (bucket.behind * WINDOW_MS) / limit;
    bucket.answeredAt = clock.monotonic();
    bucket.fullAt = bucket.answeredAt + fullInMs;
    buckets.set(name, bucket);
    if (buckets.size > MAX_BUCKETS) buckets.delete(buckets.keys().next().value!);
    return countOf(true, fullInMs, limit);
  }

  async function countBehind(bucket: Bucket, name: string, limit: number): Promise<void> {
    const tokens = bucket.behind;
    try {
      const counts = await Promise.all(Array.from({ length: tokens }, async () => counter.count(name, limit)));
      bucket.behind -= tokens;
      record(name, limit, counts.at(-1)!);
      if (bucket.behind > 0) clock.after(GATHER_MS, () => void countBehind(bucket, name, limit));
    } catch {
      // The next request waits, and is told.
      buckets.delete(name);
    }
  }

  return {
    async count(name, limit) {
      const most = Math.floor(limit * SHARE);
      if (most === 0) return await counter.count(name, limit);
      const bucket = buckets.get(name);
      const now = clock.monotonic();
      if (!bucket || bucket.answeredAt + FRESH_MS < now || bucket.behind >= most || tokensIn(bucket.fullAt - now, limit) <= most)
        return record(name, limit, await counter.count(name, limit));
      if (bucket.behind++ === 0) clock.after(GATHER_MS, () => void countBehind(bucket, name, limit));
      bucket.fullAt = Math.max(bucket.fullAt, now) + WINDOW_MS / limit;
      return countOf(true, bucket.fullAt - now, limit);
    },
    sweep: () => counter.sweep(),
  };
}
