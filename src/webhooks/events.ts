import { type RawBuilder, sql, type SqlBool } from "kysely";
import type { Environment } from "#src/kernel/payment.ts";
import type { Outbox } from "#src/sessions/index.ts";
import { type Db, storable, storableJson } from "#src/platform/index.ts";
import { eventName } from "./payload.ts";

/** Rows of webhook_events: the truth about what was delivered and when the next try is due. */

export interface WebhookEvent {
  id: string;
  projectId: string;
  environment: Environment;
  /** As text, or what it is made of. */
  body: unknown;
  /** Tries so far, the claimed one included. */
  tries: number;
}

/** How long a claimed event is left alone: longer than one try can last, so that only a dead worker's event is taken again. */
const CLAIM_MS = 30_000;

/**
 * How long an event that was never tried is hidden from workers of the version before, which run beside this one during an upgrade: they
 * would send what the body is to be made of. Workers of this version take it at once.
 */
const HIDDEN_MS = 600_000;

/** How far the database server's clock may be set back while an event waits for its first try. */
const SET_BACK_MS = 75 * 60_000;

const milliseconds = (ms: number) => sql<Date>`clock_timestamp() + ${ms} * interval '1 millisecond'`;

/** Whether the next try is due within so many milliseconds. The first bound is for the index, and further than a new event's: the server's clock may be set back. */
const isDueWithin = (ms: number) =>
  sql<boolean>`next_try_at <= ${milliseconds(HIDDEN_MS + SET_BACK_MS)} and (tries = 0 or next_try_at <= ${milliseconds(ms)})`;

/** An event that was tried, and whose next try this process has waited for by its own clock. */
export type AwaitedEvent = Pick<WebhookEvent, "id" | "tries">;

/** NOTIFY channel of new events; the payload is the project's id. */
export const CHANNEL = "voicetill_webhook";

/**
 * The outbox: the event of a session's end, a part of the statement that ends it. Nothing for a project without an endpoint. The
 * body is made of what is kept here when the event is first taken: with the names of the gateway, which the database does not know.
 */
export function outboxOf(newId: () => string): Outbox {
  const endpoint = sql`from webhook_endpoints
    where webhook_endpoints.project_id = moved.project_id and webhook_endpoints.environment in ('both', moved.environment)`;
  return {
    written: (status) => sql`queued as (
      insert into webhook_events (id, session_id, project_id, event, next_try_at, body)
      select ${newId()}, moved.id, moved.project_id, ${eventName(status)}::text, ${milliseconds(HIDDEN_MS)}, jsonb_build_object(
        'session', to_jsonb(moved),
        'project_slug', (select projects.slug from projects where projects.id = moved.project_id),
        'amount_unit', (select webhook_endpoints.amount_unit ${endpoint} order by webhook_endpoints.environment limit 1)
      )
      from moved where exists (select ${endpoint})
      returning project_id
    )`,
    told: sql`(select pg_notify(${CHANNEL}, project_id::text)::text from queued) as told`,
  };
}

/**
 * The body, made once: a JSON string, not an object: jsonb would reorder the keys, and the signed bytes stay the same over all tries. False
 * when another worker was first, having taken the event after this one's claim had run out: then it is sent by that one.
 */
export async function keepBody(db: Db, id: string, body: string): Promise<boolean> {
  const kept = await db
    .updateTable("webhook_events")
    .set({ body: storableJson(body) })
    .where("id", "=", id)
    .where(sql<boolean>`jsonb_typeof(body) = 'object'`)
    .returning("id")
    .executeTakeFirst();
  return kept !== undefined;
}

/** Which of a project's events: those of live sessions that have an address of their own, or all others. */
export type Share = "live" | "others";

/** Of one project. Whether it has such an address comes first: it is looked up once for a statement, and mostly it has none. */
function isOf(share: Share, projectId: string): RawBuilder<SqlBool> {
  const hasOwn = sql`exists (select from webhook_endpoints where project_id = ${projectId} and environment = 'live')`;
  const isLive = sql`exists (select from sessions where sessions.id = webhook_events.session_id and sessions.environment = 'live')`;
  return share === "live" ? sql<SqlBool>`(${hasOwn} and ${isLive})` : sql<SqlBool>`(not ${hasOwn} or not ${isLive})`;
}

