import type { GatewayName } from "#src/kernel/payment.ts";
import type { SeededRandom } from "../random.ts";
import { type GIVEN_UP, mostTimes, PLACES, REVERSAL, type Scenario, scenariosOf } from "./workload.ts";
import { GATEWAYS } from "./vendors.ts";

/** What ends a run, and the payments that are under way then. */
export type PlannedKill = { scenario: Scenario } & (
  | { kind: "point"; place: string; times: number }
  | { kind: "time"; ms: number }
  | { kind: "money taken" }
);

/** A run whose end is given instead of chosen. */
export interface ScriptedKill {
  place: string;
  scenario: Scenario;
}

/** One way to pay. */
type PaymentKind = Required<Pick<Scenario, "channel" | "mode" | "gateway">>;
const PAYMENT_KINDS: readonly PaymentKind[] = (["voice", "widget"] as const).flatMap((channel) =>
  (["charge", "tokenize"] as const).flatMap((mode) => GATEWAYS.map((gateway) => ({ channel, mode, gateway }))),
);
const REACHABLE = PLACES.filter((place) => place !== REVERSAL);
const LONGEST_RANDOM_MS = 5_000;
/** Nothing happens but what earlier runs left: longer than a run needs to take that up. */
const TAKING_UP: Scenario = { alone: true, behaviour: "never calls", patienceMs: 40_000 };
/** In every so manieth run the process is killed with an answer under way, of one gateway after another. */
const ROUNDS_BETWEEN_LOST_ANSWERS = 4;
/** How often a late place is tried. */
const LATE_TIMES = 2;

/**
 * Chooses the ends: each place in turn until it was hit, then places and other ends, half and half; and for each run the next
 * way to pay, so that every channel, mode and gateway is struck as often.
 */
export class KillSchedule {
  readonly #random: SeededRandom;
  readonly #hit = new Set<string>();
  readonly #late = new Map<string, number>();
  readonly #open: string[];
  #rounds = 0;
  #unstruck: GatewayName[] = [];
  #ways: PaymentKind[] = [];

  constructor(random: SeededRandom) {
    this.#random = random;
    this.#open = shuffled(random, REACHABLE);
  }

  /** `due`: places whose time has come only now. */
  next(due: readonly (typeof GIVEN_UP | typeof REVERSAL)[]): PlannedKill {
    const random = this.#random;
    const late = due.find((place) => (this.#late.get(place) ?? 0) < LATE_TIMES);
    if (late) {
      this.#late.set(late, (this.#late.get(late) ?? 0) + 1);
      return { kind: "point", place: late, times: 1, scenario: TAKING_UP };
    }
    if (++this.#rounds % ROUNDS_BETWEEN_LOST_ANSWERS === 0) return { kind: "money taken", scenario: this.#lostAnswer() };
    const place = this.#place();
    if (place !== null) {
      const wanted = random.pick(scenariosOf(place));
      const scenario = wanted.gateway ? wanted : { ...this.#way(), ...wanted };
      return { kind: "point", place, times: 1 + Math.floor(random.fraction() * mostTimes(place)), scenario };
    }
    const scenario: Scenario = {
      ...this.#way(),
      ...(random.chance(0.4) ? { fault: random.pick(["slow", "reset_after", "hang"] as const) } : {}),
    };
    if (random.chance(0.35)) return { kind: "money taken", scenario };
    return { kind: "time", ms: random.between(0, LONGEST_RANDOM_MS), scenario };
  }

  /** A run has ended there. */
  hit(end: string): void {
    this.#hit.add(end);
  }

  /** The money is taken, the answer does not come, and the process dies. */
  #lostAnswer(): Scenario {
    if (this.#unstruck.length === 0) this.#unstruck = shuffled(this.#random, GATEWAYS);
    return { gateway: this.#unstruck.pop()!, mode: "charge", fault: this.#random.pick(["slow", "hang"] as const) };
  }

  #way(): PaymentKind {
    if (this.#ways.length === 0) this.#ways = shuffled(this.#random, PAYMENT_KINDS);
    return this.#ways.pop()!;
  }

  #place(): string | null {
    const first = this.#open.findIndex((place) => !this.#hit.has(place));
    if (first >= 0 && this.#random.chance(0.85)) {
      // One that is not reached now has its next turn after the others.
      const [place] = this.#open.splice(first, 1);
      this.#open.push(place!);
      return place!;
    }
    return this.#random.chance(0.5) ? this.#random.pick(REACHABLE) : null;
  }
}

function shuffled<T>(random: SeededRandom, items: readonly T[]): T[] {
  return items
    .map((item) => [random.fraction(), item] as const)
    .sort(([one], [other]) => one - other)
    .map(([, item]) => item);
}
