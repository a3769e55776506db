import { CRASH_POINTS } from "#src/kernel/crash-points.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import { type SessionEvent, TRANSITIONS } from "#src/sessions/states.ts";
import { passesLuhn } from "#simulators/kit/cards.ts";
import type { SeededRandom } from "../random.ts";
import type { Behaviour, Plan } from "./track.ts";
import { GATEWAYS, SILENT_GATEWAY } from "./vendors.ts";

const WEIGHTS: Readonly<Record<Behaviour, number>> = {
  pays: 6,
  "pays and hangs up": 8,
  "is declined, then pays": 3,
  "is declined for good": 2,
  "loses the answer": 2,
  "hangs up while keying": 2,
  "gives up while it rings": 1,
  "cancels before the call": 1,
  "cancels during the call": 2,
  "never calls": 1,
  "is handed back": 1,
  "waits for a silent vendor": 0,
};

/** What a shopper at a widget may do as well. One who walks away leaves a session that ends after half an hour: too late here. */
const BY_WIDGET: ReadonlySet<Behaviour> = new Set([
  "pays",
  "is declined, then pays",
  "loses the answer",
  "cancels before the call",
  "cancels during the call",
  "waits for a silent vendor",
]);

/** What must happen for a place to be reached: where the usual mixture would take long to get there. */
export interface Scenario {
  behaviour?: Behaviour;
  channel?: Plan["channel"];
  gateway?: GatewayName;
  mode?: Plan["mode"];
  /** Every request with which money is taken is struck so, after the vendor has acted. */
  fault?: "reset_after" | "slow" | "hang";
  /** The process is asked to end in order, ms after it began to serve. */
  terminateAfterMs?: number;
  /** How long the run may last until the point is reached, ms. */
  patienceMs?: number;
  /** The receiver fails every fresh webhook. */
  badReceiver?: boolean;
  /** One session and no other trouble. */
  alone?: boolean;
  /** Its client sends no Idempotency-Key. */
  keyless?: boolean;
}

/** Events that nobody brings about here: no gateway only authorizes, and nobody says the test word. */
const NOT_HERE: ReadonlySet<string> = new Set(["authorize", "skip"]);
const EVENTS = [...new Set(Object.values(TRANSITIONS).flatMap((events) => Object.keys(events)))].filter((event) => !NOT_HERE.has(event));
/** Every place at which a process may die, as CRASH_AT takes it: a point, with each event of the table of states where it has names. */
export const PLACES: readonly string[] = Object.keys(CRASH_POINTS).flatMap((point) =>
  point.startsWith("transition_") ? EVENTS.map((event) => `${point}.${event}`) : [point],
);

const LOST_ANSWER: Scenario = { behaviour: "pays and hangs up", gateway: "nmi", fault: "reset_after" };
/** What brings each event about: for most a run of any payments does. */
const OF_EVENT: Readonly<Partial<Record<SessionEvent, readonly Scenario[]>>> = {
  release: [{ behaviour: "gives up while it rings" }],
  cancel: [{ behaviour: "cancels before the call" }, { behaviour: "cancels during the call" }],
  expire: [{ behaviour: "never calls", patienceMs: 22_000 }],
  abandon: [{ behaviour: "hangs up while keying" }, { behaviour: "hangs up while keying", patienceMs: 28_000 }],
  retry: [
    { behaviour: "is declined, then pays", gateway: "stripe" },
    { behaviour: "is declined, then pays", channel: "widget", gateway: "stripe" },
  ],
  fail: [{ behaviour: "is declined for good", patienceMs: 15_000 }],
  lose: [LOST_ANSWER],
  approve: [{}, { ...LOST_ANSWER, mode: "tokenize" }],
};
/** Requests and responses of every kind: charges of several steps, look-ups, webhooks and their next tries. */
const OF_REQUESTS: readonly Scenario[] = [
  {},
  { behaviour: "pays and hangs up", gateway: "stripe" },
  { behaviour: "pays and hangs up", gateway: "authorizenet", mode: "charge", fault: "reset_after" },
  LOST_ANSWER,
  { badReceiver: true, behaviour: "cancels before the call" },
  { patienceMs: 22_000 },
];
const OF_POINT: Readonly<Partial<Record<string, readonly Scenario[]>>> = {
  transaction_uncommitted: [{ channel: "widget" }, { badReceiver: true, behaviour: "cancels before the call" }],
  transaction_committed: [{ channel: "widget" }, { badReceiver: true, behaviour: "cancels before the call" }],
  request_unsent: OF_REQUESTS,
  connection_open: OF_REQUESTS,
  response_begun: OF_REQUESTS,
  response_read: OF_REQUESTS,
  answer_unsent: [{}, { keyless: true }, { channel: "widget" }, { behaviour: "cancels before the call" }],
  digit_received: [{ channel: "voice" }],
  transfer_referring: [{ behaviour: "is handed back", patienceMs: 18_000 }],
  transfer_answered: [{ behaviour: "is handed back", patienceMs: 18_000 }],
  drain_begun: [{ terminateAfterMs: 1_500 }, { terminateAfterMs: 1_500, behaviour: "pays and hangs up", patienceMs: 40_000 }],
};

