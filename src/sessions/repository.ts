import { sql } from "kysely";
import type { Environment } from "#src/kernel/payment.ts";
import { type Db, runPrepared, statement } from "#src/platform/index.ts";
import { columnsOfSession, derivedColumns, fromRow, type Row, type Session, type Terms } from "./session.ts";
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

/** A session sought by its id; without a scope in every organisation, for the service itself. */
interface SoughtById extends Partial<Scope> {
  id: string;
}

/** A session sought by its caller, in one project or in all. */
interface SoughtByCaller extends Scope {
  caller: string;
  projectId?: string | undefined;
}

type LookUp<Sought> = (db: Db, sought: readonly Sought[]) => Promise<(Row | null)[]>;

/**
 * Looks up a session for each of those that are `sought`, null where there is none: one statement and one plan, however many they are.
 * `columns` describes one as json_to_recordset reads it, `condition` is SQL on a session and `sought`.
 */
function lookUp(name: string, columns: string, condition: string): LookUp<object> {
  const look = statement<Row & { n: number }>(
    name,
    `select sought.n, ${columnsOfSession("sessions")}
    from json_to_recordset($1) as sought (n integer, "organizationId" uuid, environment text, ${columns})
    cross join lateral (select * from sessions where ${condition} limit 1) as sessions
    join projects on projects.id = sessions.project_id`,
  );
  return async (db, sought) => {
    const found: (Row | null)[] = sought.map(() => null);
    for (const row of await look(db, JSON.stringify(sought.map((one, n) => ({ n, ...one }))))) found[row.n] = row;
    return found;
  };
}

export const rowsById: LookUp<SoughtById> = lookUp(
  "sessions_by_id",
  "id uuid",
  `id = sought.id and (sought."organizationId" is null or organization_id = sought."organizationId" and environment = sought.environment)`,
);

const OF_CALLER = `organization_id = sought."organizationId" and environment = sought.environment and caller = sought.caller
      and (sought."projectId" is null or project_id = sought."projectId")`;

/**
 * The caller's newest session that is still open, else the one that ended last (R-160): look-ups of one row each, however many sessions a
 * caller has. Where none is open, each that is not completed has expired.
 */
export const rowsByCaller: LookUp<SoughtByCaller> = lookUp(
  "sessions_by_caller",
  'caller text, "projectId" uuid',
  `id = coalesce(
      (select id from sessions where ${OF_CALLER} and completed_at is null and (status <> 'PENDING' or expires_at > clock_timestamp())
        order by created_at desc limit 1),
      (select id from sessions where id in (
        (select id from sessions where ${OF_CALLER} and completed_at is not null order by completed_at desc, created_at desc limit 1),
        (select id from sessions where ${OF_CALLER} and completed_at is null order by expires_at desc, created_at desc limit 1)
      ) order by coalesce(completed_at, expires_at) desc, created_at desc limit 1)
    )`,
);

const whenCommitted = statement<Row>(
  "session_when_committed",
  `select ${columnsOfSession("sessions")} from sessions join projects on projects.id = sessions.project_id where sessions.id = $1 for share of sessions`,
);

/** The session of a row that was looked up. */
export async function sessionOf(db: Db, row: Row | null): Promise<Session | null> {
  // A call may be taking the session in this very moment, having come in time: wait for it to be committed rather than
  // say "expired" and take it back (R-272).
  const [current = null] = row?.overdue ? await whenCommitted(db, row.id) : [row];
  return current && fromRow(current);
}

/** A voice session that waits for a call. */
export interface WaitingSession {
  id: string;
  organizationId: string;
  /** E.164. */
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
export async function updateTransferStatus(db: Db, id: string, status: string): Promise<void> {
  await runPrepared(
    db,
    "transfer_status",
    sql`with moved as (
      update sessions set transfer_status = ${status}, revision = sessions.revision + 1, updated_at = ${changedAt(null)}
      where id = ${id} returning id
    ) select pg_notify(${CHANNEL}, id::text) from moved`,
  );
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

/** Sessions by conditions of the reader's own. */
export function select(db: Db) {
  const derived = Object.entries(derivedColumns("sessions")).map(([name, text]) => sql.raw(text).as(name));
  return db
    .selectFrom("sessions")
    .innerJoin("projects", "projects.id", "sessions.project_id")
    .selectAll("sessions")
    .select(derived)
    .$castTo<Row>();
}
