import { OperatorError } from "#src/kernel/errors.ts";
import { Secret } from "#src/kernel/secret.ts";
import { isInside, parseCidrs } from "#src/platform/index.ts";

/** The trunk that takes calls to phone numbers (`SIP_OUTBOUND`). */
export interface Trunk {
  host: string;
  /** Null: the service records of its name say, else it is the usual one (RFC 3263 section 4.2). */
  port: number | null;
  transport: "udp" | "tcp" | "tls";
  /** `md5`: the trunk knows no better digest. */
  credentials: { username: string; password: Secret; md5: boolean } | null;
}

/** What turns SIP calls into telephone calls, and so costs money: the operator's trunks. */
export interface Trunks {
  /** Null: callbacks that are numbers cannot be dialled. */
  outbound: Trunk | null;
  /** Whether a host as a URI spells it (no brackets) is a trunk's. A name that leads to a trunk's address is known when it is called. */
  isTrunkHost: (host: string) => boolean;
  /** Whether this IP address is a trunk's, one of those that calls to `SIP_OUTBOUND` go to included. */
  isTrunkAddress: (address: string) => Promise<boolean>;
}

export interface TrunkSettings {
  /** `SIP_TRUNKS`: addresses and CIDRs. */
  sipTrunks: readonly string[];
  sipOutbound: Secret | null;
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

/** `addressesOf`: the IP addresses that calls to this trunk go to. Throws OperatorError when `SIP_OUTBOUND` is no trunk. */
export function createTrunks({ sipTrunks, sipOutbound }: TrunkSettings, addressesOf: (trunk: Trunk) => Promise<string[]>): Trunks {
  const outbound = sipOutbound && parseTrunk(sipOutbound.reveal());
  if (sipOutbound && !outbound)
    throw new OperatorError("SIP_OUTBOUND: it is not a trunk's address such as sip:user:password@host:port;transport=udp.");
  const name = outbound && plainHost(outbound.host);
  const ranges = parseCidrs("SIP_TRUNKS", sipTrunks);
  return {
    outbound,
    isTrunkHost: (host) => plainHost(host) === name || isInside(plainHost(host), ranges),
    async isTrunkAddress(address) {
      if (isInside(address, ranges)) return true;
      return outbound !== null && (await addressesOf(outbound)).includes(address);
    },
  };
}

/** Without case, brackets and the dot that ends an absolute name. */
function plainHost(host: string): string {
  return host.toLowerCase().replace(/^\[|\]$|\.$/g, "");
}
