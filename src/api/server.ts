import type { Server } from "node:http";
import type { Socket } from "node:net";
import fastify, { type FastifyInstance } from "fastify";
import { crashPoint } from "#src/kernel/crash-points.ts";
import { AppError } from "#src/kernel/errors.ts";
import { connectionKeyReader } from "./access/client-address.ts";
import { CONNECTION_LIMITS, type ConnectionLimits, limitConnections, refuseConnection } from "./connections.ts";
import type { ApiDeps, StatusDeps } from "./deps.ts";
import { registerErrors } from "./errors.ts";
import { registerAccess } from "./access/access.ts";
import { readIntoOwnBuffer } from "./read-buffer.ts";
import { createTrafficAudit } from "./traffic-audit.ts";
import { registerAccount } from "./routes/account.ts";
import { registerDescription } from "./routes/description.ts";
import { registerHealth } from "./routes/health.ts";
import { registerIntegrations } from "./routes/integrations.ts";
import { registerMetrics } from "./routes/metrics.ts";
import { registerSessions } from "./routes/sessions.ts";
import { registerStream } from "./routes/stream.ts";
import { registerWidgetSessions } from "./routes/widget-sessions.ts";

/** Room for the longest request line and the longest header section together; which of them is too long is told apart later. */
const HEAD_BYTES = 24 * 1024;
const MAX_PARAMETER_BYTES = 8 * 1024;
/** How often connections that are too slow are looked for. */
const CHECK_MS = 500;

/** What a process tells of itself: health and metrics, nothing else. For processes without the HTTP interface. */
export function createStatusServer(deps: StatusDeps): FastifyInstance {
  const app = newServer(deps);
  app.setNotFoundHandler(() => {
    throw new AppError("not_found");
  });
  registerHealth(app, deps);
  registerMetrics(app, deps);
  return app;
}

/** The HTTP interface. Binding it to an address is its caller's business; `close` ends the open streams first. */
export function createApi(deps: ApiDeps): FastifyInstance {
  const app = newServer(deps);
  const traffic = createTrafficAudit(deps);
  app.addHook("onClose", () => traffic.close());
  const limiter = registerAccess(app, deps, traffic);
  if (deps.observe) observeWith(app, deps.observe);
  app.addHook("onSend", (request, _reply, payload, done) => {
    if (request.method !== "GET") crashPoint("answer_unsent");
    done(null, payload);
  });
  registerDescription(app, deps);
  registerHealth(app, deps);
  registerMetrics(app, deps);
  registerAccount(app, deps);
  registerSessions(app, deps, traffic);
  registerStream(app, deps);
  registerIntegrations(app, deps, traffic, limiter);
  if (deps.widget) registerWidgetSessions(app, deps, traffic, deps.widget);
  return app;
}

/** A listener that bounds what any client can take, and answers faults in the words of the interface. */
function newServer({ settings, clock, log, random }: StatusDeps): FastifyInstance {
  const limits: ConnectionLimits = { ...CONNECTION_LIMITS, ...settings.connections };
  const app = fastify({
    genReqId: () => random.uuid(),
    requestIdHeader: false,
    exposeHeadRoutes: false,
    rewriteUrl: ({ url }) => routable(url ?? "/"),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAMETER_BYTES },
    requestTimeout: limits.wholeRequestMs,
    connectionTimeout: limits.stalledMs,
    keepAliveTimeout: 65_000,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    http: {
      requireHostHeader: false,
      maxHeaderSize: HEAD_BYTES,
      headersTimeout: limits.headMs,
      connectionsCheckingInterval: Math.min(CHECK_MS, limits.headMs),
    },
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, limits, clock),
  });
  // Routes read the bodies they want by themselves (body.ts): nothing of one is read before the key was checked.
  app.addHttpMethod("POST", { hasBody: false, overrideExisting: true });
  askBeforeReading(app.server);
  // Node drops such a connection unanswered otherwise.
  app.server.on("connect", (_request, socket: Socket) => refuseConnection(new Error("CONNECT"), socket, limits, clock));
  readIntoOwnBuffer(app.server);
  const perAddress = settings.rateLimitPerMinute === 0 ? Infinity : limits.perAddress;
  limitConnections(app.server, { ...limits, perAddress }, connectionKeyReader(settings.trustedProxies), clock, log);

  registerErrors(app, { log, clock });
  return app;
}

/** A path that cannot be decoded is taken as it is written: it then fits no route, or fails as the id it should have been. */
function routable(url: string): string {
  if (!url.includes("%")) return url;
  const [path = "", ...query] = url.split("?");
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return [path.replaceAll("%", "%25"), ...query].join("?");
  }
}

/**
 * `100 Continue` is sent by whoever reads the body, not before the key was checked. Other expectations are passed over
 * (RFC 9110 section 10.1.1): Node answers them with no word.
 */
function askBeforeReading(server: Server): void {
  for (const event of ["checkContinue", "checkExpectation"] as const)
    server.on(event, (request, response) => server.emit("request", request, response));
}

function observeWith(app: FastifyInstance, observe: NonNullable<ApiDeps["observe"]>): void {
  app.addHook("onResponse", async ({ method, routeOptions }, reply) => {
    observe(`${method} ${routeOptions.url ?? "*"}`, reply.statusCode, reply.elapsedTime / 1000);
  });
}
