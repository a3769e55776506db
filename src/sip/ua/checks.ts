import type { ResponseParts, SipRequest } from "../grammar/message.ts";
import { KNOWN_METHODS } from "../grammar/parse.ts";
import type { Protocol } from "../transport/transport.ts";
import { DTMF_TYPES } from "./dtmf-relay.ts";

/** Methods we serve. REFER is refused 603 and so not offered: who reads Allow would try it. */
export const ALLOW = "INVITE, ACK, CANCEL, BYE, OPTIONS, INFO, UPDATE, PRACK, NOTIFY";
export const ACCEPT = "application/sdp";
/** RFC 4028, and RFC 3262 for those who require it of us; we require it of nobody. */
export const SUPPORTED = "timer, 100rel";

/** What OPTIONS asks for (RFC 3261 section 11.2). */
export const ABILITIES: ResponseParts = {
  headers: [
    ["Allow", ALLOW],
    ["Accept", ACCEPT],
    ["Supported", SUPPORTED],
  ],
};

/** A final answer given before anybody looks closer. */
export interface Refusal {
  status: number;
  headers?: readonly (readonly [name: string, value: string])[];
}

type Check = (request: SipRequest, protocol: Protocol) => Refusal | null;

/** Methods in `ALLOW`, and REFER, which has its own answer. */
const SERVED: ReadonlySet<string> = new Set([...ALLOW.split(", "), "REFER"]);
const EXTENSIONS: ReadonlySet<string> = new Set(SUPPORTED.split(", "));
/** Media types understood in the bodies of these methods, a session description also as one part of several; bodies of other methods mean nothing to us and are not looked at. */
const BODIES: Readonly<Record<string, readonly string[]>> = { INVITE: [ACCEPT], UPDATE: [ACCEPT], PRACK: [ACCEPT], INFO: DTMF_TYPES };
const SDP_RANGES: ReadonlySet<string> = new Set(["application/sdp", "application/*", "*/*"]);

/** RFC 3261 section 8.2.1. */
const method: Check = ({ method }) => {
  if (SERVED.has(method)) return null;
  return { status: KNOWN_METHODS.has(method) ? 405 : 501, headers: [["Allow", ALLOW]] };
};

/**
 * Section 8.2.2.1. Only the Request-URI counts: To and From may be of any scheme. tel: is a number that some trunk has not put a host to (RFC 3966).
 * sips promises TLS on every hop (section 26.2.2), and there is no sips without it: what comes so has been sent or forwarded against that
 * promise, and is not served as if it had been kept.
 */
const scheme: Check = ({ uri: { scheme } }, protocol) =>
  scheme === "sip" || scheme === "tel" || (scheme === "sips" && protocol === "tls") ? null : { status: 416 };

/** Section 8.2.2.3. */
const require: Check = (request) => {
  const unknown = request.headers("require").filter((tag) => !EXTENSIONS.has(tag.toLowerCase()));
  return unknown.length === 0 ? null : { status: 420, headers: [["Unsupported", unknown.join(", ")]] };
};

/** Section 8.2.3. */
const encoding: Check = (request) => {
  const other = request.headers("content-encoding").some((coding) => coding.toLowerCase() !== "identity");
  return other && request.body.length > 0 ? { status: 415, headers: [["Accept-Encoding", "identity"]] } : null;
};

const contentType: Check = (request) => {
  const understood = Object.hasOwn(BODIES, request.method) ? BODIES[request.method] : undefined;
  if (request.body.length === 0 || !understood || understood.includes(request.contentType ?? "")) return null;
  if (understood.includes(ACCEPT) && request.sdp !== null) return null;
  const optional = /;[ \t]*handling[ \t]*=[ \t]*optional/i.test(request.fields.first("content-disposition") ?? "");
  return optional ? null : { status: 415, headers: [["Accept", understood.join(", ")]] };
};

/** RFC 6086 section 4.2.2: there is no package that we take. A key is one whatever it is said to be. */
const infoPackage: Check = (request) => {
  const isOther = request.method === "INFO" && request.fields.first("info-package") !== null;
  return isOther && !DTMF_TYPES.includes(request.contentType ?? "") ? { status: 469, headers: [["Recv-Info", ""]] } : null;
};

/** Section 20.1: an INVITE that cannot be answered with a session description cannot be answered. */
const accept: Check = (request) => {
  if (request.method !== "INVITE" || request.fields.first("accept") === null) return null;
  const ranges = request.headers("accept").map((range) => range.split(";", 1)[0]?.trim().toLowerCase() ?? "");
  return ranges.some((range) => SDP_RANGES.has(range)) ? null : { status: 406, headers: [["Accept", ACCEPT]] };
};

/** What can be said before the dialog or the user is looked for (RFC 3261 section 8.2, in its order). */
export const checkTarget: Check = (request, protocol) => method(request, protocol) ?? scheme(request, protocol);

/** What can be said once it is known whom the request is for. */
export const checkContent: Check = (request, protocol) =>
  require(request, protocol) ??
  encoding(request, protocol) ??
  infoPackage(request, protocol) ??
  contentType(request, protocol) ??
  accept(request, protocol);
