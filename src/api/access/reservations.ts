/**
 * Requests of a busy bucket that were counted before they come, so that not each of them costs a statement. Only a bucket that is
 * far from its limit has any, few beside what was served, and for the present slot of the window only: a reservation is never used
 * in a later slot than the one it was counted in, so the limit holds exactly. What is left over at the slot's end is released.
 */

/** Of the requests served in this slot, one in so many is reserved. */
const SHARE_OF_SERVED = 8;
/** At most one in so many of the requests that the limit still allows. */
const SHARE_OF_REMAINING = 64;
/** Past this many buckets the oldest is forgotten, with what it had left. */
const MAX_BUCKETS = 10_000;

/** What counting in one bucket gave. `used` includes what is reserved. */
export interface Counted {
  used: number;
  resetMs: number;
  /** The slot it was counted in, and how long that lasts. */
  slot: Date;
  slotMs: number;
}

interface Bucket {
  slot: Date;
  /** By the monotonic clock: the slot's end, never later. */
  until: number;
  left: number;
  served: number;
  used: number;
  remaining: number;
  resetAt: number;
  /** Whether a reservation is under way. */
  pending: boolean;
}

export interface Unused {
  bucket: string;
  slot: Date;
  count: number;
}

export class Reservations {
  readonly #buckets = new Map<string, Bucket>();

  /** Uses one reservation; null when there is none. */
  take(bucket: string, now: number): { used: number; resetMs: number } | null {
    const own = this.#buckets.get(bucket);
    if (!own || own.left === 0 || own.until <= now) return null;
    own.left--;
    own.served++;
    return { used: own.used - own.left, resetMs: own.resetAt - now };
  }

  /** How many to reserve when the next request is counted. The count is to be followed by `confirm` or `cancel`. */
  amountFor(bucket: string, now: number): number {
    const own = this.#buckets.get(bucket);
    if (!own || own.pending || own.until <= now) return 0;
    const amount = Math.floor(Math.min(own.served / SHARE_OF_SERVED, own.remaining / SHARE_OF_REMAINING));
    own.pending = amount > 0;
    return amount;
  }

  /** `amount` was counted beside one request that was served; `startedAt` is when the count began. Returns what an earlier slot had left. */
  confirm(bucket: string, limit: number, amount: number, { used, resetMs, slot, slotMs }: Counted, startedAt: number): Unused[] {
    const remaining = limit - used;
    let own = this.#buckets.get(bucket);
    // A count of an earlier slot that came back late: what it reserved is of no use any more.
    if (own && own.slot > slot) return amount > 0 ? [{ bucket, slot, count: amount }] : [];
    const unused = own && own.slot < slot ? this.#drop(bucket, own) : [];
    if (!own || own.slot < slot) {
      if (remaining < SHARE_OF_REMAINING) return amount > 0 ? [...unused, { bucket, slot, count: amount }] : unused;
      own = { slot, until: startedAt + slotMs, left: 0, served: 0, used, remaining, resetAt: startedAt + resetMs, pending: false };
      this.#add(bucket, own);
    }
    own.left += amount;
    own.served++;
    own.used = Math.max(own.used, used);
    own.remaining = Math.min(own.remaining, remaining);
    own.resetAt = startedAt + resetMs;
    if (amount > 0) own.pending = false;
    return unused;
  }

  /** A count with a reservation was refused or failed. */
  cancel(bucket: string): void {
    const own = this.#buckets.get(bucket);
    if (own) own.pending = false;
  }

  /** Forgets the bucket when its slot has ended and returns what it had left. */
  expire(bucket: string, now: number): Unused[] {
    const own = this.#buckets.get(bucket);
    return own && own.until <= now ? this.#drop(bucket, own) : [];
  }

  /** Forgets all that has ended and returns what it had left. */
  expireAll(now: number): Unused[] {
    return [...this.#buckets].flatMap(([bucket, own]) => (own.until <= now ? this.#drop(bucket, own) : []));
  }

  #add(bucket: string, own: Bucket): void {
    if (this.#buckets.size >= MAX_BUCKETS) this.#buckets.delete(this.#buckets.keys().next().value!);
    this.#buckets.set(bucket, own);
  }

  #drop(bucket: string, { slot, left }: Bucket): Unused[] {
    this.#buckets.delete(bucket);
    return left > 0 ? [{ bucket, slot, count: left }] : [];
  }
}
