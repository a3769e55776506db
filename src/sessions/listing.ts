import { type RawBuilder, sql, type SqlBool } from "kysely";
import { ago, type Db, newestFirst } from "#src/platform/index.ts";
import { select } from "./repository.ts";
import { fromRow, type Session } from "./session.ts";
import type { Status } from "./states.ts";
import type { Scope } from "./transition.ts";

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
    let query = select(db).orderBy("sessions.created_at", "desc").orderBy("sessions.id").limit(limit);
    if (since) query = query.where("sessions.created_at", ">", since);
    if (status !== null) query = query.where(hasStatus(status));
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

/** Whether `find` would tell this status, in such words that the indexes of what waits and of what is collected find those. */
export function hasStatus(status: Status): RawBuilder<SqlBool> {
  if (status === "PENDING") return sql`status = 'PENDING' and expires_at > clock_timestamp()`;
  if (status === "COLLECTING") return sql`status = 'COLLECTING'`;
  if (status === "expired") return sql`(status = 'expired' or (status = 'PENDING' and expires_at <= clock_timestamp()))`;
  return sql`status = ${status}`;
}

const MOST_TRIED = 20;

/** The caller's sessions whose payment has begun, and those that ended since then, the last first; 20 at most. */
export async function findTriedByCaller(
  db: Db,
  { organizationId, environment }: Scope,
  caller: string,
  projectId: string,
  since: Date,
): Promise<Session[]> {
  const rows = await select(db)
    .where("sessions.organization_id", "=", organizationId)
    .where("sessions.environment", "=", environment)
    .where("sessions.caller", "=", caller)
    .where("project_id", "=", projectId)
    .where("status", "<>", "PENDING")
    .where((row) => row.or([row("completed_at", "is", null), row("completed_at", ">", since)]))
    .orderBy("completed_at", sql`desc nulls first`)
    .orderBy("sessions.created_at", "desc")
    .limit(MOST_TRIED)
    .execute();
  return rows.map(fromRow);
}

/** Sessions of the last week whose callback is a telephone number: each needs a trunk to dial it. */
const NUMBER_CALLBACK = sql<boolean>`sessions.created_at > ${ago("7 days")} and callback is not null and callback !~* '^sips?:'`;

export async function countNumberCallbacks(db: Db): Promise<number> {
  const query = db
    .selectFrom("sessions")
    .select(sql<number>`count(*)`.as("count"))
    .where(NUMBER_CALLBACK);
  return (await query.executeTakeFirst())?.count ?? 0;
}

interface NumberCallback {
  session_id: string;
  organization: string;
  project: string;
  status: string;
  transfer_status: string | null;
  created_at: Date;
}

/** The same, the newest first. */
export async function listNumberCallbacks(db: Db, limit: number): Promise<NumberCallback[]> {
  return await db
    .selectFrom("sessions")
    .innerJoin("projects", "projects.id", "sessions.project_id")
    .innerJoin("organizations", "organizations.id", "projects.organization_id")
    .select(["sessions.id as session_id", "organizations.slug as organization", "projects.slug as project"])
    .select(["sessions.status", "transfer_status", "sessions.created_at"])
    .where(NUMBER_CALLBACK)
    .orderBy("sessions.created_at", "desc")
    .orderBy("sessions.id")
    .limit(limit)
    .execute();
}
