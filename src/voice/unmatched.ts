import { parsePhoneNumberFromString } from "libphonenumber-js/max";
import { sql } from "kysely";
import { parseUuid } from "#src/kernel/ids.ts";
import { type Db, filterLine } from "#src/platform/index.ts";
import type { Miss } from "./match.ts";

/** Calls from a trunk that no session matched, kept for the operator: at most a thousand, at most a week. */

interface UnmatchedCall {
  at: Date;
  call_id: string;
  /** The address that the INVITE came from. */
  source: string;
  misses: Miss[];
}

const MOST_CALLS = 1000;
const OLDEST = sql<Date>`clock_timestamp() - interval '7 days'`;
const LONGEST_VALUE = 80;
/** A peer may send 8 KiB; a card number that begins among the characters kept is seen whole in these. */
const LOOKED_AT = 512;

/** Keeps what each rule found, and forgets what is too old or too much. Card numbers are masked, whoever dialled them. */
export async function keepUnmatched(
  db: Db,
  { callId, source, misses }: { callId: string; source: string; misses: readonly Miss[] },
): Promise<void> {
  const told = misses.map((miss) => ({
    ...miss,
    value: miss.value === null ? null : dialled(miss.value),
    readings: miss.readings.map(dialled),
  }));
  const { id } = await db
    .insertInto("unmatched_calls")
    .values({ call_id: printable(callId), source, misses: JSON.stringify(told) })
    .returning("id")
    .executeTakeFirstOrThrow();
  await db
    .deleteFrom("unmatched_calls")
    .where((row) => row.or([row("id", "<=", id - MOST_CALLS), row("at", "<", OLDEST)]))
    .execute();
}

/** What is too old, where no further call makes `keepUnmatched` see to it. */
export async function deleteOldUnmatched(db: Db): Promise<void> {
  await db.deleteFrom("unmatched_calls").where("at", "<", OLDEST).execute();
}

/** The newest first. */
export async function listUnmatched(db: Db, limit: number): Promise<UnmatchedCall[]> {
  const query = db.selectFrom("unmatched_calls").select(["at", "call_id", "source", "misses"]).orderBy("id", "desc").limit(limit);
  return (await query.execute()) as UnmatchedCall[];
}

/** What was dialled, fit to be kept: a possible telephone number or a UUID as it is, nothing of what holds a card number in any spelling. */
function dialled(text: string): string {
  const isPhone = /^\+[0-9]{7,15}$/.test(text) && parsePhoneNumberFromString(text)?.isPossible() === true;
  if (isPhone || (text.includes("-") && parseUuid(text) !== null)) return text;
  const digits = text
    .slice(0, LOOKED_AT)
    .replace(/%3([0-9])/g, "$1")
    .replace(/%[0-9a-f]{2}|[^0-9]/gi, "");
  return filterLine(digits) === digits ? printable(text) : "[pan]";
}

/** What an unknown peer wrote, card numbers masked, cut. */
function printable(text: string): string {
  return filterLine(text, LONGEST_VALUE).slice(0, LONGEST_VALUE);
}
