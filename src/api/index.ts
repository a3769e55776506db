export type { Probe } from "./deps.ts";
export { redisCounter } from "./access/redis-counter.ts";
export { deleteStreamsOfDead } from "./stream-quota.ts";
export { createApi, createStatusServer } from "./server.ts";
