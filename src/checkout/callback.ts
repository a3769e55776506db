import { parseE164, telNumber } from "#src/kernel/phone.ts";

/** Where a caller is transferred back to. `number` in E.164 form; `user` as written, `host` in lower case; `tls`: it can be reached by TLS alone. */
export type Callback = { kind: "phone"; number: string } | { kind: "sip"; user: string | null; host: string; tls: boolean };

/**
 * A SIP or SIPS URI (RFC 3261 section 19.1) that cannot smuggle anything: no password, no header part (`?Replaces=`), no
 * escaped control character, nothing that ends a header field.
 */
const USER = "(?<user>(?:[A-Za-z0-9\\-_.!~*'()&=+$,;/]|%[2-9A-Fa-f][0-9A-Fa-f])+)@";
const HOST = "(?:[A-Za-z0-9-]+\\.)*[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?\\.?|[0-9]{1,3}(?:\\.[0-9]{1,3}){3}|\\[[0-9A-Fa-f:.]+\\]";
const PARAMETERS = "(?<parameters>(?:;[A-Za-z0-9\\-_.!~*'%[\\]/:&+$]+(?:=[A-Za-z0-9\\-_.!~*'%[\\]/:&+$]*)?)*)";
const SIP_URI = new RegExp(`^(?<scheme>sips?):(?:${USER})?(?<host>${HOST})(?::(?<port>[0-9]{1,5}))?${PARAMETERS}$`, "i");

/** Whether a URI's `transport` means TLS; one that is not here cannot be dialled (RFC 3261 section 26.2.2). */
const TRANSPORTS: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  sip: { "": false, udp: false, tcp: false, tls: true },
  sips: { "": true, tcp: true, tls: true },
};

/** Any other parameter, such as an extension, would be lost with the number alone. */
const TEL = /^tel:([^;]*(?:;phone-context=[^;]*)?)$/i;

/** Parses a callback: a number in E.164 form, plain or `tel:`, or a SIP URI with a transport that there is. Null for anything else. */
export function parseCallback(text: string): Callback | null {
  const tel = TEL.exec(text)?.[1];
  const number = parseE164(tel === undefined ? text : telNumber(tel));
  if (number) return { kind: "phone", number };
  const groups = SIP_URI.exec(text)?.groups;
  const port = Number(groups?.["port"] ?? 5060);
  if (!groups?.["host"] || port < 1 || port > 65_535) return null;
  const tls = needsTls(groups["scheme"] ?? "", groups["parameters"] ?? "");
  return tls === null ? null : { kind: "sip", user: groups["user"] ?? null, host: groups["host"].toLowerCase(), tls };
}

/** Null when the parameters name a transport that the scheme has not, or are escaped badly. */
function needsTls(scheme: string, parameters: string): boolean | null {
  try {
    const [, named = ""] = /(?:^|;)transport(?:=([^;]*))?(?:;|$)/.exec(decodeURIComponent(parameters).toLowerCase()) ?? [];
    const transports = TRANSPORTS[scheme.toLowerCase()];
    return transports && Object.hasOwn(transports, named) ? (transports[named] ?? null) : null;
  } catch {
    return null;
  }
}
