import { OperatorError } from "#src/kernel/errors.ts";
import type { Random } from "#src/kernel/random.ts";
import {
  audit,
  type Database,
  type Db,
  type Keyring,
  keyIdOf,
  ownersWithoutKey,
  type Place,
  rewrapInstallationKeys,
} from "#src/platform/index.ts";
import { settingsPlace } from "./gateway-settings.ts";
import { endpointName, endpointPlace, integrationsPlace } from "./repository.ts";

/**
 * A new master key, while everything runs (S-31, docs/decisions/0010): both keys open, one row after another gets
 * under the new one, and the old one is let go when nothing is under it. Cut short anywhere, it is gone on with by asking again.
 */

export interface RotationReport {
  /** Id of the master key that is in force now. */
  key: string;
  /** Ids of keys that are still at hand beside it. */
  older: string[];
  /** Values that were put under it now. */
  moved: number;
  /** Nothing is under another key any more. */
  complete: boolean;
  /** What could not be opened, and so holds the old keys back. */
  stuck: string[];
}

interface RotationDeps {
  database: Database;
  keyring: Keyring;
  random: Random;
}

/** Values sealed while the rows were gone through are found by the next pass; with every process on the new key there are few. */
const PASSES = 10;
const KEY_BYTES = 32;

/**
 * Puts everything sealed under the current master key, which on an installation that keeps its own keys is a fresh one.
 * With `reencrypt` every value gets a new data key as well. Throws OperatorError while a living process could not follow.
 */
export async function rotateMasterKey(
  { database, keyring, random }: RotationDeps,
  { reencrypt }: { reencrypt: boolean },
): Promise<RotationReport> {
  const { store } = keyring;
  if (store && !reencrypt && keyring.ids.length === 1) {
    const keys = [random.bytes(KEY_BYTES), keyring.current.bytes] as const;
    store.write(keys);
    keyring.use(keys);
  }
  const { id } = keyring.current;
  const behind = store ? [] : await ownersWithoutKey(database.db, id);
  if (behind.length > 0) {
    throw new OperatorError(
      `Nothing was changed: ${behind.join(", ")} cannot open with the master key ${id} yet. Start every process with both keys first; one that was killed is forgotten after 15 s.`,
    );
  }

  let moved = reencrypt ? await sealAnew(database, keyring) : 0;
  const stuck = new Set<string>();
  let more = 1;
  for (let pass = 0; pass < PASSES && more > 0; pass++) {
    more = (await rewrapInstallationKeys(database, keyring)) + (await moveRows(database, keyring, stuck));
    moved += more;
  }

  // The old key goes only after a pass that found nothing under it.
  const done = stuck.size === 0 && more === 0;
  if (store && done && keyring.ids.length > 1) {
    const { bytes } = keyring.current;
    store.write([bytes]);
    keyring.use([bytes]);
  }
  const report = { key: id, older: keyring.ids.slice(1), moved, complete: done, stuck: [...stuck] };
  const result = done ? "done" : "incomplete";
  const action = reencrypt ? "master_key.reencrypt" : "master_key.rotate";
  await audit(database.db, { actor: "operator", source: "command", action, object: `master key ${id}`, result, details: { moved } });
  return report;
}

/** A sealed value of a row, and how the row is written with another. */
interface SealedRow {
  name: string;
  place: Place;
  sealed: Uint8Array;
  /** The same row as it is now, held until the transaction ends. */
  again(tx: Db): Promise<Uint8Array | null>;
  write(tx: Db, sealed: Uint8Array): Promise<unknown>;
}

async function moveRows(database: Database, keyring: Keyring, stuck: Set<string>): Promise<number> {
  let moved = 0;
  for (const row of await sealedRows(database.db)) {
    if (keyIdOf(row.sealed) === keyring.current.id || stuck.has(row.name)) continue;
    if (await change(database, row, (sealed) => attempt(keyring, row, sealed, stuck))) moved++;
  }
  return moved;
}

function attempt(keyring: Keyring, { name, place }: SealedRow, sealed: Uint8Array, stuck: Set<string>): Uint8Array | null {
  try {
    return keyring.rewrap(place, sealed);
  } catch {
    stuck.add(name);
    return null;
  }
}

