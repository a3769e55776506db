import { callbackAllowed, parseCallback, type TransferPolicy, userAllowed, type Trunk, type Trunks } from "#src/checkout/index.ts";
import { formatHostPort } from "#src/kernel/host-port.ts";
import { isOverTls } from "#src/sip/index.ts";

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

/** Whether it is called over TLS and nothing else. */
export function isEncrypted({ target, via }: Destination): boolean {
  return via ? via.transport === "tls" : isOverTls(target);
}

/**
 * Where to call instead when the answer is that it is at one of these places (RFC 3261 section 8.1.3.4): the first one that could be the
 * session's callback, or that a trunk of ours names for the number it was asked for. What was encrypted stays so. Null: nowhere.
 */
export function redirection(contacts: readonly string[], from: Destination, project: TransferPolicy, trunks: Trunks): Destination | null {
  for (const contact of contacts) {
    const elsewhere = destinationOf(contact, project, trunks);
    const isSameNumber = from.via !== null && numberIn(contact) === numberIn(from.target);
    // The password is for the trunk itself.
    const via = isEncrypted(from) && from.via ? { ...from.via, credentials: null } : null;
    const to = isSameNumber ? { target: contact, via, avoidsTrunks: false } : typeof elsewhere === "string" ? null : elsewhere;
    if (to && (isEncrypted(to) || !isEncrypted(from))) return to;
  }
  return null;
}

/** The user part of a SIP URI without its parameters. */
function numberIn(uri: string): string | null {
  const target = parseCallback(uri);
  return target?.kind === "sip" ? (target.user?.split(";", 1)[0] ?? null) : null;
}
