import type { FastifyInstance } from "fastify";
import { AppError } from "#src/kernel/errors.ts";
import type { Session } from "#src/sessions/index.ts";
import { registerCreation } from "../creation-route.ts";
import type { ApiDeps } from "../deps.ts";
import { detailView } from "../presenter.ts";
import { createQuery, findQuery, sessionCreate, sessionPath } from "../schemas/session.ts";
import { parse } from "../schemas/validate.ts";
import type { TrafficAudit } from "../traffic-audit.ts";
import { sessionCreation } from "../session-creation.ts";

/** /v1/sessions and below, but for the stream (docs/interface.md, Endpoints). */
export function registerSessions(app: FastifyInstance, deps: ApiDeps, traffic: TrafficAudit): void {
  const { database, sessions, projects, widget } = deps;
  const view = (session: Session) => detailView(session, sessions.stepOf(session), widget?.linkFor(session));
  registerCreation(app, deps, traffic, {
    path: "/v1/sessions",
    access: "sessions:create",
    body: sessionCreate,
    create: sessionCreation(deps),
    statusFor: (query) => parse(createQuery, query, "query").response_status ?? 201,
  });

  app.get("/v1/sessions", { config: { access: "sessions:read" } }, async (request) => {
    const { caller, project: idOrSlug } = parse(findQuery, request.query, "query");
    const { organizationId, mode: environment } = request.identity;
    const project = idOrSlug === undefined ? null : await projects.findProject(database.db, organizationId, idOrSlug);
    if (idOrSlug !== undefined && !project) throw new AppError("project_not_found");
    return view(found(await sessions.findByCaller(database.db, { organizationId, environment }, caller, project?.id)));
  });

  app.get("/v1/sessions/:session_id", { config: { access: "sessions:read" } }, async (request) => {
    const { session_id: id } = parse(sessionPath, request.params, "path");
    const { organizationId, mode: environment } = request.identity;
    return view(found(await sessions.find(database.db, id, { organizationId, environment })));
  });

  app.post("/v1/sessions/:session_id/cancel", { config: { access: "sessions:cancel" } }, async (request, reply) => {
    const { session_id: id } = parse(sessionPath, request.params, "path");
    const { organizationId, mode: environment, keyId } = request.identity;
    const result = await sessions.cancel(id, { organizationId, environment }, `key:${keyId}`, request.client.address());
    if (result.kind === "cancelled") return reply.code(204).send();
    if (result.kind === "missing") throw new AppError("session_not_found");
    if (result.phase !== null) throw new AppError("payment_in_progress");
    throw new AppError("session_not_cancellable", `Session cannot be cancelled (status: ${result.status})`);
  });
}

function found(session: Session | null): Session {
  if (!session) throw new AppError("session_not_found");
  return session;
}
