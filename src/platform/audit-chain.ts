import { createHmac, timingSafeEqual } from "node:crypto";
import { sql } from "kysely";
import type { Database, Db } from "./db/database.ts";

/**
 * The chain of the audit log (S-16; docs/decisions/0011). A row's seal is
 *
 *   HMAC-SHA256(audit key, position, seal of the position before, everything the row says)
 *
 * Positions have no gaps and start at 1. `audit_head` says how far the chain reaches, with an HMAC of its own.
 */

/** How far the chain reaches. */
export interface Head {
  position: number;
  /** Base64url. Zeros at position 0. */
  seal: string;
}

/** Rows sealed in one transaction, and read at a time: a few milliseconds of hashing. */
const BATCH = 500;
const NOTHING = Buffer.alloc(32);

interface Row {
  id: number;
  said: string;
}

interface SealedRow extends Row {
  position: number;
  seal: Uint8Array;
}

/** Everything a row says, as PostgreSQL writes it: jsonb has one order of keys, the time is in UTC to the microsecond. */
const said = sql<string>`jsonb_build_array(
  id, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), organization_id, actor, action, object, source, result, details
)::text`.as("said");

function sealOf(key: Uint8Array, position: number, previous: Uint8Array, { said: content }: Row): Buffer {
  return createHmac("sha256", key).update(`row|${position}|`).update(previous).update(content).digest();
}

function proofOf(key: Uint8Array, position: number, seal: Uint8Array): Buffer {
  return createHmac("sha256", key).update(`head|${position}|`).update(seal).digest();
}

const same = (one: Uint8Array, other: Uint8Array) => one.length === other.length && timingSafeEqual(one, other);

/** The empty chain, in the transaction that makes its key. */
export async function beginChain(tx: Db, key: Uint8Array): Promise<void> {
  await tx
    .insertInto("audit_head")
    .values({ position: 0, seal: NOTHING, proof: proofOf(key, 0, NOTHING) })
    .execute();
}

/** The chain's end is not as this installation left it: nothing is sealed until a person has looked. */
export class ChainBrokenError extends Error {
  override name = "ChainBrokenError";
}

/**
 * Seals what is not sealed yet, the oldest first, and returns the new head; null when another process is at it. Many may
 * try at once. Throws ChainBrokenError when the head is not genuine: to go on would hide what was cut off.
 */
export async function sealRows({ transaction }: Pick<Database, "transaction">, key: Uint8Array): Promise<Head | null> {
  for (;;) {
    const done = await transaction((tx) => sealBatch(tx, key));
    if (!done || done.count < BATCH) return done && done.head;
  }
}

async function sealBatch(tx: Db, key: Uint8Array): Promise<{ head: Head; count: number } | null> {
  const head = await tx.selectFrom("audit_head").select(["position", "seal", "proof"]).forUpdate().skipLocked().executeTakeFirst();
  if (!head) {
    const { there } = await tx
      .selectFrom("audit_head")
      .select(sql<number>`count(*)`.as("there"))
      .executeTakeFirstOrThrow();
    if (there > 0) return null;
    throw new ChainBrokenError("the head of the audit log's chain is gone");
  }
  if (!same(head.proof, proofOf(key, head.position, head.seal)))
    throw new ChainBrokenError("the head of the audit log's chain was changed");
  const rows = await tx.selectFrom("audit_log").select(["id", said]).where("position", "is", null).orderBy("id").limit(BATCH).execute();
  let position = head.position;
  let last: Buffer = Buffer.from(head.seal);
  const sealed = rows.map((row) => {
    last = sealOf(key, ++position, last, row);
    return { id: row.id, position, seal: last.toString("hex") };
  });
  if (sealed.length > 0) {
    await sql`update audit_log set position = new.position, seal = decode(new.seal, 'hex')
      from json_to_recordset(${JSON.stringify(sealed)}::json) as new (id bigint, position bigint, seal text)
      where audit_log.id = new.id`.execute(tx);
    await tx
      .updateTable("audit_head")
      .set({ position, seal: last, proof: proofOf(key, position, last) })
      .execute();
  }
  return { head: { position, seal: last.toString("base64url") }, count: rows.length };
}

