import { hash } from "node:crypto";
import type { Clock } from "#src/kernel/clock.ts";
import { crashPoint } from "#src/kernel/crash-points.ts";
import { AppError } from "#src/kernel/errors.ts";
import type { JsonValue } from "#src/kernel/json.ts";
import type { Database } from "#src/platform/index.ts";
import type { KeptAnswer, Made, NewSession } from "#src/sessions/index.ts";
import type { ApiSessions } from "./deps.ts";
import { at, FAULTS, Invalid } from "./schemas/faults.ts";
import { model, text } from "./schemas/validate.ts";

/** Idempotency-Key on requests that make a session (R-144; IETF draft-ietf-httpapi-idempotency-key-header). */

const HEADER = "idempotency-key";
export const idempotencyHeaders = model({ [HEADER]: text({ min: 1, max: 255, pattern: /^[\x20-\x7e]+$/ }).optional() });

/** A request that makes one session at most. */
interface Request {
  apiKeyId: string;
  path: string;
  /** What the header says; undefined when there is none. */
  key: string | undefined;
  body: JsonValue;
  /** Of the answer, when all goes well. */
  status: number;
}

/** A session to be made, and what is answered once it is. `answer` may be asked before, with placeholders for the times. */
export interface Creation {
  session: NewSession;
  answer: (made: Made) => object;
}

type Answer = Pick<KeptAnswer, "status" | "text" | "replayed">;

/** How often expired answers are deleted, at least while new ones come. */
const FORGET_MS = 3_600_000;
const OTHER_BODY = FAULTS.value("this Idempotency-Key was sent with another body before");

/**
 * `create` makes the session that `prepare` describes, and keeps its answer with it, so that both exist or neither; a repeat is
 * answered with what was kept, whatever became of the project since. Without a key it just makes the session. What `prepare`
 * throws is thrown and not kept: the request may be mended and sent again. Throws Invalid for a key that came with another body,
 * AppError while the first request is under way in another process.
 */
export function createIdempotency({ db }: Pick<Database, "db">, sessions: ApiSessions, clock: Clock) {
  let nextForget = clock.monotonic() + FORGET_MS;

  async function create({ key, body, ...request }: Request, prepare: () => Promise<Creation>): Promise<Answer> {
    if (key === undefined) return await createAlways(request.status, await prepare());
    const name = { apiKeyId: request.apiKeyId, path: request.path, key };
    const digest = hash("sha256", JSON.stringify(body), "buffer");
    let creation: Creation;
    try {
      creation = await prepare();
    } catch (error) {
      const kept = await sessions.findAnswer(db, name);
      if (kept) return repeat(kept, digest);
      throw error;
    }
    const answer = await sessions.createOnce(creation.session, {
      ...name,
      request: digest,
      status: request.status,
      answer: creation.answer,
    });
    crashPoint("create_kept");
    if (clock.monotonic() >= nextForget) await forget();
    if (!answer) throw new AppError("idempotency_key_in_use");
    return repeat(answer, digest);
  }

  async function createAlways(status: number, { session, answer }: Creation): Promise<Answer> {
    const { id, createdAt, ttlSeconds } = await sessions.create(db, session);
    crashPoint("create_inserted");
    const expiresAt = new Date(createdAt.getTime() + 1000 * ttlSeconds);
    const made = { id, createdAt: createdAt.toISOString(), expiresAt: expiresAt.toISOString() };
    return { status, text: JSON.stringify(answer(made)), replayed: false };
  }

  async function forget(): Promise<void> {
    nextForget = clock.monotonic() + FORGET_MS;
    // What is left over goes the next time.
    await sessions.forgetAnswers().catch(() => {});
  }

  return { create };
}

function repeat(kept: KeptAnswer, digest: Buffer): Answer {
  if (!digest.equals(kept.request)) throw new Invalid([at(["header", HEADER], OTHER_BODY)]);
  return kept;
}
