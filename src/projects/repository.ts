import { parseUuid } from "#src/kernel/ids.ts";
import type { CardBrand } from "#src/kernel/card.ts";
import type { Environment } from "#src/kernel/payment.ts";
import { Secret } from "#src/kernel/secret.ts";
import { sql, type Selectable } from "kysely";
import { audit, type Db, type Place, statement, type Tables } from "#src/platform/index.ts";
import { readVoice, readWidget, type VoiceSettings, type WidgetSettings } from "./settings.ts";
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
  /** Brands of cards that are taken, in a call and in the card form; empty: whatever the gateway takes. */
  acceptedBrands: readonly CardBrand[];
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

const ofCall = statement<Selectable<Tables["projects"]> & { number: string | null }>(
  "project_of_call",
  `(select projects.*, phone_numbers.number from phone_numbers join projects on projects.id = phone_numbers.project_id
    where phone_numbers.number = any($1::text[]) and not projects.archived
    order by array_position($1::text[], phone_numbers.number) limit 1)
  union all
  (select projects.*, null from projects
    where projects.voice ? 'trunks' and not projects.archived and exists (
      select from jsonb_array_elements_text(projects.voice -> 'trunks') as range where range::inet >>= $2::inet
    ) limit 2)`,
);

/**
 * The project that a call names, by one of the service numbers (E.164, the first counts) or else by the IP address that it came from: that of the
 * one project that has the trunk for its own. `number`: which it was by.
 */
export async function projectOfCall(
  db: Db,
  numbers: readonly string[],
  address: string,
): Promise<{ project: Project; number: string | null } | null> {
  const [unscoped = ""] = address.split("%");
  const rows = await ofCall(db, numbers, unscoped);
  const byNumber = rows.find(({ number }) => number !== null);
  // A trunk that two projects have names neither.
  const row = byNumber ?? (rows.length === 1 ? rows[0] : undefined);
  return row ? { project: toProject(row), number: row.number } : null;
}

/** What callers hear of one project alone; projects that say the same are one. */
export interface Speaking {
  /** BCP 47. */
  language: string;
  merchant: string | null;
  acceptedBrands: readonly CardBrand[];
  wordings: VoiceSettings["prompts"];
}

/** What callers hear of every project that is not archived. */
export async function speaking(db: Db): Promise<Speaking[]> {
  const rows = await db
    .selectFrom("projects")
    .select(["language", "accepted_brands", sql`voice -> 'name'`.as("name"), sql`voice -> 'prompts'`.as("prompts")])
    .distinct()
    .where("archived", "=", false)
    .execute();
  return rows.map(({ language, accepted_brands: acceptedBrands, name, prompts }) => {
    const voice = readVoice({ name: name ?? undefined, prompts: prompts ?? undefined });
    return { language, merchant: voice.name, acceptedBrands: acceptedBrands as CardBrand[], wordings: voice.prompts };
  });
}

/** A recording's sound, whichever project's it is: the digest is of the sound alone. */
export async function recording(db: Db, digest: string): Promise<Uint8Array | null> {
  const row = await db.selectFrom("recordings").select("ulaw").where("digest", "=", digest).limit(1).executeTakeFirst();
  return row?.ulaw ?? null;
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

/**
 * Stops deliveries until the endpoint is applied again or an event of it is resent: the receiver at `url` answered 410. False
 * when the endpoint is at another address by now.
 */
export async function disableWebhookEndpoint(db: Db, projectId: string, environment: Environment, url: string): Promise<boolean> {
  const asked = await db
    .selectFrom("webhook_endpoints")
    .select(["environment", "disabled_at"])
    .where("project_id", "=", projectId)
    .where("environment", "in", ["both", environment])
    .where("url", "=", url)
    .forUpdate()
    .executeTakeFirst();
  if (!asked || asked.disabled_at) return asked !== undefined;
  await db
    .updateTable("webhook_endpoints")
    .set({ disabled_at: sql<Date>`clock_timestamp()` })
    .where("project_id", "=", projectId)
    .where("environment", "=", asked.environment)
    .execute();
  await auditEndpoint(db, projectId, "service", "disabled");
  return true;
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
interface StoredIntegrations {
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

/** A project from its row as PostgreSQL tells it in JSON. */
export function projectFromJson(json: Readonly<Record<string, unknown>>): Project {
  return toProject({ ...json, created_at: new Date(json["created_at"] as string) } as Selectable<Tables["projects"]>);
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
    acceptedBrands: row.accepted_brands as CardBrand[],
    voice: readVoice(row.voice),
    widget: readWidget(row.widget),
    createdAt: row.created_at,
  };
}
