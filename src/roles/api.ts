import type { AddressInfo } from "node:net";
import { createApi, redisCounter, type Probe } from "#src/api/index.ts";
import { VERSION } from "#src/version.ts";
import type { Widget } from "#src/widget/index.ts";
import type { Core } from "./core.ts";
import type { VoiceRole } from "./voice.ts";

/** Opens the HTTP interface; answers the address that the world reaches it at. */
export async function startApiRole(core: Core, { voice, widget }: { voice: VoiceRole | null; widget: Widget }): Promise<string> {
  const { config, clock, random, owner, log, metrics, instruments, database, sessions, projects, checkout, onEnd } = core;
  const host = config.sipPublicHost;
  const port = voice?.port ?? config.sipPort;
  const sipProbe: Probe = voice ? async () => true : null;
  const rateCounter =
    config.redisUrl && (await redisCounter({ url: config.redisUrl, clock, log, onFallback: instruments.countRateFallback }));
  if (rateCounter) onEnd(() => rateCounter.close());
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
      baseUrl: config.baseUrl ?? `http://${config.host}`,
      version: VERSION,
      rateLimitPerMinute: config.rateLimitPerMinute,
      trustedProxies: config.trustedProxies,
    },
    sipUriFor: (sessionId) => `sip:${sessionId}@${host}:${port}`,
    widget,
    metrics,
    observe: instruments.observe,
    ...(rateCounter && { rateCounter }),
    probes: { sip: sipProbe, worker: config.roles.includes("worker") ? async () => true : null },
  });
  onEnd(() => app.close());
  await app.listen({ host: config.host, port: config.port });
  const { port: bound } = app.server.address() as AddressInfo;
  return config.baseUrl ?? `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${bound}`;
}
