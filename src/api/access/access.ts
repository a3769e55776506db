import { hash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError, ERRORS } from "#src/kernel/errors.ts";
import { ttlCached } from "#src/platform/index.ts";
import type { ApiKeyIdentity } from "#src/projects/index.ts";
import type { ApiDeps } from "../deps.ts";
import { SecretBody } from "../secret-body.ts";
import type { TrafficAudit } from "../traffic-audit.ts";
import { bearerKey, platformKey } from "./bearer.ts";
import { type Client, clientReader } from "./client-address.ts";
import { memoryCounter } from "./memory-counter.ts";
import { createRateLimiter, type RateLimiter } from "./rate-limit.ts";
import { databaseCounter } from "./database-counter.ts";
import { writeBehind } from "./write-behind.ts";

export type Scope = "sessions:create" | "sessions:read" | "sessions:cancel" | "widget:create" | "projects:read" | "integrations:use";

/** A voice platform's requests: their key may stand in the address, and who may create sessions may create them so too. */
const PLATFORMS: Scope = "integrations:use";
const OPENED_BY: Readonly<Partial<Record<Scope, readonly Scope[]>>> = { [PLATFORMS]: ["sessions:create"] };
/** Events that need no answer come by the dozen in each call: they are counted apart from tool calls, which their handler counts. */
const EVENTS_PER_TOOL_CALL = 30;

declare module "fastify" {
  interface FastifyContextConfig {
    /** Who may come in: anyone, not even counted; a browser without a key, counted; any key; or a key with this scope. */
    access?: "anyone" | "browser" | "any key" | Scope;
    /** Requests a minute from one address, where it is not the setting's. */
    perMinute?: number;
  }
  interface FastifyRequest {
    /** Whose request it is. Set on every route that asks for a key. */
    identity: ApiKeyIdentity;
    /** Where it came from. Set on every route but those for anyone. */
    client: Client;
  }
}

const MAX_URL_LENGTH = 8 * 1024;
const MAX_HEADERS = 100;
const HEADER_BYTES = 16 * 1024;
const TELL_EVERY_MS = 60_000;
const HSTS_SECONDS = 365 * 24 * 3600;

/**
 * Everything that is decided before a body is read, in the order of R-045: size of the head, encryption, rate limit, path
 * and method, key, scope.
 */
export function registerAccess(app: FastifyInstance, deps: ApiDeps, traffic: TrafficAudit): RateLimiter {
  const { settings, database, projects, clock, log } = deps;
  const clientOf = clientReader(settings.trustedProxies);
  const secure = settings.baseUrl.startsWith("https:");
  const limiter = limiterFor(deps);
  const allowedMethods = methodTable(app);
  // By digest, so that no key outlives its request in this process's memory.
  const authenticate = ttlCached(
    clock,
    (token: string) => hash("sha256", token, "base64"),
    (token: string) => projects.authenticate(database.db, token),
  );
  let toldAt = -Infinity;
  /** Says that a peer claims to have ended TLS and is not believed: its address is missing in the settings, or it is nobody we know. */
  const tellOfProxy = (client: Client) => {
    if (clock.monotonic() - toldAt < TELL_EVERY_MS) return;
    toldAt = clock.monotonic();
    log.warn("proxy_not_trusted", { host: client.address() });
  };
  app.decorateRequest("identity");
  app.decorateRequest("client");
  app.decorateRequest("secretBody");
  app.addHook("onClose", () => limiter.stop());

  app.addHook("onRequest", async (request, reply) => {
    const { access, perMinute, secretBodyBytes } = request.routeOptions.config;
    if (secretBodyBytes !== undefined) request.secretBody = new SecretBody(request.raw, secretBodyBytes);
    reply.header("x-request-id", request.id).header("cache-control", "no-store").header("x-content-type-options", "nosniff");
    if (secure) reply.header("strict-transport-security", `max-age=${HSTS_SECONDS}`);
    checkHead(request);

    if (access === "anyone") return undefined;
    const client = (request.client = clientOf(request.raw));
    if (secure && !client.https) {
      if (request.headers["x-forwarded-proto"] === "https") tellOfProxy(client);
      return insistOnHttps(request, reply, settings.baseUrl);
    }
    const { url } = request.routeOptions;
    if (access === PLATFORMS) {
      await authorizePlatform(request, reply, client);
      return undefined;
    }
    await limiter.request(url === undefined ? "*" : `${request.method} ${url}`, client.key, reply, perMinute);
    if (request.is404) refuseUnknown(request, reply, allowedMethods);
    if (access !== "browser") await authorize(request, reply, client, access);
    return undefined;
  });

  /** Counted by the key: a platform sends the calls of all merchants from one address. */
  async function authorizePlatform(request: FastifyRequest, reply: FastifyReply, client: Client): Promise<void> {
    const identity = await authenticated(request, reply, client, platformKey);
    const limit = settings.rateLimitPerMinute * EVENTS_PER_TOOL_CALL;
    await limiter.request(`${request.method} ${request.routeOptions.url ?? "*"} events`, `key ${identity.keyId}`, reply, limit);
    checkScope(identity, PLATFORMS);
    request.identity = identity;
  }

  async function authorize(
    request: FastifyRequest,
    reply: FastifyReply,
    client: Client,
    access: "any key" | Scope | undefined,
  ): Promise<void> {
    const identity = await authenticated(request, reply, client, ({ raw }) => bearerKey(raw));
    if (access !== "any key") checkScope(identity, access);
    request.identity = identity;
  }

  async function authenticated(
    request: FastifyRequest,
    reply: FastifyReply,
    client: Client,
    keyOf: (request: FastifyRequest) => string,
  ): Promise<ApiKeyIdentity> {
    try {
      const identity = await authenticate(keyOf(request));
      if (identity) return identity;
      throw new AppError("invalid_key");
    } catch (error) {
      if (error instanceof AppError && error.code === "invalid_key") {
        traffic.keyRefused(client);
        await limiter.wrongKey(client.key, reply);
      }
      throw error;
    }
  }
  return limiter;
}

