import { createHmac } from "node:crypto";
import type { Secret } from "#src/kernel/secret.ts";

/**
 * HMAC over the pieces one after another, the secret's UTF-8 bytes as key. Pieces may be bytes that hold a card: they are
 * read where they lie and not copied.
 */
export function hmac(
  algorithm: "sha256" | "sha512",
  secret: Secret,
  pieces: readonly (string | Uint8Array)[],
  encoding: "hex" | "base64",
): string {
  const mac = createHmac(algorithm, secret.reveal());
  for (const piece of pieces) mac.update(piece);
  return mac.digest(encoding);
}
