import { sql } from "kysely";
import type { BillingAddress, Environment, GatewayName, Mode } from "#src/kernel/payment.ts";
import { type Db, notify } from "#src/platform/index.ts";
import { DERIVED, fromRow, type Row, type Session } from "./session.ts";
import { changedAt, CHANNEL, type Scope } from "./transition.ts";

export interface NewSession {
  organizationId: string;
  projectId: string;
  environment: Environment;
  channel: "voice" | "widget";
  mode: Mode;
  gateway: GatewayName;
  amountMinor: number;
  currency: string;
  caller: string | null;
  description: string | null;
  callback: string | null;
  memory: string | null;
  stripeAccount: string | null;
  billingAddress: BillingAddress | null;
  ttlSeconds: number;
}

/** Inserts a PENDING session. It expires exactly `ttlSeconds` after `created_at`, by the database's clock. */
export async function insertSession(tx: Db, id: string, input: NewSession): Promise<Session> {
  const createdAt = sql<Date>`date_trunc('milliseconds', statement_timestamp())`;
  const row = await tx
    .insertInto("sessions")
    .values({
      id,
      organization_id: input.organizationId,
      project_id: input.projectId,
      environment: input.environment,
      channel: input.channel,
      status: "PENDING",
      mode: input.mode,
      gateway: input.gateway,
      amount_minor: input.amountMinor,
      currency: input.currency,
      caller: input.caller,
      description: input.description,
      callback: input.callback,
      memory: input.memory,
      stripe_account: input.stripeAccount,
      billing_address: input.billingAddress && JSON.stringify(input.billingAddress),
      created_at: createdAt,
      updated_at: createdAt,
      expires_at: sql<Date>`${createdAt} + make_interval(secs => ${input.ttlSeconds})`,
    })
    .returningAll()
    .returning(DERIVED)
    .executeTakeFirstOrThrow();
  return fromRow(row);
}

export async function findSession(db: Db, id: string, scope?: Scope): Promise<Session | null> {
  let query = select(db).where("id", "=", id);
  if (scope) query = query.where("organization_id", "=", scope.organizationId).where("environment", "=", scope.environment);
  let row: Row | undefined = await query.executeTakeFirst();
  // A call may be taking the session in this very moment, having come in time: wait for it to be committed rather than
  // say "expired" and take it back.
  if (row?.overdue) row = await query.forShare().executeTakeFirst();
  return row ? fromRow(row) : null;
}

/** The caller's newest session that is still open, else the one that was completed last. */
export async function findSessionByCaller(db: Db, scope: Scope, caller: string, projectId?: string): Promise<Session | null> {
  const open = sql<boolean>`completed_at is null and (status <> 'PENDING' or expires_at > clock_timestamp())`;
  let query = select(db)
    .where("organization_id", "=", scope.organizationId)
    .where("environment", "=", scope.environment)
    .where("caller", "=", caller);
  if (projectId !== undefined) query = query.where("project_id", "=", projectId);
  const row = await query
    .orderBy(open, "desc")
    .orderBy(sql`case when ${open} then created_at else coalesce(completed_at, expires_at) end`, "desc")
    .orderBy("created_at", "desc")
    .limit(1)
    .executeTakeFirst();
  return row ? fromRow(row) : null;
}

/** The newest voice session that waits for a call from `caller`, over all organisations unless a project is named. */
export async function findPendingByCaller(db: Db, caller: string, projectId?: string): Promise<Session | null> {
  let query = select(db)
    .where("caller", "=", caller)
    .where("status", "=", "PENDING")
    .where("channel", "=", "voice")
    .where(sql<boolean>`expires_at > clock_timestamp()`);
  if (projectId !== undefined) query = query.where("project_id", "=", projectId);
  const row = await query.orderBy("created_at", "desc").limit(1).executeTakeFirst();
  return row ? fromRow(row) : null;
}

/** What became of handing the caller back. It may come after the final status and changes nothing else. */
export async function updateTransferStatus(tx: Db, id: string, status: string): Promise<void> {
  await tx
    .updateTable("sessions")
    .set({ transfer_status: status, revision: sql`sessions.revision + 1`, updated_at: changedAt(null) })
    .where("id", "=", id)
    .execute();
  await notify(tx, CHANNEL, id);
}

/** Ids of unused sessions past their time, the oldest first. */
export async function overdueIds(db: Db, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom("sessions")
    .select("id")
    .where("status", "=", "PENDING")
    .where(sql<boolean>`expires_at <= clock_timestamp()`)
    .orderBy("expires_at")
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

export function select(db: Db) {
  return db.selectFrom("sessions").selectAll("sessions").select(DERIVED);
}
