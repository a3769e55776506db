import { type RawBuilder, sql } from "kysely";

/**
 * The database's time before an interval such as "7 days", by which an index of times finds what was made since. `clock_timestamp()` may differ
 * from row to row of one statement, so that PostgreSQL compares it with every row of the table (its documentation, section 38.7).
 */
export function ago(interval: string): RawBuilder<Date> {
  return sql<Date>`statement_timestamp() - ${interval}::interval`;
}

/** How far back is looked before looking further, the last of them without end. */
const WINDOWS: readonly (string | null)[] = ["1 hour", "2 days", "60 days", null];

/**
 * The newest rows of a table that grows for ever: asks for those since an hour ago, then since days ago, until there are
 * `limit` of them, so that the database need not sort the whole table. `rowsSince` returns the newest `limit` rows made
 * after a moment, or of all when it is null.
 */
export async function newestFirst<T>(limit: number, rowsSince: (since: RawBuilder<Date> | null) => Promise<T[]>): Promise<T[]> {
  let rows: T[] = [];
  for (const window of WINDOWS) {
    rows = await rowsSince(window === null ? null : ago(window));
    if (rows.length >= limit) break;
  }
  return rows;
}
