import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { sql } from "kysely";
import type { Environment } from "#src/kernel/payment.ts";
import type { Random } from "#src/kernel/random.ts";
import { alphanumeric } from "#src/kernel/random.ts";
import { Secret } from "#src/kernel/secret.ts";
import type { Db } from "#src/platform/index.ts";

/** API keys: `svc_test_` or `svc_live_` and 32 of A-Z a-z 0-9, about 190 bits (SPEC, Authentication; SECURITY S-30). */

/** What a key may do; a key made without a choice has all. */
export const SCOPES = ["sessions:create", "sessions:read", "sessions:cancel", "widget:create", "projects:read"] as const;

const FORMAT = /^svc_(test|live)_[A-Za-z0-9]{32}$/;
const LONGEST = 41;

/** Who is asking. */
export interface KeyIdentity {
  keyId: string;
  organizationId: string;
  mode: Environment;
  scopes: readonly string[];
  name: string;
}

/** The mode a well-formed key is of; null for anything else. */
export function modeOfKey(token: string): Environment | null {
  if (token.length > LONGEST) return null;
  return (FORMAT.exec(token)?.[1] as Environment | undefined) ?? null;
}

export function newKey(random: Random, mode: Environment): string {
  return `svc_${mode}_${alphanumeric(random, 32)}`;
}

/** What may be shown of a key for ever: the prefix with its first four characters, and its last four. */
export function visibleParts(token: string): { prefix: string; last4: string } {
  return { prefix: token.slice(0, 13), last4: token.slice(-4) };
}

/** Hashes keys for storage: HMAC-SHA256 under a pepper that is not in the database. A fast hash is right for 190 random bits. */
export function createKeyDigest(masterKey: Uint8Array): (token: string) => Buffer {
  const pepper = Buffer.from(hkdfSync("sha256", masterKey, new Uint8Array(), "voicetill api key pepper", 32));
  return (token) => createHmac("sha256", pepper).update(token).digest();
}

/**
 * The key of the embedded installation's demo project: derived from the master key, so that each start can show it again
 * although the database holds its digest only. Whoever can read the master key of an embedded installation has its data folder.
 */
export function starterKey(masterKey: Uint8Array): Secret {
  const stream = {
    bytes: (count: number) => new Uint8Array(hkdfSync("sha256", masterKey, new Uint8Array(), "voicetill starter key", count)),
  };
  return new Secret(`svc_test_${alphanumeric({ ...stream, uuid: () => "", fraction: () => 0 }, 32)}`);
}

/**
 * Who holds this key; null for a malformed, unknown, expired or revoked one, all alike to the asker.
 * The format is checked before the database is asked; the digest found by its index is compared again in constant time.
 */
export async function authenticate(db: Db, token: string, digestOf: (token: string) => Buffer): Promise<KeyIdentity | null> {
  if (modeOfKey(token) === null) return null;
  const digest = digestOf(token);
  const row = await db
    .selectFrom("api_keys")
    .select(["id", "organization_id", "name", "mode", "digest", "scopes"])
    .where("digest", "=", digest)
    .where("revoked_at", "is", null)
    .where((row) => row.or([row("expires_at", "is", null), row("expires_at", ">", sql<Date>`clock_timestamp()`)]))
    .executeTakeFirst();
  if (!row || !timingSafeEqual(row.digest, digest)) return null;
  return { keyId: row.id, organizationId: row.organization_id, mode: row.mode, scopes: row.scopes, name: row.name };
}
