import { MASTER_BYTES, type SrtpSuite, TAG_BYTES } from "./srtp-keys.ts";

/** One a=crypto line (RFC 4568 section 9.1), as far as we can do what it says. */
export interface CryptoLine {
  /** Up to nine digits, by which an answer names the offer's line. */
  tag: string;
  suite: SrtpSuite;
  /** Master key and master salt in base64; of several keys one behind the other. Never log it. */
  key: string;
  /** Octets of the key's identifier (MKI) in each packet. Absent: none. */
  mkiBytes?: number;
}

/** The suites of our offers, the better one first. */
export const OFFERED_SUITES: readonly SrtpSuite[] = ["AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32"];

const CRYPTO = /^a=crypto:(\d{1,9}) +(\w{1,40}) +(\S+)((?: +\S+){0,8}) *$/;
/** 30 octets in base64 need no padding. An optional lifetime, a power of two or a count; an optional MKI with its length, up to 128 octets. */
const KEY = /^inline:([A-Za-z0-9+/]{40})(?:\|(2\^)?(\d{1,15}))?(?:\|(\d{1,99}):([1-9]\d?|1[01]\d|12[0-8]))?$/;
/** Packets under one key that a call of ours may take: two hours have less than half of this. */
const LEAST_LIFETIME = 2 ** 20;
/** Each is tried for a packet that none of them fits. */
const MOST_KEYS = 4;

/**
 * Reads a line; null when we cannot do what it asks for (RFC 4568 section 6.3.7): another suite, no key that lasts a call, several keys
 * that the peer could not tell apart, and every session parameter that matters, those above all that leave out encryption or
 * authentication (S-86).
 */
export function readCryptoLine(line: string): CryptoLine | null {
  const [, tag, suite, written, parameters] = CRYPTO.exec(line) ?? [];
  if (!tag || !written || !isKnown(suite)) return null;
  const read = readKeys(written.split(";"));
  const isIgnorable = (parameter: string) => parameter === "" || parameter.startsWith("-") || /^WSH=\d{1,9}$/.test(parameter);
  return read && (parameters ?? "").split(" ").every(isIgnorable) ? { tag, suite, ...read } : null;
}

/** Of several keys each has an identifier of its own, all of one length (RFC 4568 section 6.1), and the peer may send under any of them. */
function readKeys(written: readonly string[]): Pick<CryptoLine, "key" | "mkiBytes"> | null {
  if (written.length > MOST_KEYS) return null;
  const identifiers = new Set<bigint | null>();
  const lengths = new Set<number | null>();
  let [all, lasts] = ["", false];
  for (const one of written) {
    const [, key, power, lifetime, mki, mkiBytes] = KEY.exec(one) ?? [];
    if (!key) return null;
    all += key;
    lasts ||= lifetime === undefined || (power ? 2 ** Number(lifetime) : Number(lifetime)) >= LEAST_LIFETIME;
    identifiers.add(mki === undefined ? null : BigInt(mki));
    lengths.add(mkiBytes === undefined ? null : Number(mkiBytes));
  }
  const [bytes = null, ...others] = lengths;
  const isTold = written.length === 1 || (bytes !== null && identifiers.size === written.length);
  if (!lasts || !isTold || others.length > 0) return null;
  return bytes === null ? { key: all } : { key: all, mkiBytes: bytes };
}

export function writeCryptoLine({ tag, suite, key }: CryptoLine): string {
  return `a=crypto:${tag} ${suite} inline:${key}`;
}

/** The 30 octets of a line's key, of several one behind the other. */
export function keyOf({ key }: CryptoLine): Uint8Array {
  // Not from Buffer's pool: it is overwritten when the call ends, and is sent to another thread.
  return new Uint8Array(Buffer.from(key, "base64"));
}

/** A new key for a line of ours; `bytes` draws random octets. */
export function newKey(bytes: (count: number) => Uint8Array): string {
  return Buffer.from(bytes(MASTER_BYTES)).toString("base64");
}

function isKnown(suite: string | undefined): suite is SrtpSuite {
  return suite !== undefined && Object.hasOwn(TAG_BYTES, suite);
}
