import { type RawBuilder, sql } from "kysely";
import type { Db } from "#src/platform/index.ts";

/** Sessions at the end of their retention: first what tells who called is erased, later the row is deleted. */

interface Completed {
  /** Completed before this. */
  before: Date;
  /** Whether who called has been erased. */
  erased: boolean;
  limit: number;
  /** A condition over `sessions` of those that must stay as they are for now. */
  except?: RawBuilder<boolean>;
}

/** Locks completed sessions, those completed first; what another process has locked is left to it. Returns their ids. */
export async function lockCompleted(tx: Db, { before, erased, limit, except }: Completed): Promise<string[]> {
  let query = tx
    .selectFrom("sessions")
    .select("id")
    .where("completed_at", "<", before)
    .where("erased_at", erased ? "is not" : "is", null);
  if (except) query = query.where(sql<boolean>`not ${except}`);
  const rows = await query.orderBy("completed_at").limit(limit).forUpdate().skipLocked().execute();
  return rows.map(({ id }) => id);
}

/** Whether a session can be erased: it is locked when it can. `open`: it is not completed yet. */
export async function lockToErase(tx: Db, id: string): Promise<"ready" | "open" | "missing"> {
  const row = await tx.selectFrom("sessions").select("completed_at").where("id", "=", id).forUpdate().executeTakeFirst();
  if (!row) return "missing";
  return row.completed_at === null ? "open" : "ready";
}

/** When it was erased; null when it was not. */
export async function erasedAt(db: Db, id: string): Promise<Date | null> {
  const row = await db.selectFrom("sessions").select("erased_at").where("id", "=", id).executeTakeFirst();
  return row?.erased_at ?? null;
}

/** Erases what tells who called and what for. The outcome stays, so does when it was reached. */
export async function eraseCallers(tx: Db, ids: readonly string[]): Promise<void> {
  await tx
    .updateTable("sessions")
    .set({
      caller: null,
      memory: null,
      description: null,
      billing_address: null,
      erased_at: sql<Date>`coalesce(erased_at, clock_timestamp())`,
    })
    .where("id", "in", ids)
    .execute();
}

export async function deleteSessions(tx: Db, ids: readonly string[]): Promise<void> {
  await tx.deleteFrom("sessions").where("id", "in", ids).execute();
}
