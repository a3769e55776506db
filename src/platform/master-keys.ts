import { randomBytes } from "node:crypto";
import { closeSync, existsSync, fchmodSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { OperatorError } from "#src/kernel/errors.ts";
import type { Secret } from "#src/kernel/secret.ts";
import { createKeyring, type Keyring } from "./seal-keyring.ts";

const KEY_BYTES = 32;

export interface KeySources {
  /** MASTER_KEY; null: the key file of the data folder. */
  masterKey: Secret | null;
  /** MASTER_KEY_PREVIOUS: opens too, while the key is being replaced. */
  masterKeyPrevious: Secret | null;
  dataDir: string;
  /** The database has values under a master key already: a new one opens none of them, and is not made. */
  isSealed?: boolean;
}

/**
 * The keys of MASTER_KEY and MASTER_KEY_PREVIOUS when the first is set, else those of the key file, made with the first
 * start: one key a line, the current one first. Throws OperatorError. The caller holds the data folder's lock, or has set the key.
 */
export function loadKeyring({ masterKey, masterKeyPrevious, dataDir, isSealed = false }: KeySources): Keyring {
  if (masterKey) {
    const previous = masterKeyPrevious ? [decode(masterKeyPrevious.reveal(), "MASTER_KEY_PREVIOUS")] : [];
    return createKeyring([decode(masterKey.reveal(), "MASTER_KEY"), ...previous]);
  }
  const file = join(dataDir, "master.key");
  if (masterKeyPrevious) throw new OperatorError(`MASTER_KEY_PREVIOUS: it goes with MASTER_KEY; here the keys are in ${file}.`);
  if (!existsSync(file) && isSealed)
    throw new OperatorError(`DATA_DIR: ${file} is missing, under which its database is sealed: restore it from the back-up.`);
  if (!existsSync(file)) writeKeys(file, [randomBytes(KEY_BYTES)]);
  if ((statSync(file).mode & 0o077) !== 0) throw new OperatorError(`${file} can be read by others: it needs mode 0600.`);
  const keys = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => decode(line, file)) as [Uint8Array, ...Uint8Array[]];
  return createKeyring(keys, { write: (next) => writeKeys(file, next) });
}

/** Written beside, forced to the disk, renamed: a crash at any moment leaves the old file or the new one, whole. */
function writeKeys(file: string, keys: readonly Uint8Array[]): void {
  try {
    const beside = `${file}.new`;
    const text = keys.map((key) => `${Buffer.from(key).toString("base64")}\n`).join("");
    forced(openSync(beside, "w", 0o600), text);
    renameSync(beside, file);
    forced(openSync(dirname(file), "r"));
  } catch (cause) {
    throw new OperatorError(`DATA_DIR: ${file} cannot be written.`, { cause });
  }
}

function forced(descriptor: number, text?: string): void {
  try {
    if (text !== undefined) {
      fchmodSync(descriptor, 0o600);
      writeSync(descriptor, text);
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** 32 bytes from base64. Throws OperatorError that names `source`. */
function decode(text: string, source: string): Uint8Array {
  const key = Buffer.from(text, "base64");
  if (key.length !== KEY_BYTES || key.toString("base64") !== text) throw new OperatorError(`${source} is not 32 bytes in base64.`);
  return key;
}
