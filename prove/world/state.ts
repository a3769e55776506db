import { type Change, ModelDatabase, type Row, textOf } from "../database/index.ts";
import { SeededRandom } from "../random.ts";
import { Counters } from "./counters.ts";
import { Scheduler } from "./scheduler.ts";
import { newTrack, stateOf, type Track } from "./track.ts";

/** 2026-11-18, noon UTC. */
export const START = Date.UTC(2026, 10, 18, 12);

export interface Break {
  seed: number;
  invariant: string;
  session: string | null;
  what: string;
}

/**
 * What a world knows, apart from whoever acts in it: time, chance, the database and what is committed there, what was observed. Each
 * participant names what else it needs of the world, as an interface of its own.
 */
export class WorldState {
  readonly seed: number;
  readonly random: SeededRandom;
  readonly scheduler = new Scheduler(START);
  readonly counters = new Counters();
  readonly breaks: Break[] = [];
  readonly database: ModelDatabase;
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
    trace.push(`${((this.scheduler.now - START) / 1000).toFixed(3).padStart(10)} s  ${what()}`);
  }

  traceOf(id: string): readonly string[] {
    return this.#traces?.get(id) ?? [];
  }

  break(invariant: string, session: string | null, what: string): void {
    this.breaks.push({ seed: this.seed, invariant, session, what });
  }

  /** Every session has ended, and nothing is looked for or to be reversed. */
  protected get isSettled(): boolean {
    return this.#unsettled.size === 0;
  }

  protected recordTry(row: Row): void {
    this.#tries.set(textOf(row["session_id"]), row);
  }

  protected recordAttempt({ after }: Change): void {
    if (!after) return;
    const id = textOf(after["session_id"]);
    const isOpen = after["outcome"] === null || (after["outcome"] === "unknown" && after["finished_at"] === null);
    if (isOpen) this.#chargers.set(id, textOf(after["owner"]));
    else this.#chargers.delete(id);
    const isLost = after["outcome"] === null || after["outcome"] === "unknown";
    this.#settle(textOf(after["id"]), !isLost && after["reversal"] !== "due");
  }

  protected recordSession({ before }: Change, row: Row): void {
    const id = textOf(row["id"]);
    this.#rows.set(id, row);
    if (before || typeof row["caller"] !== "string") return;
    const made = this.#ofCaller.get(row["caller"]) ?? new Set();
    this.#ofCaller.set(row["caller"], made.add(id));
  }

  /** Notes that the session is in another state, and returns its track; null when it is in the same. */
  protected recordState({ before }: Change, row: Row): Track | null {
    const id = textOf(row["id"]);
    const state = stateOf(row);
    this.#settle(id, state === "final");
    if (stateOf(before) === state) return null;
    this.trace(id, () => `${stateOf(before)} -> ${textOf(row["phase"] ?? row["status"])}`);
    const track = this.trackOf(id);
    if (state === "charging") track.chargingAt = this.scheduler.now;
    if (state === "final") track.finalAt = this.scheduler.now;
    return track;
  }

  #settle(id: string, isSettled: boolean): void {
    if (isSettled) this.#unsettled.delete(id);
    else this.#unsettled.add(id);
  }
}
