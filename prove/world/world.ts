import { createHash } from "node:crypto";
import { type Change, ModelDatabase, type Row, textOf } from "../database/index.ts";
import { SeededRandom } from "../random.ts";
import { ResponseChecker } from "./response-checker.ts";
import { Counters } from "./counters.ts";
import { WebhookChecker } from "./webhook-checker.ts";
import { Supervisor } from "./supervisor.ts";
import { insertFixtures } from "./fixtures.ts";
import { JobQueue } from "./jobs.ts";
import { InvariantChecker } from "./invariant-checker.ts";
import { ApiKeys } from "./api-keys.ts";
import { CallChecker } from "./call-checker.ts";
import { FaultInjector } from "./fault-injector.ts";
import { Network } from "./network.ts";
import { Workload } from "./workload.ts";
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
const RECOVERY_MS = 26 * MINUTE;
/** The webhooks' schedule is over by then. */
const DELIVERY_MS = 80 * HOUR;

export interface Break {
  seed: number;
  invariant: string;
  session: string | null;
  what: string;
}

/** One seeded run: a database, a few processes that die and come back, vendors, receivers, merchants, callers, shoppers, and checkers. */
export class World {
  readonly seed: number;
  readonly random: SeededRandom;
  readonly scheduler = new Scheduler(START);
  readonly counters = new Counters();
  readonly breaks: Break[] = [];
  readonly database: ModelDatabase;
  readonly jobs: JobQueue;
  readonly network: Network;
  readonly invariants: InvariantChecker;
  readonly responses: ResponseChecker;
  readonly calls: CallChecker;
  readonly apiKeys: ApiKeys;
  readonly workload: Workload;
  readonly faults: FaultInjector;
  readonly supervisor: Supervisor;
  readonly webhooks: WebhookChecker;
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
  readonly #traces: Map<string, string[]> | null;
  readonly #rows = new Map<string, Row>();
  readonly #tries = new Map<string, Row>();
  /** Who has the open attempt of a session. */
  readonly #chargers = new Map<string, string>();
  /** Sessions that have not ended, and attempts that are looked for or to be given back. */
  readonly #unsettled = new Set<string>();
  readonly #ofCaller = new Map<string, Set<string>>();

  constructor(seed: number, { traced = false }: { traced?: boolean } = {}) {
    this.seed = seed;
    this.#traces = traced ? new Map() : null;
    this.random = new SeededRandom(seed);
    this.isBlind = this.random.chance(0.2);
    this.database = new ModelDatabase(() => this.scheduler.now);
    this.jobs = new JobQueue(this);
    this.network = new Network(this);
    this.invariants = new InvariantChecker(this);
    this.responses = new ResponseChecker(this);
    this.calls = new CallChecker(this);
    this.apiKeys = new ApiKeys(this);
    this.workload = new Workload(this);
    this.faults = new FaultInjector(this);
    this.supervisor = new Supervisor(this);
    this.webhooks = new WebhookChecker(this);
    this.database.onCommit = (changes) => this.#committed(changes);
    this.database.onNotify = (channel, payload) => this.supervisor.notify(channel, payload);
    insertFixtures(this);
  }

  async run(sessions = SESSIONS_PER_WORLD): Promise<void> {
    const { scheduler, random, network } = this;
    for (let index = 0; index < PROCESSES; index++) this.supervisor.boot();
    for (let index = 0; index < sessions; index++) scheduler.after(random.between(1000, CREATING_MS), () => this.workload.create());
    this.faults.plan({ creating: CREATING_MS, chaos: CHAOS_MS });
    await scheduler.run(START + CHAOS_MS);

    // Recovery: everything can be reached again, and all must come to its end, whether the processes live on or not.
    this.isChaos = false;
    network.outageUntil = 0;
    if (random.chance(0.4)) this.supervisor.reconnectAll();
    else this.supervisor.replace();
    await scheduler.run(START + CHAOS_MS + RECOVERY_MS, () => this.#unsettled.size === 0);
    this.invariants.atRest();

    network.receiver.outageUntil = 0;
    this.supervisor.replace({ onlyDelivery: true });
    await scheduler.run(START + DELIVERY_MS, () => this.webhooks.isEverythingDelivered());
    this.webhooks.atTheEnd();
    this.supervisor.end();
  }

  /** A fault struck a session; what strikes the widget's is counted by itself. */
  strike(fault: string, row: Row | undefined, state = stateOf(row)): void {
    this.counters.struck(row?.["channel"] === "widget" ? `widget: ${fault}` : fault, state);
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
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.scheduler.after(ms, resolve));
  }

  /** A line of the session's trace. */
  trace(id: string | null, what: () => string): void {
    if (!this.#traces || id === null) return;
    const trace = this.#traces.get(id) ?? [];
    this.#traces.set(id, trace);
    trace.push(`${((this.scheduler.now - START) / SECOND).toFixed(3).padStart(10)} s  ${what()}`);
  }

  traceOf(id: string): readonly string[] {
    return this.#traces?.get(id) ?? [];
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
      if (table === "webhook_events") this.webhooks.eventCommitted(change);
      if (table === "api_keys") this.apiKeys.committed(after);
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
    this.invariants.attemptCommitted(change);
  }

  #sessionCommitted(change: Change, row: Row, changes: readonly Change[]): void {
    const id = textOf(row["id"]);
    this.#rows.set(id, row);
    if (!change.before && typeof row["caller"] === "string") {
      const made = this.#ofCaller.get(row["caller"]) ?? new Set();
      this.#ofCaller.set(row["caller"], made.add(id));
    }
    this.invariants.sessionCommitted(change, changes);
    this.calls.sessionCommitted(change, changes);
    const state = stateOf(row);
    this.#settle(id, state === "final");
    if (stateOf(change.before) === state) return;
    this.trace(id, () => `${stateOf(change.before)} -> ${textOf(row["phase"] ?? row["status"])}`);
    const track = this.trackOf(id);
    if (state === "charging") track.chargingAt = this.scheduler.now;
    if (state === "final") track.finalAt = this.scheduler.now;
    this.faults.reached(track, state);
  }
}
