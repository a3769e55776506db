import { hash, timingSafeEqual } from "node:crypto";

/** Whether the first platform sent the secret that the project has stored; compared in constant time, whatever its length. */
export function isAlphaSecret(header: string | undefined, secret: string): boolean {
  const digest = (text: string) => hash("sha256", text, "buffer");
  return timingSafeEqual(digest(header ?? ""), digest(secret));
}
