import type { Clock } from "#src/kernel/clock.ts";
import { type Database, type Log, repeat } from "#src/platform/index.ts";
import type { Projects } from "#src/projects/index.ts";
import type { CheckScope, CredentialsCheck } from "./credentials-check.ts";

/**
 * Refresh tokens that a vendor replaces with each use, and lets die when nobody uses them (QuickBooks': about 100 days): a worker uses
 * those of projects that take no payments.
 */

export interface KeepAliveDeps {
  database: Pick<Database, "db">;
  clock: Clock;
  log: Log;
  projects: Pick<Projects, "unrenewedCredentials">;
  /** Asks the vendor whether it takes the credentials: where they rotate, that renews them. */
  check: (scope: CheckScope) => Promise<CredentialsCheck>;
}

const EVERY_MS = 86_400_000;
/** Not while a process starts. */
const FIRST_MS = 3_600_000;
/** A third of the shortest life that is known. */
const UNUSED_DAYS = 30;

/** A round an hour after the start and then once a day; two workers that do the same do no harm. Returns the end. */
export function startKeepAlive(deps: KeepAliveDeps): () => Promise<void> {
  return repeat({
    clock: deps.clock,
    everyMs: EVERY_MS,
    firstMs: FIRST_MS,
    task: (isStopped) => round(deps, isStopped),
    onFailure: (error) => deps.log.warn("credentials_renewal_failed", { error }),
  });
}

async function round({ database, log, projects, check }: KeepAliveDeps, isStopped: () => boolean): Promise<void> {
  for (const scope of await projects.unrenewedCredentials(database.db, UNUSED_DAYS)) {
    if (isStopped()) return;
    const { projectId: project, gateway, environment } = scope;
    const answer = await check(scope);
    if (answer.result === "accepted") continue;
    const reason = "reason" in answer ? `${answer.result}: ${answer.reason}` : answer.result;
    log.warn("credentials_not_renewed", { project, gateway, environment, reason });
  }
}
