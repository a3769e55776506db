import { type RawBuilder, type SqlBool, sql } from "kysely";
import { crashPoint } from "#src/kernel/crash-points.ts";
import { auditing, type Db, runPrepared } from "#src/platform/index.ts";
import { columnsOfSession, fromRow, type Row, type Session } from "./session.ts";
import { columnsOf, isTerminal, type SessionEvent, sourcesOf, type State, type Status, targetOf, TRANSITIONS } from "./states.ts";

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
  claimedBy?: string;
  callId?: string;
  /** Only from this state. Left out: from each that the table allows. */
  from?: State;
  /** Only while it is still held as this says: by which process, and by which call or none. Left out: whoever holds it. */
  heldBy?: Pick<Session, "claimedBy" | "callId">;
  /** Who did it, for the audit log: `key:<id>`, `caller`, `gateway` ... Default `service`. */
  actor?: string;
  /** From where: an address, a command. Left out: this service itself. */
  source?: string;
}

export interface Scope {
  organizationId: string;
  environment: "test" | "live";
}

/** What a final state leaves to be told to the merchant: parts of the statement that makes it final, so that both are one commit. */
export interface Outbox {
  /** CTEs that may read the session's new row as `moved`. */
  written: (status: Status) => RawBuilder<unknown>;
  /** What is selected with it, with a name: a scalar over those CTEs, such as a notification. */
  told: RawBuilder<unknown>;
}

/** What goes into the same statement, and so into the same commit, as a move of a session. */
export interface Along {
  /** CTEs that come before the move, and on which it may depend. */
  before?: RawBuilder<unknown>;
  /** A further condition of the move. */
  when?: RawBuilder<SqlBool>;
  /** CTEs that come after it and may read the session's new row as `moved`: no row when it did not move. */
  after?: RawBuilder<unknown>;
  /** What the statement selects besides, with names. */
  select?: RawBuilder<unknown>;
  /** One row whether or not it moves: a CTE of `before`. Left out: no row when it does not. */
  always?: RawBuilder<unknown>;
}

/** The session as it is after its move, null when it did not, and what `Along` selects. */
export interface Moved<T> {
  session: Session | null;
  selected: T;
}

const NOTHING = sql``;

/**
 * Moves a session along one event of the table: one conditional UPDATE, whose condition the database checks under the
 * row's lock and against its own clock, the audit row, the notification and, once the state is final, the outbox, all in one
 * statement (docs/decisions/0014). It is a commit by itself, or a part of the transaction of `db`. Null when the event is not allowed from
 * where the session is, because somebody else was first, and nothing is selected `always`.
 */
export async function move<T>(
  db: Db,
  outbox: Outbox | null,
  id: string,
  event: SessionEvent,
  changes: SessionChanges = {},
  { scope, along = {} }: { scope?: Scope | undefined; along?: Along } = {},
): Promise<Moved<T> | null> {
  const target = columnsOf(targetOf(event));
  const final = isTerminal(target.status);
  const { actor = "service", source } = changes;
  const moved = sql.ref("moved");
  const query = sql<Row & T>`with ${along.before ? sql`${along.before}, ` : NOTHING}moved as (
    update sessions set ${sql.join(assignments(event, changes))}
    where id = ${id} and ${allows(event, changes.from)}${changes.heldBy ? sql` and ${isHeldBy(changes.heldBy)}` : NOTHING}${
      scope ? sql` and organization_id = ${scope.organizationId} and environment = ${scope.environment}` : NOTHING
    }${along.when ? sql` and ${along.when}` : NOTHING}
    returning *
  ), ${auditing(moved, { actor, source, action: `session.${event}`, details: target })}${
    final && outbox ? sql`, ${outbox.written(target.status)}` : NOTHING
  }${along.after ? sql`, ${along.after}` : NOTHING}
  select ${sql.raw(columnsOfSession("moved"))},
    case when moved.id is not null then pg_notify(${CHANNEL}, moved.id::text)::text end as notified${
      final && outbox ? sql`, ${outbox.told}` : NOTHING
    }${along.select ? sql`, ${along.select}` : NOTHING}
  from ${along.always ? sql`${along.always} left join moved on true` : moved} left join projects on projects.id = moved.project_id`;
  crashPoint("transition_unwritten", event);
  const [row] = await runPrepared(db, `session_${event}`, query);
  if (row?.updated_at) crashPoint("transition_written", event);
  return row ? { session: row.updated_at ? fromRow(row) : null, selected: row } : null;
}

/** `move` for whoever wants the session alone: as it is after the move, null when it did not. */
export async function transition(...args: Parameters<typeof move>): Promise<Session | null> {
  return (await move(...args))?.session ?? null;
}

function assignments(event: SessionEvent, changes: SessionChanges): RawBuilder<unknown>[] {
  const { status, phase } = columnsOf(targetOf(event));
  const values: Record<string, unknown> = {
    status,
    phase,
    ...columnsFor(event, changes),
    revision: sql`sessions.revision + 1`,
    updated_at: changedAt(event),
    ...(isTerminal(status) ? { completed_at: event === "expire" ? sql`sessions.expires_at` : changedAt(event) } : {}),
  };
  return Object.entries(values).map(([column, value]) => sql`${sql.ref(column)} = ${value}`);
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

function isHeldBy({ claimedBy, callId }: NonNullable<SessionChanges["heldBy"]>): RawBuilder<SqlBool> {
  return sql`sessions.claimed_by is not distinct from ${claimedBy}::text and sessions.call_id is not distinct from ${callId}::text`;
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
    ...(changes.claimedBy !== undefined && { claimed_by: changes.claimedBy }),
    ...(changes.callId !== undefined && { call_id: changes.callId }),
    ...(event === "release" && { claimed_by: null, call_id: null }),
  };
}
