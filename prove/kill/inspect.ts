import { sql } from "kysely";
import { createLog, openDatabase } from "#src/platform/index.ts";
import type { Break } from "./judge.ts";
import type { Haystack } from "./scan.ts";
import type { Track } from "./track.ts";

/** What only the database can tell, read when no process is left on it. */
export async function inspect(
  where: { databaseUrl: string | null; dataDir: string },
  tracks: readonly Track[],
): Promise<{ breaks: Break[]; dump: Haystack[] }> {
  const database = await openDatabase({ ...where, log: createLog({ level: "error", format: "json" }) });
  try {
    const { db } = database;
    const breaks: Break[] = [];
    const broken = (invariant: string, what: string, id?: string) =>
      void breaks.push({ invariant, track: tracks.find((track) => track.id === id) ?? null, what });

    const known = new Set(tracks.map(({ id }) => id));
    for (const { id } of await db.selectFrom("sessions").select("id").execute()) {
      if (!known.has(id)) broken("I1", `the session ${id} belongs to no creation that was answered`);
    }
    const { rows: events } = await sql<{ id: string; count: number }>`
      select session_id as id, count(*)::int as count from webhook_events group by session_id having count(*) > 1`.execute(db);
    for (const { id, count } of events) broken("I5", `${count} webhooks for one session`, id);
    const { rows: audits } = await sql<{ id: string; changes: number; lines: number }>`
      select s.id, s.revision::int as changes, (select count(*)::int from audit_log a where a.object = s.id::text) as lines from sessions s`.execute(
      db,
    );
    // A hand-over changes the row without a line of its own.
    for (const { id, changes, lines } of audits) {
      if (lines > changes) broken("I9", `${lines} audit lines for ${changes} changes`, id);
    }
    const { rows: open } = await sql<{ id: string }>`
      select session_id as id from payment_attempts where outcome is null`.execute(db);
    for (const { id } of open) broken("I10", "an attempt without an outcome", id);

    const { rows: tables } = await sql<{ name: string }>`
      select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')`.execute(db);
    const dump: Haystack[] = [];
    for (const { name } of tables) {
      const { rows } = await sql<{ text: string }>`select t::text as text from ${sql.raw(name)} t`.execute(db);
      dump.push([`table ${name}`, Buffer.from(rows.map(({ text }) => text).join("\n"))]);
    }
    return { breaks, dump };
  } finally {
    await database.close();
  }
}
