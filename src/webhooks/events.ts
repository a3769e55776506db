import { sql } from "kysely";
import type { Environment } from "#src/kernel/payment.ts";
import { type Db, storable, storableJson } from "#src/platform/index.ts";

/** Rows of webhook_events: the truth about what was delivered. Jobs only wake the worker. */

export interface WebhookEvent {
  id: string;
  projectId: string;
  environment: Environment;
  body: string;
  /** Tries so far, the claimed one included. */
  tries: number;
}

/** How long a claimed event is left alone: longer than one try can last, so that only a dead worker's event is taken again. */
const CLAIM_MS = 30_000;
/** A job may run this much before its event is due by the database's clock. */
const EARLY_MS = 1_000;

const milliseconds = (ms: number) => sql<Date>`clock_timestamp() + ${ms} * interval '1 millisecond'`;

export async function insertEvent(db: Db, event: { id: string; sessionId: string; projectId: string; name: string; body: string }) {
  await db
    .insertInto("webhook_events")
    .values({
      id: event.id,
      session_id: event.sessionId,
      project_id: event.projectId,
      event: event.name,
      // A JSON string, not an object: jsonb would reorder the keys, and the signed bytes stay the same over all tries.
      body: storableJson(event.body),
    })
    .execute();
}

/** Takes the project's next due event for one try; null when none is due. Two workers never get the same one. */
export async function claimDueEvent(db: Db, projectId: string): Promise<WebhookEvent | null> {
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
        .where("next_try_at", "<=", milliseconds(EARLY_MS))
        .orderBy("next_try_at")
        .limit(1)
        .forUpdate()
        .skipLocked(),
    )
    .returning(["id", "project_id", "session_id", "body", "tries"])
    .executeTakeFirst();
  if (!row) return null;
  const environment = await environmentOf(db, row.session_id);
  return { id: row.id, projectId: row.project_id, environment, body: row.body as string, tries: row.tries };
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

export async function markDead(db: Db, id: string, status: string): Promise<void> {
  await db
    .updateTable("webhook_events")
    .set({ dead_at: sql<Date>`clock_timestamp()`, last_status: status })
    .where("id", "=", id)
    .execute();
}

export async function markWaiting(db: Db, id: string, status: string, waitMs: number): Promise<void> {
  await db
    .updateTable("webhook_events")
    .set({ next_try_at: milliseconds(waitMs), last_status: status })
    .where("id", "=", id)
    .execute();
}

/** Starts the schedule of an event afresh, delivered or dead or waiting; returns whose it is, or null when there is none with a body. */
export async function reviveEvent(db: Db, id: string): Promise<Pick<WebhookEvent, "projectId" | "environment"> | null> {
  const row = await db
    .updateTable("webhook_events")
    .set({ delivered_at: null, dead_at: null, tries: 0, next_try_at: sql<Date>`clock_timestamp()` })
    .where("id", "=", storable(id))
    .where("body", "is not", null)
    .returning(["project_id", "session_id"])
    .executeTakeFirst();
  return row ? { projectId: row.project_id, environment: await environmentOf(db, row.session_id) } : null;
}

/** Projects with an event that is overdue: its job was lost, or the worker that claimed it died. */
export async function projectsWithDueEvents(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom("webhook_events")
    .select("project_id")
    .distinct()
    .where("delivered_at", "is", null)
    .where("dead_at", "is", null)
    .where("next_try_at", "<=", sql<Date>`clock_timestamp()`)
    .execute();
  return rows.map((row) => row.project_id);
}
