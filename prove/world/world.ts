import { createHash } from "node:crypto";
import { type Change, ModelDatabase, type Row, textOf } from "../database/index.ts";
import { SeededRandom } from "../random.ts";
import { AnswerJudge } from "./answers.ts";
import { Counters } from "./counters.ts";
import { Deliveries } from "./deliveries.ts";
import { Fleet } from "./fleet.ts";
import { furnish } from "./fixtures.ts";
import { JobQueue } from "./jobs.ts";
import { Judge } from "./judge.ts";
import { Keys } from "./api-keys.ts";
import { Lines } from "./lines.ts";
import { Nemesis } from "./nemesis.ts";
import { Network } from "./network.ts";
import { People } from "./merchants.ts";
import { Scheduler } from "./scheduler.ts";
import { newTrack, stateOf, type Track } from "./track.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Sessions in one world: enough to share the loops that run in every process, few enough to read what happened. */
export const SESSIONS_PER_WORLD = 400;

const PROCESSES = 3;
/** 2026-11-18, noon UTC. */
const START = Date.UTC(2026, 10, 18, 12);
const CREATING_MS = 4 * MINUTE;
const CHAOS_MS = 11 * MINUTE;
/** By then every session has ended (I10): the search for a lost answer takes ten minutes, the rest is margin. Where all is settled earlier, until then. */
const PEACE_MS = 26 * MINUTE;
/** The webhooks' schedule is over by then. */
const DELIVERY_MS = 80 * HOUR;

export interface Break {
  seed: number;
  invariant: string;
  session: string | null;
  what: string;
}

/** One seeded run: a database, a few processes that die and come back, vendors, receivers, merchants, callers, shoppers, and judges. */
export class World {
  readonly seed: number;
  readonly random: SeededRandom;
  readonly scheduler = new Scheduler(START);
  readonly counters = new Counters();
  readonly breaks: Break[] = [];
  readonly database: ModelDatabase;
  readonly jobs: JobQueue;
  readonly network: Network;
  readonly judge: Judge;
  readonly answers: AnswerJudge;
  readonly lines: Lines;
  readonly keys: Keys;
  readonly people: People;
  readonly nemesis: Nemesis;
  readonly fleet: Fleet;
  readonly deliveries: Deliveries;
  readonly tracks = new Map<string, Track>();
  /** Faults happen. */
  isChaos = true;
  /** In this world the vendor can be asked to void an attempt, but not what became of it. */
  readonly isBlind: boolean;
  /** The second project has no credentials until then. */
  withdrawnUntil = 0;
  /** How often each project's webhook address was changed, and when last. */
  readonly addresses = new Map<string, { version: number; since: number }>();
  /** What happened to each session, line by line; null when nobody asked. */
  readonly #stories: Map<string, string[]> | null;
  readonly #rows = new Map<string, Row>();
  readonly #tries = new Map<string, Row>();
  /** Who has the open attempt of a session. */
  readonly #chargers = new Map<string, string>();
  /** Sessions that have not ended, and attempts that are looked for or to be given back. */
  readonly #unsettled = new Set<string>();
  readonly #ofCaller = new Map<string, Set<string>>();

  constructor(seed: number, { tells = false }: { tells?: boolean } = {}) {
    this.seed = seed;
    this.#stories = tells ? new Map() : null;
    this.random = new SeededRandom(seed);
    this.isBlind = this.random.chance(0.2);
    this.database = new ModelDatabase(() => this.scheduler.now);
    this.jobs = new JobQueue(this);
    this.network = new Network(this);
    this.judge = new Judge(this);
    this.answers = new AnswerJudge(this);
    this.lines = new Lines(this);
    this.keys = new Keys(this);
    this.people = new People(this);
    this.nemesis = new Nemesis(this);
    this.fleet = new Fleet(this);
    this.deliveries = new Deliveries(this);
    this.database.onCommit = (changes) => this.#committed(changes);
    this.database.onNotify = (channel, payload) => this.fleet.hear(channel, payload);
    furnish(this);
  }

