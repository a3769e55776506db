import { bearer, hash, header, hmac, isAccepted, isSame, json, READERS, Refusal, textOf, uuid } from "../kit/index.ts";
import type { Fields, Incoming } from "../kit/index.ts";

/** Both ways to sign a request, with one key and secret: HTTP Signature, and a JWT. */

/** The sheet's example: the secret, and the parent organisation of a meta key. */
const SHARED_SECRET = "RVhBTVBMRS1ub3QtYS1yZWFsLXNoYXJlZC1rZXktMDE=";
const SECRET = Buffer.from(SHARED_SECRET, "base64");
const PORTFOLIO = "exampleportfolio";
const MERCHANT = /^[A-Za-z0-9_]+$/;
const HOSTS = ["apitest.cybersource.com", "api.cybersource.com", "api.in.cybersource.com"];
const SKEW_MS = 5 * 60_000;
const JWT_SECONDS = 120;

const unauthenticated = (): Refusal => new Refusal(json(401, { response: { rmsg: "Authentication Failed" } }), "401");

/** The merchant that a request speaks for. */
export function authenticate(request: Incoming): string {
  return header(request, "authorization") === "" ? authenticateSignature(request) : authenticateJwt(request);
}

/** The path as it may have been sent: the vendor's, or with the simulator's prefix before it. */
const pathsOf = ({ path, query }: Incoming): string[] =>
  ["", "/cybersource"].map((prefix) => prefix + path + (query.size > 0 ? `?${query.toString()}` : ""));
/** The host as it may have been meant: the vendor's, or the one that the request has reached. */
const hostsOf = (request: Incoming): string[] => [header(request, "host"), ...HOSTS];
const hasBody = ({ method }: Incoming): boolean => /^(POST|PUT|PATCH)$/.test(method);

/** HTTP Signature: every header is there, the digest is the body's, and the signed lines stand in the one order. */
function authenticateSignature(request: Incoming): string {
  const [merchant, date, digest] = ["v-c-merchant-id", "date", "digest"].map((name) => header(request, name)) as [string, string, string];
  const names = `host date request-target ${hasBody(request) ? "digest " : ""}v-c-merchant-id`;
  const form = /^keyid="([^"]*)", algorithm="HmacSHA256", headers="([^"]*)", signature="([^"]*)"$/;
  const [, key = "", listed = "", signature = ""] = form.exec(header(request, "signature")) ?? [];
  const [target = "request-target"] = /\(request-target\)/.exec(listed) ?? [];
  if (!isAccepted(merchant, MERCHANT) || uuid.check(key) !== null || listed !== names.replace("request-target", target))
    throw unauthenticated();
  if (!date.endsWith(" GMT") || !(Math.abs(request.tools.now() - Date.parse(date)) <= SKEW_MS)) throw unauthenticated();
  if (hasBody(request) ? digest !== `SHA-256=${hash("sha256", request.body, "base64")}` : digest !== "") throw unauthenticated();
  const lines = hostsOf(request).flatMap((host) =>
    pathsOf(request).flatMap((path) =>
      [merchant, PORTFOLIO].map((signer) =>
        [
          `host: ${host}`,
          `date: ${date}`,
          `${target}: ${request.method.toLowerCase()} ${path}`,
          ...(hasBody(request) ? [`digest: ${digest}`] : []),
          `v-c-merchant-id: ${signer}`,
        ].join("\n"),
      ),
    ),
  );
  if (!lines.some((line) => isSame(hmac("sha256", SECRET, line, "base64"), signature))) throw unauthenticated();
  return merchant;
}

const decoded = (part: string): Fields => READERS.json.read(Buffer.from(part, "base64url")) ?? new Map<string, unknown>();

/** A JWT of two minutes over the digest, host, path and method; each `jti` once. */
function authenticateJwt(request: Incoming): string {
  const [head = "", body = "", signature = ""] = bearer(request).split(".");
  const [headers, claims] = [decoded(head), decoded(body)];
  const [merchant, iat, jti] = [textOf(claims, "v-c-merchant-id"), Number(claims.get("iat")), textOf(claims, "jti")];
  const nowSeconds = request.tools.now() / 1000;
  const isRight = [
    headers.get("alg") === "HS256" && headers.get("typ") === "JWT" && uuid.check(headers.get("kid")) === null,
    isSame(hmac("sha256", SECRET, `${head}.${body}`, "base64url"), signature),
    isAccepted(merchant, MERCHANT) && [merchant, PORTFOLIO].includes(textOf(claims, "iss")),
    Number.isInteger(iat) &&
      claims.get("exp") === iat + JWT_SECONDS &&
      iat <= nowSeconds + SKEW_MS / 1000 &&
      nowSeconds <= iat + JWT_SECONDS,
    hostsOf(request).includes(textOf(claims, "request-host")) && pathsOf(request).includes(textOf(claims, "request-resource-path")),
    claims.get("request-method") === request.method.toLowerCase() && claims.get("v-c-jwt-version") === "2" && jti !== "",
    claims.get("digest") === (hasBody(request) ? hash("sha256", request.body, "base64") : undefined),
    claims.get("digest-algorithm") === (hasBody(request) ? "SHA-256" : undefined),
    !request.shared.has(`jti ${jti}`),
  ].every(Boolean);
  if (!isRight) throw unauthenticated();
  request.shared.set(`jti ${jti}`, true);
  return merchant;
}
