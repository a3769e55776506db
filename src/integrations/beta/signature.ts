import { createHmac, timingSafeEqual } from "node:crypto";

/** `v=<unix milliseconds>,d=<hex>`. */
const FORM = /^v=([0-9]{1,16}),d=([0-9a-f]{64})$/;
const TOLERANCE_MS = 5 * 60_000;

/**
 * Whether the second platform signed these bytes within five minutes of `nowMs`: HMAC-SHA256 under the account's API key of the raw
 * body, directly followed by the milliseconds.
 */
export function isSignedByBeta(body: Uint8Array, header: string | undefined, apiKey: string, nowMs: number): boolean {
  const [, time, digest] = FORM.exec(header ?? "") ?? [];
  if (time === undefined || digest === undefined) return false;
  const expected = createHmac("sha256", apiKey).update(body).update(time).digest();
  return timingSafeEqual(Buffer.from(digest, "hex"), expected) && Math.abs(nowMs - Number(time)) <= TOLERANCE_MS;
}
