import { sql, type SqlBool } from "kysely";
import { parseUuid } from "#src/kernel/ids.ts";
import { type Db, newestFirst, storable } from "#src/platform/index.ts";

/** What the operator sees of an event: never its body. */
interface ListedEvent {
  id: string;
  event: string;
  session_id: string;
  organization: string;
  project: string;
  /** `pending`: a try is still to come; `dead`: none is, and only a resend makes one. */
  state: "delivered" | "pending" | "dead";
  tries: number;
  /** The last try's HTTP status, or why there was none. */
  last_status: string | null;
  next_try_at: Date | null;
  created_at: Date;
  delivered_at: Date | null;
  /** The endpoint that is told of it, now. `disabled`: it answered 410 and gets nothing until a resend or an apply. */
  endpoint: "on" | "disabled" | "none";
  /** Its body is no longer there: it cannot be sent again. */
  erased: boolean;
}

/** What `webhooks list` can be narrowed to. `failed`: at least one try has failed and the event is not delivered, dead or not. */
export type EventFilter = "all" | "pending" | "failed" | "dead";

/** Not delivered, told apart in such a way that the indexes of what waits and of what is dead find it. */
const UNDELIVERED = sql<SqlBool>`((delivered_at is null and dead_at is null) or (delivered_at is null and dead_at is not null))`;

/** Tried in vain. */
export const FAILED = sql<SqlBool>`${UNDELIVERED} and last_status is not null`;

/** The newest events first. */
export function listEvents(db: Db, filter: EventFilter, limit: number): Promise<ListedEvent[]> {
  return newestFirst(limit, async (since) => {
    let query = select(db).orderBy("webhook_events.created_at", "desc").orderBy("webhook_events.id").limit(limit);
    if (since) query = query.where("webhook_events.created_at", ">", since);
    if (filter === "pending") query = query.where("delivered_at", "is", null).where("dead_at", "is", null);
    if (filter === "failed") query = query.where(FAILED);
    if (filter === "dead") query = query.where("dead_at", "is not", null);
    return (await query.execute()) as ListedEvent[];
  });
}

/** An event by its own id or by its session's; null when there is none. `id` is one or the other as text. */
export async function findEvent(db: Db, id: string): Promise<ListedEvent | null> {
  const sessionId = parseUuid(id);
  const row = await select(db)
    .where(sessionId === null ? "webhook_events.id" : "webhook_events.session_id", "=", sessionId ?? storable(id))
    .executeTakeFirst();
  return (row as ListedEvent | undefined) ?? null;
}

export interface Backlog {
  pending: number;
  /** Seconds since the oldest pending event was made; null when there is none. */
  oldestSeconds: number | null;
  /** Events that should have been tried two minutes ago and more: nobody delivers them. */
  overdue: number;
  dead: number;
}

/** What is not delivered. */
export const BACKLOG = sql<Backlog>`select
    (count(*) filter (where dead_at is null))::int as pending,
    (extract(epoch from clock_timestamp() - min(created_at) filter (where dead_at is null)))::float8 as "oldestSeconds",
    (count(*) filter (where dead_at is null and case when tries = 0 then created_at else next_try_at end < clock_timestamp() - interval '2 minutes'))::int as overdue,
    (count(*) filter (where dead_at is not null))::int as dead
    from webhook_events
    where ${UNDELIVERED}`;

export async function backlogOf(db: Db): Promise<Backlog> {
  const { rows } = await BACKLOG.execute(db);
  return rows[0]!;
}

function select(db: Db) {
  return db
    .selectFrom("webhook_events")
    .innerJoin("projects", "projects.id", "webhook_events.project_id")
    .innerJoin("organizations", "organizations.id", "projects.organization_id")
    .innerJoin("sessions", "sessions.id", "webhook_events.session_id")
    .leftJoin("webhook_endpoints", (join) =>
      join
        .onRef("webhook_endpoints.project_id", "=", "webhook_events.project_id")
        .on(sql<boolean>`webhook_endpoints.environment in ('both', sessions.environment)`),
    )
    .select([
      "webhook_events.id",
      "webhook_events.event",
      "webhook_events.session_id",
      "organizations.slug as organization",
      "projects.slug as project",
      "webhook_events.tries",
      "webhook_events.last_status",
      "webhook_events.created_at",
      "webhook_events.delivered_at",
    ])
    .select([
      sql<string>`case when delivered_at is not null then 'delivered' when dead_at is not null then 'dead' else 'pending' end`.as("state"),
      sql<boolean>`webhook_events.body is null`.as("erased"),
      sql<Date | null>`case when delivered_at is not null or dead_at is not null then null
        when tries = 0 then least(next_try_at, clock_timestamp()) else next_try_at end`.as("next_try_at"),
      sql<string>`case when webhook_endpoints.url is null then 'none' when disabled_at is null then 'on' else 'disabled' end`.as(
        "endpoint",
      ),
    ]);
}
