import { sql } from "kysely";
import type { Environment } from "#src/kernel/payment.ts";
import { type Db, notify, statement } from "#src/platform/index.ts";
import { DERIVED, fromRow, type Row, type Session, type Terms } from "./session.ts";
import { changedAt, CHANNEL, type Scope } from "./transition.ts";

export interface NewSession extends Terms {
  ttlSeconds: number;
}

/** A new session, and when the database stored it. */
export interface Created extends NewSession {
  id: string;
  createdAt: Date;
}

/** A CTE: `at`, when the sessions of one statement are created. */
export const CREATION_TIME = "creation as (select date_trunc('milliseconds', statement_timestamp()) as at)";

/** A new session as json_to_recordset reads it. */
export const SESSION_COLUMNS = `id uuid, "organizationId" uuid, "projectId" uuid, environment text, channel text, mode text, gateway text,
      "amountMinor" bigint, currency text, caller text, description text, callback text, memory text, "connectedAccount" text,
      "billingAddress" jsonb, "ttlSeconds" float8`;

/**
 * A CTE that inserts the sessions of `rows`, SQL for rows with the columns of SESSION_COLUMNS: one value however many they are, so that
 * the statement never changes. CREATION_TIME comes before it.
 */
export const insertingSessions = (rows: string) => `inserted as (
    insert into sessions (id, organization_id, project_id, environment, channel, status, mode, gateway, amount_minor, currency,
      caller, description, callback, memory, stripe_account, billing_address, created_at, updated_at, expires_at)
    select id, "organizationId", "projectId", environment, channel, 'PENDING', mode, gateway, "amountMinor", currency,
      caller, description, callback, memory, "connectedAccount", "billingAddress", creation.at, creation.at, creation.at + make_interval(secs => "ttlSeconds")
    from creation, ${rows}
  )`;

const insert = statement<{ created_at: Date }>(
  "insert_sessions",
  `with ${CREATION_TIME},
  ${insertingSessions(`json_to_recordset($1) as new (${SESSION_COLUMNS})`)}
  select at as created_at from creation`,
);

/** Inserts PENDING sessions. Each expires exactly its `ttlSeconds` after `created_at`, by the database's clock (R-159). */
export async function insertSessions(db: Db, sessions: readonly (NewSession & { id: string })[]): Promise<Created[]> {
  const [row] = await insert(db, JSON.stringify(sessions));
  return sessions.map((session) => ({ ...session, createdAt: row!.created_at }));
}

export async function findSession(db: Db, id: string, scope?: Scope): Promise<Session | null> {
  let query = select(db).where("id", "=", id);
  if (scope) query = query.where("organization_id", "=", scope.organizationId).where("environment", "=", scope.environment);
  let row: Row | undefined = await query.executeTakeFirst();
  // A call may be taking the session in this very moment, having come in time: wait for it to be committed rather than
  // say "expired" and take it back (R-272).
  if (row?.overdue) row = await query.forShare().executeTakeFirst();
  return row ? fromRow(row) : null;
}

/** The caller's newest session that is still open, else the one that was completed last (R-160). */
export async function findSessionByCaller(db: Db, scope: Scope, caller: string, projectId?: string): Promise<Session | null> {
  const open = sql<boolean>`completed_at is null and (status <> 'PENDING' or expires_at > clock_timestamp())`;
  let query = select(db)
    .where("organization_id", "=", scope.organizationId)
    .where("environment", "=", scope.environment)
    .where("caller", "=", caller);
  if (projectId !== undefined) query = query.where("project_id", "=", projectId);
  const row = await query
    .orderBy(open, "desc")
    .orderBy(sql`case when ${open} then created_at else coalesce(completed_at, expires_at) end`, "desc")
    .orderBy("created_at", "desc")
    .limit(1)
    .executeTakeFirst();
  return row ? fromRow(row) : null;
}

/** A voice session that waits for a call. */
export interface WaitingSession {
  id: string;
  organizationId: string;
  caller: string;
  environment: Environment;
}

/**
 * The voice sessions that wait for a call from these numbers, in one project or in all: of each organisation and caller a live
 * one before a test one, then the newest (R-217).
 */
export async function findWaitingByCallers(db: Db, callers: readonly string[], projectId: string | null): Promise<WaitingSession[]> {
  return await waitingByCallers(db, callers, projectId);
}

const waitingByCallers = statement<WaitingSession>(
  "waiting_by_callers",
  `select distinct on (caller, organization_id) id, organization_id as "organizationId", caller, environment from sessions
  where caller = any($1) and status = 'PENDING' and channel = 'voice' and expires_at > clock_timestamp() and ($2::uuid is null or project_id = $2)
  order by caller, organization_id, environment = 'live' desc, created_at desc`,
);

/** What became of handing the caller back. It may come after the final status and changes nothing else (R-324). */
export async function updateTransferStatus(tx: Db, id: string, status: string): Promise<void> {
  await tx
    .updateTable("sessions")
    .set({ transfer_status: status, revision: sql`sessions.revision + 1`, updated_at: changedAt(null) })
    .where("id", "=", id)
    .execute();
  await notify(tx, CHANNEL, id);
}

/** Ids of unused sessions past their time, the oldest first. */
export async function overdueIds(db: Db, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom("sessions")
    .select("id")
    .where("status", "=", "PENDING")
    .where(sql<boolean>`expires_at <= clock_timestamp()`)
    .orderBy("expires_at")
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

export function select(db: Db) {
  return db.selectFrom("sessions").selectAll("sessions").select(DERIVED);
}
