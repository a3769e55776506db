/**
 * Hits that a busy process has counted before they come, so that not each of them costs a statement. Only a bucket that is far
 * from its limit has any, few beside what was served, and for the present slot of the window only: a hit is never used in a later
 * slot than the one it was counted in, so the limit holds exactly. What is left over at the slot's end is given back.
 */

/** Of the hits served in this slot, one in so many is counted ahead. */
const SHARE_OF_SERVED = 8;
/** At most one in so many of the hits that the limit still allows. */
const SHARE_OF_ROOM = 64;
/** Past this many buckets the oldest is forgotten, with what it had left. */
const MOST_BUCKETS = 10_000;

/** What a count of one bucket said. `used` includes what was counted ahead. */
export interface Counting {
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
  room: number;
  resetAt: number;
  /** Whether a count with some ahead is under way. */
  asking: boolean;
}

export interface Unused {
  bucket: string;
  slot: Date;
  hits: number;
}

export class HitsAhead {
  readonly #buckets = new Map<string, Bucket>();

  /** One hit that was counted ahead; null when there is none. */
  take(bucket: string, now: number): { used: number; resetMs: number } | null {
    const own = this.#buckets.get(bucket);
    if (!own || own.left === 0 || own.until <= now) return null;
    own.left--;
    own.served++;
    return { used: own.used - own.left, resetMs: own.resetAt - now };
  }

  /** How many to count beside the next hit. The count is to be followed by `counted` or `failed`. */
  ask(bucket: string, now: number): number {
    const own = this.#buckets.get(bucket);
    if (!own || own.asking || own.until <= now) return 0;
    const more = Math.floor(Math.min(own.served / SHARE_OF_SERVED, own.room / SHARE_OF_ROOM));
    own.asking = more > 0;
    return more;
  }

  /** `more` hits were counted beside one that was served; `asked` is when the count began. Answers what an earlier slot had left. */
  counted(bucket: string, limit: number, more: number, { used, resetMs, slot, slotMs }: Counting, asked: number): Unused[] {
    const room = limit - used;
    let own = this.#buckets.get(bucket);
    // A count of an earlier slot that came back late: what it has ahead is of no use any more.
    if (own && own.slot > slot) return more > 0 ? [{ bucket, slot, hits: more }] : [];
    const unused = own && own.slot < slot ? this.#drop(bucket, own) : [];
    if (!own || own.slot < slot) {
      if (room < SHARE_OF_ROOM) return more > 0 ? [...unused, { bucket, slot, hits: more }] : unused;
      own = { slot, until: asked + slotMs, left: 0, served: 0, used, room, resetAt: asked + resetMs, asking: false };
      this.#keep(bucket, own);
    }
    own.left += more;
    own.served++;
    own.used = Math.max(own.used, used);
    own.room = Math.min(own.room, room);
    own.resetAt = asked + resetMs;
    if (more > 0) own.asking = false;
    return unused;
  }

  /** A count with some ahead was refused or failed. */
  failed(bucket: string): void {
    const own = this.#buckets.get(bucket);
    if (own) own.asking = false;
  }

  /** Forgets the bucket when its slot has ended and answers what it had left. */
  end(bucket: string, now: number): Unused[] {
    const own = this.#buckets.get(bucket);
    return own && own.until <= now ? this.#drop(bucket, own) : [];
  }

  /** Forgets all that has ended and answers what it had left. */
  ended(now: number): Unused[] {
    return [...this.#buckets].flatMap(([bucket, own]) => (own.until <= now ? this.#drop(bucket, own) : []));
  }

  #keep(bucket: string, own: Bucket): void {
    if (this.#buckets.size >= MOST_BUCKETS) this.#buckets.delete(this.#buckets.keys().next().value!);
    this.#buckets.set(bucket, own);
  }

  #drop(bucket: string, { slot, left }: Bucket): Unused[] {
    this.#buckets.delete(bucket);
    return left > 0 ? [{ bucket, slot, hits: left }] : [];
  }
}
