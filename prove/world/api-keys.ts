import { sql } from "kysely";
import type { Db } from "#src/platform/index.ts";
import { newApiKey, visibleParts } from "#src/projects/api-key-authentication.ts";
import { textOf, type Row } from "../database/index.ts";
import { digestOf, organizationOf } from "./fixtures.ts";
import type { ServiceProcess } from "./process.ts";
import type { Track } from "./track.ts";
import type { WorldState } from "./state.ts";

/** Merchants' API keys, some of which are revoked while a session runs: it goes on, and the key reads no more (R-290). */

/** Every process refuses a revoked key this long after at the latest. */
const REVOKED_WITHIN_MS = 1000;
const READS = 5;
const READING_MS = 60_000;

interface TrackedKey {
  id: string;
  token: string;
  track: Track;
  revokedAt: number | null;
  wasOpen: boolean;
}

interface ApiKeyWorld extends WorldState {
  readonly supervisor: { any(): ServiceProcess | null; serving(): ServiceProcess | null };
}

export class ApiKeys {
  readonly #world: ApiKeyWorld;
  readonly #keys = new Map<string, TrackedKey>();
  readonly #ofSession = new Map<string, TrackedKey>();

  constructor(world: ApiKeyWorld) {
    this.#world = world;
  }

  /** The merchant reads this session with a key of its own, which somebody revokes in the middle. */
  watch(track: Track): void {
    const { random, scheduler, database } = this.#world;
    const token = newApiKey(random, "test");
    const key: TrackedKey = { id: random.uuid(), token, track, revokedAt: null, wasOpen: false };
    this.#keys.set(key.id, key);
    this.#ofSession.set(track.id, key);
    const organization = organizationOf(textOf(this.#world.rowOf(track.id)?.["project_id"]));
    const row = { id: key.id, organization_id: organization, name: key.id, mode: "test", digest: digestOf(token), ...visibleParts(token) };
    database.insertFixture("api_keys", { ...row, scopes: ["sessions:read"], created_at: new Date(scheduler.now) });
    for (let reads = 0; reads < READS; reads++) scheduler.after(random.between(0, READING_MS), () => this.#read(key));
    scheduler.after(random.between(0, READING_MS), () => {
      const process = this.#world.supervisor.any();
      // Without the database the operator hears of it and tries again another day.
      if (process) revokeKey(process.database.db, key.id).catch(() => {});
    });
  }

  /** A row of `api_keys` has changed. */
  committed(row: Row | null): void {
    const key = this.#keys.get(textOf(row?.["id"]));
    if (!key || !row?.["revoked_at"]) return;
    key.revokedAt = this.#world.scheduler.now;
    key.wasOpen = this.#world.stateOf(key.track.id) !== "final";
  }

  /** The session has ended as paid. */
  paid(id: string): void {
    if (this.#ofSession.get(id)?.wasOpen) this.#world.counters.occurred("a key was revoked in mid-session: the session was paid");
  }

  #read(key: TrackedKey): void {
    const world = this.#world;
    const { scheduler, counters } = world;
    const process = world.supervisor.serving();
    if (!process) return;
    let arrivedAt = 0;
    const { id } = key.track;
    const onAnswer = ({ status }: { status: number }) => {
      if (status >= 500) return;
      const { revokedAt } = key;
      if (status === 401 && revokedAt === null) world.break("R-290", id, "a key that is good was refused");
      else if (status === 200 && revokedAt !== null && arrivedAt > revokedAt + REVOKED_WITHIN_MS)
        world.break("R-290", id, `a key read ${arrivedAt - revokedAt} ms after it was revoked`);
      else if (status !== 200 && status !== 401) world.break("I1", id, `a merchant who read its session was answered ${status}`);
      if (status === 401 && key.wasOpen) counters.occurred("a key was revoked in mid-session: it could not read any more");
    };
    const headers = { authorization: `Bearer ${key.token}` };
    const watch = { onArrival: () => void (arrivedAt = scheduler.now), onAnswer };
    void process.http.ask({ method: "GET", path: `/v1/sessions/${id}`, headers }, watch);
  }
}

/** As `voicetill keys revoke` writes it once it has found the key. */
export async function revokeKey(db: Db, id: string): Promise<void> {
  await db
    .updateTable("api_keys")
    .set({ revoked_at: sql<Date>`clock_timestamp()` })
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .execute();
}
