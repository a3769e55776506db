import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { systemClock } from "#src/kernel/clock.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { type Database, silentLog } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import { createSessions, type NewSession, type Outbox, type Scope, type Session, type Sessions } from "./index.ts";

/** For tests: a database with one project and the sessions over it. */
export interface Fixture {
  database: Database;
  sessions: Sessions;
  scope: Scope;
  projectId: string;
  /** The sessions that became final, as they are now, in the order in which their outbox was written. */
  finals(): Promise<Session[]>;
  forgetFinals(): Promise<void>;
  /** A PENDING voice session with the given differences. */
  create(differences?: Partial<NewSession>): Promise<Session>;
  /** Moves `expires_at` (ms from the database's present; negative is the past). */
  expireIn(id: string, ms: number): Promise<void>;
  close(): Promise<void>;
}

const OUTBOX: Outbox = {
  written: () => sql`queued as (insert into finals (session_id) select moved.id from moved returning session_id)`,
  told: sql`(select session_id from queued) as told`,
};

/** `outbox`: another than the one that `finals` reads. */
export async function sessionsFixture(outbox: Outbox = OUTBOX): Promise<Fixture> {
  const database = await testDatabase();
  const organizationId = randomUUID();
  const projectId = randomUUID();
  const { db } = database;
  await db.insertInto("organizations").values({ id: organizationId, slug: "acme", name: "Acme" }).execute();
  await db
    .insertInto("projects")
    .values({
      id: projectId,
      organization_id: organizationId,
      slug: "shop",
      name: "Shop",
      currency: "USD",
      language: "en-US",
      country: "US",
    })
    .execute();

  await sql`create table finals (n bigint generated always as identity, session_id uuid not null)`.execute(db);
  const sessions = createSessions({ database, clock: systemClock, random: systemRandom, log: silentLog, outbox });
  return {
    database,
    sessions,
    scope: { organizationId, environment: "test" },
    projectId,
    async finals() {
      const { rows } = await sql<{ session_id: string }>`select session_id from finals order by n`.execute(db);
      return await Promise.all(rows.map(async (row) => (await sessions.find(db, row.session_id))!));
    },
    forgetFinals: async () => void (await sql`delete from finals`.execute(db)),
    create: (differences = {}) =>
      database.transaction(async (tx) => {
        const { id } = await sessions.create(tx, {
          organizationId,
          projectId,
          environment: "test",
          channel: "voice",
          mode: "charge",
          gateway: "stripe",
          amountMinor: 5000,
          currency: "USD",
          caller: "+14155550100",
          description: null,
          callback: null,
          memory: null,
          connectedAccount: null,
          billingAddress: null,
          ttlSeconds: 300,
          ...differences,
        });
        return (await sessions.find(tx, id))!;
      }),
    expireIn: async (id, ms) => {
      await db
        .updateTable("sessions")
        .set({ expires_at: sql<Date>`clock_timestamp() + make_interval(secs => ${ms / 1000})` })
        .where("id", "=", id)
        .execute();
    },
    close: () => database.close(),
  };
}
