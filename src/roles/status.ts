import type { AddressInfo } from "node:net";
import { createStatusServer } from "#src/api/index.ts";
import { addressOf } from "#src/config/index.ts";
import { errorCode } from "#src/kernel/errors.ts";
import { VERSION } from "#src/version.ts";
import type { Modules } from "./modules.ts";
import type { VoiceRole } from "./voice.ts";
import type { WorkerRole } from "./worker.ts";

/**
 * Opens HOST and PORT in a process without the role `api`: for a supervisor and for Prometheus. Resolves with its address; null when
 * another process of the machine has the port, which is no reason to take no calls.
 */
export async function startStatus(
  { config, clock, random, log, metrics, database, onEnd }: Modules,
  { voice, worker }: { voice: VoiceRole | null; worker: WorkerRole | null },
): Promise<string | null> {
  const server = createStatusServer({
    database,
    clock,
    random,
    log,
    metrics,
    settings: { baseUrl: null, version: VERSION, rateLimitPerMinute: config.rateLimitPerMinute, trustedProxies: config.trustedProxies },
    probes: { sip: voice && (() => voice.isServing()), worker: worker && (() => worker.isAlive()) },
  });
  onEnd(() => server.close());
  try {
    await server.listen({ host: config.host, port: config.port });
  } catch (error) {
    if (errorCode(error) !== "EADDRINUSE") throw error;
    log.warn("status_not_served", { reason: `PORT ${config.port} is taken by another program` });
    return null;
  }
  const { port } = server.server.address() as AddressInfo;
  return addressOf({ baseUrl: null, host: config.host, port });
}
