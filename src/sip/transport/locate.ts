import { lookup, Resolver as DnsResolver } from "node:dns/promises";
import { isIP } from "node:net";
import { canonicalHost, unbracketed } from "#src/kernel/host-port.ts";
import { systemRandom, type Random } from "#src/kernel/random.ts";
import { DEFAULT_PORTS, type Protocol } from "./transport.ts";

/** One place to send a request to. */
export interface Hop {
  protocol: Protocol;
  /** An IP address. */
  address: string;
  port: number;
  /** The host that was asked for: what its certificate must be for (RFC 5922 section 7.1), wherever service records lead. */
  name: string;
}

/** What is to be reached: host and port of a URI. */
export interface Target {
  host: string;
  port: number | null;
  /** The transport asked for by the URI or the caller; null leaves the choice to us. */
  protocol: Protocol | null;
}

export interface ServerRecord {
  name: string;
  port: number;
  priority: number;
  weight: number;
}

/** The part of DNS that finding a server takes; names without records answer an empty list. */
export interface Resolver {
  addresses(name: string): Promise<string[]>;
  services(name: string): Promise<ServerRecord[]>;
}

/** Service records by transport (RFC 3263 section 4.2). */
const SERVICES: Readonly<Record<Protocol, string>> = { udp: "_sip._udp", tcp: "_sip._tcp", tls: "_sips._tcp" };

/**
 * Where to send a request, best place first (RFC 3263 section 4, without NAPTR): an address as it is, a name with a port
 * through its address records, a name alone through its service records if it has any. Empty when the name is unknown.
 */
export async function locate(target: Target, resolver: Resolver, random: Random): Promise<Hop[]> {
  const { host: name, port } = target;
  const protocol = target.protocol ?? "udp";
  if (isIP(name)) return [{ protocol, address: canonicalHost(name), port: port ?? DEFAULT_PORTS[protocol], name }];
  if (port === null && name.includes(".")) {
    for (const protocol of target.protocol ? [target.protocol] : (["udp", "tcp"] as const)) {
      const records = await resolver.services(`${SERVICES[protocol]}.${name}`);
      const hops = await Promise.all(
        byPriority(records, random).map(async (record) => {
          const addresses = await resolver.addresses(record.name);
          return addresses.map((address) => ({ protocol, address, port: record.port, name }));
        }),
      );
      if (hops.flat().length > 0) return hops.flat();
    }
  }
  const addresses = await resolver.addresses(name);
  return addresses.map((address) => ({ protocol, address, port: port ?? DEFAULT_PORTS[protocol], name }));
}

/** RFC 2782: lowest priority first; inside one, heavier records are more often in front. */
function byPriority(records: ServerRecord[], random: Random): ServerRecord[] {
  return records
    .map((record) => ({ record, luck: random.fraction() ** (1 / Math.max(record.weight, 0.01)) }))
    .sort((one, other) => one.record.priority - other.record.priority || other.luck - one.luck)
    .map(({ record }) => record);
}

const dns = new DnsResolver({ timeout: 1_000, tries: 2 });

/** The host's resolver: `/etc/hosts` and DNS for addresses, DNS for services. */
export const systemResolver: Resolver = {
  addresses: async (name) => {
    const found = await lookup(name, { all: true }).catch(() => []);
    return found.map(({ address }) => address);
  },
  services: (name) => dns.resolveSrv(name).catch(() => []),
};

/** Every IP address that answers for this target, in no order: where requests go, and what its name alone leads to. Empty when it is unknown. */
export async function addressesOf(target: Target, resolver: Resolver = systemResolver): Promise<string[]> {
  const host = unbracketed(target.host);
  const mayHaveServices = target.port === null && !isIP(host);
  const [hops, own] = await Promise.all([
    locate({ ...target, host }, resolver, systemRandom),
    mayHaveServices ? resolver.addresses(host) : [],
  ]);
  return [...hops.map(({ address }) => address), ...own];
}
