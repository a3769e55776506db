import { CRASH_POINTS, type CrashAt, type CrashPoint } from "#src/kernel/crash-points.ts";
import type { SeededRandom } from "../random.ts";
import { AFTER_GATEWAY_SILENCE, AT_START, GATEWAYS, type Scenario, SCENARIOS } from "./workload.ts";

/** What ends a run, and the payments that are under way then. */
export type PlannedKill = { scenario: Scenario } & (
  | { kind: "point"; at: CrashAt }
  | { kind: "time"; ms: number }
  | { kind: "money taken" }
);

/** A run whose end is given instead of chosen. */
export interface ScriptedKill {
  point: CrashPoint;
  scenario: Scenario;
}

/** One way to pay. */
type PaymentKind = Required<Pick<Scenario, "channel" | "mode" | "gateway">>;
const PAYMENT_KINDS: readonly PaymentKind[] = (["voice", "widget"] as const).flatMap((channel) =>
  (["charge", "tokenize"] as const).flatMap((mode) => GATEWAYS.map((gateway) => ({ channel, mode, gateway }))),
);
const REACHABLE_POINTS = (Object.keys(CRASH_POINTS) as CrashPoint[]).filter(
  (point) => !AFTER_GATEWAY_SILENCE.some((late) => late === point),
);
const LONGEST_RANDOM_MS = 5_000;
/** Longer than a run needs to take up the attempts of those before it, ms. */
const TAKEN_UP_MS = 40_000;

/**
 * Chooses the ends: each point in turn until it was hit, then points and other ends, half and half; and for each run the next
 * way to pay, so that every channel, mode and gateway is struck as often.
 */
export class KillSchedule {
  readonly #random: SeededRandom;
  readonly #hit = new Set<string>();
  readonly #open: CrashPoint[];
  #ways: PaymentKind[] = [];

  constructor(random: SeededRandom) {
    this.#random = random;
    this.#open = shuffled(random, REACHABLE_POINTS);
  }

  /** `due`: points whose time has come only now. */
  next(due: readonly CrashPoint[]): PlannedKill {
    const random = this.#random;
    const late = due.find((point) => !this.#hit.has(point));
    if (late) return { kind: "point", at: { point: late, times: 1 }, scenario: { patienceMs: TAKEN_UP_MS } };
    const point = this.#point();
    if (this.#ways.length === 0) this.#ways = shuffled(random, PAYMENT_KINDS);
    const way = this.#ways.pop()!;
    if (point !== null) {
      const scenario = { ...way, ...SCENARIOS[point] };
      const most = AT_START.has(point) || isBroughtAbout(point) ? 1 : point === "digit_received" ? 30 : 3;
      return { kind: "point", at: { point, times: 1 + Math.floor(random.fraction() * most) }, scenario };
    }
    const scenario: Scenario = { ...way, ...(random.chance(0.4) ? { fault: random.pick(["slow", "reset_after", "hang"] as const) } : {}) };
    if (random.chance(0.35)) return { kind: "money taken", scenario };
    return { kind: "time", ms: random.between(0, LONGEST_RANDOM_MS), scenario };
  }

  /** A run has ended there. */
  hit(end: string): void {
    this.#hit.add(end);
  }

  #point(): CrashPoint | null {
    const first = this.#open.findIndex((point) => !this.#hit.has(point));
    if (first >= 0 && this.#random.chance(0.85)) {
      // One that is not reached now has its next turn after the others.
      const [point] = this.#open.splice(first, 1);
      this.#open.push(point!);
      return point!;
    }
    return this.#random.chance(0.5) ? this.#random.pick(REACHABLE_POINTS) : null;
  }
}

/** The scenario brings the point about once in a run; one that only names the channel does so several times. */
function isBroughtAbout(point: CrashPoint): boolean {
  return Object.keys(SCENARIOS[point] ?? {}).some((part) => part !== "channel");
}

function shuffled<T>(random: SeededRandom, items: readonly T[]): T[] {
  return items
    .map((item) => [random.fraction(), item] as const)
    .sort(([one], [other]) => one - other)
    .map(([, item]) => item);
}