/** The runs that come to a place: one of them is enough each time. */
export function scenariosOf(place: string): readonly Scenario[] {
  const [point = "", event] = place.split(".");
  return (event === undefined ? OF_POINT[point] : OF_EVENT[event as SessionEvent]) ?? [{}];
}

/** How often a place is passed within a run at most, so that a later time can be chosen. */
export function mostTimes(place: string): number {
  if (place === "serving" || place === "drain_begun" || place.startsWith("transfer_")) return 1;
  if (place === "digit_received") return 30;
  return OF_POINT[place] === OF_REQUESTS ? 8 : place.includes(".") ? 2 : 4;
}

/**
 * Where a search ends that found nothing. A session whose vendor is silent comes there ten minutes after its charge,
 * while the other runs go on: a shorter run does not see its search given up, and does not reach the reversal at all.
 */
export const GIVEN_UP = "transition_written.fail";
export const REVERSAL = "reversal_begun";
export const GATEWAY_SILENCE: Scenario = {
  behaviour: "waits for a silent vendor",
  gateway: SILENT_GATEWAY,
  mode: "charge",
  keyless: false,
};

/** Makes plans from the seed; amounts and cards are never used twice where a vendor would take that for the same payment. */
export class WorkloadPlanner {
  readonly #random: SeededRandom;
  readonly #pool: readonly string[];
  readonly #fresh: string[] = [];
  #count = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
    this.#pool = Array.from({ length: 6 }, () => this.#card());
  }

  /** Every number that may have been keyed. */
  get cards(): readonly string[] {
    return [...this.#pool, ...this.#fresh, DECLINED, LOST];
  }

  /** Those that are looked for in every form. */
  get thorough(): readonly string[] {
    return [...this.#pool, ...this.#fresh.slice(0, 4)];
  }

  next(scenario: Scenario): Plan {
    const random = this.#random;
    const behaviour = scenario.behaviour ?? this.#behaviour(scenario.channel);
    const gateway = scenario.gateway ?? random.pick(GATEWAYS);
    const isKeyless = scenario.keyless ?? (scenario.channel === undefined && random.chance(0.1));
    const channel = !BY_WIDGET.has(behaviour) || isKeyless ? "voice" : (scenario.channel ?? random.pick(["voice", "widget"] as const));
    const mode = isKeyless ? "charge" : (scenario.mode ?? (random.chance(0.3) ? "tokenize" : "charge"));
    const number = ++this.#count;
    const good = mode === "tokenize" ? this.#freshCard() : random.pick(this.#pool);
    const cards = { "is declined, then pays": [DECLINED, good], "is declined for good": [DECLINED], "loses the answer": [LOST] };
    return {
      key: isKeyless ? null : `kill-${random.uuid()}`,
      channel,
      gateway,
      mode,
      amountMinor: mode === "tokenize" ? 0 : 1_000 + number,
      behaviour,
      cards: cards[behaviour as keyof typeof cards] ?? [good],
    };
  }

  #behaviour(channel: Plan["channel"] | undefined): Behaviour {
    for (;;) {
      const behaviour = this.#random.weighted(WEIGHTS);
      if (channel !== "widget" || BY_WIDGET.has(behaviour)) return behaviour;
    }
  }

  #freshCard(): string {
    const card = this.#card();
    this.#fresh.push(card);
    return card;
  }

  /** A number that no simulator has an opinion about, so that it is approved. */
  #card(): string {
    const digits = Array.from({ length: 9 }, () => Math.floor(this.#random.fraction() * 10)).join("");
    const start = `491633${digits}`;
    return Array.from({ length: 10 }, (_, check) => `${start}${check}`).find(passesLuhn)!;
  }
}

const DECLINED = "4000000000000002";
const LOST = "4000000000000259";
