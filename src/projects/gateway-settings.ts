import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import type { GatewaySettings } from "#src/gateways/index.ts";
import type { Environment, GatewayName } from "#src/kernel/payment.ts";
import type { Secret } from "#src/kernel/secret.ts";
import { audit, type Database, type Db, notify, type Place } from "#src/platform/index.ts";
import { openSettings, wrap, type Gateways, type Options } from "./gateway-descriptor.ts";
import type { Vault } from "./vault.ts";

/** Rows of gateway_settings: credentials sealed, and the version that an attempt records: it counts what an operator applied. */

/** NOTIFY channel of settings that were saved; the payload is the gateway's name. */
export const SETTINGS_CHANNEL = "voicetill_gateway_settings";

/** What is sealed: the credentials in force, and the ones last applied, which differ where the vendor rotates them. */
interface SealedCredentials {
  applied: Record<string, string>;
  current: Record<string, string>;
}

export interface StoredSettings extends SealedCredentials {
  options: Options;
  endpoint: string | null;
  version: number;
}

interface Key {
  projectId: string;
  organizationId: string;
  gateway: GatewayName;
  environment: Environment;
}

export const settingsPlace = (key: Key): Place => ({
  table: "gateway_settings",
  column: "credentials",
  row: `${key.projectId}/${key.gateway}`,
  organizationId: key.organizationId,
  environment: key.environment,
});

/** The columns that name a row. */
const columnsOf = ({ projectId, gateway, environment }: Key) => ({ project_id: projectId, gateway, environment });

/** The stored row, or null; `lock` holds it until the transaction ends. */
export async function findStored(db: Db, vault: Vault, key: Key, lock = false): Promise<StoredSettings | null> {
  const query = db
    .selectFrom("gateway_settings")
    .select(["credentials", "options", "endpoint", "version"])
    .where((row) => row.and(columnsOf(key)));
  const row = await (lock ? query.forUpdate() : query).executeTakeFirst();
  if (!row) return null;
  const none: SealedCredentials = { applied: {}, current: {} };
  const credentials = row.credentials.length > 0 ? (vault.open(settingsPlace(key), row.credentials) as SealedCredentials) : none;
  return { ...credentials, options: row.options as Options, endpoint: row.endpoint, version: row.version };
}

/** A row of options alone has empty credentials. */
function sealed(vault: Vault, key: Key, { applied, current }: SealedCredentials): Uint8Array {
  return Object.keys(current).length > 0 ? vault.seal(settingsPlace(key), { applied, current }) : new Uint8Array();
}

/** Writes the row and counts its version up. */
export async function saveStored(db: Db, vault: Vault, key: Key, stored: Omit<StoredSettings, "version">): Promise<void> {
  const row = {
    credentials: sealed(vault, key, stored),
    options: JSON.stringify(stored.options),
    endpoint: stored.endpoint,
  };
  await db
    .insertInto("gateway_settings")
    .values({ ...columnsOf(key), ...row })
    .onConflict((conflict) =>
      conflict.columns(["project_id", "gateway", "environment"]).doUpdateSet((existing) => ({
        ...row,
        version: existing("gateway_settings.version", "+", 1),
        updated_at: sql<Date>`clock_timestamp()`,
      })),
    )
    .execute();
  await notify(db, SETTINGS_CHANNEL, key.gateway);
}

/** Writes credentials that the vendor has replaced. The version stays: they open the same account. */
async function saveRenewed(db: Db, vault: Vault, key: Key, credentials: SealedCredentials): Promise<void> {
  await db
    .updateTable("gateway_settings")
    .set({ credentials: sealed(vault, key, credentials), updated_at: sql<Date>`clock_timestamp()` })
    .where((row) => row.and(columnsOf(key)))
    .execute();
}

async function organizationOf(db: Db, projectId: string): Promise<string | null> {
  const row = await db.selectFrom("projects").select("organization_id").where("id", "=", projectId).executeTakeFirst();
  return row?.organization_id ?? null;
}

async function withCredentials(db: Db, projectIds: readonly string[], environment: Environment) {
  return await db
    .selectFrom("gateway_settings")
    .select(["project_id", "gateway"])
    .where("project_id", "in", projectIds)
    .where("environment", "=", environment)
    .where(sql<number>`length(credentials)`, ">", 0)
    .execute();
}

interface SettingsDeps {
  database: Database;
  vault: Vault;
  gateways: Gateways;
  /** Base address of the simulators, or null when they are off. */
  simulatorsUrl: () => string | null;
}

/** Credentials that nobody has used for long, and the project's ISO 4217 currency. */
export interface Unrenewed {
  projectId: string;
  gateway: GatewayName;
  environment: Environment;
  currency: string;
}

