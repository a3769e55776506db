import { hash } from "node:crypto";
import type { Clock } from "#src/kernel/clock.ts";
import { AppError } from "#src/kernel/errors.ts";
import { JsonNumber, type JsonValue } from "#src/kernel/json.ts";
import type { Database } from "#src/platform/index.ts";
import { type NewSession, type StoredResponse, withTimes } from "#src/sessions/index.ts";
import type { ApiSessions } from "./deps.ts";
import { itemAt, FAULTS, Invalid } from "./schemas/faults.ts";
import { model, text } from "./schemas/validate.ts";

/** Idempotency-Key on requests that make a session (R-144; IETF draft-ietf-httpapi-idempotency-key-header). */

const HEADER = "idempotency-key";
export const idempotencyHeaders = model({ [HEADER]: text({ min: 1, max: 255, pattern: /^[\x20-\x7e]+$/ }).optional() });

/** A request that makes one session at most. */
interface IdempotentCall {
  apiKeyId: string;
  path: string;
  /** What the header says; undefined when there is none. */
  key: string | undefined;
  body: JsonValue;
  /** Of the response, when all goes well. */
  status: number;
}

/** A session to create, and the response to it, in which `created_at` and `expires_at` are null until it is created. */
export interface Creation {
  session: NewSession;
  response: (sessionId: string) => object;
}

type CreationResponse = Pick<StoredResponse, "status" | "text" | "replayed">;

/** How often expired responses are deleted, at least while new ones come. */
const DELETE_EXPIRED_MS = 3_600_000;
const OTHER_BODY = FAULTS.value("this Idempotency-Key was sent with another body before");

/**
 * `create` creates the session that `prepare` describes and stores the response with it, so that both exist or neither; a repeat
 * gets the stored response, whatever became of the project since. Without a key it just creates the session. What `prepare`
 * throws is thrown and not stored: the request may be mended and sent again. Throws Invalid for a key that came with another body,
 * AppError while the first request is under way in another process.
 */
export function createIdempotency({ db }: Pick<Database, "db">, sessions: ApiSessions, clock: Clock) {
  let nextDeletion = clock.monotonic() + DELETE_EXPIRED_MS;

  async function create({ key, body, ...request }: IdempotentCall, prepare: () => Promise<Creation>): Promise<CreationResponse> {
    if (key === undefined) return await createAlways(request.status, await prepare());
    const name = { apiKeyId: request.apiKeyId, path: request.path, key };
    const digest = digestOf(ordered(body));
    let creation: Creation;
    try {
      creation = await prepare();
    } catch (error) {
      const stored = await sessions.findStoredResponse(db, name);
      if (stored) return replay(stored, digest, body);
      throw error;
    }
    const stored = await sessions.createIdempotent(creation.session, {
      ...name,
      request: digest,
      status: request.status,
      response: creation.response,
    });
    if (clock.monotonic() >= nextDeletion) await deleteExpired();
    if (!stored) throw new AppError("idempotency_key_in_use");
    return replay(stored, digest, body);
  }

  async function createAlways(status: number, { session, response }: Creation): Promise<CreationResponse> {
    const { id, createdAt, ttlSeconds } = await sessions.create(db, session);
    const expiresAt = new Date(createdAt.getTime() + 1000 * ttlSeconds);
    return { status, text: JSON.stringify(withTimes(response(id), { createdAt, expiresAt })), replayed: false };
  }

  async function deleteExpired(): Promise<void> {
    nextDeletion = clock.monotonic() + DELETE_EXPIRED_MS;
    // What is left over goes the next time.
    await sessions.deleteExpiredResponses().catch(() => {});
  }

  return { create };
}

const digestOf = (body: JsonValue): Buffer => hash("sha256", JSON.stringify(body), "buffer");

/** With the members of each object by their names: their order says nothing (RFC 8259 section 4). */
function ordered(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null || value instanceof JsonNumber) return value;
  if (Array.isArray(value)) return value.map(ordered);
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, ordered(value[name]!)]));
}

function replay(stored: StoredResponse, digest: Buffer, body: JsonValue): CreationResponse {
  // The version before kept the digest of the members as they came.
  const isSame = digest.equals(stored.request) || digestOf(body).equals(stored.request);
  if (!isSame) throw new Invalid([itemAt(["header", HEADER], OTHER_BODY)]);
  return stored;
}
