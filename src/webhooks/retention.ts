import { type RawBuilder, sql } from "kysely";
import type { Db } from "#src/platform/index.ts";

/** Bodies name the caller: they are erased with the session's, but not before the merchant was told or told in vain. */

/** SQL condition: the session (a column, as sql.ref) has a webhook that is still to be delivered. */
export function isUndelivered(sessionId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from webhook_events
    where webhook_events.session_id = ${sessionId} and webhook_events.delivered_at is null and webhook_events.dead_at is null
  )`;
}

/** Erases the bodies of these sessions' webhooks; one that is still to be delivered is marked for `eraseSettledBodies`. */
export async function eraseBodies(tx: Db, sessionIds: readonly string[]): Promise<void> {
  await tx.updateTable("webhook_events").set({ erase_when_settled: true }).where("session_id", "in", sessionIds).execute();
  await erase(tx, sessionIds);
}

/** Erases what was marked and has been delivered or given up since. */
export async function eraseSettledBodies(db: Db): Promise<void> {
  await erase(db, null);
}

async function erase(db: Db, sessionIds: readonly string[] | null): Promise<void> {
  let query = db
    .updateTable("webhook_events")
    .set({ body: null, erase_when_settled: false })
    .where(sql<boolean>`erase_when_settled`)
    .where((event) => event.or([event("delivered_at", "is not", null), event("dead_at", "is not", null)]));
  if (sessionIds) query = query.where("session_id", "in", sessionIds);
  await query.execute();
}

export async function deleteEvents(tx: Db, sessionIds: readonly string[]): Promise<void> {
  await tx.deleteFrom("webhook_events").where("session_id", "in", sessionIds).execute();
}
