import type { Clock } from "#src/kernel/clock.ts";
import { audit, type AuditEntry, Background, type Database, type Log, WindowCounter } from "#src/platform/index.ts";
import type { ApiKeyIdentity } from "#src/projects/index.ts";
import type { Client } from "./access/client-address.ts";

const HOUR_MS = 3_600_000;
/** Addresses, or keys with addresses, that are told apart in an hour by one process. */
const MOST = 1000;
/** Refused keys from one address in an hour that are worth an alarm (S-18). */
const ALARMING = 20;

/** What any peer can do at any rate is in the audit log once an hour for each address, not once a request (S-16, S-18). */
export interface TrafficAudit {
  keyRefused(client: Client): void;
  /** `sessionId` is asked for the one that is written. */
  sessionCreated(identity: ApiKeyIdentity, client: Client, sessionId: () => string): void;
  /** Resolves when what was to be written is. */
  close(): Promise<void>;
}

export function createTrafficAudit({ database, clock, log }: { database: Pick<Database, "db">; clock: Clock; log: Log }): TrafficAudit {
  const refused = new WindowCounter({ clock, windowMs: HOUR_MS, most: MOST });
  const created = new WindowCounter({ clock, windowMs: HOUR_MS, most: MOST });
  const background = new Background();

  /** Nobody waits for it: what it tells of has happened already. */
  function write(entry: AuditEntry): void {
    void background.run(audit(database.db, entry).catch((error: unknown) => log.warn("audit_not_written", { error })));
  }

  return {
    keyRefused(client) {
      const { name, count } = refused.count(client.key);
      if (count !== 1 && count !== ALARMING) return;
      if (count === ALARMING) log.warn("api_keys_refused", { host: name, count });
      write({ actor: "unknown", action: "api_key.refused", object: "API key", source: name, result: "refused", details: { count } });
    },
    sessionCreated({ organizationId, keyId }, client, sessionId) {
      if (created.count(`${keyId} ${client.key}`).count !== 1) return;
      const entry = { organizationId, actor: `key:${keyId}`, source: client.address() };
      write({ ...entry, action: "session.create", object: `session ${sessionId()}`, details: { first_in_ms: HOUR_MS } });
    },
    close: () => background.idle(),
  };
}