function checkScope({ scopes }: ApiKeyIdentity, needed: Scope | undefined): void {
  const opening = needed ? [needed, ...(OPENED_BY[needed] ?? [])] : [];
  if (!opening.some((scope) => scopes.includes(scope)))
    throw new AppError("missing_scope", `${ERRORS.missing_scope.detail} ${needed ?? ""}`.trim());
}

function limiterFor({ settings, database, clock, rateCounter: given }: ApiDeps): RateLimiter {
  // The embedded database serves one process only: what is counted there need not be shared.
  const shared = given ?? (database.kind === "postgres" ? databaseCounter(database, clock) : null);
  const counter = shared ? writeBehind(shared, clock) : memoryCounter(clock);
  return createRateLimiter({ perMinute: settings.rateLimitPerMinute, counter, clock });
}

/** What two servers in a row could read differently, and what is too large. */
function checkHead({ raw }: FastifyRequest): void {
  const coding = raw.headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") throw new AppError("bad_request");
  const hosts = raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length;
  if (hosts > 1 || (hosts === 0 && raw.httpVersion === "1.1")) throw new AppError("bad_request");
  if ((raw.url?.length ?? 0) > MAX_URL_LENGTH) throw new AppError("uri_too_long");
  const { rawHeaders } = raw;
  if (rawHeaders.length > 2 * MAX_HEADERS) throw new AppError("headers_too_large");
  let bytes = 0;
  for (const part of rawHeaders) bytes += part.length + 2;
  if (bytes > HEADER_BYTES) throw new AppError("headers_too_large");
}

/** A key that was sent in clear is not used, and a read is told where to go. */
function insistOnHttps(request: FastifyRequest, reply: FastifyReply, baseUrl: string): FastifyReply {
  if (request.method !== "GET") throw new AppError("https_required");
  return reply
    .code(308)
    .header("location", `${baseUrl.replace(/\/$/, "")}${request.url}`)
    .send({ detail: ERRORS.https_required.detail });
}

/** 404, or 405 with the methods that the path has. */
function refuseUnknown(request: FastifyRequest, reply: FastifyReply, methodsOf: (path: string) => string[]): never {
  const methods = methodsOf(request.url.split("?", 1)[0]!);
  if (methods.length === 0) throw new AppError("not_found");
  reply.header("allow", methods.join(", "));
  throw new AppError("method_not_allowed");
}

/** Learns each route as it is registered; returns the methods that a path has. */
function methodTable(app: FastifyInstance): (path: string) => string[] {
  const routes: { pattern: RegExp; methods: string[] }[] = [];
  app.addHook("onRoute", ({ url, method }) => {
    const source = url.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replace(/:[a-z_]+/g, "[^/]+");
    routes.push({ pattern: new RegExp(`^${source}/?$`), methods: [method].flat() });
  });
  return (path) =>
    routes
      .filter(({ pattern }) => pattern.test(path))
      .flatMap(({ methods }) => methods)
      .sort();
}
