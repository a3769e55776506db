import { MASTER_BYTES, type SrtpSuite, TAG_BYTES } from "./srtp-keys.ts";

/** One a=crypto line (RFC 4568 section 9.1), as far as we can do what it says. */
export interface CryptoLine {
  /** Up to nine digits, by which an answer names the offer's line. */
  tag: string;
  suite: SrtpSuite;
  /** Master key and master salt in base64. Never log it. */
  key: string;
  /** Octets of the key's identifier (MKI) in each packet. Absent: none. */
  mkiBytes?: number;
}

/** The suites of our offers, the better one first. */
export const OFFERED_SUITES: readonly SrtpSuite[] = ["AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32"];

/** 30 octets in base64 need no padding. An optional lifetime, a power of two or a count; an optional MKI with its length, up to 128 octets. */
const CRYPTO =
  /^a=crypto:(\d{1,9}) +(\w{1,40}) +inline:([A-Za-z0-9+/]{40})(?:\|(2\^)?(\d{1,15}))?(?:\|\d{1,99}:([1-9]\d?|1[01]\d|12[0-8]))?((?: +\S+){0,8}) *$/;
/** Packets under one key that a call of ours may take: two hours have less than half of this. */
const LEAST_LIFETIME = 2 ** 20;

/**
 * Reads a line; null when we cannot do what it asks for (RFC 4568 section 6.3.7): another suite, several keys, a lifetime shorter
 * than a call, and every session parameter that matters, those above all that leave out encryption or authentication (S-86).
 */
export function readCryptoLine(line: string): CryptoLine | null {
  const [, tag, suite, key, power, lifetime, mkiBytes, parameters] = CRYPTO.exec(line) ?? [];
  if (!tag || !key || !isKnown(suite)) return null;
  if (lifetime !== undefined && (power ? 2 ** Number(lifetime) : Number(lifetime)) < LEAST_LIFETIME) return null;
  const isIgnorable = (parameter: string) => parameter === "" || parameter.startsWith("-") || /^WSH=\d{1,9}$/.test(parameter);
  if (!(parameters ?? "").split(" ").every(isIgnorable)) return null;
  return mkiBytes === undefined ? { tag, suite, key } : { tag, suite, key, mkiBytes: Number(mkiBytes) };
}

export function writeCryptoLine({ tag, suite, key }: CryptoLine): string {
  return `a=crypto:${tag} ${suite} inline:${key}`;
}

/** The 30 octets of a line's key. */
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
