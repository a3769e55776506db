import type { GatewayName } from "#src/kernel/payment.ts";

/** What a payer will do with a session, decided by the seed before it begins. */
export const BEHAVIOURS = [
  "pays",
  "pays and hangs up",
  "is declined, then pays",
  "is declined for good",
  "loses the answer",
  "hangs up while keying",
  "gives up while it rings",
  "cancels before the call",
  "cancels during the call",
  "never calls",
  "is handed back",
  "waits for a silent vendor",
] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

export interface Plan {
  /** Idempotency-Key of its creation; null: its client sends none, and makes another session when no answer came. */
  key: string | null;
  channel: "voice" | "widget";
  gateway: GatewayName;
  mode: "charge" | "tokenize";
  /** No other session has it, but for `tokenize`, where it is 0. */
  amountMinor: number;
  behaviour: Behaviour;
  /** Card numbers in the order in which they are keyed. */
  cards: readonly string[];
}

/** One look at a session over the API. */
export interface Observation {
  at: number;
  status: string;
  completedAt: string | null;
  errorCode: string | null;
  processor: string;
}

/** One session as its client knows it. */
export class Track {
  readonly plan: Plan;
  /** Null until a creation was answered. */
  id: string | null = null;
  sipUri = "";
  /** Every id that an answer to this creation named. */
  readonly ids = new Set<string>();
  readonly seen: Observation[] = [];
  /** Statuses of the answers to its cancel. */
  readonly cancelAnswers: number[] = [];
  readonly #events: string[] = [];
  /** Its caller gave up before the answer: perhaps because the process died, whose successor is told of the call and its end. */
  hasRungOff = false;
  /** Creations without a key that were not answered: each may have made a session. */
  unanswered = 0;
  unansweredAt = 0;
  /** The life in which it was being paid last. */
  paidIn: number | null = null;
  /** When the process that served it was killed last. */
  killedAt: number | null = null;
  /** A process died when the vendor had taken this payment and its client knew nothing of it. */
  hasLostAnswer = false;
  finalAt: number | null = null;
  /** Its client met an answer that it has no way on from. */
  hasGivenUp = false;

  constructor(plan: Plan) {
    this.plan = plan;
  }

  trace(what: string): void {
    this.#events.push(`${new Date().toISOString().slice(11, 23)}  ${what}`);
  }

  get events(): readonly string[] {
    return this.#events;
  }

  get isFinal(): boolean {
    return this.finalAt !== null;
  }

  /** Without card numbers. */
  describe(): string {
    const { channel, gateway, mode, amountMinor, behaviour } = this.plan;
    return `${this.id ?? "(not created)"}  ${channel} ${gateway} ${mode} ${amountMinor}: ${behaviour}`;
  }
}
