import { Secret } from "./secret.ts";

/** The trunk that takes calls to phone numbers (`SIP_OUTBOUND`). */
export interface Trunk {
  host: string;
  /** Null: the service records of its name say, else it is the usual one (RFC 3263 section 4.2). */
  port: number | null;
  transport: "udp" | "tcp" | "tls";
  /** `md5`: the trunk knows no better digest. */
  credentials: { username: string; password: Secret; md5: boolean } | null;
}

/** Somebody who may place calls with a password, from any address (`SIP_USERS`). */
export interface SipUser {
  name: string;
  password: Secret;
  /** MD5 is allowed to him besides SHA-256. */
  md5: boolean;
}

const TRUNK = /^sip:(?:([^:@]+)(?::([^@]*))?@)?(\[[^\]]+\]|[^:;@]+)(?::([0-9]{1,5}))?((?:;[^;]+)*)$/i;
const LAST_PORT = 65_535;
const PARAMETERS: Readonly<Record<string, readonly string[]>> = { transport: ["udp", "tcp", "tls"], digest: ["md5"] };

/** Parses `sip:user:password@host:port;transport=tls;digest=md5`; null when it is none. */
export function parseTrunk(text: string): Trunk | null {
  const match = TRUNK.exec(text);
  if (!match) return null;
  const [, username, password = "", host = "", port, rest = ""] = match;
  if (port !== undefined && (Number(port) === 0 || Number(port) > LAST_PORT)) return null;
  const parameters = new Map(
    rest
      .toLowerCase()
      .split(";")
      .slice(1)
      .map((parameter): [string, string] => {
        const [name = "", value = ""] = parameter.split("=", 2);
        return [name, value];
      }),
  );
  for (const [name, value] of parameters) if (!PARAMETERS[name]?.includes(value)) return null;
  const transport = (parameters.get("transport") ?? "udp") as Trunk["transport"];
  try {
    const credentials =
      username === undefined
        ? null
        : { username: decodeURIComponent(username), password: new Secret(decodeURIComponent(password)), md5: parameters.has("digest") };
    return { host, port: port === undefined ? null : Number(port), transport, credentials };
  } catch {
    return null;
  }
}
