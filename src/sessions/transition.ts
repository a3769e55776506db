import { type RawBuilder, type SqlBool, sql } from "kysely";
import { crashPoint } from "#src/kernel/crash-points.ts";
import { audit, type Db, notify } from "#src/platform/index.ts";
import { DERIVED, fromRow, type Session } from "./session.ts";
import { columnsOf, isTerminal, type SessionEvent, sourcesOf, type State, targetOf, TRANSITIONS } from "./states.ts";

/** NOTIFY channel of session changes; the payload is the session's id. */
export const CHANNEL = "voicetill_session";

/** What a transition may write besides the status. Left out: unchanged. */
export interface SessionChanges {
  processor?: Record<string, string | boolean>;
  webhookProcessor?: Record<string, string | boolean>;
  cardBrand?: string;
  cardLast4?: string;
  errorCode?: string;
  errorMessage?: string | null;
  transferStatus?: string;
  claimedBy?: string;
  callId?: string;
  /** Only from this state. Left out: from each that the table allows. */
  from?: State;
  /** Who did it, for the audit log: `key:<id>`, `caller`, `gateway` ... Default `service`. */
  actor?: string;
  /** From where: an address, a command. Left out: this service itself. */
  source?: string;
}

export interface Scope {
  organizationId: string;
  environment: "test" | "live";
}

export type OnFinal = (tx: Db, session: Session) => Promise<void>;

/**
 * Moves a session along one event of the table: one conditional UPDATE, whose condition the database checks under the
 * row's lock and against its own clock, then the audit row, the notification and, once the state is final, `onFinal`, all
 * in the transaction of `tx`. Null when the event is not allowed from where the session is: somebody else was first.
 */
export async function transition(
  tx: Db,
  onFinal: OnFinal,
  id: string,
  event: SessionEvent,
  changes: SessionChanges = {},
  scope?: Scope,
): Promise<Session | null> {
  const target = columnsOf(targetOf(event));
  let update = tx
    .updateTable("sessions")
    .set({
      ...target,
      ...columnsFor(event, changes),
      revision: sql`sessions.revision + 1`,
      updated_at: changedAt(event),
      ...(isTerminal(target.status) ? { completed_at: event === "expire" ? sql<Date>`sessions.expires_at` : changedAt(event) } : {}),
    })
    .where("id", "=", id)
    .where(allows(event, changes.from));
  if (scope) update = update.where("organization_id", "=", scope.organizationId).where("environment", "=", scope.environment);
  const row = await update.returningAll("sessions").returning(DERIVED).executeTakeFirst();
  if (!row) return null;

  crashPoint("transition_updated");
  const session = fromRow(row);
  await audit(tx, {
    organizationId: session.organizationId,
    actor: changes.actor ?? "service",
    source: changes.source,
    action: `session.${event}`,
    object: id,
    details: target,
  });
  await notify(tx, CHANNEL, id);
  if (isTerminal(target.status)) {
    await onFinal(tx, session);
    crashPoint("outbox_written");
  }
  return session;
}

/** SQL condition: the table allows `event` in the row's state, at this moment of the database's clock. */
function allows(event: SessionEvent, from?: State): RawBuilder<SqlBool> {
  const sources = sourcesOf(event).filter((source) => from === undefined || source === from);
  const alternatives = sources.map((source) => {
    const { status, phase } = columnsOf(source);
    const inState = sql`sessions.status = ${status} and sessions.phase is not distinct from ${phase}::text`;
    const deadline = TRANSITIONS[source][event]?.deadline;
    if (deadline === undefined) return sql`(${inState})`;
    return deadline === "before"
      ? sql`(${inState} and sessions.expires_at > clock_timestamp())`
      : sql`(${inState} and sessions.expires_at <= clock_timestamp())`;
  });
  return sql<SqlBool>`(${sql.join(alternatives, sql` or `)})`;
}

/** When the change counts as made: whole milliseconds, after the change before it. An expiry was at its time, whoever saw it when. */
export function changedAt(event: SessionEvent | null): RawBuilder<Date> {
  const at = event === "expire" ? sql`sessions.expires_at` : sql`date_trunc('milliseconds', statement_timestamp())`;
  return sql<Date>`greatest(${at}, sessions.updated_at + interval '1 millisecond')`;
}

function columnsFor(event: SessionEvent, changes: SessionChanges) {
  return {
    ...(changes.processor && { processor: JSON.stringify(changes.processor) }),
    ...(changes.webhookProcessor && { webhook_processor: JSON.stringify(changes.webhookProcessor) }),
    ...(changes.cardBrand !== undefined && { card_brand: changes.cardBrand }),
    ...(changes.cardLast4 !== undefined && { card_last4: changes.cardLast4 }),
    ...(changes.errorCode !== undefined && { error_code: changes.errorCode }),
    ...(changes.errorMessage !== undefined && { error_message: changes.errorMessage }),
    ...(changes.transferStatus !== undefined && { transfer_status: changes.transferStatus }),
    ...(changes.claimedBy !== undefined && { claimed_by: changes.claimedBy }),
    ...(changes.callId !== undefined && { call_id: changes.callId }),
    ...(event === "release" && { claimed_by: null, call_id: null }),
    // R-181: the merchant has taken the payment back, so nobody waits at the callback for this caller.
    ...(event === "cancel" && {
      transfer_status: sql<string | null>`case
        when sessions.status = 'COLLECTING' and sessions.callback is not null then 'skipped' else sessions.transfer_status end`,
    }),
  };
}
