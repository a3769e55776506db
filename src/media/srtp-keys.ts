import { type Cipheriv, createCipheriv, createHmac } from "node:crypto";

/** The suites of SDES (RFC 4568 section 6.2), both of them with AES in counter mode and HMAC-SHA1. */
export type SrtpSuite = "AES_CM_128_HMAC_SHA1_80" | "AES_CM_128_HMAC_SHA1_32";

/** Octets of the tag of an RTP packet. Those of RTCP are always 10 long (RFC 4568 section 6.2.2). */
export const TAG_BYTES: Readonly<Record<SrtpSuite, number>> = { AES_CM_128_HMAC_SHA1_80: 10, AES_CM_128_HMAC_SHA1_32: 4 };
export const RTCP_TAG_BYTES = 10;

const KEY_BYTES = 16;
const SALT_BYTES = 14;
/** Master key and master salt, one behind the other, as `inline:` writes them. */
export const MASTER_BYTES = KEY_BYTES + SALT_BYTES;
const AUTHENTICATION_KEY_BYTES = 20;
const BLOCK_BYTES = 16;
/** Nothing longer is protected or unprotected: no datagram of audio or of reports comes near it. */
export const LONGEST_DATAGRAM = 2_048;

/** Counter blocks on their way through the cipher, for all streams of the thread. */
const BLOCKS = Buffer.alloc(LONGEST_DATAGRAM + BLOCK_BYTES);

/** The session keys of one direction of RTP or of RTCP. */
interface DerivedKeys {
  key: Buffer;
  salt: Buffer;
  authenticationKey: Buffer;
}

/** `master`: 30 octets. With a key derivation rate of zero, which SDES has where no parameter says otherwise (RFC 3711 section 4.3). */
export function deriveKeys(master: Uint8Array, kind: "rtp" | "rtcp"): DerivedKeys {
  const label = kind === "rtp" ? 0 : 3;
  return {
    key: derive(master, label, KEY_BYTES),
    authenticationKey: derive(master, label + 1, AUTHENTICATION_KEY_BYTES),
    salt: derive(master, label + 2, SALT_BYTES),
  };
}

/** Encrypts, decrypts and authenticates packets of one direction of RTP or of RTCP. */
export class SessionKeys {
  readonly #salt: Buffer;
  readonly #authenticationKey: Buffer;
  /** Counter mode is the encryption of consecutive blocks: one cipher for the whole call costs a quarter of one for each packet. */
  readonly #cipher: Cipheriv;

  /** The keys become its own and are overwritten with it. */
  constructor({ key, salt, authenticationKey }: DerivedKeys) {
    this.#authenticationKey = authenticationKey;
    this.#salt = salt;
    this.#cipher = createCipheriv("aes-128-ecb", key, null).setAutoPadding(false);
    key.fill(0);
  }

  /** Encrypts or decrypts `bytes` from `start` to `end` in place; `index`: of the packet, 48 bits (RFC 3711 section 4.1.1). */
  crypt(bytes: Uint8Array, start: number, end: number, ssrc: number, index: number): void {
    const blocks = Math.ceil((end - start) / BLOCK_BYTES);
    if (blocks <= 0) return;
    BLOCKS.set(this.#salt, 0);
    BLOCKS.writeUInt16BE(0, SALT_BYTES);
    BLOCKS.writeUInt32BE((BLOCKS.readUInt32BE(4) ^ ssrc) >>> 0, 4);
    BLOCKS.writeUInt16BE(BLOCKS.readUInt16BE(8) ^ Math.floor(index / 0x1_0000_0000), 8);
    BLOCKS.writeUInt32BE((BLOCKS.readUInt32BE(10) ^ (index >>> 0)) >>> 0, 10);
    for (let block = 1; block < blocks; block++) {
      BLOCKS.copyWithin(block * BLOCK_BYTES, 0, SALT_BYTES);
      BLOCKS.writeUInt16BE(block, block * BLOCK_BYTES + SALT_BYTES);
    }
    const keystream = this.#cipher.update(BLOCKS.subarray(0, blocks * BLOCK_BYTES));
    for (let at = start; at < end; at++) bytes[at] = (bytes[at] ?? 0) ^ (keystream[at - start] ?? 0);
    keystream.fill(0);
  }

  /** The whole HMAC; a tag is its beginning. */
  authenticate(bytes: Uint8Array): Buffer {
    return createHmac("sha1", this.#authenticationKey).update(bytes).digest();
  }

  /** Overwrites what is held; the cipher's own copy is overwritten by OpenSSL when it is freed. */
  wipe(): void {
    this.#salt.fill(0);
    this.#authenticationKey.fill(0);
    BLOCKS.fill(0);
  }
}

/** RFC 3711 section 4.3.3. */
function derive(master: Uint8Array, label: number, bytes: number): Buffer {
  const iv = Buffer.alloc(BLOCK_BYTES);
  iv.set(master.subarray(KEY_BYTES, MASTER_BYTES));
  iv[7] = (iv[7] ?? 0) ^ label;
  return createCipheriv("aes-128-ctr", master.subarray(0, KEY_BYTES), iv).update(Buffer.alloc(bytes));
}
