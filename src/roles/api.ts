import { hkdfSync } from "node:crypto";
import type { AddressInfo } from "node:net";
import { createApi, deleteStreamsOfDead, redisCounter } from "#src/api/index.ts";
import { addressOf } from "#src/config/index.ts";
import { formatHostPort } from "#src/kernel/host-port.ts";
import { VERSION } from "#src/version.ts";
import { createWidget, type Widget } from "#src/widget/index.ts";
import type { Modules } from "./modules.ts";
import type { VoiceRole } from "./voice.ts";
import type { WorkerRole } from "./worker.ts";

export interface ApiRole {
  /** The address that the world reaches it at. */
  url: string;
  /** Refuses new charges of the widget; those that run go on. */
  drain(): void;
  /** Resolves when no charge is left. */
  idle(): Promise<void>;
}

/** Opens the HTTP interface, and the widget with it. `voice` and `worker`: those of the same process, for its health. */
export async function startApiRole(
  modules: Modules,
  { voice, worker }: { voice: VoiceRole | null; worker: WorkerRole | null },
): Promise<ApiRole> {
  const { config, clock, random, owner, log, metrics, instruments, database, outbound, sessions, projects, checkout, onEnd } = modules;
  let url = config.baseUrl ?? "";
  const widget = widgetOf(modules, () => url);
  const sipAddress = formatHostPort(config.sipPublicHost, voice?.ports.port ?? config.sipPort);
  const rateCounter =
    config.redisUrl && (await redisCounter({ url: config.redisUrl, clock, log, onFallback: instruments.countRateFallback }));
  if (rateCounter) onEnd(() => rateCounter.close());
  // Without limits nobody counts streams, and nobody else deletes what a process left that did.
  // What is left over harms nobody, and no start fails for it.
  if (config.rateLimitPerMinute === 0)
    await deleteStreamsOfDead(database.db, owner).catch((error: unknown) => log.warn("streams_not_deleted", { error }));
  const app = createApi({
    database,
    sessions,
    projects,
    checkout,
    clock,
    random,
    owner,
    log,
    settings: {
      baseUrl: addressOf(config),
      version: VERSION,
      rateLimitPerMinute: config.rateLimitPerMinute,
      trustedProxies: config.trustedProxies,
    },
    sipUriFor: (sessionId) => `sip:${sessionId}@${sipAddress}`,
    widget,
    outbound,
    metrics,
    observe: instruments.observe,
    ...(rateCounter && { rateCounter }),
    probes: { sip: voice && (() => voice.isServing()), worker: worker && (() => worker.isAlive()) },
  });
  onEnd(() => app.close());
  await app.listen({ host: config.host, port: config.port });
  const { port: bound } = app.server.address() as AddressInfo;
  url = addressOf({ ...config, port: bound });
  return { url, drain: () => widget.drain(), idle: () => widget.idle() };
}

function widgetOf({ keys, ...modules }: Modules, publicUrl: () => string): Widget {
  const key = new Uint8Array(hkdfSync("sha256", keys.pepper, "", "voicetill widget", 32));
  return createWidget({ ...modules, key, publicUrl });
}
