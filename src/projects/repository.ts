import { parseUuid } from "#src/kernel/ids.ts";
import type { Environment } from "#src/kernel/payment.ts";
import { Secret } from "#src/kernel/secret.ts";
import { sql } from "kysely";
import { audit, type Db, type Place, type Tables } from "#src/platform/index.ts";
import type { Selectable } from "kysely";
import { readVoice, readWidget } from "./settings.ts";
import type { VoiceSettings, WidgetSettings } from "./settings.ts";
import type { Vault } from "./vault.ts";

export interface Project {
  id: string;
  organizationId: string;
  slug: string;
  name: string;
  /** ISO 4217, upper case. */
  currency: string;
  /** BCP 47, such as en-US. */
  language: string;
  /** ISO 3166-1 alpha-2: how national numbers are read, and where callbacks may go by default. */
  country: string;
  archived: boolean;
  voice: VoiceSettings;
  widget: WidgetSettings;
  createdAt: Date;
}

/** Optional signature secrets of the voice platforms. */
export interface IntegrationSecrets {
  alpha: Secret | null;
  beta: Secret | null;
}

/** Whose sessions an endpoint is told of: a project has one endpoint for both environments, or one for each. */
export type EndpointScope = Environment | "both";

export interface WebhookEndpoint {
  url: string;
  /** One, or the new and the old one while the secret is rolled. */
  secrets: readonly Secret[];
  amountUnit: "dollars" | "cents";
  disabledAt: Date | null;
}

/** A project of the organisation by its UUID (any case) or slug; archived ones do not exist for the outside. */
export async function findProject(db: Db, organizationId: string, idOrSlug: string): Promise<Project | null> {
  const id = parseUuid(idOrSlug);
  const row = await db
    .selectFrom("projects")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("archived", "=", false)
    .where(id ? "id" : "slug", "=", id ?? idOrSlug)
    .executeTakeFirst();
  return row ? toProject(row) : null;
}

/** The organisation's projects in the order they were made, archived ones left out. */
export async function listProjects(db: Db, organizationId: string): Promise<Project[]> {
  const rows = await db
    .selectFrom("projects")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("archived", "=", false)
    .orderBy("created_at")
    .orderBy("id")
    .execute();
  return rows.map(toProject);
}

/** Any project, archived or not: a session under way keeps its project. */
export async function projectById(db: Db, id: string): Promise<Project | null> {
  const row = await db.selectFrom("projects").selectAll().where("id", "=", id).executeTakeFirst();
  return row ? toProject(row) : null;
}

/** Whose service number this is, E.164. */
export async function projectOfNumber(db: Db, number: string): Promise<Project | null> {
  const row = await db
    .selectFrom("projects")
    .innerJoin("phone_numbers", "phone_numbers.project_id", "projects.id")
    .selectAll("projects")
    .where("phone_numbers.number", "=", number)
    .where("archived", "=", false)
    .executeTakeFirst();
  return row ? toProject(row) : null;
}

/** Whose trunk a call from this IP address came by; null when it is no project's own, or several projects'. */
export async function projectOfTrunk(db: Db, address: string): Promise<Project | null> {
  const [unscoped = ""] = address.split("%");
  const ranges = sql`jsonb_array_elements_text(coalesce(projects.voice -> 'trunks', '[]'))`;
  const rows = await db
    .selectFrom("projects")
    .selectAll()
    .where("archived", "=", false)
    .where(sql<boolean>`exists (select from ${ranges} as range where range::inet >>= ${unscoped}::inet)`)
    .limit(2)
    .execute();
  return rows.length === 1 ? toProject(rows[0]!) : null;
}

export async function numbersOf(db: Db, projectId: string): Promise<string[]> {
  const rows = await db.selectFrom("phone_numbers").select("number").where("project_id", "=", projectId).orderBy("number").execute();
  return rows.map((row) => row.number);
}

/** The countries that most projects have: how a national number may be meant when nothing names the project. */
export async function countries(db: Db, limit: number): Promise<string[]> {
  const query = db.selectFrom("projects").select("country").where("archived", "=", false).groupBy("country");
  const rows = await query
    .orderBy(sql`count(*)`, "desc")
    .orderBy("country")
    .limit(limit)
    .execute();
  return rows.map((row) => row.country);
}

export const endpointPlace = (projectId: string, organizationId: string, environment: EndpointScope): Place => ({
  table: "webhook_endpoints",
  column: "secrets",
  row: projectId,
  organizationId,
  environment,
});

