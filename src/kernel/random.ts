import { randomBytes, randomUUID } from "node:crypto";

/** Chance as the core sees it; the simulation replaces it with a seeded one. */
export interface Random {
  /** A version 4 UUID, lower case (RFC 9562 section 5.4). */
  uuid(): string;
  /** `count` unpredictable bytes. */
  bytes(count: number): Uint8Array;
  /** A number in [0, 1), for jitter. Not for secrets. */
  fraction(): number;
}

/** The host's cryptographic generator. */
export const systemRandom: Random = {
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
  fraction: () => Math.random(),
};

const ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** `length` characters drawn evenly from A-Z, a-z and 0-9 (bytes past the last whole multiple of 62 are thrown away). */
export function alphanumeric(random: Random, length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of random.bytes(length * 2)) {
      if (byte < 248 && text.length < length) text += ALPHANUMERIC[byte % 62];
    }
  }
  return text;
}
