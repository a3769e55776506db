import { type Selectable, sql } from "kysely";
import { isKeepable, type AttemptTrace } from "#src/gateways/index.ts";
import type { Environment, GatewayName } from "#src/kernel/payment.ts";
import { isOwnerDead, type Db, type Tables } from "#src/platform/index.ts";

/** Rows of payment_attempts: the ledger of what was tried, written before the gateway is called and finished after it. */

export interface Attempt {
  id: string;
  gateway: GatewayName;
  environment: Environment;
  /** Where the money went: asked there again, whatever the settings say by then. */
  endpoint: string;
  /** Of the settings that it was sent with. */
  credentialVersion: number;
  cardBrand: string;
  cardLast4: string;
  /** Time since the row was written, by the database's clock, ms; no less than 0, though that clock was set back. */
  ageMs: number;
  /** How old it is when its owner, if alive, has stopped waiting for the gateway, ms. */
  deadlineMs: number;
  /** null: its owner waits for the answer, or has died. `unknown`: it has written that the answer is lost, and waits no more. */
  outcome: AttemptResult["outcome"] | null;
  /** The gateway has said that it took it, in time or too late. */
  wasTaken: boolean;
  /** When the search for its outcome was given up; it may still be found for a while. */
  givenUp: boolean;
  trace: AttemptTrace;
}

/** The reason of an attempt that the gateway approved when it could not be shown any more; its outcome stays what it was. */
export const TOO_LATE = "approved after its session had ended otherwise: to be given back";

/** The reason of one in mode tokenize whose session has failed and which has perhaps left a card at the gateway: for the operator's list. */
export const PERHAPS_STORED = "the gateway may keep the card, and it cannot be found or taken out from here";

/** A living owner's own attempt is overdue this long after its deadline: then it was never called, or its record was lost. */
const OVERDUE = sql<Date>`clock_timestamp() - interval '5 seconds'`;
/** How long a given-up attempt is still looked for, so that money found late is given back. */
const RECONCILED_SINCE = sql<Date>`clock_timestamp() - interval '24 hours'`;

export async function findAttempt(db: Db, id: string): Promise<Attempt | null> {
  const row = await db
    .selectFrom("payment_attempts")
    .selectAll()
    .select(sql<number>`(extract(epoch from clock_timestamp() - started_at) * 1000)::float8`.as("age_ms"))
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) return null;
  return {
    id: row.id,
    gateway: row.gateway,
    environment: row.environment,
    endpoint: row.endpoint,
    credentialVersion: row.credential_version,
    cardBrand: row.card_brand,
    cardLast4: row.card_last4,
    ageMs: Math.max(0, row.age_ms),
    deadlineMs: row.deadline_at.getTime() - row.started_at.getTime(),
    outcome: row.outcome,
    wasTaken: row.outcome === "approved" || row.reason === TOO_LATE,
    givenUp: row.finished_at !== null,
    trace: {
      sessionId: row.session_id,
      attempt: row.number,
      reference: row.reference,
      mode: row.mode,
      amountMinor: row.amount_minor,
      currency: row.currency,
      connectedAccount: row.stripe_account,
      startedAtMs: row.started_at.getTime(),
      notes: row.notes as Record<string, string>,
    },
  };
}

export type AttemptResult = { notes: Readonly<Record<string, string>> } & (
  | { outcome: "approved"; reason: string | null }
  /** `mayBeStored`: the card, which is to be taken out again. */
  | { outcome: "declined"; declineCode: string; reason: string | null; mayBeStored?: boolean }
  | { outcome: "unknown"; reason: string; givenUp: boolean }
);

/** What stands in the ledger by now; null: there is no such attempt. */
export async function decisionOf(db: Db, id: string): Promise<Pick<Selectable<Tables["payment_attempts"]>, "outcome" | "reversal"> | null> {
  return (await db.selectFrom("payment_attempts").select(["outcome", "reversal"]).where("id", "=", id).executeTakeFirst()) ?? null;
}

/** Without texts that may not be kept: cut or mended, they would name something else. */
export function keepable<T extends string | boolean>(fields: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value !== "string" || isKeepable(value)));
}

/** Adds the gateway's notes to the row: vendor ids, no card data. What cannot be kept is dropped. */
export async function addNotes(db: Db, id: string, notes: Readonly<Record<string, string>>): Promise<void> {
  await db
    .updateTable("payment_attempts")
    .set({ notes: sql<string>`notes || ${JSON.stringify(keepable(notes))}::jsonb` })
    .where("id", "=", id)
    .execute();
}

/** The last attempt of a session: its decline, when it was declined. */
export async function lastDecline(db: Db, sessionId: string): Promise<string | null> {
  const row = await db
    .selectFrom("payment_attempts")
    .select(["outcome", "decline_code"])
    .where("session_id", "=", sessionId)
    .orderBy("number", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.outcome === "declined" ? row.decline_code : null;
}

/**
 * Makes `owner` the owner of every attempt without an outcome whose owner is dead, and none of `heardOf`, or which is overdue with `owner`
 * itself, and answers their ids. An attempt of a living process is never among them; two processes never get the same one.
 */
export async function adoptOpenAttempts(
  db: Db,
  owner: string,
  { busy, reconcilable }: { busy: ReadonlySet<string>; reconcilable: readonly GatewayName[] },
  heardOf: readonly string[],
): Promise<string[]> {
  const rows = await db
    .updateTable("payment_attempts")
    .set({ owner })
    .where("id", "in", (query) =>
      query
        .selectFrom("payment_attempts as attempt")
        .select("attempt.id")
        .where((row) => row.or([row("attempt.outcome", "is", null), row("attempt.outcome", "=", "unknown")]))
        .where((row) =>
          row.or([
            row("attempt.finished_at", "is", null),
            row.and([row("attempt.finished_at", ">", RECONCILED_SINCE), sql<boolean>`attempt.gateway = any(${reconcilable})`]),
          ]),
        )
        .where((row) =>
          row.or([
            row.and([
              row("attempt.owner", "=", owner),
              row.or([row("attempt.outcome", "=", "unknown"), row("attempt.deadline_at", "<", OVERDUE)]),
            ]),
            row.and([
              row("attempt.owner", "!=", owner),
              isOwnerDead(sql.ref("attempt.owner")),
              sql<boolean>`attempt.owner <> all(${heardOf}::text[])`,
            ]),
          ]),
        )
        .where(sql<boolean>`attempt.id <> all(${[...busy]}::uuid[])`)
        .forUpdate("attempt")
        .skipLocked(),
    )
    .returning("id")
    .execute();
  return rows.map((row) => row.id);
}
