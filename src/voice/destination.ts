import { parseE164 } from "#src/kernel/phone.ts";
import { Secret } from "#src/kernel/secret.ts";

/** The trunk that takes calls to phone numbers (`SIP_OUTBOUND`). */
export interface Trunk {
  host: string;
  port: number;
  transport: "udp" | "tcp";
  credentials: { username: string; password: Secret } | null;
}

const TRUNK = /^sip:(?:([^:@]+)(?::([^@]*))?@)?(\[[^\]]+\]|[^:;@]+)(?::([0-9]{1,5}))?(?:;transport=(udp|tcp))?$/i;

/** Reads `sip:user:password@host:port;transport=tcp`; null when it is none. */
export function parseTrunk(text: string): Trunk | null {
  const match = TRUNK.exec(text);
  if (!match) return null;
  const [, username, password = "", host = "", port = "5060", transport = "udp"] = match;
  const credentials =
    username === undefined ? null : { username: decodeURIComponent(username), password: new Secret(decodeURIComponent(password)) };
  return { host, port: Number(port), transport: transport.toLowerCase() as "udp" | "tcp", credentials };
}

export interface Destination {
  target: string;
  /** Null: straight to the target. */
  via: Trunk | null;
}

/**
 * Where a callback leads: a SIP URI by itself, a number (plain or `tel:`) through the trunk. Null when it is a number and
 * there is no trunk, or when it is neither.
 */
export function destinationOf(callback: string, trunk: Trunk | null): Destination | null {
  if (/^sips?:(?:[^@]+@)?(?:\[[^\]]+\]|[^:;?]+)/i.test(callback)) return { target: callback, via: null };
  const number = parseE164(callback.replace(/^tel:/i, ""));
  return number && trunk ? { target: `sip:${number}@${trunk.host}:${trunk.port}`, via: trunk } : null;
}
