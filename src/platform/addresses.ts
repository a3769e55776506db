import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { OperatorError } from "#src/kernel/errors.ts";
import { isAddressRange } from "#src/kernel/address-range.ts";

type Address = ReturnType<typeof ipaddr.process>;
type Cidr = ReturnType<typeof ipaddr.parseCIDR>;

/** Global unicast as IANA assigns it: everything else in IPv6 is special or not given out. */
const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3");
/** Azure answers its metadata and agent requests at a public address. */
const METADATA = ipaddr.parseCIDR("168.63.129.16/32");

/** Parses CIDRs such as 10.0.0.0/8 or a single address. Throws OperatorError that names `setting` and the bad one. */
export function parseCidrs(setting: string, texts: readonly string[]): readonly Cidr[] {
  return texts.map((text) => {
    if (!isAddressRange(text)) throw new OperatorError(`${setting}: "${text}" is not an address range such as 10.0.0.0/8 or ::1/128.`);
    return ipaddr.parseCIDR(text.includes("/") ? text : `${text}/${text.includes(":") ? 128 : 32}`);
  });
}

/** True when `address` lies in one of the ranges; an IPv4 address written as IPv6 (::ffff:10.0.0.1) counts as IPv4. */
export function isInside(address: string, ranges: readonly Cidr[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some((range) => inside(parsed, range));
}

/** True for an IP address that is routed on the internet, this machine's own included. */
export function isGlobal(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.range() !== "unicast" || inside(parsed, METADATA)) return false;
  return parsed.kind() === "ipv4" || inside(parsed, GLOBAL_IPV6);
}

/**
 * True when `address` is one that anybody's request may be sent to: public, and not an address of this machine (R-260,
 * S-50).
 */
export function isPublic(address: string): boolean {
  if (!isGlobal(address)) return false;
  const text = ipaddr.process(address).toString();
  return !Object.values(networkInterfaces()).some((all) => all?.some((own) => ipaddr.process(own.address).toString() === text));
}

/** All addresses of a name, as the system resolves it. Rejects when there are none. */
export async function resolveName(name: string): Promise<string[]> {
  return (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address);
}

interface ReachOptions {
  /** CIDRs that may be reached whatever they are. */
  allow: readonly Cidr[];
  /** Names or addresses of our own services, such as the database: never reached, not even when they are public. */
  ownHosts?: readonly string[];
  resolve?: (name: string) => Promise<string[]>;
}

/**
 * What decides where merchants may send us: true when every one of the addresses, and at least one, is in `allow` or is
 * public and none of our own services' (S-50).
 */
export function createReach({
  allow,
  ownHosts = [],
  resolve = resolveName,
}: ReachOptions): (addresses: readonly string[]) => Promise<boolean> {
  return async (addresses) => {
    const others = addresses.filter((address) => !isInside(address, allow));
    if (addresses.length === 0 || !others.every(isPublic)) return false;
    if (others.length === 0) return true;
    const own = await Promise.all(ownHosts.map(async (host) => (isIP(host) ? [host] : await resolve(host).catch(() => []))));
    const forbidden = new Set(own.flat().map(plain));
    return !others.some((address) => forbidden.has(plain(address)));
  };
}

/** One spelling for each address. */
function plain(address: string): string {
  return ipaddr.process(address).toString();
}

function inside(address: Address, [base, bits]: Cidr): boolean {
  return address.kind() === base.kind() && address.match(base, bits);
}
