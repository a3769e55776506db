import { sleep } from "#src/kernel/clock.ts";
import type { Clock } from "#src/kernel/clock.ts";
import { crashPoint } from "#src/kernel/crash-points.ts";
import { isDataError } from "#src/platform/index.ts";
import type { Database, Log } from "#src/platform/index.ts";
import type { Sessions } from "#src/sessions/index.ts";
import { addNotes, decisionOf, finishAttempt } from "./attempts.ts";
import { withoutTexts } from "./outcome.ts";
import type { OutcomeEffects } from "./outcome.ts";
import { requireReversal } from "./reversal-rows.ts";

export interface LedgerDeps {
  database: Database;
  sessions: Pick<Sessions, "transition">;
  clock: Clock;
  log: Log;
}

/**
 * What became of writing a result. `late`: the attempt or its session had been decided otherwise. What the gateway took
 * cannot be shown any more: the same commit says that it must be given back.
 */
export type Written = "written" | "late";

const TOO_LATE = "approved after its session had ended otherwise: to be given back";
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/**
 * The third step of the charge protocol: result, session, webhook and audit in one transaction, tried for as long as this
 * process lives. A commit whose answer was lost shows on the next try, because the attempt has its outcome then.
 */
export async function writeResult(
  { database, sessions, clock, log }: LedgerDeps,
  attempt: { id: string; sessionId: string },
  effects: OutcomeEffects,
): Promise<Written> {
  let { attempt: result, event, changes } = effects;
  let plain: OutcomeEffects | null = null;
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    try {
      crashPoint("result_unwritten");
      const written = await database.transaction(async (tx) => {
        const isFinished = await finishAttempt(tx, attempt.id, result);
        crashPoint("result_finished");
        const moved = isFinished && (await sessions.transition(tx, attempt.sessionId, event, changes));
        crashPoint("result_moved");
        if (moved) return "written";
        const stands = isFinished ? null : await decisionOf(tx, attempt.id);
        if (result.outcome !== "approved") return stands?.outcome === result.outcome ? "written" : "late";
        if (stands?.outcome === "approved" && stands.reversal === null) return "written";
        if (stands) await addNotes(tx, attempt.id, result.notes);
        await requireReversal(tx, attempt.id, TOO_LATE);
        return "late";
      });
      crashPoint("result_committed");
      return written;
    } catch (error) {
      log.error("payment_result_not_written", { session: attempt.sessionId, attempt: attempt.id, error });
      // A text that the database cannot hold will not get better by waiting.
      if (isDataError(error) && !plain) ({ attempt: result, event, changes } = plain = withoutTexts(effects));
      else await sleep(clock, wait);
    }
  }
}
