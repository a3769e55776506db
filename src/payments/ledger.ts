import type { Gateway } from "#src/gateways/index.ts";
import { sleep, type Clock } from "#src/kernel/clock.ts";
import { isDataError, type Database, type Log } from "#src/platform/index.ts";
import type { Sessions } from "#src/sessions/index.ts";
import type { AttemptResult } from "./attempts.ts";
import { withoutTexts, type OutcomeEffects } from "./outcome.ts";
import { endAttempt, type Written } from "./transitions.ts";

interface LedgerDeps {
  database: Database;
  sessions: Pick<Sessions, "move">;
  clock: Clock;
  log: Log;
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/**
 * The third step of the charge protocol: result, session, webhook and audit in one statement, tried for as long as this
 * process lives. A commit whose answer was lost shows on the next try, because the attempt has its outcome then.
 * `signal`: throws once it is aborted, for a result that the next process can find again.
 */
export async function writeResult(
  { database, sessions, clock, log }: LedgerDeps,
  attempt: { id: string; sessionId: string },
  effects: OutcomeEffects,
  signal?: AbortSignal,
): Promise<Written> {
  let { attempt: result, event, changes } = effects;
  let plain: OutcomeEffects | null = null;
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    try {
      return await endAttempt(database.db, sessions, attempt, result, event, changes);
    } catch (error) {
      log.error("payment_result_not_written", { session: attempt.sessionId, attempt: attempt.id, error });
      // A text that the database cannot hold will not get better by waiting.
      if (isDataError(error) && !plain) ({ attempt: result, event, changes } = plain = withoutTexts(effects));
      else await sleep(clock, wait, signal);
    }
  }
}

/**
 * What a merchant's own endpoint did wrong, and an attempt there that was cut off: it cannot be asked, so the log is where its operator
 * hears of it (R-249, R-256). Such a gateway's reasons are our own words; other vendors' may be theirs.
 */
export function tellOfForwarding(
  { log }: Pick<LedgerDeps, "log">,
  gateway: Pick<Gateway, "name" | "capabilities">,
  session: string,
  { reason }: AttemptResult,
): void {
  if (gateway.capabilities.oneAttempt && reason !== null) log.warn("card_forwarding_fault", { session, gateway: gateway.name, reason });
}
