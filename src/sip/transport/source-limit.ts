import type { Clock } from "#src/kernel/clock.ts";

/** Sources kept at once. Those whose bucket is full again are forgotten first. */
const MAX_SOURCES = 10_000;

interface Bucket {
  tokens: number;
  /** Of the clock, ms: when `tokens` was true. */
  at: number;
}

/** A token bucket for each source (S-83). */
export class SourceLimit {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #buckets = new Map<string, Bucket>();

  /** `perSecond`: what a source may do in a second, and at once after a pause. */
  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
  }

  /** Takes one token; false when none is left, or when more sources than can be counted are at work. */
  allows(source: string): boolean {
    const bucket = this.#buckets.get(source) ?? this.#open(source);
    if (!bucket) return false;
    const now = this.#clock.monotonic();
    bucket.tokens = this.#filled(bucket, now);
    bucket.at = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens--;
    return true;
  }

  #open(source: string): Bucket | null {
    const now = this.#clock.monotonic();
    if (this.#buckets.size >= MAX_SOURCES) {
      for (const [other, bucket] of this.#buckets) if (this.#filled(bucket, now) >= this.#perSecond) this.#buckets.delete(other);
      if (this.#buckets.size >= MAX_SOURCES) return null;
    }
    const bucket = { tokens: this.#perSecond, at: now };
    this.#buckets.set(source, bucket);
    return bucket;
  }

  #filled({ tokens, at }: Bucket, now: number): number {
    return Math.min(this.#perSecond, tokens + ((now - at) * this.#perSecond) / 1_000);
  }
}
