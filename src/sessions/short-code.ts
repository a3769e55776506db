import { type Db, statement } from "#src/platform/index.ts";

/** A number that names a waiting voice session of a project where nothing but digits can be dialled (docs/interface.md, Matching calls). */

const DIGITS = 8;

/**
 * The last 48 bits of the id, which are random, to eight digits: nothing more is stored, and a code lives as long as its session waits.
 * It tells 26 bits of an id of 122.
 */
export function shortCodeOf(sessionId: string): string {
  return String(Number.parseInt(sessionId.slice(-12), 16) % 10 ** DIGITS).padStart(DIGITS, "0");
}

const withCode = statement<{ id: string }>(
  "waiting_by_code",
  `select id from sessions where project_id = $1::uuid and status = 'PENDING' and channel = 'voice' and expires_at > clock_timestamp()
  and ('x' || right(id::text, 12))::bit(48)::bigint % ${10 ** DIGITS} = $2::bigint limit 2`,
);

/** The sessions of the project that wait for a call with this code: none, one, or two that stand for several. */
export async function findWaitingByCode(db: Db, projectId: string, code: string): Promise<string[]> {
  return (await withCode(db, projectId, code)).map(({ id }) => id);
}
