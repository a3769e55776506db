import type { OutboundAnswer, OutboundRequest } from "#src/platform/index.ts";
import type { LedgerEntry } from "#simulators/kit/ledger.ts";
import type { Simulator, SimulatorAnswer } from "#simulators/kit/simulator.ts";
import { simulator as stripe } from "#simulators/stripe/index.ts";
import { simulator as webhook } from "#simulators/webhook/index.ts";
import { MERCHANT, RECEIVER } from "./fixtures.ts";
import type { ServiceProcess } from "./process.ts";
import { type ReceiverWorld, WebhookReceiver } from "./webhook-receiver.ts";

/** How an exchange with a gateway ends; weights while faults happen. */
const EXCHANGE_WEIGHTS = {
  answered: 62,
  "not sent": 4,
  "lost before": 6,
  "lost after": 10,
  late: 6,
  "500 before": 3,
  "500 after": 4,
  garbage: 3,
  duplicated: 2,
} as const;
type ExchangeOutcome = keyof typeof EXCHANGE_WEIGHTS;

/** A request on its way to a vendor arrives at the latest so much later: less than any vendor's `absenceIsProofAfterMs` allows. */
const LATEST_MS = 50_000;

/** Requests with which money is taken or a card is stored. */
export const CHARGE_PATHS = /\/v1\/(payment_intents|setup_intents)$|^https:\/\/merchant\.example\/$/;

const STUCK = 0.25;
const STUCK_MS = 70_000;

export type Entry = LedgerEntry & { at: number };

interface NetworkWorld extends ReceiverWorld {
  readonly invariants: {
    told(id: string | null, answer: Uint8Array, process: ServiceProcess): void;
    sent(process: ServiceProcess, id: string | null, url: string): void;
  };
}

/** Everything outside the service that speaks HTTP: the vendors' own strict simulators and the merchants' receivers. */
export class Network {
  readonly #stuck = new Map<string, number>();
  readonly #ledger = new Map<string, Entry[]>();
  readonly receiver: WebhookReceiver;
  /** The vendors cannot be reached until then. */
  outageUntil = 0;
  /** The vendors take payments and answer no look-up until then. */
  lookUpsFailUntil = 0;
  readonly #world: NetworkWorld;
  readonly #simulators: Readonly<Record<string, Simulator>>;

  constructor(world: NetworkWorld) {
    this.#world = world;
    this.receiver = new WebhookReceiver(world);
    const { random, scheduler } = world;
    const tools = (gateway: string) => ({
      record: (entry: Omit<LedgerEntry, "gateway">) => this.#record({ gateway, at: scheduler.now, ...entry }),
      now: () => scheduler.now,
      id: (prefix: string, length = 24) =>
        prefix + Array.from(random.bytes(length), (byte) => String.fromCharCode(97 + (byte % 26))).join(""),
      digits: (length: number) => `1${Array.from(random.bytes(length - 1), (byte) => byte % 10).join("")}`,
    });
    this.#simulators = { "stripe.example": stripe(tools("stripe")), "merchant.example": webhook(tools("webhook")) };
  }

  /** What the vendors know of a session. */
  entriesOf(sessionId: string): Entry[] {
    return this.#ledger.get(sessionId) ?? [];
  }

