import { createHmac, timingSafeEqual } from "node:crypto";
import type { Secret } from "#src/kernel/secret.ts";

/**
 * The two signature families of a status webhook, both over the same bytes and the same timestamp:
 * Standard Webhooks 1.0.0 (`webhook-id`, `webhook-timestamp`, `webhook-signature`) and `X-Signature: t=,v1=`, the form
 * of the card forwarding request (docs/interface.md, Card forwarding). While a secret is rolled each family carries one signature per secret.
 */

const TOLERANCE_SECONDS = 300;

/** Standard Webhooks signs `id.timestamp.body` under the base64-decoded part of the secret after `whsec_`. */
function standardSignature(secret: string, id: string, seconds: number, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  return createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
}

/** X-Signature signs `timestamp.body` under the whole secret string as UTF-8, `whsec_` included. */
function timestampedSignature(secret: string, seconds: number, body: string): string {
  return createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
}

/** The signature headers of one try. `seconds` is the time of the try: a retry is signed afresh, `id` stays. */
export function signatureHeaders(secrets: readonly Secret[], id: string, seconds: number, body: string): Record<string, string> {
  const values = secrets.map((secret) => secret.reveal());
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": values.map((secret) => `v1,${standardSignature(secret, id, seconds, body)}`).join(" "),
    "x-signature": [`t=${seconds}`, ...values.map((secret) => `v1=${timestampedSignature(secret, seconds, body)}`)].join(","),
  };
}

export type Verification = { verified: true; id: string } | { verified: false; reason: string };

/**
 * Checks a received status webhook as a careful receiver does: both families present and right, in constant time, and
 * not older or newer than five minutes. Header names in any case; `body` as received, before any parsing.
 */
export function verifyWebhook(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  body: string,
  secret: string,
  nowMs: number,
): Verification {
  const header = (name: string): string => {
    const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
    return typeof found === "string" ? found : "";
  };
  const fresh = (seconds: number) => Math.abs(nowMs / 1000 - seconds) <= TOLERANCE_SECONDS;
  const refuse = (reason: string): Verification => ({ verified: false, reason });

  const id = header("webhook-id");
  const timestamp = header("webhook-timestamp");
  if (id === "" || !/^[0-9]{1,12}$/.test(timestamp)) return refuse("webhook-id or webhook-timestamp is missing or malformed");
  if (!fresh(Number(timestamp))) return refuse("webhook-timestamp is more than five minutes away");
  const standard = header("webhook-signature")
    .split(" ")
    .filter((part) => part.startsWith("v1,"))
    .map((part) => part.slice(3));
  if (!anyEqual(standard, standardSignature(secret, id, Number(timestamp), body))) return refuse("webhook-signature does not match");

  const parts = header("x-signature").split(",");
  const time = parts.find((part) => part.startsWith("t="))?.slice(2) ?? "";
  if (!/^[0-9]{1,12}$/.test(time)) return refuse("X-Signature is missing or malformed");
  if (!fresh(Number(time))) return refuse("the time of X-Signature is more than five minutes away");
  const timestamped = parts.filter((part) => part.startsWith("v1=")).map((part) => part.slice(3));
  if (!anyEqual(timestamped, timestampedSignature(secret, Number(time), body))) return refuse("X-Signature does not match");
  return { verified: true, id };
}

function anyEqual(candidates: readonly string[], expected: string): boolean {
  const wanted = Buffer.from(expected);
  return candidates.some((candidate) => {
    const given = Buffer.from(candidate);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}
