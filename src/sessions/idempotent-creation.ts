import { sql } from "kysely";
import { type Database, type Db, statement } from "#src/platform/index.ts";
import { SESSION_COLUMNS, insertingSessions, CREATION_TIME, type NewSession } from "./repository.ts";

/** Sessions that are created at most once for one Idempotency-Key, whatever becomes of the request (R-144). */

/** Which request it is. */
export interface RequestName {
  /** Whose request: the API key's, or the organisation's where requests come through a voice platform. */
  apiKeyId: string;
  path: string;
  /** The Idempotency-Key. */
  key: string;
}

export interface IdempotentRequest extends RequestName {
  /** A digest of the body. */
  request: Uint8Array;
  /** Stored with the response. */
  status: number;
  /** The response to a session of this id. Its `created_at` and `expires_at`, where it has them, are null: the database fills them in as `withTimes` does. */
  response: (sessionId: string) => object;
}

/** When a session was created and when it expires, by the database's clock. */
interface CreationTimes {
  createdAt: Date;
  expiresAt: Date;
}

/** A response with the times that only the database knows, as RFC 3339 in UTC, in the places that it has for them. */
export function withTimes(response: object, { createdAt, expiresAt }: CreationTimes): object {
  const times: Record<string, string> = { created_at: createdAt.toISOString(), expires_at: expiresAt.toISOString() };
  return Object.fromEntries(Object.entries(response).map(([name, value]) => [name, value ?? times[name] ?? null]));
}

export interface StoredResponse {
  /** The digest that came with it. */
  request: Uint8Array;
  status: number;
  text: string;
  /** False for the request that created the session. */
  replayed: boolean;
}

/** One time for the whole statement, so that the index on `expires_at` can be used. */
const statementTime = sql<Date>`statement_timestamp()`;

/** SQL: a response with this time in the place that it has for it. `time` is in whole milliseconds. */
const filled = (response: string, name: string, time: string) =>
  `replace(${response}, '"${name}":null', '"${name}":"' || to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"')`;

const ON_NAME = 'on (api_key_id, stored.path, stored.key) = ("apiKeyId", requested.path, requested.key)';

/**
 * One statement, so one commit: the responses to the requests that are the first of their name, and the sessions they create. The
 * lock is tried, not waited for: of two processes that try at once one goes on, the other says so. A response that has expired
 * and was not deleted yet is written over.
 */
const insertIdempotent = statement<{ answer: string | null }>(
  "insert_sessions_idempotent",
  `with ${CREATION_TIME}, requested as materialized (
    select *, pg_try_advisory_xact_lock(hashtextextended(concat_ws(' ', "apiKeyId", path, key), 0)) as free
    from json_to_recordset($1) as item (n int, "apiKeyId" uuid, path text, key text, request text, status int, response text,
      ${SESSION_COLUMNS})
  ), stored as (
    insert into idempotency_keys as existing (api_key_id, path, key, request, status, answer)
    select "apiKeyId", path, key, decode(request, 'hex'), status,
      ${filled(filled("response", "created_at", "at"), "expires_at", '(at + make_interval(secs => "ttlSeconds"))')}
    from requested, creation where free order by "apiKeyId", path, key
    on conflict (api_key_id, path, key) do update set request = excluded.request, status = excluded.status, answer = excluded.answer,
      expires_at = excluded.expires_at where existing.expires_at <= clock_timestamp()
    returning api_key_id, path, key, answer
  ), ${insertingSessions(`requested join stored ${ON_NAME}`)}
  select stored.answer from requested left join stored ${ON_NAME} order by n`,
);

/** A request with the id of the session that it would create. */
type IdempotentCreation = IdempotentRequest & { session: NewSession & { id: string } };

/** Creates the sessions of those that are the first of their name. Null: the first request of that name is under way elsewhere. */
export async function createIdempotent(db: Db, requests: readonly IdempotentCreation[]): Promise<(StoredResponse | null)[]> {
  // Of one name in one batch, the first is sent; the others get what it got, as repeats do.
  const nameOf = ({ apiKeyId, path, key }: RequestName) => [apiKeyId, path, key].join(" ");
  const firsts = [...new Map(requests.toReversed().map((one) => [nameOf(one), one])).values()];
  const rows = await insertIdempotent(db, JSON.stringify(firsts.map(wireOf)));
  const found = new Map<string, StoredResponse | null>();
  for (const [n, first] of firsts.entries()) {
    const { answer: text } = rows[n]!;
    const { request, status } = first;
    found.set(nameOf(first), text === null ? await findStoredResponse(db, first) : { request, status, text, replayed: false });
  }
  return requests.map((one) => {
    const stored = found.get(nameOf(one)) ?? null;
    return stored && !firsts.includes(one) ? { ...stored, replayed: true } : stored;
  });
}

function wireOf({ apiKeyId, path, key, request, status, response, session }: IdempotentCreation, n: number) {
  const answer = JSON.stringify(response(session.id));
  return { n, apiKeyId, path, key, request: Buffer.from(request).toString("hex"), status, response: answer, ...session };
}

/** The response to a request of this name in the last 24 hours. */
export async function findStoredResponse(db: Db, name: RequestName): Promise<StoredResponse | null> {
  return asStored(await responsesOf(db, name).where("key", "=", name.key).executeTakeFirst());
}

/** The responses stored in the last 24 hours under any key of this path, the newest first. */
export async function findResponses(db: Db, name: Omit<RequestName, "key">, limit: number): Promise<StoredResponse[]> {
  const rows = await responsesOf(db, name).orderBy("expires_at", "desc").orderBy("key").limit(limit).execute();
  return rows.flatMap((row) => asStored(row) ?? []);
}

function responsesOf(db: Db, { apiKeyId, path }: Omit<RequestName, "key">) {
  return db
    .selectFrom("idempotency_keys")
    .select(["request", "status", "answer"])
    .where("api_key_id", "=", apiKeyId)
    .where("path", "=", path)
    .where("expires_at", ">", statementTime);
}

function asStored(row: { request: Uint8Array; status: number; answer: string } | undefined): StoredResponse | null {
  return row ? { request: row.request, status: row.status, text: row.answer, replayed: true } : null;
}

/** Deletes what is older than 24 hours. */
export async function deleteExpiredResponses({ db }: Pick<Database, "db">): Promise<void> {
  await db.deleteFrom("idempotency_keys").where("expires_at", "<=", statementTime).execute();
}
