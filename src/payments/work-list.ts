import { type SqlBool, sql } from "kysely";
import { audit, type Database, type Db } from "#src/platform/index.ts";

/** The ledger as the operator reads it. Nothing here changes what became of an attempt. */

export interface AttemptView {
  session_id: string;
  number: number;
  /** What the gateway has it under. */
  reference: string;
  gateway: string;
  environment: string;
  mode: string;
  amount_minor: number;
  currency: string;
  card_brand: string;
  card_last4: string;
  /** null: it is being charged. */
  outcome: "approved" | "declined" | "unknown" | null;
  decline_code: string | null;
  reason: string | null;
  /** What the vendor's support asks for. */
  support_id: string | null;
  /** The gateway's words with a refusal. */
  said: string | null;
  /** What it calls the card that it may keep although it was refused. */
  stored_as: string | null;
  /** Whether what it took has to be given back: due, done, failed; null when it may be kept. */
  reversal: "due" | "done" | "failed" | null;
  started_at: Date;
  /** null while its outcome is being looked for. */
  finished_at: Date | null;
}

const COLUMNS = [
  "session_id",
  "number",
  "reference",
  "gateway",
  "environment",
  "mode",
  "amount_minor",
  "currency",
  "card_brand",
  "card_last4",
  "outcome",
  "decline_code",
  "reason",
  "reversal",
  "started_at",
  "finished_at",
] as const;

const TOLD = [
  sql<string | null>`payment_attempts.notes ->> 'support_id'`.as("support_id"),
  sql<string | null>`payment_attempts.notes ->> 'said'`.as("said"),
  sql<string | null>`payment_attempts.notes ->> 'stored_as'`.as("stored_as"),
];

/** The attempts of a session in their order. */
export async function attemptsOf(db: Db, sessionId: string): Promise<AttemptView[]> {
  return await db
    .selectFrom("payment_attempts")
    .select(COLUMNS)
    .select(TOLD)
    .where("session_id", "=", sessionId)
    .orderBy("number")
    .execute();
}

/** The outcome was never established, or what was taken is not given back: somebody has to ask the gateway. */
const UNSETTLED = sql<SqlBool>`((payment_attempts.outcome = 'unknown' and reversal is distinct from 'done') or reversal in ('due', 'failed'))`;
/** Since when the service can do no more for it; null: it is still at it. */
const NEEDED_SINCE = sql<Date | null>`case when reversal is distinct from 'due' then coalesce(reversal_since, finished_at) end`;
const CLOSED = sql<SqlBool>`(closed_since is not null and closed_since is not distinct from ${NEEDED_SINCE})`;

/** Attempts that the operator must know of: money before stored cards, the newest first. `organization` and `project` are told by their slugs. */
export async function needsOperator(
  db: Db,
  limit: number,
): Promise<(AttemptView & { organization: string; project: string; status: string })[]> {
  return await db
    .selectFrom("payment_attempts")
    .innerJoin("sessions", "sessions.id", "payment_attempts.session_id")
    .innerJoin("projects", "projects.id", "sessions.project_id")
    .innerJoin("organizations", "organizations.id", "projects.organization_id")
    .select(COLUMNS.map((column) => `payment_attempts.${column}` as const))
    .select(["organizations.slug as organization", "projects.slug as project", "sessions.status", ...TOLD])
    .where(UNSETTLED)
    .where(sql<SqlBool>`not ${CLOSED}`)
    .orderBy(sql`payment_attempts.mode = 'tokenize'`)
    .orderBy("payment_attempts.started_at", "desc")
    .limit(limit)
    .execute();
}

/**
 * Takes an attempt off the list for good, until something new becomes of it: its operator has done at the gateway what was to be done.
 * `missing`: the list never had it, or it is settled; `pending`: the service is still at it; `closed`: it was closed before.
 */
export async function closeEntry(database: Database, reference: string): Promise<AttemptView | "missing" | "pending" | "closed"> {
  return await database.transaction(async (tx) => {
    const found = await tx
      .selectFrom("payment_attempts")
      .innerJoin("sessions", "sessions.id", "payment_attempts.session_id")
      .select(COLUMNS.map((column) => `payment_attempts.${column}` as const))
      .select(["organization_id", ...TOLD, NEEDED_SINCE.as("needed_since"), CLOSED.as("is_closed")])
      .where("reference", "=", reference)
      .where(UNSETTLED)
      .forUpdate("payment_attempts")
      .executeTakeFirst();
    if (!found) return "missing";
    const { organization_id: organizationId, needed_since, is_closed, ...attempt } = found;
    if (is_closed) return "closed";
    if (needed_since === null) return "pending";
    await tx.updateTable("payment_attempts").set({ closed_since: NEEDED_SINCE }).where("reference", "=", reference).execute();
    const details = { outcome: attempt.outcome, reversal: attempt.reversal };
    const object = `payment ${reference}`;
    await audit(tx, { organizationId, actor: "operator", source: "command", action: "payment.close", object, details });
    return attempt;
  });
}

/** `stuck`: being charged past its deadline by more than a minute; `searched`: answer lost, being looked for; `unsettled`: see above. */
export async function countOpen(db: Db): Promise<{ stuck: number; searched: number; unsettled: number }> {
  const { rows } = await sql<{ stuck: number; searched: number; unsettled: number }>`select
    (count(*) filter (where outcome is null and deadline_at < clock_timestamp() - interval '1 minute'))::int as stuck,
    (count(*) filter (where outcome = 'unknown' and finished_at is null))::int as searched,
    (count(*) filter (where ((outcome = 'unknown' and finished_at is not null and reversal is distinct from 'done') or reversal = 'failed') and not ${CLOSED}))::int as unsettled
    from payment_attempts where outcome is null or outcome = 'unknown' or reversal in ('due', 'failed')`.execute(db);
  return rows[0]!;
}
