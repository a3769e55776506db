import { sql } from "kysely";
import type { Environment } from "#src/kernel/payment.ts";
import { ago, type Db } from "#src/platform/index.ts";

/** Declined payments of one project, as card testing makes them (S-18). */
export interface DeclineRatio {
  projectId: string;
  environment: Environment;
  /** Approved and declined ones that began in the last hour. */
  attempts: number;
  declined: number;
}

const LEAST_ATTEMPTS = 20;

/** The projects of which more than half of at least 20 attempts in the last hour were declined. */
export async function highDeclineRatios(db: Db): Promise<DeclineRatio[]> {
  const { rows } = await sql<DeclineRatio>`
    select sessions.project_id as "projectId", payment_attempts.environment, count(*)::int as attempts,
      (count(*) filter (where payment_attempts.outcome = 'declined'))::int as declined
    from payment_attempts join sessions on sessions.id = payment_attempts.session_id
    where payment_attempts.started_at > ${ago("1 hour")} and payment_attempts.outcome in ('approved', 'declined')
    group by sessions.project_id, payment_attempts.environment
    having count(*) >= ${LEAST_ATTEMPTS} and 2 * count(*) filter (where payment_attempts.outcome = 'declined') > count(*)`.execute(db);
  return rows;
}
