import { startAuditSealer } from "#src/platform/index.ts";
import { startRetention } from "#src/retention/index.ts";
import type { Modules } from "./modules.ts";

/**
 * What a worker does besides the jobs, which it takes from the moment when they are started: it takes up the status webhooks that
 * lost theirs, and erases what is no longer needed.
 */
export function startWorkerRole({ config, database, clock, log, sessions, webhooks, onEnd }: Modules): void {
  onEnd(webhooks.startSweep());
  const { retentionPersonalDays: personalDays, retentionDays: days } = config;
  const leftovers = [() => sessions.deleteExpiredResponses()];
  onEnd(startRetention({ database, clock, log, personalDays, days, leftovers }));
}

/** Seals the audit log; the returned function ends that. Apart from the role: it ends after everything that writes a row as it ends. */
export function startSealing({ database, keys, clock, log }: Modules): () => Promise<void> {
  return startAuditSealer({ database, key: keys.audit, clock, log });
}