/** Takes the next due event of a share of the project's for one try, `awaited` among them; null when none is due. Two workers never get the same one. */
export async function claimDueEvent(
  db: Db,
  projectId: string,
  share: Share,
  awaited: AwaitedEvent | null = null,
): Promise<WebhookEvent | null> {
  const isDue = awaited ? sql<boolean>`(${isDueWithin(0)} or id = ${awaited.id} and tries = ${awaited.tries})` : isDueWithin(0);
  const row = await db
    .updateTable("webhook_events")
    .set({ next_try_at: milliseconds(CLAIM_MS), tries: sql`tries + 1` })
    .where("id", "=", (query) =>
      query
        .selectFrom("webhook_events")
        .select("id")
        .where("project_id", "=", projectId)
        .where("delivered_at", "is", null)
        .where("dead_at", "is", null)
        .where(isDue)
        .where(isOf(share, projectId))
        .orderBy("next_try_at")
        .limit(1)
        .forUpdate()
        .skipLocked(),
    )
    .returning(["id", "project_id", "session_id", "body", "tries"])
    .executeTakeFirst();
  if (!row) return null;
  const environment = await environmentOf(db, row.session_id);
  return { id: row.id, projectId: row.project_id, environment, body: row.body, tries: row.tries };
}

async function environmentOf(db: Db, sessionId: string): Promise<Environment> {
  const session = await db.selectFrom("sessions").select("environment").where("id", "=", sessionId).executeTakeFirstOrThrow();
  return session.environment;
}

export async function markDelivered(db: Db, id: string, status: string): Promise<void> {
  await db
    .updateTable("webhook_events")
    .set({ delivered_at: sql<Date>`clock_timestamp()`, last_status: status })
    .where("id", "=", id)
    .execute();
}

/**
 * What a try that failed leaves its event to. False, and nothing is changed, when it is no longer the event's last one: the event was resent
 * meanwhile, or taken, and perhaps delivered, after this try's claim had run out.
 */
async function markFailed(
  db: Db,
  { id, tries }: Pick<WebhookEvent, "id" | "tries">,
  changes: { dead_at: RawBuilder<Date> | null; next_try_at?: RawBuilder<Date>; last_status: string },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("webhook_events")
    .set(changes)
    .where("id", "=", id)
    .where("tries", "=", tries)
    .where("delivered_at", "is", null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export const markDead = (db: Db, tried: Pick<WebhookEvent, "id" | "tries">, status: string): Promise<boolean> =>
  markFailed(db, tried, { dead_at: sql<Date>`clock_timestamp()`, last_status: status });

export const markWaiting = (db: Db, tried: Pick<WebhookEvent, "id" | "tries">, status: string, waitMs: number): Promise<boolean> =>
  markFailed(db, tried, { dead_at: null, next_try_at: milliseconds(waitMs), last_status: status });

/** Starts the schedule of an event afresh, delivered or dead or waiting; returns whose it is, or null when there is none with a body. */
export async function reviveEvent(db: Db, id: string): Promise<Pick<WebhookEvent, "projectId" | "environment"> | null> {
  const row = await db
    .updateTable("webhook_events")
    .set({ delivered_at: null, dead_at: null, tries: 0, next_try_at: milliseconds(HIDDEN_MS) })
    .where("id", "=", storable(id))
    .where("body", "is not", null)
    .returning(["project_id", "session_id"])
    .executeTakeFirst();
  return row ? { projectId: row.project_id, environment: await environmentOf(db, row.session_id) } : null;
}

/**
 * Projects with an event whose try is due within `withinMs`, and in how many ms to wake them for it: 0 for what is due now. Due now too is
 * what nobody was woken for, and what a worker that died had claimed.
 */
export async function projectsWithDueEvents(db: Db, withinMs: number): Promise<{ projectId: string; waitMs: number }[]> {
  const rows = await db
    .selectFrom("webhook_events")
    .select([
      "project_id",
      // In whole seconds, so that a backlog gives few rows.
      sql<number>`(case when tries = 0 then 0
        else greatest(0, ceil(extract(epoch from next_try_at - clock_timestamp()))) end)::float8`.as("seconds"),
    ])
    .distinct()
    .where("delivered_at", "is", null)
    .where("dead_at", "is", null)
    .where(isDueWithin(withinMs))
    .execute();
  return rows.map((row) => ({ projectId: row.project_id, waitMs: 1000 * row.seconds }));
}
