import type { FastifyReply } from "fastify";
import type { Clock } from "#src/kernel/clock.ts";
import { AppError } from "#src/kernel/errors.ts";
import type { Hit, HitStore } from "./hits.ts";
import { WINDOW_MS } from "./hits.ts";

/** Wrong keys an address may try in a minute. */
const WRONG_KEYS = 10;

/** Counts requests and refuses with 429 those past a limit. */
export interface RateLimiter {
  /** One request on an endpoint from a client; the three headers go out whatever becomes of it. `limit` in place of the setting's. */
  request(endpoint: string, client: string, reply: FastifyReply, limit?: number): Promise<void>;
  /** One wrong key from a client. */
  wrongKey(client: string, reply: FastifyReply): Promise<void>;
  /** Ends the sweeping of old hits. */
  stop(): void;
}

/** `perMinute` 0 turns every limit off. */
export function createRateLimiter({ perMinute, hits, clock }: { perMinute: number; hits: HitStore; clock: Clock }): RateLimiter {
  if (perMinute === 0) return { request: async () => {}, wrongKey: async () => {}, stop: () => {} };

  const seconds = ({ resetMs }: Hit) => Math.max(1, Math.ceil(resetMs / 1000));
  const refuse = (hit: Hit, reply: FastifyReply) => {
    reply.header("retry-after", seconds(hit));
    throw new AppError("rate_limited");
  };

  let stopped = false;
  let cancel = () => {};
  const sweepLater = () => {
    if (!stopped) cancel = clock.after(WINDOW_MS, () => void sweep());
  };
  const sweep = async () => {
    try {
      await hits.sweep();
    } catch {
      // What is left over goes with the next sweep.
    }
    sweepLater();
  };
  sweepLater();

  return {
    async request(endpoint, client, reply, limit = perMinute) {
      const hit = await hits.hit(`${endpoint}|${client}`, limit);
      reply.headers({
        "ratelimit-limit": limit,
        "ratelimit-remaining": Math.max(0, limit - hit.used),
        "ratelimit-reset": seconds(hit),
      });
      if (!hit.allowed) refuse(hit, reply);
    },
    async wrongKey(client, reply) {
      const hit = await hits.hit(`wrong key|${client}`, WRONG_KEYS);
      if (!hit.allowed) refuse(hit, reply);
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}