  #record(entry: Entry): void {
    if (entry.reference === null || entry.kind === "look-up") return;
    // The reference begins with the session's id.
    const sessionId = entry.reference.slice(0, 36);
    const entries = this.#ledger.get(sessionId) ?? [];
    entries.push(entry);
    this.#world.trace(sessionId, () => `the vendor records ${entry.kind} ${entry.outcome ?? ""} of ${entry.reference}`);
    this.#ledger.set(sessionId, entries);
  }

  /** One request of a process, as `platform/http.ts` answers it: the body is wiped, the time-out is total. */
  send(process: ServiceProcess, request: OutboundRequest): Promise<OutboundAnswer> {
    const body = Buffer.from(request.body ?? []);
    request.body?.fill(0);
    return new Promise((resolve) => {
      let isOver = false;
      // A dead process hears nothing: its callbacks pass through it.
      const answer = (ms: number, what: OutboundAnswer) =>
        void process.after(ms, () => {
          if (isOver) return;
          isOver = true;
          if (what.kind === "answered" && request.url.startsWith(MERCHANT))
            this.#world.invariants.told(sessionOf(request, body), what.body, process);
          resolve(what);
        });
      answer(request.timeoutMs ?? 30_000, { kind: "lost", reason: "time-out" });
      if (request.url.startsWith(RECEIVER)) this.receiver.take(request, body, process.skew, answer);
      else this.#toVendor(process, request, body, answer);
    });
  }

  #toVendor(process: ServiceProcess, request: OutboundRequest, body: Buffer, answer: (ms: number, what: OutboundAnswer) => void): void {
    const world = this.#world;
    const { random, scheduler } = world;
    const isLookUp = request.method === "GET";
    const isDown = scheduler.now < this.outageUntil || (isLookUp && scheduler.now < this.lookUpsFailUntil);
    const sessionId = sessionOf(request, body);
    const isStuck = CHARGE_PATHS.test(request.url) && !isLookUp && world.isChaos && this.#isStuck(sessionId);
    const outcome: ExchangeOutcome = isDown
      ? random.pick(["not sent", "lost before"] as const)
      : isStuck
        ? random.pick(["lost after", "lost after", "lost before", "late", "500 after", "garbage"] as const)
        : world.isChaos
          ? random.weighted(EXCHANGE_WEIGHTS)
          : "answered";
    if (request.method === "POST") world.invariants.sent(process, sessionId, request.url);
    world.trace(sessionId, () => `${process.owner} sends ${request.method} ${request.url}: ${outcome}`);
    const row = sessionId === null ? undefined : world.rowOf(sessionId);
    if (outcome !== "answered") world.strike(isDown ? "gateway down" : `gateway: ${outcome}`, row);

    const there = outcome === "late" ? random.between(1000, LATEST_MS) : random.between(5, 200);
    const back = random.between(5, 400);
    if (outcome === "not sent") return answer(there, { kind: "not sent", reason: "connection refused" });
    if (outcome === "lost before") return answer(there, { kind: "lost", reason: "connection reset" });
    if (outcome === "500 before") return answer(there, { kind: "answered", status: 500, headers: {}, body: Buffer.from("{}") });

    const arrive = (isFirst: boolean) => {
      void this.#handle(request, body).then((result) => {
        if (!isFirst) return;
        if (result === "reset" || outcome === "lost after") answer(back, { kind: "lost", reason: "connection reset" });
        else if (result.lost === true) return;
        else if (outcome === "500 after") answer(back, { kind: "answered", status: 500, headers: {}, body: Buffer.from("oops") });
        else if (outcome === "garbage") answer(back, { kind: "answered", status: 200, headers: {}, body: Buffer.from('{"id":') });
        else answer(back, readable(result));
      });
    };
    scheduler.after(there, () => arrive(true));
    if (outcome === "duplicated") scheduler.after(there + random.between(0, 500), () => arrive(false));
  }

  /** Now and then no answer about a session comes through for as long as an attempt may last, however often it is asked for. */
  #isStuck(sessionId: string | null): boolean {
    if (sessionId === null) return false;
    const { random, scheduler } = this.#world;
    const until = this.#stuck.get(sessionId) ?? (random.chance(STUCK) ? scheduler.now + STUCK_MS : 0);
    this.#stuck.set(sessionId, until);
    return scheduler.now < until;
  }

  async #handle(request: OutboundRequest, body: Buffer): Promise<SimulatorAnswer> {
    const world = this.#world;
    const url = new URL(request.url);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]));
    return await this.#simulators[url.hostname]!.handle({
      method: request.method,
      path: url.pathname,
      query: url.searchParams,
      headers,
      body,
      secure: url.protocol === "https:",
      work: () => world.sleep(world.random.between(20, 800)),
      lookUpLag: () => 0,
    });
  }
}

function readable(result: Exclude<SimulatorAnswer, "reset">): OutboundAnswer {
  const text = typeof result.body === "string" ? result.body : JSON.stringify(result.body);
  return {
    kind: "answered",
    status: result.status,
    headers: { "content-type": "application/json", ...result.headers },
    body: Buffer.from(text),
  };
}

/** Whose request it is: by Stripe's idempotency key, or by the forwarded body. */
function sessionOf({ headers }: OutboundRequest, body: Buffer): string | null {
  const key = headers["Idempotency-Key"];
  if (key !== undefined) return key.slice(0, 36);
  return /"session_id":"([0-9a-f-]{36})"/.exec(body.toString("latin1"))?.[1] ?? null;
}
