import type { FastifyInstance } from "fastify";
import type { ApiDeps } from "../deps.ts";

/** What a key can learn about itself and its organisation (docs/interface.md, Other endpoints). */
export function registerAccount(app: FastifyInstance, { database, projects }: ApiDeps): void {
  app.get("/v1/auth/check", { config: { access: "any key" } }, async ({ identity }, reply) => {
    // In a header: the body has these four fields and no other.
    reply.header("api-key-scopes", identity.scopes.join(", "));
    return {
      authenticated: true,
      org_id: identity.organizationId,
      mode: identity.mode,
      message: "API key is valid",
    };
  });

  app.get("/v1/projects", { config: { access: "projects:read" } }, async ({ identity }) => {
    const list = await projects.list(database.db, identity.organizationId);
    const ids = list.map(({ id }) => id);
    const gateways = await projects.configuredGateways(database.db, ids, identity.mode);
    return list.map(({ id, slug, name, currency, createdAt }) => ({
      id,
      slug,
      name,
      currency,
      gateways: gateways.get(id) ?? [],
      created_at: createdAt.toISOString(),
    }));
  });
}