/** What verification found. */
export interface ChainReport {
  /** Rows whose seals were right, from the first on. */
  verified: number;
  /** The end of the chain; to be stored elsewhere. Null when it is not genuine. */
  head: Head | null;
  /** Null: the chain is whole. Else the first fault, in one sentence. */
  fault: string | null;
  /** Rows not sealed yet; `overdue` for over a minute. */
  unsealed: number;
  overdue: number;
}

/**
 * Checks every row from the first on, and that the chain reaches `noted`, a head that was stored elsewhere. Reads page by page
 * without holding anybody up; what is sealed meanwhile is left for the next time.
 */
export async function verifyChain(db: Db, key: Uint8Array, noted: Head | null = null): Promise<ChainReport> {
  const { unsealed, overdue } = await db
    .selectFrom("audit_log")
    .select([
      sql<number>`count(*)`.as("unsealed"),
      sql<number>`count(*) filter (where at < clock_timestamp() - interval '1 minute')`.as("overdue"),
    ])
    .where("position", "is", null)
    .executeTakeFirstOrThrow();
  const head = await db.selectFrom("audit_head").select(["position", "seal", "proof"]).executeTakeFirst();
  const isGenuine = head !== undefined && same(head.proof, proofOf(key, head.position, head.seal));
  const rows = await verifyRows(db, key, isGenuine ? head.position : null, noted);
  const report = (fault: string | null): ChainReport => ({
    verified: rows.verified,
    head: isGenuine ? { position: head.position, seal: Buffer.from(head.seal).toString("base64url") } : null,
    fault,
    unsealed,
    overdue,
  });
  if (rows.fault !== null) return report(rows.fault);
  if (!head) return report("the record of how far the chain reaches is gone");
  if (!isGenuine) return report("the record of how far the chain reaches was changed");
  if (rows.verified < head.position) {
    return report(`positions ${rows.verified + 1} to ${head.position} are missing: the end of the log was cut off`);
  }
  if (head.position > 0 && !same(head.seal, rows.last))
    return report(`the seal of position ${head.position} is not the one the chain ended with`);
  if (noted && noted.position > head.position) {
    return report(`the log ends at position ${head.position}, and once reached ${noted.position}: its end was cut off`);
  }
  const beyond = await db
    .selectFrom("audit_log")
    .select(sql<number>`max(position)`.as("most"))
    .executeTakeFirstOrThrow();
  const now = await db.selectFrom("audit_head").select("position").executeTakeFirst();
  if ((beyond.most ?? 0) > (now?.position ?? 0)) {
    return report(`a row at position ${beyond.most} was put in after the chain's end at ${now?.position ?? 0}`);
  }
  return report(null);
}

async function verifyRows(
  db: Db,
  key: Uint8Array,
  until: number | null,
  noted: Head | null,
): Promise<{ verified: number; last: Uint8Array; fault: string | null }> {
  let [verified, last]: [number, Uint8Array] = [0, NOTHING];
  const fault = (text: string) => ({ verified, last, fault: text });
  for (;;) {
    const page = await pageAfter(db, verified, until);
    for (const row of page) {
      const expected = verified + 1;
      if (row.position !== expected) {
        const which = row.position === expected + 1 ? `position ${expected} is` : `positions ${expected} to ${row.position - 1} are`;
        return fault(`${which} missing: rows were taken out before row ${row.id}`);
      }
      const seal = sealOf(key, expected, last, row);
      if (!same(seal, row.seal)) return fault(`row ${row.id} at position ${expected} was changed or put in`);
      if (noted?.position === expected && noted.seal !== seal.toString("base64url")) {
        return fault(`position ${expected} is not what the noted head says: the log was written anew`);
      }
      [verified, last] = [expected, seal];
    }
    if (page.length < BATCH) return { verified, last, fault: null };
  }
}

async function pageAfter(db: Db, position: number, until: number | null): Promise<SealedRow[]> {
  let query = db
    .selectFrom("audit_log")
    .select(["id", "position", "seal", said])
    .where("position", ">", position)
    .orderBy("position")
    .limit(BATCH);
  if (until !== null) query = query.where("position", "<=", until);
  const rows = await query.execute();
  return rows.map((row) => ({ ...row, position: row.position ?? 0, seal: row.seal ?? new Uint8Array() }));
}
