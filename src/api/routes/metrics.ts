import { isIP } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError } from "#src/kernel/errors.ts";
import { unbracketed } from "#src/kernel/host-port.ts";
import { isInside, parseCidrs } from "#src/platform/index.ts";
import type { StatusDeps } from "../deps.ts";

/** Headers that say: someone else asked first. */
const FORWARDED = ["x-forwarded-for", "forwarded", "x-real-ip", "via"];
const LOOPBACK = parseCidrs("loopback", ["127.0.0.0/8", "::1/128"]);

/**
 * GET /metrics, for a scraper on this machine or at an address of TRUSTED_PROXIES, that asks by an address or a name of the local
 * network. To everybody else, and to whoever comes through a proxy or by the public name, the path does not exist.
 */
export function registerMetrics(app: FastifyInstance, { metrics, settings }: StatusDeps): void {
  if (!metrics) return;
  const near = [...LOOPBACK, ...parseCidrs("TRUSTED_PROXIES", settings.trustedProxies)];
  const publicHost = settings.baseUrl === null ? null : new URL(settings.baseUrl).hostname;
  const mayRead = ({ raw, headers }: FastifyRequest) =>
    isInside(raw.socket.remoteAddress ?? "", near) &&
    !FORWARDED.some((name) => name in headers) &&
    isLocalHost(headers.host ?? "", publicHost);

  app.get("/metrics", { config: { access: "anyone" } }, async (request, reply) => {
    if (!mayRead(request)) throw new AppError("not_found");
    return reply.type(metrics.contentType).send(await metrics.text());
  });
}

/**
 * Whether `Host` is loopback, an address other than the public one, or a name without a dot. A page of the web whose name was made
 * to lead here (DNS rebinding) sends that name.
 */
function isLocalHost(host: string, publicHost: string | null): boolean {
  if (!/^[\w.:[\]-]+$/.test(host) || !URL.canParse(`http://${host}`)) return false;
  const name = unbracketed(new URL(`http://${host}`).hostname.replace(/\.$/, ""));
  if (name === "localhost" || isInside(name, LOOPBACK)) return true;
  return name !== publicHost && (isIP(name) !== 0 || !name.includes("."));
}
