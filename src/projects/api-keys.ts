import { sql } from "kysely";
import { OperatorError } from "#src/kernel/errors.ts";
import type { Environment } from "#src/kernel/payment.ts";
import type { Random } from "#src/kernel/random.ts";
import { audit, type Database, type Db } from "#src/platform/index.ts";
import { modeOfApiKey, newApiKey, SCOPES, visibleParts } from "./api-key-authentication.ts";

/** The operator's side of API keys: made, listed, revoked; each change leaves its audit row. */

/** A key as it may be shown for ever. */
export interface ApiKey {
  organization: string;
  name: string;
  mode: Environment;
  prefix: string;
  last4: string;
  scopes: string[];
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  /** What the database's clock says of it now. */
  state: "active" | "expired" | "revoked";
}

export interface NewApiKey {
  organization: string;
  name: string;
  mode: Environment;
  /** Default: all. */
  scopes: readonly string[] | null;
  expiresAt: Date | null;
}

export interface KeyDeps {
  database: Database;
  random: Random;
  digestOf: (token: string) => Buffer;
}

const LONGEST_NAME = 100;

/** Why the embedded database takes no live key. */
export const LIVE_NEEDS_POSTGRES =
  "live keys need PostgreSQL (DATABASE_URL): the embedded database does not write through to the disk, so a power cut could lose a payment";

/** Makes a key and answers it, for the only time. Throws OperatorError for what cannot be made. */
export async function createApiKey({ database, random, digestOf }: KeyDeps, wanted: NewApiKey): Promise<{ key: string; shown: ApiKey }> {
  const { organization: slug, name, mode, expiresAt } = wanted;
  if (name === "" || name.length > LONGEST_NAME) throw new OperatorError(`A key's name has 1 to ${LONGEST_NAME} characters.`);
  const scopes = [...(wanted.scopes ?? SCOPES)];
  const unknown = scopes.find((scope) => !(SCOPES as readonly string[]).includes(scope));
  if (unknown !== undefined) throw new OperatorError(`There is no scope "${unknown}"; the scopes are ${SCOPES.join(", ")}.`);
  if (mode === "live" && database.kind === "pglite") throw new OperatorError(`No key was made: ${LIVE_NEEDS_POSTGRES}.`);
  return await database.transaction(async (tx) => {
    const organization = await tx.selectFrom("organizations").select("id").where("slug", "=", slug).executeTakeFirst();
    if (!organization) throw new OperatorError(`There is no organization "${slug}"; there ${await organizations(tx)}.`);
    const id = random.uuid();
    const key = newApiKey(random, mode);
    const made = await tx
      .insertInto("api_keys")
      .values({
        id,
        organization_id: organization.id,
        name,
        mode,
        digest: digestOf(key),
        ...visibleParts(key),
        scopes,
        expires_at: expiresAt,
        revoked_at: null,
      })
      // A revoked key keeps its name, so that the audit log never means two keys by one.
      .onConflict((conflict) => conflict.columns(["organization_id", "name"]).doNothing())
      .returning("id")
      .executeTakeFirst();
    if (!made) throw new OperatorError(`${slug} has a key named "${name}" already; a name is used once, revoked or not.`);
    await auditKey(tx, organization.id, "created", `${slug}/${name}`, { key: id, mode, scopes, expires_at: expiresAt });
    return { key, shown: (await select(tx).where("api_keys.id", "=", id).executeTakeFirstOrThrow()) as ApiKey };
  });
}

/** All keys of all organisations, or of one, in the order they were made. */
export async function listApiKeys(db: Db, organization: string | null): Promise<ApiKey[]> {
  const query = organization === null ? select(db) : select(db).where("organizations.slug", "=", organization);
  return (await query.orderBy("organizations.slug").orderBy("api_keys.created_at").execute()) as ApiKey[];
}

/**
 * Revokes the one key that `what` means: a name, ORG/NAME, a beginning such as `svc_test_Ab`, the form in which `keys list`
 * shows it, or the key itself. Every process refuses it within a second. `already`: it had been revoked before.
 */
export async function revokeApiKey({ database, digestOf }: KeyDeps, what: string): Promise<{ already: boolean; shown: ApiKey }> {
  return await database.transaction(async (tx) => {
    const rows = await select(tx).select(["api_keys.id", "api_keys.organization_id", "api_keys.digest"]).execute();
    const meant = rows.filter((row) => means(what, row, digestOf));
    const active = meant.filter((row) => row.revoked_at === null);
    const chosen = active.length > 0 ? active : meant;
    const [row] = chosen;
    if (!row) throw new OperatorError(`No API key is meant by ${quoted(what)}; voicetill keys list shows them.`);
    if (chosen.length > 1) {
      const all = chosen.map((one) => `${one.organization}/${one.name} (${one.prefix}…${one.last4})`);
      throw new OperatorError(`${quoted(what)} means ${all.length} API keys: ${all.join(", ")}. Name one of them.`);
    }
    const revoked = await tx
      .updateTable("api_keys")
      .set({ revoked_at: sql<Date>`clock_timestamp()` })
      .where("id", "=", row.id)
      .where("revoked_at", "is", null)
      .returning("id")
      .executeTakeFirst();
    if (revoked) await auditKey(tx, row.organization_id, "revoked", `${row.organization}/${row.name}`, { key: row.id });
    const shown = (await select(tx).where("api_keys.id", "=", row.id).executeTakeFirstOrThrow()) as ApiKey;
    return { already: !revoked, shown };
  });
}

function means(
  what: string,
  row: { organization: string; name: string; prefix: string; last4: string; digest: Uint8Array },
  digestOf: (token: string) => Buffer,
): boolean {
  if (what === row.name || what === `${row.organization}/${row.name}`) return true;
  if (modeOfApiKey(what) !== null) return digestOf(what).equals(row.digest);
  const [beginning = "", end, ...more] = what.split(/…|\.\.\./);
  if (!/^svc_(?:test|live)_./.test(beginning) || more.length > 0) return false;
  return row.prefix.startsWith(beginning) && (end === undefined || end === row.last4);
}

/** A key that somebody pasted whole is not repeated. */
function quoted(what: string): string {
  return modeOfApiKey(what) === null ? `"${what}"` : "the key that was given";
}

function select(db: Db) {
  return db
    .selectFrom("api_keys")
    .innerJoin("organizations", "organizations.id", "api_keys.organization_id")
    .select([
      "organizations.slug as organization",
      "api_keys.name",
      "api_keys.mode",
      "api_keys.prefix",
      "api_keys.last4",
      "api_keys.scopes",
      "api_keys.created_at",
      "api_keys.expires_at",
      "api_keys.revoked_at",
    ])
    .select(
      sql<string>`case when revoked_at is not null then 'revoked' when expires_at <= clock_timestamp() then 'expired' else 'active' end`.as(
        "state",
      ),
    );
}

async function organizations(db: Db): Promise<string> {
  const rows = await db.selectFrom("organizations").select("slug").orderBy("slug").limit(20).execute();
  return rows.length === 0 ? "is none yet" : `are ${rows.map(({ slug }) => slug).join(", ")}`;
}

async function auditKey(tx: Db, organizationId: string, action: "created" | "revoked", object: string, details: object): Promise<void> {
  const what = { action: `api_key.${action}`, object: `api key ${object}`, details };
  await audit(tx, { organizationId, actor: "operator", source: "command", ...what });
}
