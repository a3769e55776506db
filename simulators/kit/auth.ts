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

/** The user of HTTP Basic, when the user and the password are there, have the vendor's form and are accepted; else null. */
export function basicUser(request: Headers, forms: { user?: RegExp; password?: RegExp } = {}): string | null {
  const { user, password } = basic(request) ?? { user: "", password: "" };
  return user !== "" && isAccepted(user, forms.user) && isAccepted(password, forms.password) ? user : null;
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

/** The hexadecimal digits of a text's MD5, grouped as a UUID. */
export const uuidOf = (data: string): string => hash("md5", data).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");

/** Equal texts, compared in constant time. */
export function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Access tokens that a simulator has issued, and refresh tokens that are replaced at each use. */
export class AccessTokens {
  readonly #issued = new Map<string, { account: string; endsAt: number }>();
  /** When each refresh token was replaced; null while it is the newest. */
  readonly #refresh = new Map<string, number | null>();

  /** Keeps a token that was made for an account; `nowMs` of the simulator's clock. */
  issue(token: string, account: string, seconds: number, nowMs: number): void {
    this.#issued.set(token, { account, endsAt: nowMs + seconds * 1000 });
  }

  /** The account of a token; null when it was never issued or its time is over. */
  accountOf(token: string, nowMs: number): string | null {
    const issued = this.#issued.get(token);
    return issued !== undefined && issued.endsAt > nowMs ? issued.account : null;
  }

  /** No access token that was issued until now is good any more. */
  expire(): void {
    this.#issued.clear();
  }

  /**
   * Replaces a refresh token; false when it was itself replaced longer than `graceMs` ago. The first one of a merchant is whatever he
   * was given at the vendor's site, so one that was never issued is taken as that.
   */
  rotate(given: string, successor: string, graceMs: number, nowMs: number): boolean {
    const replacedAt = this.#refresh.get(given) ?? null;
    if (replacedAt !== null && nowMs - replacedAt > graceMs) return false;
    this.#refresh.set(given, replacedAt ?? nowMs);
    this.#refresh.set(successor, null);
    return true;
  }
}
