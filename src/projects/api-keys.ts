import { sql } from "kysely";
import { OperatorError } from "#src/kernel/errors.ts";
import type { Environment } from "#src/kernel/payment.ts";
import type { Db } from "#src/platform/index.ts";
import { modeOfApiKey } from "./api-key-authentication.ts";
import { type CommandDeps, runCommand } from "./commands.ts";
import { organizationOf } from "./commands/organizations.ts";
import type { ApiKeyValues } from "./commands/shapes.ts";

/** API keys as the command line makes, lists and revokes them. */

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

const BY = { actor: "operator", source: "command" } as const;

/** Makes a key and returns it, for the only time. Throws CommandFault for what cannot be made. */
export async function createKey(deps: CommandDeps, wanted: NewApiKey): Promise<{ key: string; shown: ApiKey }> {
  const { organization, name, mode, expiresAt } = wanted;
  const values: ApiKeyValues = {
    name,
    mode,
    expires_at: expiresAt?.toISOString() ?? null,
    // The command looks at them.
    ...(wanted.scopes && { scopes: wanted.scopes as NonNullable<ApiKeyValues["scopes"]> }),
  };
  const { generated } = await runCommand(deps, BY, { kind: "create API key", organization, values });
  const { db } = deps.database;
  const shown = await select(db).where("organizations.slug", "=", organization).where("api_keys.name", "=", name).executeTakeFirstOrThrow();
  return { key: generated[0]!.secret, shown: shown as ApiKey };
}

/** All keys of all organisations, or of one, in the order they were made. Throws OperatorError when there is no such organisation. */
export async function listApiKeys(db: Db, organization: string | null): Promise<ApiKey[]> {
  if (organization !== null) await organizationOf({ tx: db }, organization);
  const query = organization === null ? select(db) : select(db).where("organizations.slug", "=", organization);
  return (await query.orderBy("organizations.slug").orderBy("api_keys.created_at").execute()) as ApiKey[];
}

/**
 * Revokes the one key that `what` means: a name, ORG/NAME, a beginning such as `svc_test_Ab`, the form in which `keys list`
 * shows it, or the key itself; of several, the one that is not revoked. `already`: it had been revoked before. Throws OperatorError
 * when none or several are meant.
 */
export async function revokeKey(deps: CommandDeps, what: string): Promise<{ already: boolean; shown: ApiKey }> {
  const { db } = deps.database;
  const id = await idMeantBy(db, what, deps.digestOf);
  const { changes } = await runCommand(deps, BY, { kind: "revoke API key", id });
  const shown = (await select(db).where("api_keys.id", "=", id).executeTakeFirstOrThrow()) as ApiKey;
  return { already: changes.length === 0, shown };
}

async function idMeantBy(db: Db, what: string, digestOf: (token: string) => Buffer): Promise<string> {
  const rows = await select(db).select(["api_keys.id", "api_keys.digest"]).execute();
  const meant = rows.filter((row) => means(what, row, digestOf));
  const active = meant.filter((row) => row.revoked_at === null);
  const chosen = active.length > 0 ? active : meant;
  const [row] = chosen;
  if (!row) throw new OperatorError(`No API key is meant by ${quoted(what)}; voicetill keys list shows them.`);
  if (chosen.length > 1) {
    const all = chosen.map((one) => `${one.organization}/${one.name} (${one.prefix}…${one.last4})`);
    throw new OperatorError(`${quoted(what)} means ${all.length} API keys: ${all.join(", ")}. Name one of them.`);
  }
  return row.id;
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
