import type { Clock } from "#src/kernel/clock.ts";
import type { Random } from "#src/kernel/random.ts";
import { Background, type Database, type Log, type Outbound, repeat } from "#src/platform/index.ts";
import type { Projects, WebhookEndpoint } from "#src/projects/index.ts";
import {
  type AwaitedEvent,
  CHANNEL,
  claimDueEvent,
  keepBody,
  markDead,
  markDelivered,
  markWaiting,
  projectsWithDueEvents,
  type Share,
  type WebhookEvent,
} from "./events.ts";
import { bodyOf, type WebhookNames } from "./payload.ts";
import { nextWait, parseRetryAfter } from "./schedule.ts";
import { signatureHeaders } from "./signature.ts";

export interface DeliveryDeps {
  database: Database;
  projects: Pick<Projects, "webhookEndpoint" | "disableWebhookEndpoint" | "enableWebhookEndpoint">;
  gateways: WebhookNames;
  outbound: Pick<Outbound, "send">;
  clock: Clock;
  random: Random;
  log: Log;
}

const ANSWER_MS = 15_000;
const ANSWER_BYTES = 16 * 1024;
/** Tries under way for one address of a project in one process. */
const MOST_AT_ONCE = 4;
const SWEEP_MS = 30_000;
/** How far ahead a try is waited for by this process's own clock, which nobody sets (R-288); later ones are the sweeps'. */
const AWAITED_MS = 40 * 60_000;
/** Between what is said to the database and the timer of a wake-up: one that comes a moment too early finds nothing due. */
const LATER_MS = 2;

/**
 * Delivers what stands in webhook_events. Each address of a project has at most four loops of its own, so a dead receiver delays
 * nobody else, nor that of test sessions the one of live sessions; a loop claims one due event after another and ends when none is due. What wakes them: the notification of a session's end,
 * a timer for what is due before the next sweep, and the sweep, which misses nothing.
 */
