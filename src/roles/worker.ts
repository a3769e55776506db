import { startAuditSealer } from "#src/platform/index.ts";
import { startAlarms } from "#src/alarms/index.ts";
import { startKeepAlive } from "#src/payments/index.ts";
import { startRetention } from "#src/retention/index.ts";
import type { Modules } from "./modules.ts";

export interface WorkerRole {
  /** Whether it looks for the status webhooks that are due. */
  isAlive(): Promise<boolean>;
}

/**
 * What a worker does: it delivers status webhooks, erases what is no longer needed, renews credentials that would die unused, and tells in the log what deserves an alarm.
 */
export function startWorkerRole(modules: Modules): WorkerRole {
  const { config, database, keys, clock, log, projects, sessions, webhooks, payments, onEnd } = modules;
  onEnd(webhooks.startSweep());
  const { retentionPersonalDays: personalDays, retentionDays: days } = config;
  const leftovers = [() => sessions.deleteExpiredResponses()];
  onEnd(startRetention({ database, clock, log, personalDays, days, leftovers }));
  onEnd(startKeepAlive({ database, clock, log, projects, check: (scope) => payments.checkCredentials(scope) }));
  onEnd(startAlarms({ database, auditKey: keys.audit, clock, log }));
  return { isAlive: async () => webhooks.isSweeping() };
}

/** Seals the audit log; the returned function ends that. Apart from the role: it ends after everything that writes a row as it ends. */
export function startSealing({ database, keys, clock, log }: Modules): () => Promise<void> {
  return startAuditSealer({ database, key: keys.audit, clock, log });
}
