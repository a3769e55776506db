import { fromKysely, PgBoss, type WipData } from "pg-boss";
import { ownerFault } from "./db/connection-fault.ts";
import type { Database, Db } from "./db/database.ts";
import type { Log } from "./log.ts";

export interface QueueOptions {
  /** Further tries after the first, when the handler throws or its process dies. */
  retryLimit: number;
  /** Before the first retry; doubled for each further one up to `retryDelayMaxSeconds`, with jitter. */
  retryDelaySeconds: number;
  retryDelayMaxSeconds?: number;
  /** A handler that has not ended by then is taken for dead and its job is tried again. Default 60. */
  expireInSeconds?: number;
  /** Jobs of this queue at a time in this process. Default 1. */
  concurrency?: number;
}

/** Work for later, in the same database as everything else: a job exists exactly when the transaction that sent it is committed. */
export interface Jobs {
  /** Declares a queue, before `start`. `handler` runs at least once per job, with the data that was sent; throwing asks for a retry. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the handler names the type of its data
  define<T extends object>(queue: string, options: QueueOptions, handler: (data: T) => Promise<void>): void;
  /**
   * Sends a job as part of the transaction `tx`, to run at once or `startAfterMs` later by the database's clock.
   * Card data and secrets are never part of `data`.
   */
  send(tx: Db, queue: string, data: object, options?: { startAfterMs?: number }): Promise<void>;
  /** Makes the queues; `send` works from then on. `work: false` leaves the handlers to other processes. */
  start(options?: { work?: boolean }): Promise<void>;
  /** Whether every queue's handlers fetch jobs, or run one; false before `start` and without `work`. */
  isAlive(): boolean;
  /** Takes no more jobs and waits for the running ones. */
  stop(): Promise<void>;
}

interface Definition {
  queue: string;
  options: QueueOptions;
  handler: (data: object) => Promise<void>;
}

/** NOTIFY wakes a worker within milliseconds; polling finds the delayed jobs, which no NOTIFY announces. */
const POLLING_SECONDS = 2;
const STOP_MS = 120_000;
const EXPIRE_SECONDS = 60;

/** A fetch that is older than this has stopped: five polls. */
const FETCH_MS = 5 * POLLING_SECONDS * 1000;

/** Whether it has begun or fetched jobs of late, or runs one that has not expired. Its times are the wall clock's. */
function isWorking({ count, createdOn, lastFetchedOn }: WipData, { expireInSeconds = EXPIRE_SECONDS }: QueueOptions): boolean {
  return Date.now() - (lastFetchedOn ?? createdOn) < (count > 0 ? 1000 * expireInSeconds : FETCH_MS);
}

/** pg-boss behind the small interface that this project needs. */
export function createJobs(database: Database, log: Log): Jobs {
  const definitions: Definition[] = [];
  const boss = new PgBoss({ ...database.queue, schema: "jobs", schedule: false, useListenNotify: true });
  boss.on("error", (error) => log.error("jobs_broken", { error }));
  boss.on("warning", ({ data }) => log.warn("jobs_warning", { reason: String((data as { type?: unknown }).type) }));

  async function prepare({ queue, options }: Definition): Promise<void> {
    const settings = {
      retryLimit: options.retryLimit,
      retryDelay: options.retryDelaySeconds,
      retryBackoff: true,
      expireInSeconds: options.expireInSeconds ?? EXPIRE_SECONDS,
      notify: true,
      ...(options.retryDelayMaxSeconds === undefined ? {} : { retryDelayMax: options.retryDelayMaxSeconds }),
    };
    await boss.createQueue(queue, settings);
    await boss.updateQueue(queue, settings);
    // pg-boss keeps a queue's settings from first use on and reads them outside any transaction: so use it here, before
    // a `send` does so inside one.
    await boss.findJobs(queue, { key: "" });
  }

  async function work({ queue, options, handler }: Definition): Promise<void> {
    const polling = {
      pollingIntervalSeconds: POLLING_SECONDS,
      notifyPollingIntervalSeconds: POLLING_SECONDS,
      localConcurrency: options.concurrency ?? 1,
    };
    await boss.work<object>(queue, polling, async (jobs) => {
      for (const job of jobs) {
        try {
          await handler(job.data);
        } catch (error) {
          log.warn("job_failed", { queue, error });
          // pg-boss stores what is thrown in the job's row, where a message or a cause may not go.
          // oxlint-disable-next-line eslint/preserve-caught-error
          throw new Error("job failed");
        }
      }
    });
  }

  return {
    define: (queue, options, handler) => void definitions.push({ queue, options, handler: handler as (data: object) => Promise<void> }),
    send: async (tx, queue, data, { startAfterMs } = {}) => {
      await boss.send(queue, data, {
        db: fromKysely(tx),
        // Seconds, to be counted by the database's clock.
        ...(startAfterMs === undefined ? {} : { startAfter: startAfterMs / 1000 }),
      });
    },
    start: async ({ work: works = true } = {}) => {
      // The queue makes a schema of its own at its first start.
      await boss.start().catch((cause: unknown) => {
        throw ownerFault(cause);
      });
      for (const definition of definitions) {
        await prepare(definition);
        if (works) await work(definition);
      }
    },
    isAlive() {
      const workers = boss.getWipData();
      return definitions.every(({ queue, options }) => {
        const own = workers.filter(({ name }) => name === queue);
        return own.some((worker) => isWorking(worker, options));
      });
    },
    stop: () => boss.stop({ graceful: true, timeout: STOP_MS }),
  };
}