export function createDelivery(deps: DeliveryDeps) {
  const { database, projects, gateways, outbound, clock, random, log } = deps;
  const loops = new Map<string, number>();
  const background = new Background();
  /** Cancel the wake-ups to come. */
  const timers = new Set<() => void>();
  /** When the sweeps began or one last succeeded, by the monotonic clock. */
  let sweptAt: number | null = null;
  let stopped = false;
  /** Ends the listening for new events; null while it has not begun. */
  let stopListening: (() => Promise<void>) | null = null;

  /** Starts a loop for each share of the project's events that has not four. */
  function wake(projectId: string, awaited: AwaitedEvent | null = null): void {
    for (const share of ["live", "others"] as const) startLoop(projectId, share, awaited);
  }

  function startLoop(projectId: string, share: Share, awaited: AwaitedEvent | null = null): void {
    const name = `${projectId} ${share}`;
    const count = loops.get(name) ?? 0;
    if (stopped || count >= MOST_AT_ONCE) return;
    loops.set(name, count + 1);
    const loop = drain(projectId, share, awaited)
      .catch((error: unknown) => log.error("webhook_delivery_broken", { project: projectId, error }))
      .finally(() => {
        const left = (loops.get(name) ?? 1) - 1;
        if (left === 0) loops.delete(name);
        else loops.set(name, left);
      });
    void background.run(loop);
  }

  function wakeAfter(ms: number, projectId: string, awaited: AwaitedEvent | null = null): void {
    if (stopped) return;
    const cancel = clock.after(ms + LATER_MS, () => {
      timers.delete(cancel);
      wake(projectId, awaited);
    });
    timers.add(cancel);
  }

  /** `awaited` is due whatever the database's clock says, which may have been set meanwhile. */
  async function drain(projectId: string, share: Share, awaited: AwaitedEvent | null): Promise<void> {
    for (;;) {
      if (stopped) return;
      const event = await claimDueEvent(database.db, projectId, share, awaited);
      if (!event) return;
      // A backlog starts the other loops; each of them ends at once when there is none.
      startLoop(projectId, share);
      await deliver(event);
    }
  }

  async function post(
    { url, secrets }: Pick<WebhookEndpoint, "url" | "secrets">,
    { id, body, environment }: Pick<WebhookEvent, "id" | "environment"> & { body: string },
  ) {
    return await outbound.send({
      method: "POST",
      url,
      headers: {
        "content-type": "application/json",
        "user-agent": "voicetill",
        ...signatureHeaders(secrets, id, Math.floor(clock.now() / 1000), body),
      },
      body: new TextEncoder().encode(body),
      timeoutMs: ANSWER_MS,
      maxBytes: ANSWER_BYTES,
      statusOnly: true,
      httpsOnly: environment === "live",
    });
  }

  async function deliver(event: WebhookEvent): Promise<void> {
    const endpoint = await projects.webhookEndpoint(database.db, event.projectId, event.environment);
    if (!endpoint || endpoint.disabledAt) {
      await markDead(database.db, event, endpoint ? "endpoint disabled" : "no endpoint");
      return;
    }
    const body = bodyOf(event.id, event.body, gateways);
    if (body !== event.body && !(await keepBody(database.db, event.id, body))) return;
    const answer = await post(endpoint, { ...event, body });
    const status = answer.kind === "answered" ? answer.status : null;
    const outcome = answer.kind === "answered" ? String(answer.status) : answer.reason;
    if (status !== null && status >= 200 && status < 300) {
      await markDelivered(database.db, event.id, outcome);
      return;
    }
    log.warn("webhook_try_failed", { project: event.projectId, webhook: event.id, tries: event.tries, reason: outcome });
    if (status === 410) {
      await database.transaction(async (tx) => {
        // The event's row first, as for a resend: the other way round each could wait for the other.
        if (!(await markDead(tx, event, outcome))) return;
        const isDisabled = await projects.disableWebhookEndpoint(tx, event.projectId, event.environment, endpoint.url);
        // Another address was applied meanwhile, and the next try goes there.
        if (!isDisabled) await markWaiting(tx, event, outcome, 0);
      });
      return;
    }
    const retryAfter = answer.kind === "answered" ? parseRetryAfter(answer.headers["retry-after"], clock.now()) : null;
    const wait = nextWait(event.tries, random.fraction(), retryAfter);
    if (wait === null) {
      const isDead = await markDead(database.db, event, outcome);
      if (isDead) log.error("webhook_dead", { project: event.projectId, webhook: event.id, tries: event.tries });
      return;
    }
    const isWaiting = await markWaiting(database.db, event, outcome, wait);
    if (isWaiting && wait <= AWAITED_MS) wakeAfter(wait, event.projectId, { id: event.id, tries: event.tries });
  }

  /** Takes up what nobody was woken for and what a worker that died had claimed, and sees to what is due before the next sweep. */
  async function sweep(): Promise<void> {
    for (const { projectId, waitMs } of await projectsWithDueEvents(database.db, SWEEP_MS)) {
      if (waitMs === 0) wake(projectId);
      else wakeAfter(waitMs, projectId);
    }
    sweptAt = clock.monotonic();
  }

  /** Whether sweeps succeed: the last one that did is not long ago. */
  const isSweeping = () => sweptAt !== null && clock.monotonic() - sweptAt < 3 * SWEEP_MS;

  /** Sweeps and listens from now on; returns the function that ends it and waits for the tries under way. */
  function startSweep(): () => Promise<void> {
    sweptAt = clock.monotonic();
    const round = () => {
      // Listening comes first, so that no event falls between the two; when it fails, the next round tries again.
      const begun = async () =>
        (stopListening ??= await database.listen(
          CHANNEL,
          (projectId) => wake(projectId),
          () => void round(),
        ));
      const whole = begun()
        .then(sweep)
        .catch((error: unknown) => log.warn("webhook_sweep_failed", { error }));
      return background.run(whole);
    };
    const end = repeat({ clock, everyMs: SWEEP_MS, task: round, onFailure: () => {} });
    return async () => {
      stopped = true;
      for (const cancel of timers) cancel();
      await end();
      await background.idle();
      await stopListening?.();
    };
  }

  return { wake, post, sweep, idle: () => background.idle(), startSweep, isSweeping };
}
