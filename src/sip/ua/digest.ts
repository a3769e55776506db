import { createHash } from "node:crypto";
import type { Random } from "#src/kernel/random.ts";
import type { Secret } from "#src/kernel/secret.ts";
import { SipRequest, type SipResponse } from "../grammar/message.ts";
import { toOctets } from "../grammar/octets.ts";
import { quote, Scanner, unquote } from "../grammar/scanner.ts";
import { randomToken } from "./agent.ts";

/** How we introduce ourselves to a trunk. */
export interface Credentials {
  username: string;
  password: Secret;
  /** MD5 is answered too, which whoever listens in can search for the password: for a trunk that knows nothing better. */
  md5: boolean;
}

/** RFC 8760 section 2.1; MD5 is RFC 3261's own. Names of node:crypto. */
const HASHES: ReadonlyMap<string, string> = new Map([
  ["SHA-256", "sha256"],
  ["SHA-512-256", "sha512-256"],
  ["MD5", "md5"],
]);

/** Who asks where, and where the answer goes (RFC 3261 section 22). */
const HEADERS: ReadonlyMap<number, readonly [challenge: string, credentials: string]> = new Map([
  [401, ["WWW-Authenticate", "Authorization"]],
  [407, ["Proxy-Authenticate", "Proxy-Authorization"]],
]);

/** The headers that they stand in. */
export const CREDENTIALS: readonly string[] = Array.from(HEADERS.values(), ([, name]) => name);

/**
 * The credentials of one call (RFC 3261 section 22). They are given to the addresses of the trunk's own name, for the first realm
 * that asked: a Contact, a Record-Route or another realm is the peer's choice, and whoever has a digest for a nonce of its own
 * choice can guess the password.
 */
export class DigestClient {
  readonly #credentials: Credentials;
  readonly #random: Random;
  #addresses: ReadonlySet<string> | null = null;
  #realm: string | null = null;
  /** How often each nonce was answered (RFC 7616 section 3.4, nc): a server may give the same one again. */
  readonly #counts = new Map<string, number>();
  /** Requests made because a nonce had run out: that happens once to each. */
  readonly #renewed = new WeakSet<SipRequest>();

  constructor(credentials: Credentials, random: Random) {
    this.#credentials = credentials;
    this.#random = random;
  }

  /** The addresses of the trunk, once and for all: the first request of a call goes to the trunk itself. */
  bind(addresses: readonly string[]): void {
    this.#addresses ??= new Set(addresses);
  }

  /** Whether the credentials may be sent to this address. */
  isFor(address: string): boolean {
    return this.#addresses?.has(address) ?? false;
  }

  /**
   * The request again with the credentials that `response` asks for and the next CSeq number (section 22.2); null when it asks for
   * none, for another realm, for something we cannot compute, or for the second time: then the credentials are wrong, unless the nonce
   * had run out ("stale").
   * `address`: where the response came from and the request will go.
   */
  authorize(request: SipRequest, response: SipResponse, address: string): SipRequest | null {
    const [asks, answers] = HEADERS.get(response.status) ?? [];
    if (asks === undefined || answers === undefined || !this.isFor(address)) return null;
    // RFC 8760 section 2.4: the first challenge we can answer is the one the server likes best.
    const challenge = response.fields
      .all(asks)
      .map(parseDigest)
      .find((one) => this.#isAnswerable(one) && (this.#realm === null || one.get("realm") === this.#realm));
    const isRenewal = request.fields.first(answers) !== null;
    if (!challenge || (isRenewal && (challenge.get("stale")?.toLowerCase() !== "true" || this.#renewed.has(request)))) return null;
    this.#realm = challenge.get("realm") ?? null;
    const fields = request.fields.clone();
    fields.replaceFirst("CSeq", `${request.cseq.number + 1} ${request.method}`);
    const nonce = challenge.get("nonce") ?? "";
    const count = (this.#counts.get(nonce) ?? 0) + 1;
    this.#counts.set(nonce, count);
    const credentials = digest(challenge, request, this.#credentials, randomToken(this.#random), count);
    if (isRenewal) fields.replaceFirst(answers, credentials);
    else fields.add(answers, credentials);
    const again = new SipRequest(request.method, request.requestUri, fields, request.body);
    if (isRenewal) this.#renewed.add(again);
    return again;
  }

  /** Without qop the digest has no nonce of ours in it, and can be looked up in a table made before (RFC 7616 section 5.9). */
  #isAnswerable(challenge: ReadonlyMap<string, string>): boolean {
    const algorithm = algorithmOf(challenge);
    const isAllowed = HASHES.has(algorithm) && (algorithm !== "MD5" || this.#credentials.md5);
    return challenge.has("realm") && challenge.has("nonce") && isAllowed && offersAuth(challenge.get("qop") ?? "");
  }

  /** Adds the credentials of `invite` to the ACK of its 2xx (section 13.2.2.4). */
  repeat(ack: SipRequest, invite: SipRequest): void {
    for (const name of CREDENTIALS) ack.fields.copy(name, invite.fields);
  }
}

/** The parameters of a challenge or of its answer, names in lower case, values unquoted; empty when it is no Digest. */
export function parseDigest(value: string): ReadonlyMap<string, string> {
  const params = new Map<string, string>();
  try {
    const scanner = new Scanner(value);
    scanner.space();
    if (scanner.token().toLowerCase() !== "digest") return params;
    do {
      scanner.space();
      const name = scanner.token().toLowerCase();
      if (!scanner.separator("=")) break;
      params.set(name, unquote(scanner.quoted() ?? scanner.token()));
    } while (scanner.separator(","));
  } catch {
    params.clear();
  }
  return params;
}

/** In upper case; MD5 when none is named (RFC 7616 section 3.3). */
export function algorithmOf(challenge: ReadonlyMap<string, string>): string {
  return challenge.get("algorithm")?.toUpperCase() ?? "MD5";
}

function offersAuth(qop: string): boolean {
  return qop.split(",").some((option) => option.trim().toLowerCase() === "auth");
}

/** The hash that a known algorithm stands for: of an octet string, in hexadecimal. */
export function digestHash(algorithm: string): (octets: string) => string {
  return (octets) =>
    createHash(HASHES.get(algorithm) ?? "md5")
      .update(octets, "latin1")
      .digest("hex");
}

/** The value of Authorization (RFC 7616 section 3.4). */
function digest(
  challenge: ReadonlyMap<string, string>,
  request: SipRequest,
  credentials: Credentials,
  cnonce: string,
  uses: number,
): string {
  const [realm = "", nonce = ""] = [challenge.get("realm"), challenge.get("nonce")];
  const username = toOctets(credentials.username);
  const hash = digestHash(algorithmOf(challenge));
  const identity = hash(`${username}:${realm}:${toOctets(credentials.password.reveal())}`);
  const action = hash(`${request.method}:${request.requestUri}`);
  const count = uses.toString(16).padStart(8, "0");
  const params = [
    `username=${quote(username)}`,
    `realm=${quote(realm)}`,
    `nonce=${quote(nonce)}`,
    `uri=${quote(request.requestUri)}`,
    `response="${hash(`${identity}:${nonce}:${count}:${cnonce}:auth:${action}`)}"`,
  ];
  const algorithm = challenge.get("algorithm");
  const opaque = challenge.get("opaque");
  if (algorithm !== undefined) params.push(`algorithm=${algorithm}`);
  if (opaque !== undefined) params.push(`opaque=${quote(opaque)}`);
  params.push("qop=auth", `nc=${count}`, `cnonce="${cnonce}"`);
  return `Digest ${params.join(", ")}`;
}
