import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { Clock } from "#src/kernel/clock.ts";
import { AppError } from "#src/kernel/errors.ts";
import type { JsonValue } from "#src/kernel/json.ts";
import type { Database, Db } from "#src/platform/index.ts";
import { at, FAULTS, Invalid } from "./schemas/faults.ts";
import { model, text } from "./schemas/validate.ts";

/** Idempotency-Key on requests that make something (R-144; IETF draft-ietf-httpapi-idempotency-key-header). */

const HEADER = "idempotency-key";
export const idempotencyHeaders = model({ [HEADER]: text({ min: 1, max: 255, pattern: /^[\x20-\x7e]+$/ }).optional() });

/** A request that is done at most once. */
interface Request {
  apiKeyId: string;
  path: string;
  /** What the header says; undefined when there is none. */
  key: string | undefined;
  body: JsonValue;
}

interface Answer {
  status: number;
  /** JSON. */
  text: string;
  replayed: boolean;
}

/** How often expired answers are deleted, at least while new ones come. */
const FORGET_MS = 3_600_000;
const OTHER_BODY = FAULTS.value("this Idempotency-Key was sent with another body before");

/** Checks what can be checked, and answers what is then done in the transaction it is given. */
type Work = () => Promise<(db: Db) => Promise<{ status: number; body: object }>>;

/**
 * `once` does the work in a transaction that also keeps its answer, so that both exist or neither; a repeat is answered with
 * what was kept, whatever became of the project since. Without a key it just does the work. What the work throws is thrown
 * and not kept: the request may be mended and sent again. Throws Invalid for a key that came with another body, AppError
 * while the first request is under way.
 */
export function createIdempotency(database: Database, clock: Clock) {
  let nextForget = clock.monotonic() + FORGET_MS;

  async function once({ key, ...request }: Request, work: Work): Promise<Answer> {
    if (key === undefined) return fresh(await (await work())(database.db));
    const keyed = { ...request, key, digest: createHash("sha256").update(JSON.stringify(request.body)).digest() };
    const kept = await find(database.db, keyed);
    if (kept) return kept;
    const write = await work();
    const answer = await database.transaction(async (tx) => {
      await lock(tx, keyed);
      // Once more, now that nobody else can be writing it.
      const kept = await find(tx, keyed);
      if (kept) return kept;
      const answer = fresh(await write(tx));
      await keep(tx, keyed, answer);
      return answer;
    });
    if (clock.monotonic() >= nextForget) await forget();
    return answer;
  }

  async function forget(): Promise<void> {
    nextForget = clock.monotonic() + FORGET_MS;
    const expired = database.db.deleteFrom("idempotency_keys").where("expires_at", "<=", sql<Date>`clock_timestamp()`);
    // What is left over goes the next time.
    await expired.execute().catch(() => {});
  }

  return { once };
}

const fresh = ({ status, body }: { status: number; body: object }): Answer => ({ status, text: JSON.stringify(body), replayed: false });

interface Keyed {
  apiKeyId: string;
  path: string;
  key: string;
  /** Of the body. */
  digest: Buffer;
}

/** Held until the transaction ends, however it ends. Tried, not waited for: whoever waits would hold a connection. */
async function lock(tx: Db, { apiKeyId, path, key }: Keyed): Promise<void> {
  const name = [apiKeyId, path, key].join(" ");
  const { rows } = await sql<{ taken: boolean }>`select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as taken`.execute(tx);
  if (!rows[0]!.taken) throw new AppError("idempotency_key_in_use");
}

async function find(db: Db, { apiKeyId, path, key, digest }: Keyed): Promise<Answer | null> {
  const row = await db
    .selectFrom("idempotency_keys")
    .select(["request", "status", "answer"])
    .where("api_key_id", "=", apiKeyId)
    .where("path", "=", path)
    .where("key", "=", key)
    .where("expires_at", ">", sql<Date>`clock_timestamp()`)
    .executeTakeFirst();
  if (!row) return null;
  if (!digest.equals(row.request)) throw new Invalid([at(["header", HEADER], OTHER_BODY)]);
  return { status: row.status, text: row.answer, replayed: true };
}

async function keep(db: Db, { apiKeyId, path, key, digest }: Keyed, { status, text }: Answer): Promise<void> {
  await db
    .insertInto("idempotency_keys")
    .values({ api_key_id: apiKeyId, path, key, request: digest, status, answer: text })
    // One that has expired and was not forgotten yet.
    .onConflict((conflict) =>
      conflict.columns(["api_key_id", "path", "key"]).doUpdateSet((row) => ({
        request: row.ref("excluded.request"),
        status: row.ref("excluded.status"),
        answer: row.ref("excluded.answer"),
        expires_at: row.ref("excluded.expires_at"),
      })),
    )
    .execute();
}
