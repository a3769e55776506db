import type { Server } from "node:http";
import type { Socket } from "node:net";
import fastify, { type FastifyInstance } from "fastify";
import { ERRORS, type ErrorCode } from "#src/kernel/errors.ts";
import type { ApiDeps } from "./deps.ts";
import { registerErrors } from "./errors.ts";
import { registerAccess } from "./access/access.ts";
import { registerAccount } from "./routes/account.ts";
import { registerDescription } from "./routes/description.ts";
import { registerHealth } from "./routes/health.ts";
import { registerMetrics } from "./routes/metrics.ts";
import { registerSessions } from "./routes/sessions.ts";
import { registerStream } from "./routes/stream.ts";
import { registerWidgetSessions } from "./routes/widget-sessions.ts";

/** Room for the longest request line and the longest header section together; which of them is too long is told apart later. */
const HEAD_BYTES = 24 * 1024;
const MAX_LINE_BYTES = 8 * 1024;
/** How long a client may take to send a head, and a whole request (E10). */
const HEAD_MS = 10_000;
const WHOLE_REQUEST_MS = 15_000;

/** The HTTP interface. Binding it to an address is its caller's business; `close` ends the open streams first. */
export function createApi(deps: ApiDeps): FastifyInstance {
  const app = fastify({
    genReqId: () => deps.random.uuid(),
    requestIdHeader: false,
    exposeHeadRoutes: false,
    rewriteUrl: ({ url }) => routable(url ?? "/"),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_LINE_BYTES },
    requestTimeout: WHOLE_REQUEST_MS,
    keepAliveTimeout: 65_000,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    http: { maxHeaderSize: HEAD_BYTES, headersTimeout: HEAD_MS, connectionsCheckingInterval: 2_000 },
    clientErrorHandler: answerParserError,
  });
  // Routes read the bodies they want by themselves (body.ts): nothing of one is read before the key was checked.
  app.addHttpMethod("POST", { hasBody: false, overrideExisting: true });
  askBeforeReading(app.server);

  registerErrors(app, deps);
  registerAccess(app, deps);
  if (deps.observe) observeWith(app, deps.observe);
  registerDescription(app);
  registerHealth(app, deps);
  registerMetrics(app, deps);
  registerAccount(app, deps);
  registerSessions(app, deps);
  registerStream(app, deps);
  if (deps.widget) registerWidgetSessions(app, deps, deps.widget);
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

/** `100 Continue` is sent by whoever reads the body, not before the key was checked. */
function askBeforeReading(server: Server): void {
  server.on("checkContinue", (request, response) => server.emit("request", request, response));
}

function observeWith(app: FastifyInstance, observe: NonNullable<ApiDeps["observe"]>): void {
  app.addHook("onResponse", async ({ method, routeOptions }, reply) => {
    observe(`${method} ${routeOptions.url ?? "*"}`, reply.statusCode, reply.elapsedTime / 1000);
  });
}

const REASONS: Record<number, string> = {
  400: "Bad Request",
  408: "Request Timeout",
  414: "URI Too Long",
  431: "Request Header Fields Too Large",
};

/** Answers what is not HTTP, by hand: there is no request yet to answer with Fastify. */
function answerParserError(error: Error & { code?: string; rawPacket?: unknown }, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) return void socket.destroy();
  const status = error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : ERRORS[parserFault(error)].status;
  const body = JSON.stringify({ detail: REASONS[status] });
  socket.end(
    `HTTP/1.1 ${status} ${REASONS[status]}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}

function parserFault({ code, rawPacket }: { code?: string; rawPacket?: unknown }): ErrorCode {
  if (code !== "HPE_HEADER_OVERFLOW") return "bad_request";
  const line = Buffer.isBuffer(rawPacket) ? rawPacket.indexOf("\n") : 0;
  return line === -1 || line > MAX_LINE_BYTES ? "uri_too_long" : "headers_too_large";
}
