import type { FastifyReply } from "fastify";
import type { Clock } from "#src/kernel/clock.ts";
import { AppError } from "#src/kernel/errors.ts";
import { repeat } from "#src/platform/index.ts";
import { type Count, type RateCounter, WINDOW_MS } from "./counter.ts";

/** Wrong keys an address may try in a minute. */
const WRONG_KEYS = 10;

/** Counts requests and refuses with 429 those past a limit. */
export interface RateLimiter {
  /** One request on an endpoint from a client; the three headers go out whatever becomes of it. `limit` in place of the setting's. */
  request(endpoint: string, client: string, reply: FastifyReply, limit?: number): Promise<void>;
  /** One wrong key from a client. */
  wrongKey(client: string, reply: FastifyReply): Promise<void>;
  /** Ends the sweeping of old counts. */
  stop(): void;
}

/** `perMinute` 0 turns every limit off. */
export function createRateLimiter({ perMinute, counter, clock }: { perMinute: number; counter: RateCounter; clock: Clock }): RateLimiter {
  if (perMinute === 0) return { request: async () => {}, wrongKey: async () => {}, stop: () => {} };

  const seconds = ({ resetMs }: Count) => Math.max(1, Math.ceil(resetMs / 1000));
  const tell = (count: Count, limit: number, reply: FastifyReply) =>
    reply.headers({
      "ratelimit-limit": limit,
      "ratelimit-remaining": Math.max(0, limit - count.used),
      "ratelimit-reset": seconds(count),
    });
  const refuse = (count: Count, reply: FastifyReply) => {
    reply.header("retry-after", seconds(count));
    throw new AppError("rate_limited");
  };

  // What a sweep that fails leaves over goes with the next one.
  const end = repeat({ clock, everyMs: WINDOW_MS, firstMs: WINDOW_MS, task: async () => await counter.sweep(), onFailure: () => {} });

  return {
    async request(endpoint, client, reply, limit = perMinute) {
      const count = await counter.count(`${endpoint}|${client}`, limit);
      tell(count, limit, reply);
      if (!count.allowed) refuse(count, reply);
    },
    async wrongKey(client, reply) {
      const count = await counter.count(`wrong key|${client}`, WRONG_KEYS);
      if (count.allowed) return;
      // The 401s before it tell of the endpoint's limit: this one of what refused it.
      tell(count, WRONG_KEYS, reply);
      refuse(count, reply);
    },
    stop() {
      void end();
    },
  };
}
