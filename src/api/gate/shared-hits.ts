import { sql } from "kysely";
import type { Clock } from "#src/kernel/clock.ts";
import { type Database, type Db, statement } from "#src/platform/index.ts";
import { HitsAhead, type Unused } from "./ahead.ts";
import { type Hit, type HitStore, SLOT_MS, WINDOW_MS } from "./hits.ts";

/** A refusal is remembered here, so that a flood costs no statements; bounded like every table a stranger can fill. */
const MOST_REFUSALS = 10_000;

/**
 * Counts in the table `rate_buckets`, shared by all processes, by the database's clock. Hits that come together are
 * counted by one statement. It is exact all the same: earlier slots no longer change, and the present slot's row is locked
 * by the upsert, so parallel hits cannot pass together. Busy buckets have some counted ahead (ahead.ts).
 */
export function sharedHits(database: Database, clock: Clock): HitStore {
  const refusals = new Map<string, { hit: Hit; until: number }>();
  const ahead = new HitsAhead();
  const countTogether = database.batched(countHits);

  /** One hit that has to be counted, with as many as are worth counting ahead. */
  async function counted(bucket: string, limit: number, now: number): Promise<Hit> {
    await giveBack(ahead.end(bucket, now)).catch(() => {});
    const more = ahead.ask(bucket, now);
    const hit = await countTogether({ bucket, limit, hits: 1 + more });
    if (!hit.allowed) {
      if (more > 0) ahead.failed(bucket);
      // Among several that do not all fit some may: each asks for itself.
      return hit.asked > 1 ? (await countHits(database.db, [{ bucket, limit, hits: 1 }]))[0]! : hit;
    }
    // What cannot be given back is forgotten with its slot.
    giveBack(ahead.counted(bucket, limit, more, hit, now)).catch(() => {});
    return hit;
  }

  async function giveBack(unused: readonly Unused[]): Promise<void> {
    if (unused.length > 0) await returnHits(database.db, JSON.stringify(unused));
  }

  return {
    async hit(bucket, limit) {
      const now = clock.monotonic();
      const refused = refusals.get(bucket);
      if (refused && refused.until > now) return { ...refused.hit, resetMs: refused.until - now };
      const taken = ahead.take(bucket, now);
      if (taken) return { allowed: true, ...taken };
      const hit = await counted(bucket, limit, now);
      refusals.delete(bucket);
      if (!hit.allowed) {
        if (refusals.size >= MOST_REFUSALS) refusals.delete(refusals.keys().next().value!);
        refusals.set(bucket, { hit, until: now + hit.resetMs });
      }
      return hit;
    },

    async sweep() {
      await giveBack(ahead.ended(clock.monotonic()));
      await sql`delete from rate_buckets where window_start < clock_timestamp() - make_interval(secs => ${(2 * WINDOW_MS) / 1000})`.execute(
        database.db,
      );
    },
  };
}

interface Asked {
  bucket: string;
  limit: number;
  /** How many, all or none. */
  hits: number;
}
/** `asked`: how many hits on its bucket were counted in one, all or none of them. */
type Counted = Hit & { asked: number; slot: Date; slotMs: number };

const slot = `make_interval(secs => ${SLOT_MS / 1000})`;

/** Buckets are locked in one order by all processes, so that none waits for another that waits for it. */
const count = statement<{ bucket: string; asked: number; used: number | null; reset_ms: number; slot: Date; slot_ms: number }>(
  "count_hits",
  `with slot as materialized (
    select date_bin(${slot}, clock_timestamp(), timestamptz 'epoch') as start
  ), asked as materialized (
    select bucket, min("limit") as most, sum(hits)::int as hits from json_to_recordset($1) as hit (bucket text, "limit" int, hits int) group by bucket
  ), earlier as materialized (
    select asked.bucket, coalesce(sum(rate_buckets.hits), 0)::int as hits, coalesce(min(window_start), slot.start) as oldest
    from slot cross join asked left join rate_buckets on rate_buckets.bucket = asked.bucket
      and window_start >= slot.start - make_interval(secs => ${WINDOW_MS / 1000}) and window_start < slot.start
    group by asked.bucket, slot.start
  ), present as (
    insert into rate_buckets as counted (bucket, window_start, hits)
    select bucket, slot.start, asked.hits from slot cross join asked join earlier using (bucket)
    where earlier.hits + asked.hits <= most order by bucket
    on conflict (bucket, window_start) do update set hits = counted.hits + excluded.hits
      where counted.hits + excluded.hits + (select hits from earlier where earlier.bucket = counted.bucket)
        <= (select most from asked where asked.bucket = counted.bucket)
    returning bucket, hits
  )
  select bucket, asked.hits as asked, earlier.hits + present.hits as used,
    extract(epoch from oldest - clock_timestamp())::float8 * 1000 + ${WINDOW_MS + SLOT_MS} as reset_ms,
    start as slot, extract(epoch from start - clock_timestamp())::float8 * 1000 + ${SLOT_MS} as slot_ms
  from slot cross join asked join earlier using (bucket) left join present using (bucket)`,
);

/** Counts hits, those on one bucket all or none. */
async function countHits(db: Db, hits: readonly Asked[]): Promise<Counted[]> {
  const buckets = new Map((await count(db, JSON.stringify(hits))).map((row) => [row.bucket, row]));
  return hits.map(({ bucket, limit }) => {
    const { asked, used, reset_ms, slot, slot_ms } = buckets.get(bucket)!;
    return { asked, allowed: used !== null, used: used ?? limit, resetMs: Math.max(1, reset_ms), slot, slotMs: slot_ms };
  });
}

/** To the slots they were counted in: that a slot comes to hold less than it did lets nobody pass the limit. */
const returnHits = statement(
  "return_hits",
  `update rate_buckets set hits = rate_buckets.hits - unused.hits
  from json_to_recordset($1) as unused (bucket text, slot timestamptz, hits int)
  where rate_buckets.bucket = unused.bucket and window_start = slot`,
);
