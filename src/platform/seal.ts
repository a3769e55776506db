import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OperatorError } from "#src/kernel/errors.ts";
import type { Secret } from "#src/kernel/secret.ts";

/**
 * Envelope encryption of what the database keeps sealed (SECURITY S-31). Layout of a sealed value, version 1:
 *
 *   1 byte version | 60 bytes data key sealed under the master key | data sealed under the data key
 *
 * and of each of the two sealed parts: 12 bytes IV | ciphertext | 16 bytes tag (AES-256-GCM, NIST SP 800-38D). The data key
 * is fresh for each value, so no IV ever meets its key again, and a new master key means sealing 32 bytes anew, not the data.
 */
const VERSION = 1;
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const WRAPPED_BYTES = IV_BYTES + KEY_BYTES + TAG_BYTES;

/** Seals `plaintext`. `place` says where the value belongs (table, row, organisation, mode): it opens nowhere else. */
export function seal(masterKey: Uint8Array, place: string, plaintext: Uint8Array): Uint8Array {
  const dataKey = randomBytes(KEY_BYTES);
  try {
    return Buffer.concat([Buffer.of(VERSION), encrypt(masterKey, place, dataKey), encrypt(dataKey, place, plaintext)]);
  } finally {
    dataKey.fill(0);
  }
}

/** Opens what `seal` made. Throws when the key, the place or any byte is another. */
export function open(masterKey: Uint8Array, place: string, sealed: Uint8Array): Uint8Array {
  if (sealed[0] !== VERSION) throw new Error("a sealed value has an unknown version");
  const dataKey = decrypt(masterKey, place, sealed.subarray(1, 1 + WRAPPED_BYTES));
  try {
    return decrypt(dataKey, place, sealed.subarray(1 + WRAPPED_BYTES));
  } finally {
    dataKey.fill(0);
  }
}

function encrypt(key: Uint8Array, place: string, plaintext: Uint8Array): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, iv, { authTagLength: TAG_BYTES }).setAAD(associated(place));
  return Buffer.concat([iv, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: Uint8Array, place: string, sealed: Uint8Array): Buffer {
  if (sealed.length < IV_BYTES + TAG_BYTES) throw new Error("a sealed value is too short");
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(associated(place)).setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
}

function associated(place: string): Buffer {
  return Buffer.from(`voicetill|${VERSION}|${place}`);
}

/** The 32 bytes of MASTER_KEY when it is set, else those of the key file in `dataDir`, made with the first start. */
export function loadMasterKey(setting: Secret | null, dataDir: string): Uint8Array {
  if (setting) return decodeMasterKey(setting.reveal(), "MASTER_KEY");
  const file = join(dataDir, "master.key");
  try {
    writeFileSync(file, `${randomBytes(KEY_BYTES).toString("base64")}\n`, { mode: 0o600, flag: "wx" });
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== "EEXIST") throw new OperatorError(`DATA_DIR: ${file} cannot be written.`, { cause });
  }
  if ((statSync(file).mode & 0o077) !== 0) throw new OperatorError(`${file} can be read by others: it needs mode 0600.`);
  return decodeMasterKey(readFileSync(file, "utf8").trim(), file);
}

/** 32 bytes from base64. Throws OperatorError that names `source`. */
function decodeMasterKey(text: string, source: string): Uint8Array {
  const key = Buffer.from(text, "base64");
  if (key.length !== KEY_BYTES || key.toString("base64") !== text) throw new OperatorError(`${source} is not 32 bytes in base64.`);
  return key;
}
