import type { Random } from "#src/kernel/random.ts";
import type { Secret } from "#src/kernel/secret.ts";
import { audit, type Database } from "#src/platform/index.ts";
import { SCOPES } from "#src/kernel/scopes.ts";
import { starterKey, visibleParts } from "./api-key-authentication.ts";

/** What an embedded installation shows in its banner: a project to try, and a test key for it. */
export interface Starter {
  projectSlug: string;
  /** null once the operator has revoked it. */
  apiKey: Secret | null;
}

const SLUG = "demo";

export async function ensureStarter(deps: {
  database: Database;
  starter: Uint8Array;
  random: Random;
  digestOf: (token: string) => Buffer;
}): Promise<Starter> {
  const { database, starter, random, digestOf } = deps;
  const key = starterKey(starter);
  const digest = digestOf(key.reveal());
  return await database.transaction(async (tx) => {
    await tx
      .insertInto("organizations")
      .values({ id: random.uuid(), slug: SLUG, name: "Demo" })
      .onConflict((conflict) => conflict.column("slug").doNothing())
      .execute();
    const { id: organizationId } = await tx.selectFrom("organizations").select("id").where("slug", "=", SLUG).executeTakeFirstOrThrow();
    await tx
      .insertInto("projects")
      .values({
        id: random.uuid(),
        organization_id: organizationId,
        slug: SLUG,
        name: "Demo",
        currency: "USD",
        language: "en-US",
        country: "US",
        ...EMPTY,
      })
      .onConflict((conflict) => conflict.columns(["organization_id", "slug"]).doNothing())
      .execute();
    const made = await tx
      .insertInto("api_keys")
      .values({
        id: random.uuid(),
        organization_id: organizationId,
        name: "starter",
        mode: "test",
        digest,
        ...visibleParts(key.reveal()),
        scopes: [...SCOPES],
        expires_at: null,
        revoked_at: null,
      })
      .onConflict((conflict) => conflict.column("digest").doNothing())
      .returning("id")
      .executeTakeFirst();
    if (made)
      await audit(tx, {
        organizationId,
        actor: "service",
        action: "api_key.created",
        object: `api key ${SLUG}/starter`,
        details: { key: made.id },
      });
    const row = await tx.selectFrom("api_keys").select("revoked_at").where("digest", "=", digest).executeTakeFirstOrThrow();
    return { projectSlug: SLUG, apiKey: row.revoked_at === null ? key : null };
  });
}

const EMPTY = { voice: "{}", widget: "{}", integrations: "{}" };
