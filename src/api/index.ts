export type { Probe } from "./deps.ts";
export { redisCounter } from "./access/redis-counter.ts";
export { deleteStreamsOfDead } from "./stream-quota.ts";
export { createApi } from "./server.ts";
