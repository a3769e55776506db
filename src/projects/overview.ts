import { sql } from "kysely";
import { unbracketed } from "#src/kernel/host-port.ts";
import type { Environment, GatewayName } from "#src/kernel/payment.ts";
import type { Db } from "#src/platform/index.ts";
import { findStored } from "./gateway-settings.ts";
import { endpointName, type EndpointScope, openIntegrations, webhookEndpoints } from "./repository.ts";
import type { Vault } from "./vault.ts";

/** What is set up for a project: for whoever checks an installation, not for the payment path. */
export interface ProjectOverview {
  id: string;
  organizationId: string;
  organization: string;
  project: string;
  /** ISO 4217. */
  currency: string;
  archived: boolean;
  /** Gateways with credentials of the project's own. */
  gateways: { gateway: GatewayName; environment: Environment }[];
  webhooks: { scope: EndpointScope; state: "on" | "disabled"; https: boolean; host: string }[];
  /** Service numbers of the project's own, E.164. */
  numbers: string[];
  /** Address ranges of trunks of the project's own. */
  trunks: string[];
}

export async function overviewOf(db: Db): Promise<ProjectOverview[]> {
  const projects = await db
    .selectFrom("projects")
    .innerJoin("organizations", "organizations.id", "projects.organization_id")
    .select([
      "projects.id",
      "organization_id",
      "organizations.slug as organization",
      "projects.slug as project",
      "currency",
      "archived",
      "voice",
    ])
    .orderBy("organizations.slug")
    .orderBy("projects.slug")
    .execute();
  const settings = await db
    .selectFrom("gateway_settings")
    .select(["project_id", "gateway", "environment"])
    .where(sql<number>`length(credentials)`, ">", 0)
    .execute();
  const endpoints = await db
    .selectFrom("webhook_endpoints")
    .select(["project_id", "environment", "url", "disabled_at"])
    .orderBy("environment")
    .execute();
  const numbers = await db.selectFrom("phone_numbers").selectAll().orderBy("number").execute();
  return projects.map(({ id, organization_id: organizationId, organization, project, currency, archived, voice }) => ({
    id,
    organizationId,
    organization,
    project,
    currency,
    archived,
    gateways: settings
      .filter((row) => row.project_id === id)
      .map(({ gateway, environment }) => ({ gateway, environment }))
      .sort((a, b) => `${a.gateway} ${a.environment}`.localeCompare(`${b.gateway} ${b.environment}`)),
    webhooks: endpoints
      .filter((row) => row.project_id === id)
      .map(({ environment: scope, url, disabled_at }) => ({
        scope,
        state: disabled_at === null ? "on" : "disabled",
        https: url.startsWith("https:"),
        host: unbracketed(new URL(url).hostname),
      })),
    numbers: numbers.filter((row) => row.project_id === id).map(({ number }) => number),
    trunks: (voice as { trunks?: string[] }).trunks ?? [],
  }));
}

/** Opens everything that is sealed and names what the master key in force does not open. Nothing opened is kept. */
export async function unopenedSecrets(db: Db, vault: Vault): Promise<{ opened: number; failed: string[] }> {
  const report = { opened: 0, failed: [] as string[] };
  const tryOpen = async (name: string, open: () => unknown) => {
    try {
      await open();
      report.opened++;
    } catch {
      report.failed.push(name);
    }
  };
  const projects = await db.selectFrom("projects").select(["id", "slug", "organization_id", "integrations"]).orderBy("slug").execute();
  for (const project of projects) {
    const { sealed } = project.integrations as { sealed?: string };
    if (sealed !== undefined) await tryOpen(`integrations of ${project.slug}`, () => openIntegrations(vault, project));
  }
  const named = new Map(projects.map(({ id, slug, organization_id }) => [id, { slug, organizationId: organization_id }]));
  for (const { project_id, environment } of await db.selectFrom("webhook_endpoints").select(["project_id", "environment"]).execute()) {
    await tryOpen(`${endpointName(environment)} of ${named.get(project_id)?.slug ?? project_id}`, () =>
      webhookEndpoints(db, vault, project_id, [environment]),
    );
  }
  const settings = await db.selectFrom("gateway_settings").select(["project_id", "gateway", "environment"]).execute();
  for (const { project_id: projectId, gateway, environment } of settings) {
    const project = named.get(projectId);
    if (!project) continue;
    const key = { projectId, organizationId: project.organizationId, gateway, environment };
    await tryOpen(`gateway ${gateway} (${environment}) of ${project.slug}`, () => findStored(db, vault, key));
  }
  return report;
}
