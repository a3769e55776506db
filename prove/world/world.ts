import { textOf } from "../database/index.ts";
import { createHash } from "node:crypto";
import type { Change } from "../database/index.ts";
import { ModelDatabase, type Row } from "../database/index.ts";
import { SeededRandom } from "../random.ts";
import { Counters } from "./counters.ts";
import { furnish, PROJECTS } from "./furniture.ts";
import { JobQueue } from "./jobs.ts";
import { Judge } from "./judge.ts";
import { Network } from "./network.ts";
import { People } from "./people.ts";
import { ServiceProcess } from "./process.ts";
import { Scheduler } from "./scheduler.ts";
import { stateOf, type Track } from "./track.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Sessions in one world: enough to share the loops that run in every process, few enough to read what happened. */
export const SESSIONS_PER_WORLD = 300;

const PROCESSES = 3;
/** 2026-11-18, noon UTC. */
const START = Date.UTC(2026, 10, 18, 12);
const CREATING_MS = 4 * MINUTE;
const CHAOS_MS = 11 * MINUTE;
/** By then every session has ended (I10): the search for a lost answer takes ten minutes, the rest is margin. */
const PEACE_MS = 26 * MINUTE;
/** The webhooks' schedule is over by then. */
const DELIVERY_MS = 80 * HOUR;

const DEATHS_APART_MS = 8 * SECOND;

export interface Break {
  seed: number;
  invariant: string;
  session: string | null;
  what: string;
}

