import type { Clock } from "#src/kernel/clock.ts";
import { type DeclineRatio, highDeclineRatios } from "#src/payments/index.ts";
import { type Database, type Log, repeat, verifyChain, WindowCounter } from "#src/platform/index.ts";

/** What a worker looks for in the database and tells in the log, for an alarm to be made of (S-18, docs/operations.md). */

interface AlarmDeps {
  database: Database;
  /** The audit key of the installation. */
  auditKey: Uint8Array;
  clock: Clock;
  log: Log;
}

const DECLINES_EVERY_MS = 60_000;
/** A project that goes on is told of once an hour. */
const QUIET_MS = 3_600_000;
const MOST = 10_000;
const CHAIN_EVERY_MS = 600_000;
/** The log is read from its beginning each time: a long one seldom enough that a worker spends 0.3 % of its time on it. */
const REST_PER_READ = 300;

/** Returns the end, which waits for what is under way. */
export function startAlarms(deps: AlarmDeps): () => Promise<void> {
  const endDeclines = watchDeclines(deps);
  const endChain = watchChain(deps);
  return async () => {
    await Promise.all([endDeclines(), endChain()]);
  };
}

function watchDeclines({ database, clock, log }: AlarmDeps): () => Promise<void> {
  const told = new WindowCounter({ clock, windowMs: QUIET_MS, most: MOST });
  const tell = ({ projectId: project, environment, attempts: total, declined: count }: DeclineRatio) => {
    if (told.count(`${project} ${environment}`).count === 1) log.warn("declines_high", { project, environment, count, total });
  };
  return repeat({
    clock,
    everyMs: DECLINES_EVERY_MS,
    task: async () => (await highDeclineRatios(database.db)).forEach(tell),
    onFailure: (error) => log.warn("alarm_check_failed", { rule: "declines", error }),
  });
}

function watchChain({ database, auditKey, clock, log }: AlarmDeps): () => Promise<void> {
  let tookMs = 0;
  return repeat({
    clock,
    everyMs: () => Math.max(CHAIN_EVERY_MS, REST_PER_READ * tookMs),
    firstMs: DECLINES_EVERY_MS,
    async task() {
      const began = clock.monotonic();
      const { fault } = await verifyChain(database.db, auditKey);
      tookMs = clock.monotonic() - began;
      if (fault !== null) log.error("audit_chain_broken", { reason: fault });
    },
    onFailure: (error) => log.warn("alarm_check_failed", { rule: "audit chain", error }),
  });
}
