import { createClient, defineScript } from "@redis/client";
import type { Clock } from "#src/kernel/clock.ts";
import type { Secret } from "#src/kernel/secret.ts";
import type { Log } from "#src/platform/index.ts";
import { type Count, type RateCounter, SLOT_MS, WINDOW_MS } from "./counter.ts";
import { memoryCounter } from "./memory-counter.ts";

/** A connection stands, with its handshake, or it is given up. */
const CONNECT_MS = 1000;
/** A request waits this long for its count at most: a Redis that is slower is no help. */
const ANSWER_MS = 250;
const RETRY_MS = 1000;

/**
 * Counts one request by the server's clock. A bucket is a hash, from a slot's number to the requests in it; it goes by itself when
 * nothing of it counts any more. A script runs alone, so parallel requests cannot pass together.
 */
const countScript = defineScript({
  SCRIPT: `
    local limit, slotMs, slots = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local slot = math.floor(now / slotMs)
    local used, oldest = 0, slot
    local counts = redis.call('HGETALL', KEYS[1])
    for index = 1, #counts, 2 do
      local number = tonumber(counts[index])
      if number < slot - slots then
        redis.call('HDEL', KEYS[1], counts[index])
      else
        used = used + counts[index + 1]
        oldest = math.min(oldest, number)
      end
    end
    local allowed = used < limit and 1 or 0
    if allowed == 1 then
      redis.call('HINCRBY', KEYS[1], string.format('%.0f', slot), 1)
      redis.call('PEXPIRE', KEYS[1], (slots + 1) * slotMs)
    end
    return { allowed, used + allowed, (oldest + slots + 1) * slotMs - now }`,
  NUMBER_OF_KEYS: 1,
  parseCommand(parser, bucket: string, limit: number) {
    parser.pushKey(`voicetill:rate:${bucket}`);
    parser.push(String(limit), String(SLOT_MS), String(WINDOW_MS / SLOT_MS));
  },
  transformReply: ([allowed, used, resetMs]: [number, number, number]): Count => ({ allowed: allowed === 1, used, resetMs }),
});

/** One connection. Never mended: a new one is opened in its place. */
const clientOf = (url: string) =>
  createClient({
    url,
    scripts: { countScript },
    socket: { connectTimeout: CONNECT_MS, reconnectStrategy: false },
    disableClientInfo: true,
    maintNotifications: "disabled",
  });
type Client = ReturnType<typeof clientOf>;

export interface RedisCounter extends RateCounter {
  /** Ends the connection; later requests are counted in this process. */
  close(): void;
}

export interface RedisCounterOptions {
  url: Secret;
  clock: Clock;
  log: Log;
  /** Called for each request that was counted in this process alone. */
  onFallback?: () => void;
}

/**
 * Counts in Redis or Valkey, shared by all processes that have the same REDIS_URL. While it cannot be reached each
 * process counts for itself, so that a request is never refused or kept waiting for its sake; a new connection is tried
 * every second. Resolves when the first one stands or has failed.
 */
export async function redisCounter(options: RedisCounterOptions): Promise<RedisCounter> {
  const { url, clock, log, onFallback = () => {} } = options;
  const fallback = memoryCounter(clock);
  let client: Client | null = null;
  let cancelRetry = () => {};
  let isLost = false;
  let isClosed = false;

  /** Gives a connection up, once, and tries another one later. */
  const lose = (lost: Client, error: unknown): void => {
    if (lost !== client) return;
    client = null;
    if (lost.isOpen) lost.destroy();
    if (isClosed) return;
    if (!isLost) log.warn("redis_lost", { reason: reasonOf(error), error });
    isLost = true;
    cancelRetry = clock.after(RETRY_MS, () => void connect());
  };

  const connect = async (): Promise<void> => {
    const opened = (client = clientOf(url.reveal()));
    opened.on("error", (error: unknown) => lose(opened, error));
    try {
      await within(clock, CONNECT_MS, opened.connect());
      if (isLost) log.info("redis_back");
      isLost = false;
    } catch (error) {
      lose(opened, error);
    }
  };

  await connect();
  return {
    async count(bucket, limit) {
      const current = client;
      try {
        if (current?.isReady) return await within(clock, ANSWER_MS, current.countScript(bucket, limit));
      } catch (error) {
        lose(current!, error);
      }
      onFallback();
      return fallback.count(bucket, limit);
    },
    sweep: () => fallback.sweep(),
    close() {
      isClosed = true;
      cancelRetry();
      if (client) lose(client, null);
    },
  };
}

/** `work`, or a rejection after `ms`. */
function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(ms, () => late.reject(new Error("no answer in time")));
  return Promise.race([work, late.promise]).finally(cancel);
}

/** What may be logged of a fault: the first word of an error that Redis answered, such as WRONGPASS or READONLY. */
function reasonOf(error: unknown): string {
  return (error instanceof Error && /^[A-Z]{3,20}\b/.exec(error.message)?.[0]) || "no connection";
}
