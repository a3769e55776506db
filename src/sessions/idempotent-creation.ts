import { sql } from "kysely";
import { type Database, type Db, statement } from "#src/platform/index.ts";
import { AS_ASKED, insertingSessions, MADE, type NewSession } from "./repository.ts";

/** Sessions that are made at most once for one key, whatever becomes of the request that asked for them (R-144). */

/** Which request it is. */
export interface RequestName {
  apiKeyId: string;
  path: string;
  /** The Idempotency-Key. */
  key: string;
}

export interface OnceRequest extends RequestName {
  /** A digest of what was asked for. */
  request: Uint8Array;
  /** Kept with the answer. */
  status: number;
  /** The answer's JSON. It is called before the session exists: the times it is given stand for what the database will say. */
  answer: (made: Made) => object;
}

/** What an answer may tell of a new session; times as RFC 3339 in UTC. */
export interface Made {
  id: string;
  createdAt: string;
  expiresAt: string;
}

export interface KeptAnswer {
  /** The digest that came with it. */
  request: Uint8Array;
  status: number;
  text: string;
  /** False for the request that made the session. */
  replayed: boolean;
}

const clockNow = sql<Date>`clock_timestamp()`;

/** Times that only the database knows; put into the answer by it. Neither can stand in an id, an address or a telephone number. */
const CREATED_AT = "{created_at}";
const EXPIRES_AT = "{expires_at}";

const iso = (time: string) => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const ON_NAME = 'on (api_key_id, won.path, won.key) = ("apiKeyId", asked.path, asked.key)';

/**
 * One statement, so one commit: the answers of the requests that are the first of their name, and the sessions they make. The
 * lock is tried, not waited for: of two processes that are asked at once one goes on, the other says so. An answer that has expired
 * and was not forgotten yet is written over.
 */
const insertOnce = statement<{ made: string | null }>(
  "insert_sessions_once",
  `with ${MADE}, asked as materialized (
    select *, pg_try_advisory_xact_lock(hashtextextended(concat_ws(' ', "apiKeyId", path, key), 0)) as free
    from json_to_recordset($1) as asked (n int, "apiKeyId" uuid, path text, key text, request text, status int, answer text,
      ${AS_ASKED})
  ), won as (
    insert into idempotency_keys as kept (api_key_id, path, key, request, status, answer)
    select "apiKeyId", path, key, decode(request, 'hex'), status, replace(replace(answer, '${CREATED_AT}', ${iso("at")}),
      '${EXPIRES_AT}', ${iso('(at + make_interval(secs => "ttlSeconds"))')})
    from asked, made where free order by "apiKeyId", path, key
    on conflict (api_key_id, path, key) do update set request = excluded.request, status = excluded.status, answer = excluded.answer,
      expires_at = excluded.expires_at where kept.expires_at <= clock_timestamp()
    returning api_key_id, path, key, answer
  ), ${insertingSessions(`asked join won ${ON_NAME}`)}
  select won.answer as made from asked left join won ${ON_NAME} order by n`,
);

/** A request with the id of the session that it would make. */
export type Asked = OnceRequest & { session: NewSession & { id: string } };

/** Makes the sessions of those that are the first of their name. Null: the first request of that name is under way elsewhere. */
export async function createOnce(db: Db, asked: readonly Asked[]): Promise<(KeptAnswer | null)[]> {
  // Of one name in one batch, the first asks; the others get what it got, as repeats do.
  const nameOf = ({ apiKeyId, path, key }: RequestName) => [apiKeyId, path, key].join(" ");
  const firsts = [...new Map(asked.toReversed().map((one) => [nameOf(one), one])).values()];
  const rows = await insertOnce(db, JSON.stringify(firsts.map(wireOf)));
  const found = new Map<string, KeptAnswer | null>();
  for (const [n, first] of firsts.entries()) {
    const { made } = rows[n]!;
    const { request, status } = first;
    found.set(nameOf(first), made === null ? await findAnswer(db, first) : { request, status, text: made, replayed: false });
  }
  return asked.map((one) => {
    const kept = found.get(nameOf(one)) ?? null;
    return kept && !firsts.includes(one) ? { ...kept, replayed: true } : kept;
  });
}

function wireOf({ apiKeyId, path, key, request, status, answer, session }: Asked, n: number) {
  const text = JSON.stringify(answer({ id: session.id, createdAt: CREATED_AT, expiresAt: EXPIRES_AT }));
  return { n, apiKeyId, path, key, request: Buffer.from(request).toString("hex"), status, answer: text, ...session };
}

/** What a request of this name was answered with in the last 24 hours. */
export async function findAnswer(db: Db, { apiKeyId, path, key }: RequestName): Promise<KeptAnswer | null> {
  const row = await db
    .selectFrom("idempotency_keys")
    .select(["request", "status", "answer"])
    .where("api_key_id", "=", apiKeyId)
    .where("path", "=", path)
    .where("key", "=", key)
    .where("expires_at", ">", clockNow)
    .executeTakeFirst();
  return row ? { request: row.request, status: row.status, text: row.answer, replayed: true } : null;
}

/** Deletes what is older than 24 hours. */
export async function forgetAnswers({ db }: Pick<Database, "db">): Promise<void> {
  await db.deleteFrom("idempotency_keys").where("expires_at", "<=", clockNow).execute();
}
