import { sql } from "kysely";
import type { Clock } from "#src/kernel/clock.ts";
import type { Db } from "#src/platform/index.ts";
import { type Hit, type HitStore, SLOT_MS, WINDOW_MS } from "./hits.ts";

/** A refusal is remembered here, so that a flood costs no statements; bounded like every table a stranger can fill. */
const MOST_REFUSALS = 10_000;

/**
 * Counts in the table `rate_buckets`, shared by all processes, by the database's clock. One statement a hit: earlier
 * slots no longer change, and the present slot's row is locked by the upsert, so parallel hits cannot pass together.
 */
export function sharedHits(db: Db, clock: Clock): HitStore {
  const refusals = new Map<string, { hit: Hit; until: number }>();

  return {
    async hit(bucket, limit) {
      const now = clock.monotonic();
      const refused = refusals.get(bucket);
      if (refused && refused.until > now) return { ...refused.hit, resetMs: refused.until - now };
      const hit = await count(db, bucket, limit);
      refusals.delete(bucket);
      if (!hit.allowed) {
        if (refusals.size >= MOST_REFUSALS) refusals.delete(refusals.keys().next().value!);
        refusals.set(bucket, { hit, until: now + hit.resetMs });
      }
      return hit;
    },

    async sweep() {
      await sql`delete from rate_buckets where window_start < clock_timestamp() - make_interval(secs => ${(2 * WINDOW_MS) / 1000})`.execute(
        db,
      );
    },
  };
}

async function count(db: Db, bucket: string, limit: number): Promise<Hit> {
  const slotSeconds = SLOT_MS / 1000;
  const windowSeconds = WINDOW_MS / 1000;
  const { rows } = await sql<{ earlier: number; present: number | null; reset_ms: number }>`
    with slot as materialized (
      select date_bin(make_interval(secs => ${slotSeconds}), clock_timestamp(), timestamptz 'epoch') as start
    ), earlier as materialized (
      select coalesce(sum(hits), 0)::int as hits, min(window_start) as oldest
      from rate_buckets, slot
      where bucket = ${bucket} and window_start >= slot.start - make_interval(secs => ${windowSeconds}) and window_start < slot.start
    ), present as (
      insert into rate_buckets as counted (bucket, window_start, hits)
      select ${bucket}, slot.start, 1 from slot, earlier where earlier.hits < ${limit}::int
      on conflict (bucket, window_start) do update set hits = counted.hits + 1
        where counted.hits + (select hits from earlier) < ${limit}::int
      returning hits
    )
    select earlier.hits as earlier, (select hits from present) as present,
      extract(epoch from coalesce(oldest, slot.start) - clock_timestamp())::float8 * 1000 + ${WINDOW_MS + SLOT_MS}::float8 as reset_ms
    from slot, earlier`.execute(db);
  const { earlier, present, reset_ms } = rows[0]!;
  return { allowed: present !== null, used: present === null ? limit : earlier + present, resetMs: Math.max(1, reset_ms) };
}
