import { sql } from "kysely";
import type { Clock } from "#src/kernel/clock.ts";
import { type Database, type Db, statement } from "#src/platform/index.ts";
import { type Count, countOf, type RateCounter, WINDOW_MS } from "./counter.ts";

/** A refusal is remembered here, so that a flood costs no statements; bounded like every table that anybody can fill. */
const MAX_REFUSALS = 10_000;

/**
 * Counts in the table `token_buckets`, one row for each, shared by all processes, by the database's clock. Requests that come
 * together are counted by one statement; the row is locked by the upsert, so parallel requests cannot take the same token. The time is read once
 * the row is locked (`turn`): by an earlier one, what others took while this statement waited would seem to be more than it was.
 */
export function databaseCounter(database: Database, clock: Clock): RateCounter {
  const refusals = new Map<string, { count: Count; until: number }>();
  const countBatched = database.batched(countAll);

  return {
    async count(bucket, limit) {
      const now = clock.monotonic();
      const refused = refusals.get(bucket);
      if (refused && refused.until > now) return { ...refused.count, resetMs: refused.until - now };
      const count = await countBatched({ bucket, limit });
      refusals.delete(bucket);
      if (!count.allowed) {
        if (refusals.size >= MAX_REFUSALS) refusals.delete(refusals.keys().next().value!);
        refusals.set(bucket, { count, until: now + count.resetMs });
      }
      return count;
    },

    async sweep() {
      await sql`delete from token_buckets where full_at < clock_timestamp()`.execute(database.db);
    },
  };
}

interface CountRequest {
  bucket: string;
  limit: number;
}

/**
 * `granted`: of the tokens asked for, those that were there (`tokensIn` of counter.ts). Buckets are locked in one order by all
 * processes, so that none waits for another that waits for it.
 */
const takeTokens = statement<{ bucket: string; granted: number; full_in_ms: number }>(
  "take_tokens",
  `with asked as materialized (
    select bucket, least(count(*), min("limit"))::int as tokens, ${WINDOW_MS / 1000}::float8 / min("limit") as token_seconds, clock_timestamp() as now
    from json_to_recordset($1) as item (bucket text, "limit" int) group by bucket
  )
  insert into token_buckets as kept (bucket, full_at, granted)
  select bucket, now + make_interval(secs => tokens * token_seconds), tokens from asked order by bucket
  on conflict (bucket) do update set (full_at, granted) = (
    select greatest(kept.full_at, turn) + make_interval(secs => fitting * token_seconds), fitting
    from asked cross join lateral (select clock_timestamp() as turn) as waited cross join lateral (
      select least(tokens, floor((${(WINDOW_MS + 1) / 1000} - extract(epoch from greatest(kept.full_at, turn) - turn)::float8) / token_seconds))::int as fitting
    ) as there
    where asked.bucket = kept.bucket
  )
  returning bucket, granted, extract(epoch from full_at - clock_timestamp())::float8 * 1000 as full_in_ms`,
);

/** Of requests on one bucket that do not all fit, the first are allowed. */
async function countAll(db: Db, requests: readonly CountRequest[]): Promise<Count[]> {
  const buckets = new Map((await takeTokens(db, JSON.stringify(requests))).map((row) => [row.bucket, row]));
  return requests.map(({ bucket, limit }) => {
    const row = buckets.get(bucket)!;
    return countOf(row.granted-- > 0, row.full_in_ms, limit);
  });
}
