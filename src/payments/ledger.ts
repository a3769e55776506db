import { sleep } from "#src/kernel/clock.ts";
import type { Clock } from "#src/kernel/clock.ts";
import type { Database, Log } from "#src/platform/index.ts";
import type { Sessions } from "#src/sessions/index.ts";
import { finishAttempt, outcomeOf } from "./attempts.ts";
import type { Conclusion } from "./outcome.ts";

export interface LedgerDeps {
  database: Database;
  sessions: Pick<Sessions, "transition">;
  clock: Clock;
  log: Log;
}

/**
 * What became of writing a result. `late`: the attempt or its session had been decided otherwise; what the gateway did
 * cannot be shown any more, only undone.
 */
export type Written = "written" | "late";

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/**
 * The third step of the charge protocol: result, session, webhook and audit in one transaction, tried for as long as this
 * process lives. A commit whose answer was lost shows on the next try, because the attempt has its outcome then.
 */
export async function writeResult(
  { database, sessions, clock, log }: LedgerDeps,
  attempt: { id: string; sessionId: string },
  { attempt: result, event, changes }: Conclusion,
): Promise<Written> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    try {
      return await database.transaction(async (tx) => {
        if (await finishAttempt(tx, attempt.id, result)) {
          return (await sessions.transition(tx, attempt.sessionId, event, changes)) ? "written" : "late";
        }
        return (await outcomeOf(tx, attempt.id)) === result.outcome ? "written" : "late";
      });
    } catch (error) {
      log.error("payment_result_not_written", { session: attempt.sessionId, attempt: attempt.id, error });
      await sleep(clock, wait);
    }
  }
}
