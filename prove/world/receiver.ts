import type { OutboundAnswer, OutboundRequest } from "#src/platform/index.ts";
import { verifyWebhook } from "#src/webhooks/index.ts";
import { SIGNING_SECRET } from "./furniture.ts";
import type { World } from "./world.ts";

/** One status webhook as it came in. */
export interface Delivery {
  id: string;
  body: string;
  at: number;
}

const FATES = { taken: 80, "500": 8, "time-out": 4, "not sent": 4, "answer lost": 4 } as const;

/** The merchants' receiver of status webhooks: checks each as a careful merchant does, and keeps all it was sent. */
export class Receiver {
  readonly deliveries: Delivery[] = [];
  /** Down until then. */
  outageUntil = 0;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  take(request: OutboundRequest, body: Buffer, answer: (ms: number, what: OutboundAnswer) => void): void {
    const { random, scheduler, counters, isChaos } = this.#world;
    const isDown = scheduler.now < this.outageUntil;
    const fate = isDown ? random.pick(["500", "not sent", "time-out"] as const) : isChaos ? random.weighted(FATES) : "taken";
    const sessionId = /"session_id":"([^"]+)"/.exec(body.toString())?.[1] ?? null;
    if (fate !== "taken") counters.strike(isDown ? "receiver down" : `receiver: ${fate}`, this.#world.stateOf(sessionId));
    const there = random.between(5, 100);
    if (fate === "not sent") return answer(there, { kind: "not sent", reason: "connection refused" });
    if (fate === "500") return answer(there, { kind: "answered", status: 500, headers: {}, body: new Uint8Array() });
    if (fate === "time-out" && random.chance(0.5)) return;
    scheduler.after(there, () => {
      this.#keep(request, body.toString(), sessionId);
      if (fate === "answer lost") answer(10, { kind: "lost", reason: "connection reset" });
      if (fate === "taken") answer(10, { kind: "answered", status: 200, headers: {}, body: new Uint8Array() });
    });
  }

  #keep({ headers }: OutboundRequest, body: string, sessionId: string | null): void {
    const world = this.#world;
    const now = world.scheduler.now;
    const verdict = verifyWebhook(headers, body, SIGNING_SECRET, now);
    if (!verdict.verified) return world.break("I5", sessionId, `a webhook with a bad signature: ${verdict.reason}`);
    this.deliveries.push({ id: verdict.id, body, at: now });
    world.judge.delivered(sessionId, verdict.id, body);
  }
}
