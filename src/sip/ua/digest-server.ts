import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "#src/kernel/clock.ts";
import type { SipUser } from "#src/kernel/sip-trunk.ts";
import type { SipRequest } from "../grammar/message.ts";
import { toOctets } from "../grammar/octets.ts";
import { algorithmOf, digestHash, parseDigest } from "./digest.ts";

const REALM = "voicetill";
/** How long a nonce may be used, ms; after it the peer is challenged again. */
const NONCE_MS = 300_000;
/** Nonces whose counts are kept, so that no answer is taken twice. Beyond, the oldest is refused as if it were stale. */
const MAX_NONCES = 10_000;
const COUNT = /^[0-9a-f]{8}$/i;

/**
 * Asks callers for their password (RFC 3261 section 22, RFC 7616, RFC 8760). A nonce is its time, its number, and a mark of ours over both and the source
 * address, so nothing is kept for those who never answer; of an answer its count is kept, so that it cannot be played again.
 */
export class DigestServer {
  readonly #users: ReadonlyMap<string, SipUser>;
  readonly #clock: Clock;
  readonly #key: Uint8Array;
  readonly #algorithms: readonly string[];
  /** The highest count of each nonce that was answered well, oldest first. */
  readonly #counts = new Map<string, number>();
  #challenges = 0;
  /** Of the youngest nonce whose count was forgotten before its time: nothing as old as that is taken any more. */
  #forgotten = -1;

  /** `key`: 16 random bytes or more. */
  constructor(users: readonly SipUser[], clock: Clock, key: Uint8Array) {
    this.#users = new Map(users.map((user) => [toOctets(user.name), user]));
    this.#clock = clock;
    this.#key = key;
    // RFC 8760 section 2.3: the best first.
    this.#algorithms = users.some(({ md5 }) => md5) ? ["SHA-256", "MD5"] : ["SHA-256"];
  }

  /** What to send to `address` with 401. `isStale`: its answer was right, only too old. */
  challenge(address: string, isStale: boolean): (readonly [name: string, value: string])[] {
    const nonce = this.#nonce(`${Math.trunc(this.#clock.monotonic()).toString(36)}.${(this.#challenges++).toString(36)}`, address);
    return this.#algorithms.map((algorithm) => [
      "WWW-Authenticate",
      `Digest realm="${REALM}", nonce="${nonce}", algorithm=${algorithm}, qop="auth"${isStale ? ", stale=true" : ""}`,
    ]);
  }

  /** Whether a request from `address` proves to be of one of the users; "stale": it does, by a nonce that is over or was used. */
  check(request: SipRequest, address: string): "accepted" | "stale" | "refused" {
    for (const value of request.fields.all("authorization")) {
      const answer = parseDigest(value);
      if (answer.get("realm") !== REALM || !this.#isRight(answer, request, address)) continue;
      return this.#isFresh(answer) ? "accepted" : "stale";
    }
    return "refused";
  }

  #isRight(answer: ReadonlyMap<string, string>, request: SipRequest, address: string): boolean {
    const user = this.#users.get(answer.get("username") ?? "");
    const algorithm = algorithmOf(answer);
    if (!user || !this.#algorithms.includes(algorithm) || (algorithm === "MD5" && !user.md5)) return false;
    const nonce = answer.get("nonce") ?? "";
    const stamp = nonce.slice(0, Math.max(nonce.lastIndexOf("."), 0));
    const [uri = "", count = "", qop = ""] = ["uri", "nc", "qop"].map((name) => answer.get(name) ?? "");
    if (!isEqual(nonce, this.#nonce(stamp, address)) || uri !== request.requestUri || qop !== "auth" || !COUNT.test(count)) return false;
    const hash = digestHash(algorithm);
    const identity = hash(`${toOctets(user.name)}:${REALM}:${toOctets(user.password.reveal())}`);
    const action = hash(`${request.method}:${uri}`);
    const expected = hash(`${identity}:${nonce}:${count}:${answer.get("cnonce") ?? ""}:auth:${action}`);
    return isEqual(answer.get("response")?.toLowerCase() ?? "", expected);
  }

  /** Its nonce is young, and its count higher than the one before (RFC 7616 section 3.4). */
  #isFresh(answer: ReadonlyMap<string, string>): boolean {
    const nonce = answer.get("nonce") ?? "";
    const oldest = this.#clock.monotonic() - NONCE_MS;
    for (const known of this.#counts.keys()) {
      if (timeOf(known) >= oldest && this.#counts.size < MAX_NONCES) break;
      this.#counts.delete(known);
      this.#forgotten = Math.max(this.#forgotten, timeOf(known));
    }
    const count = Number.parseInt(answer.get("nc") ?? "", 16);
    if (timeOf(nonce) < oldest || timeOf(nonce) <= this.#forgotten || count <= (this.#counts.get(nonce) ?? 0)) return false;
    this.#counts.set(nonce, count);
    return true;
  }

  #nonce(stamp: string, address: string): string {
    return `${stamp}.${createHmac("sha256", this.#key).update(`${stamp}\n${address}`).digest("base64url")}`;
  }
}

function timeOf(nonce: string): number {
  return Number.parseInt(nonce.split(".", 1)[0] ?? "", 36);
}

function isEqual(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one, "latin1"), Buffer.from(other, "latin1"));
}
