import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError } from "#src/kernel/errors.ts";
import { isInside, parseCidrs } from "#src/platform/index.ts";
import type { ApiDeps } from "../deps.ts";

/** Headers that say: someone else asked first. */
const FORWARDED = ["x-forwarded-for", "forwarded", "x-real-ip", "via"];

/**
 * GET /metrics, for a scraper on this machine or at an address of TRUSTED_PROXIES. To everybody else, and to whoever comes
 * through a proxy, the path does not exist.
 */
export function registerMetrics(app: FastifyInstance, { metrics, settings }: ApiDeps): void {
  if (!metrics) return;
  const near = parseCidrs("TRUSTED_PROXIES", ["127.0.0.0/8", "::1/128", ...settings.trustedProxies]);
  const mayRead = ({ raw, headers }: FastifyRequest) =>
    isInside(raw.socket.remoteAddress ?? "", near) && !FORWARDED.some((name) => name in headers);

  app.get("/metrics", { config: { access: "anyone" } }, async (request, reply) => {
    if (!mayRead(request)) throw new AppError("not_found");
    return reply.type(metrics.contentType).send(await metrics.text());
  });
}
