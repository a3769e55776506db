import { type RawBuilder, sql } from "kysely";
import type { Db } from "#src/platform/index.ts";

/** SQL condition: the session (a column, as sql.ref) has an attempt whose outcome is looked for, or whose money is being sent back. */
export function isUnsettled(sessionId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from payment_attempts
    where payment_attempts.session_id = ${sessionId} and (payment_attempts.finished_at is null or payment_attempts.reversal = 'due')
  )`;
}

/** The ledger goes with its sessions. */
export async function deleteAttempts(tx: Db, sessionIds: readonly string[]): Promise<void> {
  await tx.deleteFrom("payment_attempts").where("session_id", "in", sessionIds).execute();
}
