import { hkdfSync, randomBytes } from "node:crypto";
import { OperatorError } from "#src/kernel/errors.ts";
import { beginChain } from "./audit-chain.ts";
import { type Database, type Db, hasTable } from "./db/database.ts";
import type { Keyring } from "./seal-keyring.ts";
import type { Place } from "./seal.ts";

/** What is stored under the installation's master key and outlives it when it is replaced (docs/decisions/0010). */
export interface InstallationKeys {
  readonly keyring: Keyring;
  /** Hashes API keys. */
  readonly pepper: Uint8Array;
  /** What the demo project's key is made of. */
  readonly starter: Uint8Array;
  /** Seals the audit log. */
  readonly audit: Uint8Array;
}

type Name = "pepper" | "starter" | "audit";

const KEY_BYTES = 32;
/** As many as an API key is made of. */
const STARTER_BYTES = 64;

const place = (name: string): Place => ({
  table: "installation_keys",
  column: "sealed",
  row: name,
  organizationId: "none",
  environment: "both",
});

const derived = (master: Uint8Array, info: string, bytes: number) => Buffer.from(hkdfSync("sha256", master, new Uint8Array(), info, bytes));

/** The keys as a first start makes them, not stored: for the tests, and for a database that has no place for them yet. */
export function firstKeys(keyring: Keyring): InstallationKeys {
  const { bytes } = keyring.current;
  return {
    keyring,
    // Both came straight from the master key once: so made, the API keys of that time go on fitting.
    pepper: derived(bytes, "voicetill api key pepper", KEY_BYTES),
    starter: derived(bytes, "voicetill starter key", STARTER_BYTES),
    audit: randomBytes(KEY_BYTES),
  };
}

/** Whether this database has its keys already. */
export async function isSealed(db: Db): Promise<boolean> {
  return (
    (await hasTable(db, "installation_keys")) &&
    (await db.selectFrom("installation_keys").select("name").limit(1).executeTakeFirst()) !== undefined
  );
}

/**
 * The keys of this database, made by whichever process comes first. Throws OperatorError when the master key is not the one
 * they are sealed under.
 */
export async function openInstallationKeys(database: Pick<Database, "db" | "transaction">, keyring: Keyring): Promise<InstallationKeys> {
  const { db } = database;
  const first = firstKeys(keyring);
  if (!(await hasTable(db, "installation_keys"))) return first;
  const ensure = async (name: Name) => (await find(db, keyring, name)) ?? (await insertKey(database, keyring, name, first[name]));
  return { keyring, pepper: await ensure("pepper"), starter: await ensure("starter"), audit: await ensure("audit") };
}

async function insertKey(
  { db, transaction }: Pick<Database, "db" | "transaction">,
  keyring: Keyring,
  name: Name,
  key: Uint8Array,
): Promise<Uint8Array> {
  const sealed = keyring.seal(place(name), key);
  const isMade = await transaction(async (tx) => {
    const made = await tx
      .insertInto("installation_keys")
      .values({ name, sealed })
      .onConflict((conflict) => conflict.column("name").doNothing())
      .returning("name")
      .executeTakeFirst();
    // The chain's beginning is as old as its key: a log that was emptied later cannot pass for a new one.
    if (made && name === "audit") await beginChain(tx, key);
    return made !== undefined;
  });
  return isMade ? key : (await find(db, keyring, name))!;
}

async function find(db: Db, keyring: Keyring, name: Name): Promise<Uint8Array | null> {
  const row = await db.selectFrom("installation_keys").select("sealed").where("name", "=", name).executeTakeFirst();
  if (!row) return null;
  try {
    return keyring.open(place(name), row.sealed);
  } catch (cause) {
    throw new OperatorError("The master key is not the one that this database is sealed under: see MASTER_KEY in docs/operations.md.", {
      cause,
    });
  }
}

/** Puts these keys under the current master key; returns how many were not. */
export async function rewrapInstallationKeys({ transaction }: Pick<Database, "transaction">, keyring: Keyring): Promise<number> {
  return await transaction(async (tx) => {
    const rows = await tx.selectFrom("installation_keys").select(["name", "sealed"]).forUpdate().execute();
    let count = 0;
    for (const { name, sealed } of rows) {
      const next = keyring.rewrap(place(name), sealed);
      if (!next) continue;
      await tx.updateTable("installation_keys").set({ sealed: next }).where("name", "=", name).execute();
      count++;
    }
    return count;
  });
}
