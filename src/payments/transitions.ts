import { sql } from "kysely";
import type { Db } from "#src/platform/index.ts";
import type { Session, SessionChanges, SessionEvent, Sessions } from "#src/sessions/index.ts";
import { type AttemptResult, keepable, TOO_LATE } from "./attempts.ts";

/** The first and the third step of the charge protocol, each one statement and so one commit: attempt and session together (docs/decisions/0014). */

export interface NewAttempt {
  id: string;
  session: Pick<Session, "id">;
  connectedAccount: string | null;
  credentialVersion: number;
  endpoint: string;
  cardBrand: string;
  cardLast4: string;
  owner: string;
  deadlineMs: number;
}

/**
 * The intent: the session goes to `charging` and the attempt is written. Null when the session is no longer being collected. The session's row is
 * locked by then, so that the numbers of its attempts never meet; only where a whole other attempt came and went while the lock was waited for is
 * the next number not known here, and the unique key refuses the statement as a whole (SQLSTATE 23505).
 */
export async function beginAttempt(
  db: Db,
  sessions: Pick<Sessions, "move">,
  { session, ...attempt }: NewAttempt,
): Promise<{ number: number; reference: string } | null> {
  const number = sql`coalesce(last.number, 0) + 1`;
  const moved = await sessions.move<{ number: number; reference: string }>(
    db,
    session.id,
    "charge",
    {},
    {
      before: sql`last as (select max(number) as number from payment_attempts where session_id = ${session.id})`,
      after: sql`attempt as (
        insert into payment_attempts (id, session_id, number, reference, gateway, environment, mode, amount_minor, currency, stripe_account,
          credential_version, endpoint, card_brand, card_last4, owner, deadline_at)
        select ${attempt.id}::uuid, moved.id, ${number}, moved.id::text || '-' || (${number})::text, moved.gateway, moved.environment, moved.mode,
          moved.amount_minor, moved.currency, ${attempt.connectedAccount}::text, ${attempt.credentialVersion}::integer, ${attempt.endpoint}::text,
          ${attempt.cardBrand}::text, ${attempt.cardLast4}::text, ${attempt.owner}::text,
          clock_timestamp() + ${attempt.deadlineMs}::float8 * interval '1 millisecond'
        from moved, last
        returning number, reference
      )`,
      select: sql`(select number from attempt) as number, (select reference from attempt) as reference`,
    },
  );
  return moved?.session ? { number: moved.selected.number, reference: moved.selected.reference } : null;
}

/**
 * What became of writing a result. `late`: the attempt or its session had been decided otherwise. What the gateway took
 * cannot be shown any more: the same commit says that it must be given back.
 */
export type Written = "written" | "late";

/** What stood in the ledger when the result came; nulls: there is no such attempt. */
interface Found {
  found_outcome: string | null;
  found_reversal: string | null;
  /** It could still be decided. */
  was_open: boolean | null;
}

/**
 * The result: the attempt gets its outcome unless a final one stands there, and its session moves. The attempt is locked first. What is being
 * given back (`reversal`) cannot become a success any more. An approval that comes too late for attempt or session is to be given back, also when
 * that had been done before: then the gateway had not known of it yet. Its reason says so from then on, so that no look-up which does not show it ends the matter.
 */
export async function endAttempt(
  db: Db,
  sessions: Pick<Sessions, "move">,
  attempt: { id: string; sessionId: string },
  result: AttemptResult,
  event: SessionEvent,
  changes: SessionChanges,
): Promise<Written> {
  const isApproved = result.outcome === "approved";
  const isFinal = result.outcome !== "unknown" || result.givenUp;
  const notes = sql`notes || ${JSON.stringify(keepable(result.notes))}::jsonb`;
  const open = sql`(outcome is null or outcome = 'unknown')${isApproved ? sql` and reversal is null` : sql``}`;
  // An approval is written as such only with its session's move; anything else whatever became of the session.
  const finished = sql`finished as (
    update payment_attempts set outcome = ${result.outcome}, decline_code = ${result.outcome === "declined" ? result.declineCode : null},
      reason = ${result.reason}, notes = ${notes}${isFinal ? sql`, finished_at = clock_timestamp()` : sql``}${
        result.outcome === "declined" && result.mayBeStored
          ? sql`, reversal = 'due', reversal_tries = 0, reversal_at = clock_timestamp(), reversal_since = clock_timestamp()`
          : sql``
      }
    where id = (select id from found where was_open)${isApproved ? sql` and exists (select from moved)` : sql``}
    returning id
  )`;
  const isNew = sql`reversal is distinct from 'due'`;
  const late = sql`late as (
    update payment_attempts set notes = ${notes}, reversal = 'due',
      outcome = case when (select was_open from found) then 'approved' else outcome end,
      finished_at = case when (select was_open from found) then clock_timestamp() else finished_at end,
      reason = ${TOO_LATE}::text,
      reversal_tries = case when ${isNew} then 0 else reversal_tries end,
      reversal_at = case when ${isNew} then clock_timestamp() else reversal_at end,
      reversal_since = case when ${isNew} then clock_timestamp() else reversal_since end
    where id = (select id from found where was_open or found_outcome is distinct from 'approved' or found_reversal is not null)
      and not exists (select from moved)
    returning id
  )`;
  const moved = await sessions.move<Found>(db, attempt.sessionId, event, changes, {
    before: sql`found as materialized (
      select id, outcome as found_outcome, reversal as found_reversal, ${open} as was_open from payment_attempts where id = ${attempt.id} for update
    )`,
    when: sql`exists (select from found where was_open)`,
    after: isApproved ? sql`${finished}, ${late}` : finished,
    select: sql`found.found_outcome, found.found_reversal, found.was_open`,
    always: sql`found`,
  });
  if (moved?.session) return "written";
  const stands = moved !== null && moved.selected.was_open === false && moved.selected.found_outcome === result.outcome;
  return stands && (!isApproved || moved.selected.found_reversal === null) ? "written" : "late";
}