/** As reports and the audit log name it. */
export const endpointName = (scope: EndpointScope) => (scope === "both" ? "status webhook" : `status webhook (${scope})`);

/** The project's endpoints of these scopes, opened. */
export async function webhookEndpoints(
  db: Db,
  vault: Vault,
  projectId: string,
  scopes: readonly EndpointScope[] = ["both", "test", "live"],
): Promise<Partial<Record<EndpointScope, WebhookEndpoint>>> {
  const rows = await db
    .selectFrom("webhook_endpoints")
    .innerJoin("projects", "projects.id", "webhook_endpoints.project_id")
    .select(["environment", "url", "secrets", "amount_unit", "disabled_at", "organization_id"])
    .where("project_id", "=", projectId)
    .where("environment", "in", scopes)
    .execute();
  const opened = rows.map((row): [EndpointScope, WebhookEndpoint] => {
    const secrets = vault.open(endpointPlace(projectId, row.organization_id, row.environment), row.secrets) as string[];
    return [
      row.environment,
      {
        url: row.url,
        secrets: secrets.map((secret) => new Secret(secret)),
        amountUnit: row.amount_unit,
        disabledAt: row.disabled_at,
      },
    ];
  });
  return Object.fromEntries(opened);
}

/** The endpoint that is told of the project's sessions of this environment. */
export async function webhookEndpoint(db: Db, vault: Vault, projectId: string, environment: Environment): Promise<WebhookEndpoint | null> {
  const { both, [environment]: own } = await webhookEndpoints(db, vault, projectId, ["both", environment]);
  return both ?? own ?? null;
}

/** Stops deliveries until the endpoint is applied again or an event of it is resent: the receiver answered 410. */
export async function disableWebhookEndpoint(db: Db, projectId: string, environment: Environment): Promise<void> {
  const stopped = await db
    .updateTable("webhook_endpoints")
    .set({ disabled_at: sql<Date>`clock_timestamp()` })
    .where("project_id", "=", projectId)
    .where("environment", "in", ["both", environment])
    .where("disabled_at", "is", null)
    .returning("project_id")
    .execute();
  if (stopped.length > 0) await auditEndpoint(db, projectId, "service", "disabled");
}

export async function enableWebhookEndpoint(db: Db, projectId: string, environment: Environment): Promise<void> {
  const started = await db
    .updateTable("webhook_endpoints")
    .set({ disabled_at: null })
    .where("project_id", "=", projectId)
    .where("environment", "in", ["both", environment])
    .where("disabled_at", "is not", null)
    .returning("project_id")
    .execute();
  if (started.length > 0) await auditEndpoint(db, projectId, "operator", "enabled");
}

async function auditEndpoint(db: Db, projectId: string, actor: string, action: "enabled" | "disabled"): Promise<void> {
  await audit(db, { actor, action: `webhook.${action}`, object: `status webhook of project ${projectId}` });
}

export const integrationsPlace = (projectId: string, organizationId: string): Place => ({
  table: "projects",
  column: "integrations",
  row: projectId,
  organizationId,
  environment: "both",
});

/** The `integrations` block as it is sealed: field names of the apply file. */
export interface StoredIntegrations {
  alpha?: { secret?: string };
  beta?: { api_key?: string };
}

/** Opens the column: `{"sealed": "<base64>"}`, or `{}` when nothing was ever written. */
export function openIntegrations(
  vault: Vault,
  project: { id: string; organization_id: string; integrations: unknown },
): StoredIntegrations {
  const { sealed } = project.integrations as { sealed?: string };
  if (sealed === undefined) return {};
  return vault.open(integrationsPlace(project.id, project.organization_id), Buffer.from(sealed, "base64")) as StoredIntegrations;
}

export async function integrationSecrets(db: Db, vault: Vault, projectId: string): Promise<IntegrationSecrets> {
  const row = await db
    .selectFrom("projects")
    .select(["id", "organization_id", "integrations"])
    .where("id", "=", projectId)
    .executeTakeFirst();
  const { alpha, beta } = row ? openIntegrations(vault, row) : {};
  return {
    alpha: alpha?.secret === undefined ? null : new Secret(alpha.secret),
    beta: beta?.api_key === undefined ? null : new Secret(beta.api_key),
  };
}

function toProject(row: Selectable<Tables["projects"]>): Project {
  return {
    id: row.id,
    organizationId: row.organization_id,
    slug: row.slug,
    name: row.name,
    currency: row.currency,
    language: row.language,
    country: row.country,
    archived: row.archived,
    voice: readVoice(row.voice),
    widget: readWidget(row.widget),
    createdAt: row.created_at,
  };
}