  async run(sessions = SESSIONS_PER_WORLD): Promise<void> {
    const { scheduler, random, network } = this;
    for (let index = 0; index < PROCESSES; index++) this.fleet.boot();
    for (let index = 0; index < sessions; index++) scheduler.after(random.between(1000, CREATING_MS), () => this.people.create());
    this.nemesis.plan({ creating: CREATING_MS, chaos: CHAOS_MS });
    await scheduler.run(START + CHAOS_MS);

    // Peace: everything can be reached again, and all must come to its end, whether the processes live on or not.
    this.isChaos = false;
    network.outageUntil = 0;
    if (random.chance(0.4)) this.fleet.keep();
    else this.fleet.replace();
    await scheduler.run(START + CHAOS_MS + PEACE_MS, () => this.#unsettled.size === 0);
    this.judge.atRest();

    network.receiver.outageUntil = 0;
    this.fleet.replace({ onlyDelivery: true });
    await scheduler.run(START + DELIVERY_MS, () => this.deliveries.isEverythingDelivered());
    this.deliveries.atTheEnd();
    this.fleet.end();
  }

  /** A fault struck a session; what strikes the widget's is counted by itself. */
  strike(fault: string, row: Row | undefined, state = stateOf(row)): void {
    this.counters.strike(row?.["channel"] === "widget" ? `widget: ${fault}` : fault, state);
  }

  /** The process that has a session's open attempt. */
  chargerOf(id: string): string | undefined {
    return this.#chargers.get(id);
  }

  openRows(): Row[] {
    return [...this.#rows.values()].filter((row) => stateOf(row) !== "final");
  }

  rowOf(id: string): Row | undefined {
    return this.#rows.get(id);
  }

  /** The sessions made for a caller's number. */
  sessionsOf(caller: string): Row[] {
    return [...(this.#ofCaller.get(caller) ?? [])].map((id) => this.#rows.get(id)!);
  }

  /** The nonces with which a widget's session was tried, and until when a try keeps others out. */
  triesOf(id: string): { nonces: readonly string[]; busyUntil: number } {
    const row = this.#tries.get(id);
    return { nonces: (row?.["nonces"] as string[] | undefined) ?? [], busyUntil: Number(row?.["busy_until"] ?? 0) };
  }

  /** The session's status for those who tell of it. */
  statusOf(id: string): string {
    const status = textOf(this.#rows.get(id)?.["status"]);
    return status === "PENDING" ? "expired, not yet swept" : status;
  }

  stateOf(id: string | null): string {
    return stateOf(id === null ? null : this.#rows.get(id));
  }

  trackOf(id: string): Track {
    let track = this.tracks.get(id);
    if (!track) {
      track = newTrack(id, this.#rows.get(id)?.["channel"] === "widget" ? "widget" : "voice");
      this.tracks.set(id, track);
    }
    return track;
  }

  /** Resolves in `ms` of the world's time. */
  pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.scheduler.after(ms, resolve));
  }

  /** A line of the session's story. */
  tell(id: string | null, what: () => string): void {
    if (!this.#stories || id === null) return;
    const story = this.#stories.get(id) ?? [];
    this.#stories.set(id, story);
    story.push(`${((this.scheduler.now - START) / SECOND).toFixed(3).padStart(10)} s  ${what()}`);
  }

  storyOf(id: string): readonly string[] {
    return this.#stories?.get(id) ?? [];
  }

  /** The same for every run of the same seed: what the database holds at the end. */
  fingerprint(): string {
    const hash = createHash("sha256");
    for (const table of ["sessions", "payment_attempts", "widget_charges", "webhook_events", "audit_log"])
      hash.update(JSON.stringify(this.database.committed(table)));
    return hash.digest("hex").slice(0, 16);
  }

  break(invariant: string, session: string | null, what: string): void {
    this.breaks.push({ seed: this.seed, invariant, session, what });
  }

  #committed(changes: readonly Change[]): void {
    for (const change of changes) {
      const { table, after } = change;
      if (table === "jobs") this.jobs.committed(change);
      if (table === "payment_attempts") this.#attemptCommitted(change);
      if (table === "webhook_events") this.deliveries.eventCommitted(change);
      if (table === "api_keys") this.keys.committed(after);
      if (table === "widget_charges" && after) this.#tries.set(textOf(after["session_id"]), after);
      if (table === "sessions" && after) this.#sessionCommitted(change, after, changes);
    }
  }

  #settle(id: string, isSettled: boolean): void {
    if (isSettled) this.#unsettled.delete(id);
    else this.#unsettled.add(id);
  }

  #attemptCommitted(change: Change): void {
    const { after } = change;
    if (after) {
      const id = textOf(after["session_id"]);
      const isOpen = after["outcome"] === null || (after["outcome"] === "unknown" && after["finished_at"] === null);
      if (isOpen) this.#chargers.set(id, textOf(after["owner"]));
      else this.#chargers.delete(id);
      const isLost = after["outcome"] === null || after["outcome"] === "unknown";
      this.#settle(textOf(after["id"]), !isLost && after["reversal"] !== "due");
    }
    this.judge.attemptCommitted(change);
  }

  #sessionCommitted(change: Change, row: Row, changes: readonly Change[]): void {
    const id = textOf(row["id"]);
    this.#rows.set(id, row);
    if (!change.before && typeof row["caller"] === "string") {
      const made = this.#ofCaller.get(row["caller"]) ?? new Set();
      this.#ofCaller.set(row["caller"], made.add(id));
    }
    this.judge.sessionCommitted(change, changes);
    this.lines.sessionCommitted(change, changes);
    const state = stateOf(row);
    this.#settle(id, state === "final");
    if (stateOf(change.before) === state) return;
    this.tell(id, () => `${stateOf(change.before)} -> ${textOf(row["phase"] ?? row["status"])}`);
    const track = this.trackOf(id);
    if (state === "charging") track.chargingAt = this.scheduler.now;
    if (state === "final") track.finalAt = this.scheduler.now;
    this.nemesis.reached(track, state);
  }
}
