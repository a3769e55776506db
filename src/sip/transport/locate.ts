import { lookup, Resolver as DnsResolver } from "node:dns/promises";
import { isIP } from "node:net";
import type { Random } from "#src/kernel/random.ts";
import type { Protocol } from "./transport.ts";

/** One place to send a request to. */
export interface Hop {
  protocol: Protocol;
  /** An IP address. */
  address: string;
  port: number;
}

/** What is to be reached: host and port of a URI or of an outbound proxy. */
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

const DEFAULT_PORT = 5060;

/**
 * Where to send a request, best place first (RFC 3263 section 4, without NAPTR): an address as it is, a name with a port
 * through its address records, a name alone through its service records if it has any. Empty when the name is unknown.
 */
export async function locate(target: Target, resolver: Resolver, random: Random): Promise<Hop[]> {
  const protocol = target.protocol ?? "udp";
  if (isIP(target.host)) return [{ protocol, address: target.host, port: target.port ?? DEFAULT_PORT }];
  if (target.port === null && target.host.includes(".")) {
    for (const protocol of target.protocol ? [target.protocol] : (["udp", "tcp"] as const)) {
      const records = await resolver.services(`_sip._${protocol}.${target.host}`);
      const hops = await Promise.all(byPriority(records, random).map((record) => hopsOf(record.name, record.port, protocol, resolver)));
      if (hops.flat().length > 0) return hops.flat();
    }
  }
  return hopsOf(target.host, target.port ?? DEFAULT_PORT, protocol, resolver);
}

async function hopsOf(name: string, port: number, protocol: Protocol, resolver: Resolver): Promise<Hop[]> {
  const addresses = await resolver.addresses(name);
  return addresses.map((address) => ({ protocol, address, port }));
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