async function sealAnew(database: Database, keyring: Keyring): Promise<number> {
  let moved = 0;
  for (const row of await sealedRows(database.db)) {
    const { place } = row;
    if (await change(database, row, (sealed) => keyring.seal(place, keyring.open(place, sealed)))) moved++;
  }
  return moved;
}

/** Writes what `next` makes of the row's newest value, under the row's lock: a change by anybody else is never undone. */
async function change(database: Database, row: SealedRow, next: (sealed: Uint8Array) => Uint8Array | null): Promise<boolean> {
  return await database.transaction(async (tx) => {
    const newest = await row.again(tx);
    const sealed = newest && next(newest);
    if (!sealed) return false;
    await row.write(tx, sealed);
    return true;
  });
}

/** Every value of this module that is sealed. */
async function sealedRows(db: Db): Promise<SealedRow[]> {
  return [...(await settingsRows(db)), ...(await endpointRows(db)), ...(await integrationRows(db))];
}

async function settingsRows(db: Db): Promise<SealedRow[]> {
  const rows = await db
    .selectFrom("gateway_settings")
    .innerJoin("projects", "projects.id", "gateway_settings.project_id")
    .select(["project_id", "organization_id", "slug", "gateway", "environment", "credentials"])
    .execute();
  return rows
    .filter(({ credentials }) => credentials.length > 0)
    .map(({ project_id: projectId, organization_id: organizationId, slug, gateway, environment, credentials: sealed }) => ({
      name: `gateway ${gateway} (${environment}) of ${slug}`,
      place: settingsPlace({ projectId, organizationId, gateway, environment }),
      sealed,
      async again(tx) {
        const query = tx.selectFrom("gateway_settings").select("credentials").where("project_id", "=", projectId);
        const row = await query.where("gateway", "=", gateway).where("environment", "=", environment).forUpdate().executeTakeFirst();
        return row && row.credentials.length > 0 ? row.credentials : null;
      },
      // The version counts what was saved, and nothing new is.
      write: (tx, credentials) =>
        tx
          .updateTable("gateway_settings")
          .set({ credentials })
          .where("project_id", "=", projectId)
          .where("gateway", "=", gateway)
          .where("environment", "=", environment)
          .execute(),
    }));
}

async function endpointRows(db: Db): Promise<SealedRow[]> {
  const rows = await db
    .selectFrom("webhook_endpoints")
    .innerJoin("projects", "projects.id", "webhook_endpoints.project_id")
    .select(["project_id", "organization_id", "slug", "environment", "secrets"])
    .execute();
  return rows.map(({ project_id, organization_id, slug, environment, secrets: sealed }) => ({
    name: `${endpointName(environment)} of ${slug}`,
    place: endpointPlace(project_id, organization_id, environment),
    sealed,
    async again(tx) {
      const query = tx.selectFrom("webhook_endpoints").select("secrets").where("project_id", "=", project_id);
      return (await query.where("environment", "=", environment).forUpdate().executeTakeFirst())?.secrets ?? null;
    },
    write: (tx, secrets) =>
      tx
        .updateTable("webhook_endpoints")
        .set({ secrets })
        .where("project_id", "=", project_id)
        .where("environment", "=", environment)
        .execute(),
  }));
}

async function integrationRows(db: Db): Promise<SealedRow[]> {
  const rows = await db.selectFrom("projects").select(["id", "organization_id", "slug", "integrations"]).execute();
  const bytesOf = (integrations: unknown) => {
    const { sealed } = integrations as { sealed?: string };
    return sealed === undefined ? null : Buffer.from(sealed, "base64");
  };
  return rows.flatMap(({ id, organization_id, slug, integrations }) => {
    const sealed = bytesOf(integrations);
    if (!sealed) return [];
    const row: SealedRow = {
      name: `integrations of ${slug}`,
      place: integrationsPlace(id, organization_id),
      sealed,
      async again(tx) {
        const found = await tx.selectFrom("projects").select("integrations").where("id", "=", id).forUpdate().executeTakeFirst();
        return found ? bytesOf(found.integrations) : null;
      },
      write: (tx, next) =>
        tx
          .updateTable("projects")
          .set({ integrations: JSON.stringify({ sealed: Buffer.from(next).toString("base64") }) })
          .where("id", "=", id)
          .execute(),
    };
    return [row];
  });
}
