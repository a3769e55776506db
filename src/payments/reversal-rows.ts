import { sql } from "kysely";
import type { GatewayName } from "#src/kernel/payment.ts";
import type { Db } from "#src/platform/index.ts";

/** The part of payment_attempts that says what must be given back: `reversal` is due, done or failed, through every crash. */

export interface DueReversal {
  id: string;
  /** This one included. */
  tries: number;
  /** Since it became due, by the database's clock, ms. */
  ageMs: number;
}

/** Longer than one try can take: a process that dies in it leaves the attempt to the next. */
const TURN = "60 seconds";
const AT_A_TIME = 20;
/** Later than any try is put off: a time beyond it was written before the database server's clock was set back. */
const TOO_LATE = "11 minutes";

/** An attempt whose outcome nobody can tell is to be given back: from this commit on it cannot become a success any more. */
export async function requireReversalOfUnknown(db: Db, id: string, reason: string): Promise<void> {
  await db
    .updateTable("payment_attempts")
    .set({
      reversal: "due",
      reversal_tries: 0,
      reversal_at: sql<Date>`clock_timestamp()`,
      reversal_since: sql<Date>`clock_timestamp()`,
      reason,
    })
    .where("id", "=", id)
    .where("reversal", "is", null)
    .where((attempt) => attempt.or([attempt("outcome", "is", null), attempt("outcome", "=", "unknown")]))
    .execute();
}

/** Takes the next turn at what is due (of `id` alone, when given): two processes never have the same one. */
export async function claimReversals(db: Db, id?: string): Promise<DueReversal[]> {
  const rows = await db
    .updateTable("payment_attempts")
    .set({ reversal_tries: sql<number>`reversal_tries + 1`, reversal_at: sql<Date>`clock_timestamp() + ${TURN}::interval` })
    .where("id", "in", (query) => {
      const due = query
        .selectFrom("payment_attempts as attempt")
        .select("attempt.id")
        .where("attempt.reversal", "=", "due")
        .where(sql<boolean>`(attempt.reversal_at <= clock_timestamp() or attempt.reversal_at > clock_timestamp() + ${TOO_LATE}::interval)`);
      return (id === undefined ? due : due.where("attempt.id", "=", id))
        .orderBy("attempt.reversal_at")
        .limit(AT_A_TIME)
        .forUpdate("attempt")
        .skipLocked();
    })
    .returning(["id", "reversal_tries as tries"])
    .returning(sql<number>`(extract(epoch from clock_timestamp() - reversal_since) * 1000)::float8`.as("age_ms"))
    .execute();
  return rows.map((row) => ({ id: row.id, tries: row.tries, ageMs: row.age_ms }));
}

/** `failed`: for the operator's work list. */
export async function endReversal(db: Db, id: string, reversal: "done" | "failed", reason: string): Promise<void> {
  await db
    .updateTable("payment_attempts")
    .set({ reversal, reversal_at: null, reason })
    .where("id", "=", id)
    .where("reversal", "=", "due")
    .execute();
}

/** Makes due what is put off at this gateway by more than a turn: what ends sooner may be a turn that somebody has. */
export async function hastenReversals(db: Db, gateway: GatewayName): Promise<void> {
  await db
    .updateTable("payment_attempts")
    .set({ reversal_at: sql<Date>`clock_timestamp()` })
    .where("reversal", "=", "due")
    .where("gateway", "=", gateway)
    .where(sql<boolean>`reversal_at > clock_timestamp() + ${TURN}::interval`)
    .execute();
}

export async function postponeReversal(db: Db, id: string, ms: number): Promise<void> {
  await db
    .updateTable("payment_attempts")
    .set({ reversal_at: sql<Date>`clock_timestamp() + ${ms} * interval '1 millisecond'` })
    .where("id", "=", id)
    .where("reversal", "=", "due")
    .execute();
}
