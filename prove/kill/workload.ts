import type { CrashPoint } from "#src/kernel/crash-points.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import { passesLuhn } from "#simulators/kit/cards.ts";
import type { SeededRandom } from "../random.ts";
import type { Behaviour, Plan } from "./track.ts";
import { SILENT_GATEWAY } from "./vendors.ts";

/** Gateways by how a lost answer is cleared up: idempotency key; look-up; look-up; nothing, one attempt; polled. */
export const GATEWAYS: readonly GatewayName[] = ["stripe", "nmi", "authorizenet", "webhook", "ecommpay"];

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

/** What must happen for a point to be reached: where the usual mixture would take long to get there. */
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

const VOICE: Scenario = { channel: "voice" };
const WIDGET: Scenario = { channel: "widget" };

export const SCENARIOS: Readonly<Partial<Record<CrashPoint, Scenario>>> = {
  create_inserted: { keyless: true },
  card_posted: WIDGET,
  try_counted: WIDGET,
  try_committed: WIDGET,
  try_settled: WIDGET,
  try_ended: WIDGET,
  call_matched: VOICE,
  call_claimed: VOICE,
  call_answered: VOICE,
  digit_received: VOICE,
  card_collected: VOICE,
  call_collected: VOICE,
  call_released: { behaviour: "gives up while it rings" },
  abandoning: { behaviour: "hangs up while keying" },
  hang_up_received: { behaviour: "hangs up while keying" },
  call_ending: { behaviour: "is declined for good", patienceMs: 15_000 },
  cancel_requested: { behaviour: "cancels during the call" },
  cancel_committed: { behaviour: "cancels before the call" },
  transfer_dialling: { behaviour: "is handed back", patienceMs: 18_000 },
  transfer_answered: { behaviour: "is handed back", patienceMs: 18_000 },
  transfer_reported: { behaviour: "is handed back", patienceMs: 18_000 },
  notes_written: { behaviour: "pays and hangs up", gateway: "stripe" },
  retry_committed: { behaviour: "is declined, then pays", gateway: "stripe" },
  unknown_committed: { behaviour: "pays and hangs up", gateway: "nmi", fault: "reset_after" },
  look_up_started: { behaviour: "pays and hangs up", gateway: "authorizenet", mode: "charge", fault: "reset_after" },
  look_up_answered: { behaviour: "pays and hangs up", gateway: "nmi", mode: "charge", fault: "reset_after" },
  reconciliation_decided: { behaviour: "pays and hangs up", gateway: "nmi", mode: "tokenize", fault: "reset_after" },
  lease_renewed: { patienceMs: 8_000 },
  attempt_adopted: { patienceMs: 22_000 },
  expiry_due: { behaviour: "never calls", patienceMs: 22_000 },
  unowned_session_found: { behaviour: "hangs up while keying", patienceMs: 28_000 },
  webhook_waiting: { badReceiver: true, behaviour: "cancels before the call" },
  drain_begun: { terminateAfterMs: 1_500 },
  drained: { terminateAfterMs: 1_500, behaviour: "pays and hangs up", patienceMs: 40_000 },
};

/** Points that lie before the process serves. */
export const AT_START: ReadonlySet<CrashPoint> = new Set(["lease_written", "serving"]);
/**
 * Points at the end of a search that found nothing. A session whose vendor is silent comes there ten minutes after its charge,
 * while the other runs go on: a shorter run does not reach them.
 */
export const AFTER_GATEWAY_SILENCE = ["reconciliation_given_up", "reversal_begun"] as const satisfies readonly CrashPoint[];
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