export function createGatewaySettings({ database, vault, gateways, simulatorsUrl }: SettingsDeps) {
  /** What simulators rotated: a project without credentials has no row to keep it in, and a simulator forgets as well. */
  const rotatedSandbox = new Map<string, Record<string, Secret>>();
  const sandboxId = (projectId: string, gateway: GatewayName) => `${projectId}/${gateway}`;

  /**
   * The project's own credentials; with a test key and none of its own the simulator's, when simulators are on; else null
   * (docs/operations.md, Apply file). Live settings come from the row and the vendor's host alone.
   */
  async function find(db: Db, projectId: string, name: GatewayName, environment: Environment): Promise<GatewaySettings | null> {
    const gateway = gateways[name];
    const organizationId = await organizationOf(db, projectId);
    if (!gateway || organizationId === null) return null;
    const stored = await findStored(db, vault, { projectId, organizationId, gateway: name, environment });
    if (stored && Object.keys(stored.current).length > 0) {
      return openSettings(gateway, environment, { ...stored, credentials: stored.current });
    }
    const simulators = environment === "test" ? simulatorsUrl() : null;
    if (simulators === null) return null;
    const endpoint = `${simulators}/${name}`;
    const settings = openSettings(gateway, "test", {
      credentials: {},
      options: stored?.options ?? {},
      endpoint,
      version: stored?.version ?? 0,
    });
    return { ...settings, credentials: rotatedSandbox.get(sandboxId(projectId, name)) ?? gateway.sandboxCredentials(endpoint) };
  }

  /** Gateways for which `find` has settings, in the registry's order, per project. */
  async function configured(db: Db, projectIds: readonly string[], environment: Environment): Promise<Map<string, GatewayName[]>> {
    const rows = projectIds.length === 0 ? [] : await withCredentials(db, projectIds, environment);
    const simulated = environment === "test" && simulatorsUrl() !== null;
    const names = Object.keys(gateways) as GatewayName[];
    const has = (projectId: string, name: GatewayName) => rows.some((row) => row.project_id === projectId && row.gateway === name);
    return new Map(projectIds.map((id) => [id, names.filter((name) => simulated || has(id, name))]));
  }

  /**
   * Lets `change` see the newest credentials and keeps what it returns, under the row's lock: two processes never spend
   * the same refresh token. `change` must not query the database: the embedded one has a single session. null keeps them.
   */
  async function rotate(
    projectId: string,
    name: GatewayName,
    environment: Environment,
    change: (current: Readonly<Record<string, Secret>>) => Promise<Record<string, Secret> | null>,
  ): Promise<Readonly<Record<string, Secret>>> {
    return await database.transaction(async (tx) => {
      const organizationId = await organizationOf(tx, projectId);
      const key = organizationId === null ? null : { projectId, organizationId, gateway: name, environment };
      const stored = key && (await findStored(tx, vault, key, true));
      if (!key || !stored || Object.keys(stored.current).length === 0) {
        const current = (await find(tx, projectId, name, environment))?.credentials ?? {};
        const changed = await change(current);
        if (changed) rotatedSandbox.set(sandboxId(projectId, name), changed);
        return changed ?? current;
      }
      const changed = await change(wrap(stored.current));
      if (!changed) return wrap(stored.current);
      const current = Object.fromEntries(Object.entries(changed).map(([field, secret]) => [field, secret.reveal()]));
      if (!isDeepStrictEqual(current, stored.current)) {
        await saveRenewed(tx, vault, key, { applied: stored.applied, current });
        const object = `gateway ${name} (${environment}) of project ${projectId}`;
        await audit(tx, { organizationId: key.organizationId, actor: "gateway", action: "credentials.renewed", object });
      }
      return changed;
    });
  }

  /**
   * Credentials of which the vendor replaces one with each use, and that were neither renewed nor saved for `days` days, by the
   * database's clock; those of archived projects are left to die.
   */
  async function unrenewed(db: Db, days: number): Promise<Unrenewed[]> {
    const names = Object.values(gateways).flatMap(({ name, credentialFields }) =>
      credentialFields.some(({ rotates }) => rotates) ? name : [],
    );
    if (names.length === 0) return [];
    return await db
      .selectFrom("gateway_settings")
      .innerJoin("projects", "projects.id", "gateway_settings.project_id")
      .select(["project_id as projectId", "gateway", "environment", "currency"])
      .where("gateway", "in", names)
      .where("archived", "=", false)
      .where(sql<number>`length(credentials)`, ">", 0)
      .where("gateway_settings.updated_at", "<", sql<Date>`clock_timestamp() - ${days} * interval '1 day'`)
      .orderBy("gateway_settings.updated_at")
      .execute();
  }

  return { find, configured, rotate, unrenewed };
}
