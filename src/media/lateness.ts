/** Width of one bucket, ms. */
const BUCKET_MS = 0.25;
const BUCKETS = 256;

/** How late packets left, or timers ran, as a histogram of 0.25 ms buckets up to 64 ms. */
export class Lateness {
  readonly #buckets = new Uint32Array(BUCKETS);
  #count = 0;
  #max = 0;

  note(ms: number): void {
    const late = Math.max(0, ms);
    const bucket = Math.min(BUCKETS - 1, Math.floor(late / BUCKET_MS));
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#count++;
    this.#max = Math.max(this.#max, late);
  }

  /** Counts from nothing again. */
  clear(): void {
    this.#buckets.fill(0);
    this.#count = 0;
    this.#max = 0;
  }

  /** The lateness, ms, that the share `fraction` (0-1) of packets stayed under; 0 without packets. */
  quantile(fraction: number): number {
    let rest = this.#count * fraction;
    for (const [bucket, count] of this.#buckets.entries()) {
      rest -= count;
      if (rest <= 0 && count > 0) return Math.min(this.#max, (bucket + 1) * BUCKET_MS);
    }
    return 0;
  }
}
