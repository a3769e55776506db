import { createHash, createHmac, createPrivateKey, sign, timingSafeEqual } from "node:crypto";
import type { Secret } from "#src/kernel/secret.ts";

/**
 * Hashes, signatures and the headers that carry credentials. What is signed is given in pieces, one after another: bytes that
 * hold a card are read where they lie and not copied.
 */
type Pieces = readonly (string | Uint8Array | Secret)[];
type Encoding = "hex" | "base64" | "base64url";

const bytesOf = (piece: Pieces[number]): string | Uint8Array =>
  typeof piece === "string" || piece instanceof Uint8Array ? piece : piece.reveal();

/** Lower-case hex, or Base64 with padding (`base64url` without). `md5` only because vendors ask for it. */
export function hash(algorithm: "md5" | "sha1" | "sha256" | "sha512", pieces: Pieces, encoding: Encoding): string {
  const digest = createHash(algorithm);
  for (const piece of pieces) digest.update(bytesOf(piece));
  return digest.digest(encoding);
}

/** HMAC (RFC 2104); the key's UTF-8 bytes, or with `keyForm` the bytes that its hex or Base64 text stands for. */
export function hmac(
  algorithm: "sha1" | "sha256" | "sha512",
  key: Secret,
  pieces: Pieces,
  encoding: Encoding,
  keyForm: "text" | "base64" | "hex" = "text",
): string {
  const text = key.reveal();
  const mac = createHmac(algorithm, keyForm === "text" ? text : Buffer.from(text, keyForm));
  for (const piece of pieces) mac.update(bytesOf(piece));
  return mac.digest(encoding);
}

/** True when both texts are equal, in a time that does not tell where they differ. */
export function isSameText(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** `Authorization` of HTTP Basic (RFC 7617), UTF-8; an absent password is an empty one. */
export function basicAuth(user: string | Secret, password?: string | Secret): string {
  const text = [user, password ?? ""].map(bytesOf).join(":");
  return `Basic ${Buffer.from(text).toString("base64")}`;
}

/** A signed JWT (RFC 7519) under RS256, for vendors that take one in place of a client secret. Throws for a key that is none. */
export function signedJwt(
  header: Readonly<Record<string, string>>,
  claims: Readonly<Record<string, string | number>>,
  privateKeyPem: Secret,
): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ ...header, alg: "RS256" })}.${part(claims)}`;
  return `${text}.${sign("sha256", Buffer.from(text), createPrivateKey(privateKeyPem.reveal())).toString("base64url")}`;
}
