import { OperatorError } from "#src/kernel/errors.ts";
import { canonicalHost, unbracketed } from "#src/kernel/host-port.ts";
import type { Secret } from "#src/kernel/secret.ts";
import { parseTrunk, type Trunk } from "#src/kernel/sip-trunk.ts";
import { isInside, parseCidrs } from "#src/platform/index.ts";

/** What turns SIP calls into telephone calls, and so costs money: the operator's trunks. */
export interface Trunks {
  /** Null: callbacks that are numbers cannot be dialled. */
  outbound: Trunk | null;
  /** Whether a host as a URI spells it is a trunk's. A name that leads to a trunk's address is known when it is called. */
  isTrunkHost: (host: string) => boolean;
  /** Whether this IP address is a trunk's, one of those that calls to `SIP_OUTBOUND` go to included. */
  isTrunkAddress: (address: string) => Promise<boolean>;
}

interface TrunkSettings {
  /** `SIP_TRUNKS`: addresses and CIDRs. */
  sipTrunks: readonly string[];
  sipOutbound: Secret | null;
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

/** Without case, brackets and the dot that ends an absolute name, an address in its one spelling. */
function plainHost(host: string): string {
  return canonicalHost(unbracketed(host.toLowerCase().replace(/\.$/, "")));
}
