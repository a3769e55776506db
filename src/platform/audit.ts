import { type RawBuilder, sql } from "kysely";
import type { Database, Db } from "./db/database.ts";
import { storable, storableJson } from "./db/storable.ts";
import type { Log } from "./log.ts";

/** One thing that was done: who did what to which object, from where, with what result (S-16). */
export interface AuditEntry {
  organizationId?: string | null;
  /** `key:<id>`, `operator`, `apply`, `caller`, `gateway`, `service` ... */
  actor: string;
  /** `session.cancel`, `api_key.revoked` ... */
  action: string;
  object: string;
  /** An address, a command; left out: the service itself. */
  source?: string | null | undefined;
  /** Default `done`. */
  result?: string;
  /** Never a secret, never card data. */
  details?: object;
}

/**
 * Writes rows of the audit log as part of the transaction `tx`, so that they exist exactly when what they tell of does. A
 * worker seals them into the chain afterwards (`audit-chain.ts`).
 */
export async function audit(tx: Db, ...entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map(({ organizationId = null, actor, action, object, source = null, result, details }) => ({
    organization_id: organizationId,
    actor: storable(actor),
    action,
    object: storable(object),
    source: source === null ? null : storable(source),
    ...(result === undefined ? {} : { result: storable(result) }),
    ...(details === undefined ? {} : { details: storableJson(details) }),
  }));
  await tx.insertInto("audit_log").values(rows).execute();
}

/** A part of a statement: the CTE `audited`, which writes one row about each row of the CTE `of`, by its id and organization_id. */
export function auditing(
  of: RawBuilder<unknown>,
  { actor, source = null, action, details }: Pick<AuditEntry, "actor" | "source" | "action"> & { details: object },
): RawBuilder<unknown> {
  return sql`audited as (
    insert into audit_log (organization_id, actor, source, action, object, details)
    select organization_id, ${storable(actor)}::text, ${source === null ? null : storable(source)}::text, ${action}::text, id::text,
      ${storableJson(details)}::jsonb from ${of}
  )`;
}

/** Writes that this process runs from now on; the returned function, that it ended in order. */
export async function auditRun(
  { db }: Pick<Database, "db">,
  log: Log,
  { owner, ...details }: { owner: string; roles: readonly string[]; version: string },
): Promise<() => Promise<void>> {
  const entry = { actor: "service", object: `process ${owner}`, details };
  await audit(db, { ...entry, action: "service.start" });
  return async () => {
    // A database that is away must not keep the process from ending.
    await audit(db, { ...entry, action: "service.stop" }).catch((error: unknown) => log.warn("audit_not_written", { error }));
  };
}
