import { fromOctets } from "./octets.ts";

const BOUNDARY = /;[ \t]*boundary[ \t]*=[ \t]*(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i;
const IS_SDP = /(?:^|\r\n)content-type[ \t]*:[ \t]*application\/sdp[ \t]*(?:;|\r\n|$)/i;
const IS_REQUIRED = /(?:^|\r\n)content-disposition[ \t]*:[^\r\n]*;[ \t]*handling[ \t]*=[ \t]*required/i;
/** Of audio before the answer alone (RFC 3959), which nobody has asked for. */
const IS_EARLY = /(?:^|\r\n)content-disposition[ \t]*:[ \t]*early-session[ \t]*(?:;|\r\n|$)/i;
/** Parts behind these are not looked at. */
const MAX_PARTS = 16;
const HEAD_END = "\r\n\r\n";

/**
 * The session description in a multipart body (RFC 2046 section 5.1, RFC 5621): trunks put ISUP, locations and the like beside it. Null when there
 * is none, or when another part says that it must be understood. `contentType`: the message's header, with its parameters.
 */
export function sdpPart(contentType: string, body: Uint8Array): string | null {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return null;
  const [, ...pieces] = `\r\n${Buffer.from(body).toString("latin1")}`.split(`\r\n--${boundary}`, 1 + MAX_PARTS);
  const end = pieces.findIndex((piece) => piece.startsWith("--"));
  let sdp: string | null = null;
  for (const piece of end < 0 ? pieces : pieces.slice(0, end)) {
    const at = piece.indexOf(HEAD_END);
    const head = piece.slice(0, Math.max(at, 0));
    if (IS_SDP.test(head) && !IS_EARLY.test(head)) sdp ??= fromOctets(piece.slice(at + HEAD_END.length));
    else if (IS_REQUIRED.test(head)) return null;
  }
  return sdp;
}
