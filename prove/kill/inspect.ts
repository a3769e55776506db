import { sql } from "kysely";
import { needsOperator } from "#src/payments/index.ts";
import { createLog, openDatabase } from "#src/platform/index.ts";
import { brokenTrails } from "./audit.ts";
import type { RecordedEntry } from "#simulators/kit/ledger.ts";
import { type Break, checkUnknown, keptCards } from "./invariants.ts";
import type { SearchedText } from "./scan.ts";
import type { Track } from "./track.ts";

/** What only the database can tell, read when no process is left on it. */
export async function inspect(
  where: { databaseUrl: string | null; dataDir: string },
  tracks: readonly Track[],
  ledger: readonly RecordedEntry[],
): Promise<{ breaks: Break[]; dump: SearchedText[] }> {
  const database = await openDatabase({ ...where, log: createLog({ level: "error", format: "json" }) });
  try {
    const { db } = database;
    const breaks: Break[] = [];
    const broken = (invariant: string, what: string, id?: string) =>
      void breaks.push({ invariant, track: tracks.find((track) => track.id === id) ?? null, what });

    const known = new Set(tracks.map(({ id }) => id));
    const sessions = await db.selectFrom("sessions").select(["id", "status", "amount_minor"]).execute();
    const unknown = sessions.filter(({ id }) => !known.has(id));
    for (const { id, status, amount_minor } of unknown) breaks.push(...checkUnknown({ id, status, amountMinor: amount_minor }, tracks));
    const most = tracks.reduce((sum, { unanswered }) => sum + unanswered, 0);
    if (unknown.length > most) broken("I1", `${unknown.length} sessions that nobody knows of, and ${most} creations without an answer`);
    const { rows: undelivered } = await sql<{ id: string }>`
      select id from sessions where id not in (select session_id from webhook_events where delivered_at is not null)`.execute(db);
    for (const { id } of undelivered) broken("I5", "no webhook that was delivered", id);
    for (const { id, what } of await brokenTrails(db)) broken("I9", what, id);
    const { rows: open } = await sql<{ id: string }>`
      select session_id as id from payment_attempts where outcome is null`.execute(db);
    for (const { id } of open) broken("I10", "an attempt without an outcome", id);

    const listed = await needsOperator(db, sessions.length);
    for (const id of keptCards(tracks, ledger))
      if (!listed.some(({ session_id: session }) => session === id)) broken("I4", "a stored card that stands on no list", id);

    const { rows: tables } = await sql<{ name: string }>`
      select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')`.execute(db);
    const dump: SearchedText[] = [];
    for (const { name } of tables) {
      const { rows } = await sql<{ text: string }>`select t::text as text from ${sql.raw(name)} t`.execute(db);
      dump.push([`table ${name}`, Buffer.from(rows.map(({ text }) => text).join("\n"))]);
    }
    return { breaks, dump };
  } finally {
    await database.close();
  }
}
