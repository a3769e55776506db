import { createHmac, timingSafeEqual } from "node:crypto";
import type { Selectable } from "kysely";
import { API_KEY } from "#src/kernel/ids.ts";
import type { Environment } from "#src/kernel/payment.ts";
import { type Random, alphanumeric } from "#src/kernel/random.ts";
import { Secret } from "#src/kernel/secret.ts";
import { type Db, statement, type Tables } from "#src/platform/index.ts";

/** API keys: `svc_test_` or `svc_live_` and 32 of A-Z a-z 0-9, about 190 bits (docs/interface.md, Authentication; S-30). */

/** As long as every digest. */
const NO_DIGEST = new Uint8Array(32);

/** Who is asking. */
export interface ApiKeyIdentity {
  keyId: string;
  /** Of the key itself, in hex: another key may take its place under its name and id. */
  digest: string;
  organizationId: string;
  mode: Environment;
  scopes: readonly string[];
  name: string;
}

/** The mode a well-formed key is of; null for anything else. */
export function modeOfApiKey(token: string): Environment | null {
  return (API_KEY.exec(token)?.[1] as Environment | undefined) ?? null;
}

export function newApiKey(random: Random, mode: Environment): string {
  return `svc_${mode}_${alphanumeric(random, 32)}`;
}

/** What may be shown of a key for ever: the prefix with its first four characters, and its last four. */
export function visibleParts(token: string): { prefix: string; last4: string } {
  return { prefix: token.slice(0, 13), last4: token.slice(-4) };
}

/** Hashes keys for storage: HMAC-SHA256 under a pepper that the database has only sealed. A fast hash is right for 190 random bits. */
export function createKeyDigest(pepper: Uint8Array): (token: string) => Buffer {
  return (token) => createHmac("sha256", pepper).update(token).digest();
}

/**
 * The key of the embedded installation's demo project: made of random bytes that the installation keeps sealed, so that each
 * start can show it again. Whoever can open them has the data folder and its master key.
 */
export function starterKey(starter: Uint8Array): Secret {
  const stream = { bytes: (count: number) => starter.slice(0, count) };
  return new Secret(`svc_test_${alphanumeric({ ...stream, uuid: () => "", fraction: () => 0 }, 32)}`);
}

const VALID = "revoked_at is null and (expires_at is null or expires_at > clock_timestamp())";
const validByDigest = statement<Pick<Selectable<Tables["api_keys"]>, "id" | "organization_id" | "name" | "mode" | "digest" | "scopes">>(
  "api_key_by_digest",
  `select id, organization_id, name, mode, digest, scopes from api_keys where digest = $1 and ${VALID}`,
);
const validWithScope = statement<{ digest: string }>(
  "api_keys_with_scope",
  `select encode(digest, 'hex') as digest from api_keys
    where digest = any (array(select decode(held, 'hex') from unnest($1::text[]) as held)) and $2 = any (scopes) and ${VALID}`,
);

/**
 * Who holds this key; null for a malformed, unknown, expired or revoked one, all alike to the asker.
 * The format is checked before the database is asked; the digest found by its index is compared again in constant time.
 */
export async function authenticate(db: Db, token: string, digestOf: (token: string) => Buffer): Promise<ApiKeyIdentity | null> {
  if (modeOfApiKey(token) === null) return null;
  const digest = digestOf(token);
  const [row] = await validByDigest(db, digest);
  // Compared where none was found too: every well-formed key goes the same way.
  const same = timingSafeEqual(row?.digest ?? NO_DIGEST, digest);
  if (!row || !same) return null;
  return {
    keyId: row.id,
    digest: digest.toString("hex"),
    organizationId: row.organization_id,
    mode: row.mode,
    scopes: row.scopes,
    name: row.name,
  };
}

/** Which of these keys, by their digests, are revoked, expired, replaced or without the scope by now. */
export async function invalidKeys(db: Db, digests: readonly string[], scope: string): Promise<string[]> {
  const valid = new Set((await validWithScope(db, digests, scope)).map(({ digest }) => digest));
  return digests.filter((digest) => !valid.has(digest));
}
