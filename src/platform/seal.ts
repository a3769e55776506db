import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";

/**
 * Envelope encryption of what the database keeps sealed (S-31). Layout of a sealed value, version 2:
 *
 *   1 byte version | 8 bytes id of the master key | 60 bytes data key sealed under the master key | data sealed under the data key
 *
 * and of each of the two sealed parts: 12 bytes IV | ciphertext | 16 bytes tag (AES-256-GCM, NIST SP 800-38D). The data key
 * is fresh for each value, so no IV ever meets its key again, and a new master key means sealing 32 bytes anew, not the data.
 */
const VERSION = 2;
const KEY_BYTES = 32;
const ID_BYTES = 8;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const WRAPPED_BYTES = IV_BYTES + KEY_BYTES + TAG_BYTES;
const DATA_AT = 1 + ID_BYTES + WRAPPED_BYTES;

/** Where a sealed value belongs. It opens nowhere else: not in another column, row, organisation or mode. */
export interface Place {
  table: string;
  column: string;
  row: string;
  organizationId: string;
  environment: "test" | "live" | "both";
}

/** A master key and the id under which sealed values name it: a keyed hash, so that it tells nothing of the key. */
export interface MasterKey {
  readonly id: string;
  readonly bytes: Uint8Array;
}

export function masterKey(bytes: Uint8Array): MasterKey {
  if (bytes.length !== KEY_BYTES) throw new Error("a master key has 32 bytes");
  return {
    id: createHmac("sha256", bytes)
      .update("voicetill master key id")
      .digest("hex")
      .slice(0, 2 * ID_BYTES),
    bytes,
  };
}

/** The id of the master key that `sealed` needs. Throws for what is no sealed value. */
export function keyIdOf(sealed: Uint8Array): string {
  if (sealed[0] !== VERSION) throw new Error("a sealed value has an unknown version");
  return Buffer.from(sealed.subarray(1, 1 + ID_BYTES)).toString("hex");
}

export function seal(master: MasterKey, place: Place, plaintext: Uint8Array): Uint8Array {
  const dataKey = randomBytes(KEY_BYTES);
  try {
    return Buffer.concat([wrapped(master, place, dataKey), encrypt(dataKey, ofData(place), plaintext)]);
  } finally {
    dataKey.fill(0);
  }
}

/** Opens what `seal` made. Throws when the key, the place or any byte is another. */
export function open(master: MasterKey, place: Place, sealed: Uint8Array): Uint8Array {
  const dataKey = unwrapped(master, place, sealed);
  try {
    return decrypt(dataKey, ofData(place), sealed.subarray(DATA_AT));
  } finally {
    dataKey.fill(0);
  }
}

/** The same value with its data key sealed under `to`; the sealed data is not touched. */
export function rewrap(from: MasterKey, to: MasterKey, place: Place, sealed: Uint8Array): Uint8Array {
  const dataKey = unwrapped(from, place, sealed);
  try {
    // A damaged value must not get a new wrapping: it would look like one that was just sealed.
    decrypt(dataKey, ofData(place), sealed.subarray(DATA_AT)).fill(0);
    return Buffer.concat([wrapped(to, place, dataKey), sealed.subarray(DATA_AT)]);
  } finally {
    dataKey.fill(0);
  }
}

function wrapped(master: MasterKey, place: Place, dataKey: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(VERSION), Buffer.from(master.id, "hex"), encrypt(master.bytes, ofDataKey(place, master), dataKey)]);
}

function unwrapped(master: MasterKey, place: Place, sealed: Uint8Array): Buffer {
  if (keyIdOf(sealed) !== master.id) throw new Error("a sealed value is under another master key");
  return decrypt(master.bytes, ofDataKey(place, master), sealed.subarray(1 + ID_BYTES, DATA_AT));
}

/** Additional authenticated data. The master key's id is in that of the data key, so that a new one leaves the data alone. */
const ofData = ({ table, column, row, organizationId, environment }: Place) =>
  `voicetill|${VERSION}|${[table, column, row, organizationId, environment].join("|")}`;
const ofDataKey = (place: Place, { id }: MasterKey) => `${ofData(place)}|${id}`;

/** AES-256-GCM: IV, ciphertext, tag. `iv` is given by the tests of known answers alone. */
export function encrypt(key: Uint8Array, associated: string | Uint8Array, plaintext: Uint8Array, iv = randomBytes(IV_BYTES)): Buffer {
  if (iv.length !== IV_BYTES) throw new Error("an IV has 12 bytes");
  const cipher = createCipheriv("aes-256-gcm", key, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(associated));
  return Buffer.concat([iv, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/** Opens what `encrypt` made; throws when the key, the associated data or any byte is another, or when it is too short. */
export function decrypt(key: Uint8Array, associated: string | Uint8Array, sealed: Uint8Array): Buffer {
  if (sealed.length < IV_BYTES + TAG_BYTES) throw new Error("a sealed value is too short");
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(associated)).setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
}
