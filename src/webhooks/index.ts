import { alphanumeric } from "#src/kernel/random.ts";
import type { Db } from "#src/platform/index.ts";
import type { Session } from "#src/sessions/index.ts";
import { createDelivery, QUEUE } from "./delivery.ts";
import type { DeliveryDeps } from "./delivery.ts";
import { insertEvent, reviveEvent } from "./events.ts";
import { eventName, webhookBody } from "./payload.ts";

export { webhookBody } from "./payload.ts";
export { type Backlog, backlogOf, type EventFilter, findEvent, listEvents } from "./listing.ts";
export { deleteEvents, eraseBodies, eraseSettledBodies, isUndelivered } from "./retention.ts";
export { verifyWebhook } from "./signature.ts";

export interface Webhooks {
  /** Writes the event and its wake-up in the transaction that makes the session final. Nothing without an endpoint. */
  onFinal(tx: Db, session: Session): Promise<void>;
  /** Declares the delivery queue: in every process, before `jobs.start`. Its jobs run where `jobs` works. */
  registerDelivery(): void;
  /** Takes up what lost its job, now and every half minute: in workers. Returns the stop, which waits for running tries. */
  startSweep(): () => Promise<void>;
  /** Whether these sweeps succeed: the last one that did is not long ago. */
  isSweeping(): boolean;
  /**
   * Sends an event again from the start of its schedule, whatever became of it, and switches an endpoint on again that a 410
   * had switched off; false when there is no such event or its body is erased.
   */
  resend(id: string): Promise<boolean>;
}

/** The status webhook: an outbox row per final session, delivered at least once. */
export function createWebhooks(deps: DeliveryDeps): Webhooks {
  const { database, jobs, projects, gateways, random } = deps;
  const delivery = createDelivery(deps);
  const wakeUp = (tx: Db, projectId: string) => jobs.send(tx, QUEUE, { projectId });

  return {
    async onFinal(tx, session) {
      const endpoint = await projects.webhookEndpoint(tx, session.projectId, session.environment);
      if (!endpoint) return;
      const id = `evt_${alphanumeric(random, 24)}`;
      await insertEvent(tx, {
        id,
        sessionId: session.id,
        projectId: session.projectId,
        name: eventName(session.status),
        body: webhookBody(id, session, endpoint.amountUnit, gateways),
      });
      await wakeUp(tx, session.projectId);
    },

    registerDelivery() {
      // The schedule of tries is ours; the queue's own retries only cover a job whose worker died.
      jobs.define<{ projectId: string }>(QUEUE, { retryLimit: 3, retryDelaySeconds: 5 }, async ({ projectId }) => delivery.wake(projectId));
    },

    startSweep: delivery.startSweep,
    isSweeping: delivery.isSweeping,

    async resend(id) {
      return await database.transaction(async (tx) => {
        const event = await reviveEvent(tx, id);
        if (event === null) return false;
        await projects.enableWebhookEndpoint(tx, event.projectId, event.environment);
        await wakeUp(tx, event.projectId);
        return true;
      });
    },
  };
}
