import type { Secret } from "#src/kernel/secret.ts";
import type { GatewayIo } from "../contract.ts";
import * as kit from "../kit/index.ts";

/** The vendor's two ways to sign a request with one shared secret: a JWT (HS256), and HTTP Signature, which it is giving up. */

export type Signing = Pick<GatewayIo, "clock" | "random">;
type Headers = Record<string, string>;

/** What signing needs of a project's settings. */
interface Settings {
  credentials: { merchant_id: Secret; portfolio_id?: Secret; key_id: Secret; shared_secret: Secret };
  options: { auth_type: "jwt" | "http_signature" };
}

/** What is signed: the vendor's own path, whatever prefix an endpoint puts before it. */
interface Signed {
  method: "GET" | "POST";
  host: string;
  path: string;
  body: Uint8Array | undefined;
}

const JWT_SECONDS = 120;

export function signedHeaders(request: Signed, settings: Settings, by: Signing): Headers {
  const digest = request.body && kit.hash("sha256", [request.body], "base64");
  return settings.options.auth_type === "jwt" ? jwt(request, digest, settings, by) : httpSignature(request, digest, settings, by);
}

function jwt({ method, host, path }: Signed, digest: string | undefined, { credentials }: Settings, { clock, random }: Signing): Headers {
  const { merchant_id: merchant, portfolio_id: portfolio, key_id: key, shared_secret: secret } = credentials;
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const iat = Math.floor(clock.now() / 1_000);
  const claims = {
    ...(digest !== undefined && { digest, "digest-algorithm": "SHA-256" }),
    iat,
    exp: iat + JWT_SECONDS,
    "request-host": host,
    "request-resource-path": path,
    "request-method": method.toLowerCase(),
    iss: (portfolio ?? merchant).reveal(),
    jti: random.uuid(),
    "v-c-jwt-version": "2",
    "v-c-merchant-id": merchant.reveal(),
  };
  const text = `${part({ alg: "HS256", typ: "JWT", kid: key.reveal() })}.${part(claims)}`;
  return { Authorization: `Bearer ${text}.${kit.hmac("sha256", secret, [text], "base64url", "base64")}` };
}

/** With a portfolio's key the signed line names the portfolio, the header the merchant: the vendor's own client has it so. */
function httpSignature(request: Signed, digest: string | undefined, { credentials }: Settings, { clock }: Signing): Headers {
  const { merchant_id: merchant, portfolio_id: portfolio, key_id: key, shared_secret: secret } = credentials;
  const date = new Date(clock.now()).toUTCString();
  const lines: readonly (readonly [name: string, value: string])[] = [
    ["host", request.host],
    ["date", date],
    ["request-target", `${request.method.toLowerCase()} ${request.path}`],
    ...(digest === undefined ? [] : [["digest", `SHA-256=${digest}`] as const]),
    ["v-c-merchant-id", (portfolio ?? merchant).reveal()],
  ];
  const text = lines.map(([name, value]) => `${name}: ${value}`).join("\n");
  const values = {
    keyid: key.reveal(),
    algorithm: "HmacSHA256",
    headers: lines.map(([name]) => name).join(" "),
    signature: kit.hmac("sha256", secret, [text], "base64", "base64"),
  };
  return {
    "v-c-merchant-id": merchant.reveal(),
    Date: date,
    ...(digest !== undefined && { Digest: `SHA-256=${digest}` }),
    Signature: Object.entries(values)
      .map(([name, value]) => `${name}="${value}"`)
      .join(", "),
  };
}
