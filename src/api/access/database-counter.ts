import { sql } from "kysely";
import type { Clock } from "#src/kernel/clock.ts";
import { type Database, type Db, statement } from "#src/platform/index.ts";
import { Reservations, type Unused } from "./reservations.ts";
import { type Count, type RateCounter, SLOT_MS, WINDOW_MS } from "./counter.ts";

/** A refusal is remembered here, so that a flood costs no statements; bounded like every table that anybody can fill. */
const MAX_REFUSALS = 10_000;

/**
 * Counts in the table `rate_buckets`, shared by all processes, by the database's clock. Requests that come together are
 * counted by one statement. It is exact all the same: earlier slots no longer change, and the present slot's row is locked
 * by the upsert, so parallel requests cannot pass together. Busy buckets have reservations (reservations.ts).
 */
export function databaseCounter(database: Database, clock: Clock): RateCounter {
  const refusals = new Map<string, { count: Count; until: number }>();
  const reservations = new Reservations();
  const countBatched = database.batched(countAll);

  /** Counts one request in the database, with as many as are worth reserving. */
  async function countOne(bucket: string, limit: number, now: number): Promise<Count> {
    await release(reservations.expire(bucket, now)).catch(() => {});
    const reserved = reservations.amountFor(bucket, now);
    const count = await countBatched({ bucket, limit, hits: 1 + reserved });
    if (!count.allowed) {
      if (reserved > 0) reservations.cancel(bucket);
      // Among several that do not all fit some may: each asks for itself.
      return count.requested > 1 ? (await countAll(database.db, [{ bucket, limit, hits: 1 }]))[0]! : count;
    }
    // What cannot be released is forgotten with its slot.
    release(reservations.confirm(bucket, limit, reserved, count, now)).catch(() => {});
    return count;
  }

  async function release(unused: readonly Unused[]): Promise<void> {
    if (unused.length > 0) await releaseAll(database.db, JSON.stringify(unused));
  }

  return {
    async count(bucket, limit) {
      const now = clock.monotonic();
      const refused = refusals.get(bucket);
      if (refused && refused.until > now) return { ...refused.count, resetMs: refused.until - now };
      const taken = reservations.take(bucket, now);
      if (taken) return { allowed: true, ...taken };
      const count = await countOne(bucket, limit, now);
      refusals.delete(bucket);
      if (!count.allowed) {
        if (refusals.size >= MAX_REFUSALS) refusals.delete(refusals.keys().next().value!);
        refusals.set(bucket, { count, until: now + count.resetMs });
      }
      return count;
    },

    async sweep() {
      await release(reservations.expireAll(clock.monotonic()));
      await sql`delete from rate_buckets where window_start < clock_timestamp() - make_interval(secs => ${(2 * WINDOW_MS) / 1000})`.execute(
        database.db,
      );
    },
  };
}

interface CountRequest {
  bucket: string;
  limit: number;
  /** How many, all or none. */
  hits: number;
}
/** `requested`: how many on its bucket were counted in one, all or none of them. */
type Counted = Count & { requested: number; slot: Date; slotMs: number };

const slot = `make_interval(secs => ${SLOT_MS / 1000})`;

/** Buckets are locked in one order by all processes, so that none waits for another that waits for it. */
const countStatement = statement<{ bucket: string; requested: number; used: number | null; reset_ms: number; slot: Date; slot_ms: number }>(
  "count_hits",
  `with slot as materialized (
    select date_bin(${slot}, clock_timestamp(), timestamptz 'epoch') as start
  ), requested as materialized (
    select bucket, min("limit") as most, sum(hits)::int as hits from json_to_recordset($1) as item (bucket text, "limit" int, hits int) group by bucket
  ), earlier as materialized (
    select requested.bucket, coalesce(sum(rate_buckets.hits), 0)::int as hits, coalesce(min(window_start), slot.start) as oldest
    from slot cross join requested left join rate_buckets on rate_buckets.bucket = requested.bucket
      and window_start >= slot.start - make_interval(secs => ${WINDOW_MS / 1000}) and window_start < slot.start
    group by requested.bucket, slot.start
  ), present as (
    insert into rate_buckets as counted (bucket, window_start, hits)
    select bucket, slot.start, requested.hits from slot cross join requested join earlier using (bucket)
    where earlier.hits + requested.hits <= most order by bucket
    on conflict (bucket, window_start) do update set hits = counted.hits + excluded.hits
      where counted.hits + excluded.hits + (select hits from earlier where earlier.bucket = counted.bucket)
        <= (select most from requested where requested.bucket = counted.bucket)
    returning bucket, hits
  )
  select bucket, requested.hits as requested, earlier.hits + present.hits as used,
    extract(epoch from oldest - clock_timestamp())::float8 * 1000 + ${WINDOW_MS + SLOT_MS} as reset_ms,
    start as slot, extract(epoch from start - clock_timestamp())::float8 * 1000 + ${SLOT_MS} as slot_ms
  from slot cross join requested join earlier using (bucket) left join present using (bucket)`,
);

/** Counts requests, those on one bucket all or none. */
async function countAll(db: Db, requests: readonly CountRequest[]): Promise<Counted[]> {
  const buckets = new Map((await countStatement(db, JSON.stringify(requests))).map((row) => [row.bucket, row]));
  return requests.map(({ bucket, limit }) => {
    const { requested, used, reset_ms, slot, slot_ms } = buckets.get(bucket)!;
    return { requested, allowed: used !== null, used: used ?? limit, resetMs: Math.max(1, reset_ms), slot, slotMs: slot_ms };
  });
}

/** To the slots they were counted in: that a slot comes to hold less than it did lets nobody pass the limit. */
const releaseAll = statement(
  "release_hits",
  `update rate_buckets set hits = rate_buckets.hits - unused."count"
  from json_to_recordset($1) as unused (bucket text, slot timestamptz, "count" int)
  where rate_buckets.bucket = unused.bucket and window_start = slot`,
);
