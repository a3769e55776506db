export type { Probe } from "./deps.ts";
export { redisHits } from "./gate/redis-hits.ts";
export { createApi } from "./server.ts";
