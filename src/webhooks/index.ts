import { alphanumeric } from "#src/kernel/random.ts";
import type { Environment } from "#src/kernel/payment.ts";
import { notify } from "#src/platform/index.ts";
import type { Outbox } from "#src/sessions/index.ts";
import { createDelivery, type DeliveryDeps } from "./delivery.ts";
import { CHANNEL, outboxOf, reviveEvent } from "./events.ts";

export { outboxOf } from "./events.ts";
export { bodyOf, webhookBody } from "./payload.ts";
export { type Backlog, backlogOf, type EventFilter, findEvent, listEvents } from "./listing.ts";
export { deleteEvents, eraseBodies, eraseSettledBodies, isUndelivered } from "./retention.ts";
export { verifyWebhook } from "./signature.ts";

/** What no session causes: it asks a receiver whether it takes our signature. */
const TEST_EVENT = "webhook.test";

export interface Webhooks {
  /** Written with each final state: the event, and the word that wakes the workers. */
  readonly outbox: Outbox;
  /**
   * Delivers what it is woken for and each later try when it is due, and takes up what nobody was woken for, now and every half minute: in
   * workers. Returns the stop, which waits for running tries.
   */
  startSweep(): () => Promise<void>;
  /** Whether these sweeps succeed: the last one that did is not long ago. */
  isSweeping(): boolean;
  /**
   * Sends an event again from the start of its schedule, whatever became of it, and switches an endpoint on again that a 410
   * had switched off; false when there is no such event or its body is erased.
   */
  resend(id: string): Promise<boolean>;
  /** Sends `webhook.test` once, signed as every webhook; null when there is no endpoint. Nothing is kept, and nothing is tried again. */
  test(project: { id: string; slug: string }, environment: Environment): Promise<TestAnswer | null>;
}

/** `status` is null, and `reason` says why, when no answer came. */
interface TestAnswer {
  id: string;
  url: string;
  /** False when nothing was sent; `reason` says why. */
  sent: boolean;
  status: number | null;
  reason: string | null;
  ms: number;
}

/** The status webhook: an outbox row per final session, delivered at least once. */
export function createWebhooks(deps: DeliveryDeps): Webhooks {
  const { database, projects, clock, random } = deps;
  const delivery = createDelivery(deps);

  return {
    outbox: outboxOf(() => `evt_${alphanumeric(random, 24)}`),

    startSweep: delivery.startSweep,
    isSweeping: delivery.isSweeping,

    async resend(id) {
      return await database.transaction(async (tx) => {
        const event = await reviveEvent(tx, id);
        if (event === null) return false;
        await projects.enableWebhookEndpoint(tx, event.projectId, event.environment);
        await notify(tx, CHANNEL, event.projectId);
        return true;
      });
    },

    async test({ id: projectId, slug }, environment) {
      const endpoint = await projects.webhookEndpoint(database.db, projectId, environment);
      if (!endpoint) return null;
      const id = `evt_${alphanumeric(random, 24)}`;
      const body = JSON.stringify({ id, event: TEST_EVENT, project: slug, environment });
      const started = clock.monotonic();
      const answer = await delivery.post(endpoint, { id, body, environment });
      const [status, reason] = answer.kind === "answered" ? [answer.status, null] : [null, answer.reason];
      return { id, url: endpoint.url, sent: answer.kind !== "not sent", status, reason, ms: Math.round(clock.monotonic() - started) };
    },
  };
}
