import { sql } from "kysely";
import { type Db, newestFirst } from "#src/platform/index.ts";
import { select } from "./repository.ts";
import { fromRow, type Session } from "./session.ts";
import type { Status } from "./states.ts";

export interface SessionFilter {
  /** As `find` would tell it: an unused session past its time is expired, swept or not. */
  status: Status | null;
  /** A project's id or slug; a slug means it in every organisation that has it. */
  project: string | null;
  limit: number;
}

/** Sessions of all organisations, the newest first: for the operator. */
export function listSessions(db: Db, { status, project, limit }: SessionFilter): Promise<Session[]> {
  return newestFirst(limit, async (since) => {
    let query = select(db).orderBy("created_at", "desc").orderBy("id").limit(limit);
    if (since) query = query.where("created_at", ">", since);
    if (status !== null) {
      query = query.where(
        sql<string>`case when status = 'PENDING' and expires_at <= clock_timestamp() then 'expired' else status end`,
        "=",
        status,
      );
    }
    if (project !== null) {
      query = query.where("project_id", "in", (named) =>
        named
          .selectFrom("projects")
          .select("id")
          .where((row) => row.or([row("slug", "=", project), row(sql<string>`id::text`, "=", project.toLowerCase())])),
      );
    }
    return (await query.execute()).map(fromRow);
  });
}

/** Sessions of the last week whose callback is a telephone number: each needs a trunk to dial it. */
export async function countNumberCallbacks(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from sessions
    where created_at > clock_timestamp() - interval '7 days' and callback is not null and callback !~* '^sips?:'`.execute(db);
  return rows[0]?.count ?? 0;
}
