import type { OutboundAnswer, OutboundRequest } from "#src/platform/index.ts";
import { verifyWebhook } from "#src/webhooks/index.ts";
import { RECEIVER, SIGNING_SECRET } from "./fixtures.ts";
import type { WorldState } from "./state.ts";

/** One status webhook as it came in. */
export interface Delivery {
  id: string;
  body: string;
  at: number;
}

const UNDER_WAY_MS = 1000;
/** Of a signature's time, less a minute for the way. */
const TOLERANCE_MS = 4 * 60_000;
const DELIVERY_WEIGHTS = { taken: 80, "500": 8, "time-out": 4, "not sent": 4, "answer lost": 4 } as const;

export interface ReceiverWorld extends WorldState {
  readonly webhooks: { delivered(sessionId: string | null, id: string, body: string): void };
}

/** The merchants' receiver of status webhooks: checks each as a careful merchant does, and keeps all it was sent. */
export class WebhookReceiver {
  readonly deliveries: Delivery[] = [];
  /** Down until then. */
  outageUntil = 0;
  readonly #world: ReceiverWorld;
  /** By event: which of its project's addresses was tried. */
  readonly #firstTries = new Map<string, number>();

  constructor(world: ReceiverWorld) {
    this.#world = world;
  }

  /** `skew`: how wrong the sender's clock is, ms. */
  take(request: OutboundRequest, body: Buffer, skew: number, answer: (ms: number, what: OutboundAnswer) => void): void {
    const { random, scheduler, counters, isChaos } = this.#world;
    const isDown = scheduler.now < this.outageUntil;
    const outcome = isDown ? random.pick(["500", "not sent", "time-out"] as const) : isChaos ? random.weighted(DELIVERY_WEIGHTS) : "taken";
    const sessionId = /"session_id":"([^"]+)"/.exec(body.toString())?.[1] ?? null;
    if (outcome !== "taken") counters.struck(isDown ? "receiver down" : `receiver: ${outcome}`, this.#world.stateOf(sessionId));
    this.#checkAddress(request, sessionId);
    const there = random.between(5, 100);
    if (outcome === "not sent") return answer(there, { kind: "not sent", reason: "connection refused" });
    if (outcome === "500") return answer(there, { kind: "answered", status: 500, headers: {}, body: new Uint8Array() });
    if (outcome === "time-out" && random.chance(0.5)) return;
    scheduler.after(there, () => {
      if (!this.#keep(request, body.toString(), sessionId, skew))
        return answer(10, { kind: "answered", status: 400, headers: {}, body: new Uint8Array() });
      if (outcome === "answer lost") answer(10, { kind: "lost", reason: "connection reset" });
      if (outcome === "taken") answer(10, { kind: "answered", status: 200, headers: {}, body: new Uint8Array() });
    });
  }

  /** a retry goes to the address of now; a try that had read the former one may still be under way. */
  #checkAddress({ url, headers }: OutboundRequest, sessionId: string | null): void {
    const world = this.#world;
    const [project = "", version] = url.slice(RECEIVER.length).split("/");
    const address = world.addresses.get(project) ?? { version: 0, since: 0 };
    if (Number(version) < address.version && world.scheduler.now > address.since + UNDER_WAY_MS)
      world.break(
        "R-291",
        sessionId,
        `a webhook went to an address that had been changed ${world.scheduler.now - address.since} ms before`,
      );
    const id = headers["webhook-id"] ?? "";
    const first = this.#firstTries.get(id) ?? Number(version);
    if (first !== Number(version)) world.counters.occurred("a webhook's retry went to the address it was changed to");
    this.#firstTries.set(id, Number(version));
  }

  /** False: refused. */
  #keep({ headers }: OutboundRequest, body: string, sessionId: string | null, skew: number): boolean {
    const world = this.#world;
    const now = world.scheduler.now;
    const check = verifyWebhook(headers, body, SIGNING_SECRET, now);
    if (!check.verified) {
      // Signed by a process whose clock has jumped: refused, and signed anew by the next try.
      if (/five minutes/.test(check.reason) && Math.abs(skew) > TOLERANCE_MS)
        world.counters.occurred("a webhook was refused: its process's clock had jumped");
      else world.break("I5", sessionId, `a webhook with a bad signature: ${check.reason}`);
      return false;
    }
    this.deliveries.push({ id: check.id, body, at: now });
    world.webhooks.delivered(sessionId, check.id, body);
    return true;
  }
}
