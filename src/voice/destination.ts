import { callbackAllowed, parseCallback, type TransferPolicy, userAllowed } from "#src/checkout/index.ts";
import { formatHostPort } from "#src/kernel/host-port.ts";
import type { Trunk, Trunks } from "#src/checkout/index.ts";

export interface Destination {
  target: string;
  /** Null: straight to the target. */
  via: Trunk | null;
  /** No trunk may be reached by it: there its user part would be a number that the project may not dial. */
  avoidsTrunks: boolean;
}

/**
 * Where a callback leads: a SIP URI by itself, a number (plain or `tel:`) through the trunk. A text says why it leads nowhere: the
 * project's rules are looked at again when the call is placed, and may have changed since the session was made.
 */
export function destinationOf(callback: string, project: TransferPolicy, trunks: Trunks): Destination | "not allowed" | "no trunk" {
  const target = parseCallback(callback);
  if (!target || !callbackAllowed(target, project, trunks.isTrunkHost)) return "not allowed";
  if (target.kind === "sip") return { target: callback, via: null, avoidsTrunks: !userAllowed(target.user, project) };
  const { outbound } = trunks;
  if (!outbound) return "no trunk";
  return { target: `sip:${target.number}@${formatHostPort(outbound.host, outbound.port)}`, via: outbound, avoidsTrunks: false };
}
