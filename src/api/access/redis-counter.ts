import { createClient, defineScript } from "@redis/client";
import { type Clock, within } from "#src/kernel/clock.ts";
import type { Secret } from "#src/kernel/secret.ts";
import type { Log } from "#src/platform/index.ts";
import { countOf, type RateCounter, WINDOW_MS } from "./counter.ts";
import { memoryCounter } from "./memory-counter.ts";

/** A bucket that is to be full later than this was written before the server's clock was set back. */
const SET_BACK_MS = WINDOW_MS + 1_000;
/** A connection stands, with its handshake, or it is given up. */
const CONNECT_MS = 1000;
/** A request waits this long for its count at most: a Redis that is slower is no help. */
const ANSWER_MS = 250;
const RETRY_MS = 1000;

/**
 * Takes a token by the server's clock (`tokensIn` of counter.ts). A bucket is the time at which it is full again, and goes by itself
 * then. A script runs alone, so parallel requests cannot take the same token.
 */
const takeToken = defineScript({
  SCRIPT: `
    local tokenMs, windowMs, setBackMs = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
    local time = redis.call('TIME')
    local now = time[1] * 1000 + time[2] / 1000
    local fullAt = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
    if fullAt > now + setBackMs then fullAt = now end
    local allowed = fullAt + tokenMs <= now + windowMs + 1
    if allowed then
      fullAt = fullAt + tokenMs
      redis.call('SET', KEYS[1], string.format('%.3f', fullAt), 'PX', math.ceil(fullAt - now))
    end
    return { allowed and 1 or 0, math.ceil(fullAt - now) }`,
  NUMBER_OF_KEYS: 1,
  parseCommand(parser, bucket: string, limit: number) {
    parser.pushKey(`voicetill:rate:${bucket}`);
    parser.push(String(WINDOW_MS / limit), String(WINDOW_MS), String(SET_BACK_MS));
  },
  transformReply: ([allowed, fullInMs]: [number, number]) => ({ allowed: allowed === 1, fullInMs }),
});

/** One connection. Never mended: a new one is opened in its place. */
const clientOf = (url: string) =>
  createClient({
    url,
    scripts: { takeToken },
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
      await within(clock, CONNECT_MS, opened.connect(), tooLate);
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
        if (current?.isReady) {
          const { allowed, fullInMs } = await within(clock, ANSWER_MS, current.takeToken(bucket, limit), tooLate);
          return countOf(allowed, fullInMs, limit);
        }
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

const tooLate = (): never => {
  throw new Error("no answer in time");
};

/** What may be logged of a fault: the first word of an error that Redis answered, such as WRONGPASS or READONLY. */
function reasonOf(error: unknown): string {
  return (error instanceof Error && /^[A-Z]{3,20}\b/.exec(error.message)?.[0]) || "no connection";
}
