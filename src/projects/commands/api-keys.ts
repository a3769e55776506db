import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import { SCOPES } from "#src/kernel/scopes.ts";
import { modeOfApiKey, newApiKey, visibleParts } from "../api-key-authentication.ts";
import { type Change, CommandFault, note, type OrganizationKey } from "./change.ts";
import type { ApiKeyValues } from "./shapes.ts";

/** Why the embedded database takes no live key. */
const LIVE_NEEDS_POSTGRES =
  "live keys need PostgreSQL (DATABASE_URL): the embedded database does not write through to the disk, so a power cut could lose a payment";

/** Makes or changes the key of this name. A key that `values` does not give is made, and reported once. */
export async function saveApiKey(change: Change, organization: OrganizationKey, values: ApiKeyValues): Promise<void> {
  const { tx, digestOf } = change;
  checkMode(change, values);
  const object = `api key ${organization.slug}/${values.name}`;
  const existing = await tx
    .selectFrom("api_keys")
    .select(["id", "mode", "digest", "scopes", "expires_at", "revoked_at"])
    .where("organization_id", "=", organization.id)
    .where("name", "=", values.name)
    .executeTakeFirst();
  if (!existing) {
    await insertKey(change, organization, values);
    await note(change, organization.id, { object, action: "created" });
    return;
  }
  if (existing.mode !== values.mode) throw new CommandFault(["mode"], `the key "${values.name}" exists and is of mode ${existing.mode}`);
  if (values.key !== undefined && !digestOf(values.key).equals(existing.digest)) {
    await checkUnused(change, values.key);
    const replacement = { digest: digestOf(values.key), ...visibleParts(values.key), revoked_at: null };
    await tx.updateTable("api_keys").set(replacement).where("id", "=", existing.id).execute();
    await note(change, organization.id, { object, action: "replaced" });
  } else if (existing.revoked_at !== null)
    throw new CommandFault(["name"], `"${values.name}" is revoked: leave it out, or give it another key`);
  const scopes = values.scopes ?? existing.scopes;
  const expiry = values.expires_at === undefined ? existing.expires_at : expiryOf(values);
  if (!isDeepStrictEqual([scopes, expiry], [existing.scopes, existing.expires_at])) {
    await tx.updateTable("api_keys").set({ scopes, expires_at: expiry }).where("id", "=", existing.id).execute();
    await note(change, organization.id, { object, action: "changed" });
  }
}

/** Makes a new key, under a name that was never used: the audit log never means two keys by one name, revoked ones included. */
export async function createApiKey(change: Change, organization: OrganizationKey, values: ApiKeyValues): Promise<void> {
  checkMode(change, values);
  const taken = await change.tx
    .selectFrom("api_keys")
    .select("id")
    .where("organization_id", "=", organization.id)
    .where("name", "=", values.name)
    .executeTakeFirst();
  if (taken)
    throw new CommandFault(
      ["name"],
      `"${organization.slug}" has a key named "${values.name}" already; a name is used once, revoked or not`,
    );
  const { id, mode, scopes, expires_at } = await insertKey(change, organization, values);
  const details = { key: id, mode, scopes, expires_at };
  const object = `api key ${organization.slug}/${values.name}`;
  await note(change, organization.id, { object, action: "created" }, { action: "api_key.created", details });
}

/** Revokes a key; one that had been revoked before stays as it is. Every process refuses it within a second. */
export async function revokeApiKey(change: Change, id: string): Promise<void> {
  const { tx } = change;
  const revoked = await tx
    .updateTable("api_keys")
    .from("organizations")
    .whereRef("organizations.id", "=", "api_keys.organization_id")
    .set({ revoked_at: sql<Date>`clock_timestamp()` })
    .where("api_keys.id", "=", id)
    .where("revoked_at", "is", null)
    .returning(["organization_id", "organizations.slug", "api_keys.name"])
    .executeTakeFirst();
  if (!revoked) return;
  const object = `api key ${revoked.slug}/${revoked.name}`;
  await note(change, revoked.organization_id, { object, action: "revoked" }, { action: "api_key.revoked", details: { key: id } });
}

function checkMode({ databaseKind }: Change, { key, mode }: ApiKeyValues): void {
  if (key !== undefined && modeOfApiKey(key) !== mode) throw new CommandFault(["key"], `the key is not of mode ${mode}`);
  if (mode === "live" && databaseKind === "pglite") throw new CommandFault(["mode"], LIVE_NEEDS_POSTGRES);
}

async function insertKey(change: Change, organization: OrganizationKey, values: ApiKeyValues) {
  const { tx, random, digestOf, report } = change;
  const key = values.key ?? newApiKey(random, values.mode);
  if (values.key !== undefined) await checkUnused(change, values.key);
  const expiry = expiryOf(values);
  if (expiry !== null && (await isOver(change, expiry)))
    throw new CommandFault(["expires_at"], `expires_at: ${values.expires_at} is over already`);
  const row = {
    id: random.uuid(),
    organization_id: organization.id,
    name: values.name,
    mode: values.mode,
    digest: digestOf(key),
    ...visibleParts(key),
    scopes: [...(values.scopes ?? SCOPES)],
    expires_at: expiry,
    revoked_at: null,
  };
  await tx.insertInto("api_keys").values(row).execute();
  if (values.key === undefined) report.generated.push({ object: `api key ${organization.slug}/${values.name}`, secret: key });
  return row;
}

async function checkUnused({ tx, digestOf }: Change, key: string): Promise<void> {
  const taken = await tx.selectFrom("api_keys").select("id").where("digest", "=", digestOf(key)).executeTakeFirst();
  if (taken) throw new CommandFault(["key"], "this key is in use under another name");
}

/** By the clock that judges the key afterwards. */
async function isOver({ tx }: Change, expiry: Date): Promise<boolean> {
  const { rows } = await sql<{ over: boolean }>`select ${expiry}::timestamptz <= clock_timestamp() as over`.execute(tx);
  return rows[0]!.over;
}

function expiryOf({ expires_at: text }: ApiKeyValues): Date | null {
  return typeof text === "string" ? new Date(text) : null;
}
