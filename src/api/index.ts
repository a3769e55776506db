import type { RedisCounter, RedisCounterOptions } from "./access/redis-counter.ts";

export { deleteStreamsOfDead } from "./stream-quota.ts";
export { createApi, createStatusServer } from "./server.ts";

/** `redisCounter` of `access/redis-counter.ts`; its client is loaded only where a Redis is named. */
export async function redisCounter(options: RedisCounterOptions): Promise<RedisCounter> {
  return (await import("./access/redis-counter.ts")).redisCounter(options);
}
