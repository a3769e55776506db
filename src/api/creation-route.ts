import type { FastifyInstance } from "fastify";
import type { z } from "zod";
import type { ApiKeyIdentity } from "#src/projects/index.ts";
import { readJson } from "./body.ts";
import type { ApiDeps } from "./deps.ts";
import { type Creation, createIdempotency, idempotencyHeaders } from "./idempotency.ts";
import type { TrafficAudit } from "./traffic-audit.ts";
import { parse, parseAll } from "./schemas/validate.ts";

interface CreationRoute<Body> {
  path: "/v1/sessions" | "/v1/widget-sessions";
  access: "sessions:create" | "widget:create";
  body: z.ZodType<Body>;
  create(identity: ApiKeyIdentity, body: Body): Promise<Creation>;
  /** The status that tells of a session made; throws Invalid for a query that it cannot mean. */
  statusFor?(query: unknown): number;
}

/** A POST that makes a session, once for an Idempotency-Key. */
export function registerCreation<Body>(app: FastifyInstance, deps: ApiDeps, traffic: TrafficAudit, route: CreationRoute<Body>): void {
  const idempotency = createIdempotency(deps.database, deps.sessions, deps.clock);

  app.post(route.path, { config: { access: route.access } }, async (request, reply) => {
    const [status, headers, { body, sent }] = await parseAll(
      () => route.statusFor?.(request.query) ?? 201,
      () => parse(idempotencyHeaders, request.headers, "header"),
      async () => {
        const sent = await readJson(request, reply);
        return { body: parse(route.body, sent, "body"), sent };
      },
    );
    const creationRequest = { apiKeyId: request.identity.keyId, path: route.path, key: headers["idempotency-key"], body: sent, status };
    const response = await idempotency.create(creationRequest, () => route.create(request.identity, body));
    if (response.replayed) reply.header("idempotent-replayed", "true");
    else traffic.sessionCreated(request.identity, request.client, () => (JSON.parse(response.text) as { session_id: string }).session_id);
    return reply.code(response.status).type("application/json; charset=utf-8").send(response.text);
  });
}