/** One seeded run: a database, a few processes that die and come back, vendors, receivers, merchants, callers, and a judge. */
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
  /** What happened to each session, line by line; null when nobody asked. */
  readonly #stories: Map<string, string[]> | null;
  readonly people: People;
  readonly tracks = new Map<string, Track>();
  processes: ServiceProcess[] = [];
  /** Faults happen. */
  isChaos = true;
  /** In this world the vendor can be asked to void an attempt, but not what became of it. */
  readonly isBlind: boolean;
  /** The second project has no credentials until then. */
  withdrawnUntil = 0;
  /** How often each project's webhook address was changed, and when last. */
  readonly addresses = new Map<string, { version: number; since: number }>();
  #lastDeath = 0;
  readonly #rows = new Map<string, Row>();
  #runs = 0;
  #onlyDelivery = false;

  constructor(seed: number, { tells = false }: { tells?: boolean } = {}) {
    this.seed = seed;
    this.#stories = tells ? new Map() : null;
    this.random = new SeededRandom(seed);
    this.isBlind = this.random.chance(0.2);
    this.database = new ModelDatabase(() => this.scheduler.now);
    this.jobs = new JobQueue(this);
    this.network = new Network(this);
    this.judge = new Judge(this);
    this.people = new People(this);
    this.database.onCommit = (changes) => this.#committed(changes);
    this.database.onNotify = (channel, payload) => this.processes.forEach((process) => process.isAlive && process.hear(channel, payload));
    furnish(this);
  }

  async run(sessions = SESSIONS_PER_WORLD): Promise<void> {
    const { scheduler, random, network } = this;
    for (let index = 0; index < PROCESSES; index++) this.#boot();
    for (let index = 0; index < sessions; index++) scheduler.after(random.between(1000, CREATING_MS), () => this.people.create());
    this.#planOutages();
    await scheduler.run(START + CHAOS_MS);

    // Peace: one process is left, everything can be reached again, and all must come to its end.
    this.isChaos = false;
    network.outageUntil = 0;
    for (const process of this.processes) if (process.isAlive) this.crash(process);
    this.#boot();
    await scheduler.run(START + CHAOS_MS + PEACE_MS);
    this.judge.atRest();

    network.receiver.outageUntil = 0;
    this.#onlyDelivery = true;
    for (const process of this.processes) if (process.isAlive) this.crash(process);
    this.#boot();
    await scheduler.run(START + DELIVERY_MS, () => this.judge.isEverythingDelivered());
    this.judge.atTheEnd();
    for (const process of this.processes) process.die();
  }

  #planOutages(): void {
    const { scheduler, random, network } = this;
    const soon = () => random.between(MINUTE, 5 * MINUTE);
    if (random.chance(0.4)) {
      // Longer than the search for an outcome lasts, or short.
      const length = random.pick([random.between(5, 60) * SECOND, 13 * MINUTE]);
      scheduler.after(soon(), () => void (network.outageUntil = scheduler.now + length));
    }
    if (random.chance(0.4))
      scheduler.after(soon(), () => void (network.receiver.outageUntil = scheduler.now + random.between(10, 600) * SECOND));
    // Charges go through, but nobody tells what became of one: the phase unknown lasts.
    if (random.chance(0.5)) {
      const length = random.pick([random.between(60, 240) * SECOND, 13 * MINUTE]);
      scheduler.after(soon(), () => void (network.lookUpsFailUntil = scheduler.now + length));
    }
    scheduler.after(soon(), () => void (this.withdrawnUntil = scheduler.now + random.between(2, 15) * SECOND));
    for (let index = 0; index < 3; index++) {
      scheduler.after(random.between(0, CHAOS_MS), () => {
        const process = this.anyProcess();
        if (process) this.kill(process);
      });
      scheduler.after(random.between(0, CREATING_MS), () => {
        const process = this.anyProcess();
        if (process) this.#stepClock(process, random.pick([-1, 1]) * random.pick([random.between(1, 60) * SECOND, HOUR]));
      });
      scheduler.after(random.between(0, CHAOS_MS), () => {
        const project = random.pick(PROJECTS);
        this.addresses.set(project, { version: (this.addresses.get(project)?.version ?? 0) + 1, since: scheduler.now });
      });
    }
  }

  #boot(): void {
    const process = new ServiceProcess(this, `process-${++this.#runs}`);
    this.processes = [...this.processes.filter(({ isAlive }) => isAlive), process];
    void process.start({ onlyDelivery: this.#onlyDelivery });
  }

  /** Its wall clock jumps. */
  #stepClock(process: ServiceProcess, ms: number): void {
    process.skew = ms;
    for (const row of this.#rows.values()) {
      const state = stateOf(row);
      if (state !== "final" && (state === "PENDING" || row["claimed_by"] === process.owner)) this.counters.strike("clock step", state);
    }
  }

  /** The nemesis kills: not so often that nobody ever comes to pay. */
  kill(process: ServiceProcess): void {
    if (this.scheduler.now - this.#lastDeath < DEATHS_APART_MS) return;
    this.#lastDeath = this.scheduler.now;
    this.crash(process);
  }

  /** The process is killed; a supervisor starts it again, at once or after a while. */
  crash(process: ServiceProcess): void {
    if (!process.isAlive) return;
    if (this.isChaos) for (const row of this.#rows.values()) if (row["claimed_by"] === process.owner) this.#struck(row);
    process.die();
    const wasChaos = this.isChaos;
    this.scheduler.after(this.random.pick([500, 2000, 30_000]), () => {
      const isAlone = !this.processes.some(({ isAlive }) => isAlive);
      if (wasChaos ? this.isChaos : isAlone) this.#boot();
    });
  }

  /** An attempt is being voided because its owner seemed dead: it was cut off, and is back just now. */
  bringBack(id: string): void {
    const owner = this.holderOf(id);
    if (!owner || owner.cutOffUntil <= this.scheduler.now) return;
    this.counters.saw("a cut-off owner came back while its attempt was voided");
    owner.cutOffUntil = this.scheduler.now + this.random.between(0, 1500);
  }

  /** Money is to be given back, and just now the process that knows of it dies. */
  crashBeforeUndo(id: string, owner: string): void {
    this.tell(id, () => "money is to be given back, and its process is killed");
    this.counters.strike("crash before the undo", this.stateOf(id));
    for (const process of this.processes) if (process === this.holderOf(id) || process.owner === owner) this.crash(process);
  }

  #struck(row: Row): void {
    const state = stateOf(row);
    if (state === "final") return;
    this.tell(textOf(row["id"]), () => `${textOf(row["claimed_by"])} is killed`);
    this.counters.strike("crash", state);
    if (state === "charging") this.judge.crashedWhileCharging(textOf(row["id"]));
  }

  anyProcess(): ServiceProcess | null {
    const living = this.processes.filter(({ isAlive }) => isAlive);
    return living.length > 0 ? this.random.pick(living) : null;
  }

  /** The process that holds the session's call. */
  holderOf(id: string): ServiceProcess | null {
    const owner = this.#rows.get(id)?.["claimed_by"];
    return this.processes.find((process) => process.isAlive && process.owner === owner) ?? null;
  }

  rowOf(id: string): Row | undefined {
    return this.#rows.get(id);
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
      track = { id, isCreated: false, seen: [], cancellations: [], callers: [], webhooks: [], chargingAt: null, finalAt: null };
      this.tracks.set(id, track);
    }
    return track;
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
    for (const table of ["sessions", "payment_attempts", "webhook_events", "audit_log"])
      hash.update(JSON.stringify(this.database.committed(table)));
    return hash.digest("hex").slice(0, 16);
  }

  break(invariant: string, session: string | null, what: string): void {
    this.breaks.push({ seed: this.seed, invariant, session, what });
  }

  #committed(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.table === "jobs") this.jobs.committed(change);
      if (change.table === "payment_attempts") this.judge.attemptCommitted(change);
      if (change.table === "webhook_events") this.judge.eventCommitted(change);
      if (change.table !== "sessions" || !change.after) continue;
      const row = change.after;
      const id = textOf(row["id"]);
      this.#rows.set(id, row);
      this.judge.sessionCommitted(change, changes);
      const state = stateOf(row);
      if (stateOf(change.before) === state) continue;
      this.tell(id, () => `${stateOf(change.before)} -> ${textOf(row["phase"] ?? row["status"])}`);
      const track = this.trackOf(id);
      if (state === "charging") track.chargingAt = this.scheduler.now;
      if (state === "final") track.finalAt = this.scheduler.now;
      this.people.reached(track, state);
    }
  }
}
