import { isDeepStrictEqual } from "node:util";
import { LIVE_NEEDS_POSTGRES } from "../api-keys.ts";
import { modeOfApiKey, newApiKey, SCOPES, visibleParts } from "../api-key-authentication.ts";
import { note } from "./run.ts";
import type { Run } from "./run.ts";
import type { ApiKeyBlock } from "./schema.ts";

/** Makes and changes an organisation's API keys, known by their names. A key that is not in the file stays as it is. */
export async function applyApiKeys(
  run: Run,
  organization: { id: string; slug: string },
  blocks: readonly ApiKeyBlock[],
  path: readonly PropertyKey[],
): Promise<void> {
  for (const [index, block] of blocks.entries()) {
    const { document, databaseKind } = run;
    const at = [...path, index];
    if (block.key !== undefined && modeOfApiKey(block.key) !== block.mode) {
      document.refuse([...at, "key"], `the key is not of mode ${block.mode}`);
    }
    if (block.mode === "live" && databaseKind === "pglite") {
      document.refuse([...at, "mode"], LIVE_NEEDS_POSTGRES);
    }
    await applyApiKey(run, organization, block, at);
  }
}

async function applyApiKey(
  { tx, random, digestOf, document, report, ...rest }: Run,
  organization: { id: string; slug: string },
  block: ApiKeyBlock,
  path: readonly PropertyKey[],
): Promise<void> {
  const run: Run = { tx, random, digestOf, document, report, ...rest };
  const object = `api key ${organization.slug}/${block.name}`;
  const existing = await tx
    .selectFrom("api_keys")
    .select(["id", "mode", "digest", "scopes", "expires_at"])
    .where("organization_id", "=", organization.id)
    .where("name", "=", block.name)
    .executeTakeFirst();
  const expiresAt = typeof block.expires_at !== "string" ? null : new Date(block.expires_at);

  if (!existing) {
    const key = block.key ?? newApiKey(random, block.mode);
    await refuseTaken(run, key, path);
    await tx
      .insertInto("api_keys")
      .values({
        id: random.uuid(),
        organization_id: organization.id,
        name: block.name,
        mode: block.mode,
        digest: digestOf(key),
        ...visibleParts(key),
        scopes: [...(block.scopes ?? SCOPES)],
        expires_at: expiresAt,
        revoked_at: null,
      })
      .execute();
    if (block.key === undefined) report.generated.push({ object, secret: key });
    note(run, object, "created");
    return;
  }

  if (existing.mode !== block.mode) document.refuse([...path, "mode"], `the key "${block.name}" exists and is of mode ${existing.mode}`);
  if (block.key !== undefined && !digestOf(block.key).equals(existing.digest)) {
    await refuseTaken(run, block.key, path);
    const replacement = { digest: digestOf(block.key), ...visibleParts(block.key), revoked_at: null };
    await tx.updateTable("api_keys").set(replacement).where("id", "=", existing.id).execute();
    note(run, object, "replaced");
  }
  const scopes = block.scopes ?? existing.scopes;
  const expiry = block.expires_at === undefined ? existing.expires_at : expiresAt;
  if (!isDeepStrictEqual([scopes, expiry], [existing.scopes, existing.expires_at])) {
    await tx.updateTable("api_keys").set({ scopes, expires_at: expiry }).where("id", "=", existing.id).execute();
    note(run, object, "changed");
  }
}

async function refuseTaken({ tx, digestOf, document }: Run, key: string, path: readonly PropertyKey[]): Promise<void> {
  const taken = await tx.selectFrom("api_keys").select("id").where("digest", "=", digestOf(key)).executeTakeFirst();
  if (taken) document.refuse([...path, "key"], "this key is in use under another name");
}
