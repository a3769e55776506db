import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { systemClock } from "#src/kernel/clock.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { type Database, type Db, silentLog } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import { createSessions, type NewSession, type Scope, type Session, type Sessions } from "./index.ts";

/** For tests: a database with one project, the sessions over it, and the sessions that became final, in order. */
export interface Fixture {
  database: Database;
  sessions: Sessions;
  scope: Scope;
  projectId: string;
  finals: Session[];
  /** A PENDING voice session with the given differences. */
  create(differences?: Partial<NewSession>): Promise<Session>;
  /** Moves `expires_at` (ms from the database's present; negative is the past). */
  expireIn(id: string, ms: number): Promise<void>;
  close(): Promise<void>;
}

export async function sessionsFixture(onFinal: (tx: Db, session: Session) => Promise<void> = async () => {}): Promise<Fixture> {
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

  const finals: Session[] = [];
  const sessions = createSessions({
    database,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    onFinal: async (tx, session) => {
      await onFinal(tx, session);
      finals.push(session);
    },
  });
  return {
    database,
    sessions,
    scope: { organizationId, environment: "test" },
    projectId,
    finals,
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
