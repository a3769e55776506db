import type { FastifyInstance, FastifyReply } from "fastify";
import { type Clock, within } from "#src/kernel/clock.ts";
import type { Probe, StatusDeps } from "../deps.ts";

/** The whole answer comes within 2 s. */
const PROBE_MS = 1500;

type Check = "ok" | "failed" | "off";

/** /health, /health/live and /health/ready: no key, no limit, no names of hosts. */
export function registerHealth(app: FastifyInstance, { database, probes, settings, clock }: StatusDeps): void {
  const all: Record<string, Probe> = { database: () => database.ping(PROBE_MS), ...probes };
  const config = { access: "anyone" } as const;

  const names = Object.keys(all);
  /** Being found out, for all who ask meanwhile: nobody makes the database busy by asking. */
  let looking: Promise<Check[]> | null = null;

  const report = async (_request: unknown, reply: FastifyReply) => {
    looking ??= Promise.all(names.map((name) => run(all[name]!, clock))).finally(() => (looking = null));
    const results = await looking;
    const healthy = !results.includes("failed");
    reply.code(healthy ? 200 : 503);
    return {
      status: healthy ? "ok" : "unavailable",
      version: settings.version,
      checks: Object.fromEntries(names.map((name, index) => [name, results[index]])),
    };
  };

  app.route({ method: ["GET", "HEAD"], url: "/health", config, handler: report });
  app.get("/health/ready", { config }, report);
  app.get("/health/live", { config }, async () => ({ status: "ok" }));
}

async function run(probe: Probe, clock: Clock): Promise<Check> {
  if (!probe) return "off";
  const isWell = await within(clock, PROBE_MS, probe(), () => false).catch(() => false);
  return isWell ? "ok" : "failed";
}
