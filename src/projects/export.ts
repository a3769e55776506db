import type { Db } from "#src/platform/index.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import type { Gateways } from "./gateway-descriptor.ts";
import { findStored } from "./gateway-settings.ts";
import { openIntegrations } from "./repository.ts";
import type { StoredRecordings } from "./settings.ts";
import type { Vault } from "./vault.ts";

/**
 * The present state in the shape of the apply file, without its secrets: keys that are in force, credentials that are none. Values stand
 * as they were applied, without defaults, so that applying it again changes nothing (but for an endpoint that its receiver switched
 * off: to be applied switches it on).
 */
export interface ExportedState {
  organizations: { slug: string; name: string; api_keys: ExportedKey[]; projects: ExportedProject[] }[];
}

interface ExportedKey {
  name: string;
  mode: string;
  scopes: string[];
  expires_at: string | null;
}

type ExportedProject = { slug: string } & Record<string, unknown>;

export async function exportState(db: Db, vault: Vault, gateways: Gateways): Promise<ExportedState> {
  const organizations = await db.selectFrom("organizations").select(["id", "slug", "name"]).orderBy("slug").execute();
  const keys = await db.selectFrom("api_keys").selectAll().where("revoked_at", "is", null).orderBy("name").execute();
  const projects = await db.selectFrom("projects").selectAll().orderBy("slug").execute();
  const numbers = await db.selectFrom("phone_numbers").selectAll().orderBy("number").execute();
  const endpoints = await db.selectFrom("webhook_endpoints").select(["project_id", "environment", "url", "amount_unit"]).execute();
  const webhookOf = (projectId: string) => {
    const own = endpoints.filter(({ project_id }) => project_id === projectId);
    const forms = Object.fromEntries(own.map(({ environment, url, amount_unit }) => [environment, { url, amount_unit }]));
    return forms["both"] ?? (own.length > 0 ? forms : undefined);
  };
  const exported = await Promise.all(
    projects.map(async (project) => {
      const {
        id,
        organization_id: organizationId,
        slug,
        name,
        currency,
        language,
        country,
        accepted_brands,
        archived,
        voice,
        widget,
      } = project;
      const own = numbers.filter(({ project_id }) => project_id === id).map(({ number }) => number);
      const parts = {
        accepted_brands,
        phone_numbers: own,
        status_webhook: webhookOf(id),
        gateways: await gatewaysOf(db, vault, gateways, { projectId: id, organizationId }),
        voice: named(voice),
        widget,
        integrations: integrationsOf(vault, project),
      };
      const filled = Object.entries(parts).filter(([, part]) => Object.keys(part ?? {}).length > 0);
      return { organizationId, project: { slug, name, currency, language, country, archived, ...Object.fromEntries(filled) } };
    }),
  );
  return {
    organizations: organizations.map(({ id, slug, name }) => ({
      slug,
      name,
      api_keys: keys
        .filter((key) => key.organization_id === id)
        .map((key) => ({ name: key.name, mode: key.mode, scopes: key.scopes, expires_at: key.expires_at?.toISOString() ?? null })),
      projects: exported.filter(({ organizationId }) => organizationId === id).map(({ project }) => project),
    })),
  };
}

/** An empty map for each platform that is asked for a secret: where there is none, apply asks for it. */
function integrationsOf(vault: Vault, project: Parameters<typeof openIntegrations>[1]): object {
  const { alpha, beta } = openIntegrations(vault, project);
  return { ...(alpha?.secret !== undefined && { alpha: {} }), ...(beta?.api_key !== undefined && { beta: {} }) };
}

/** Recordings by the names of their files alone. */
function named(voice: unknown): object {
  const { recordings = {}, ...others } = voice as { recordings?: StoredRecordings };
  const files = Object.entries(recordings).flatMap(([id, stored]) => (stored ? [[id, stored.file]] : []));
  return { ...others, ...(files.length > 0 && { recordings: Object.fromEntries(files) as object }) };
}

async function gatewaysOf(db: Db, vault: Vault, gateways: Gateways, project: { projectId: string; organizationId: string }) {
  const rows = await db
    .selectFrom("gateway_settings")
    .select(["gateway", "environment"])
    .where("project_id", "=", project.projectId)
    .orderBy("gateway")
    .orderBy("environment")
    .execute();
  const blocks: Partial<Record<GatewayName, Record<string, object>>> = {};
  for (const { gateway: name, environment } of rows) {
    const gateway = gateways[name];
    const stored = gateway && (await findStored(db, vault, { ...project, gateway: name, environment }));
    // An empty row is what was taken away.
    if (!stored || Object.keys({ ...stored.applied, ...stored.options }).length === 0) continue;
    const shown = gateway.credentialFields.filter((field) => !field.secret && stored.applied[field.name] !== undefined);
    const credentials = Object.fromEntries(shown.map((field) => [field.name, stored.applied[field.name]!]));
    (blocks[name] ??= {})[environment] = {
      // Where all of them are secret an empty map stands for them: where there are none, apply asks for them.
      ...(gateway.credentialsIn === "block" ? credentials : Object.keys(stored.applied).length > 0 && { credentials }),
      ...stored.options,
      ...(stored.endpoint !== null && { endpoint: stored.endpoint }),
    };
  }
  return blocks;
}

export interface Difference {
  /** `ORGANIZATION`, `ORGANIZATION/PROJECT`, and the key there. */
  of: string;
  key: string;
  /** Undefined: not there. */
  from: unknown;
  to: unknown;
}

/** What differs between two states, key by key. */
export function differences(before: ExportedState, after: ExportedState): Difference[] {
  const [from, to] = [valuesOf(before), valuesOf(after)];
  return [...new Set([...from.keys(), ...to.keys()])].flatMap((place) => {
    const [old, now] = [from.get(place), to.get(place)];
    const [of = "", key = ""] = place.split(" ");
    return JSON.stringify(old) === JSON.stringify(now) ? [] : [{ of, key, from: old, to: now }];
  });
}

function valuesOf({ organizations }: ExportedState): Map<string, unknown> {
  const values = new Map<string, unknown>();
  const add = (of: string, key: string, value: unknown): void => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) values.set(`${of} ${key}`, value);
    else for (const [name, part] of Object.entries(value)) add(of, key === "" ? name : `${key}.${name}`, part);
  };
  for (const { slug, name, api_keys: keys, projects } of organizations) {
    add(slug, "name", name);
    for (const key of keys) add(slug, `api_keys.${key.name.replaceAll(" ", "_")}`, key);
    for (const project of projects) add(`${slug}/${project.slug}`, "", project);
  }
  return values;
}
