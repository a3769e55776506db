import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { BinaryToTextEncoding } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/**
 * Which credentials every simulator refuses, so that one apply file works for all: any with `wrong` in them is unknown to
 * the vendor, any with `expired` has run out. The others need only the vendor's form.
 */
export function checkCredential(credential: string, form: RegExp = /./): "accepted" | "wrong" | "expired" {
  if (/expired/i.test(credential)) return "expired";
  return /wrong/i.test(credential) || !form.test(credential) ? "wrong" : "accepted";
}

export const isAccepted = (credential: string, form?: RegExp): boolean => checkCredential(credential, form) === "accepted";

type Headers = { headers: IncomingHttpHeaders };

/** One header's value, or "" when it is absent or came several times. */
export function header({ headers }: Headers, name: string): string {
  const value = headers[name.toLowerCase()];
  return typeof value === "string" ? value : "";
}

/** User and password of HTTP Basic (RFC 7617), or null. */
export function basic(request: Headers): { user: string; password: string } | null {
  const [, encoded] = /^basic ([A-Za-z0-9+/]+=*)$/i.exec(header(request, "authorization")) ?? [];
  if (encoded === undefined) return null;
  const [user = "", ...password] = Buffer.from(encoded, "base64").toString().split(":");
  return { user, password: password.join(":") };
}

/** The token of `Authorization: Bearer`, or "". */
export function bearer(request: Headers): string {
  return /^bearer (\S+)$/i.exec(header(request, "authorization"))?.[1] ?? "";
}

export function hmac(
  algorithm: "sha256" | "sha512",
  key: string | Buffer,
  data: string | Buffer,
  encoding: BinaryToTextEncoding = "hex",
): string {
  return createHmac(algorithm, key).update(data).digest(encoding);
}

export function hash(
  algorithm: "md5" | "sha1" | "sha256" | "sha512",
  data: string | Buffer,
  encoding: BinaryToTextEncoding = "hex",
): string {
  return createHash(algorithm).update(data).digest(encoding);
}

/** Equal texts, compared in constant time. */
export function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Access tokens that a simulator has issued, and refresh tokens that are replaced at each use. */
export class AccessTokens {
  readonly #issued = new Map<string, { account: string; endsAt: number }>();
  readonly #refresh = new Map<string, string>();

  /** Keeps a token that was made for an account; `nowMs` of the simulator's clock. */
  issue(token: string, account: string, seconds: number, nowMs: number): void {
    this.#issued.set(token, { account, endsAt: nowMs + seconds * 1000 });
  }

  /** The account of a token, or why it has none. */
  accountOf(token: string, nowMs: number): { account: string } | "unknown" | "expired" {
    const issued = this.#issued.get(token);
    if (issued === undefined) return "unknown";
    return issued.endsAt <= nowMs ? "expired" : { account: issued.account };
  }

  /**
   * Takes a refresh token and gives its successor. The first one of an account is whatever the merchant was given, so an unknown
   * one is taken as such; one that has been replaced is refused: null.
   */
  rotate(account: string, given: string, successor: string): string | null {
    const current = this.#refresh.get(account);
    if (current !== undefined && current !== given) return null;
    this.#refresh.set(account, successor);
    return successor;
  }
}
