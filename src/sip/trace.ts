import { bufferOf } from "#src/kernel/bytes.ts";
import type { Flow } from "./transport/transport.ts";

/** A message that came or went, as people read one: without passwords, a session's memory, media keys, and any body but a session description. */
export interface TracedMessage {
  direction: "received" | "sent";
  protocol: Flow["protocol"];
  /** The peer's. */
  address: string;
  port: number;
  text: string;
}

const LEFT_OUT = "(left out)";
/** Proofs of a password, and what a merchant has us carry through the call, folded lines included (RFC 3261 section 7.3.1). */
const HIDDEN_HEADERS = /^((?:proxy-)?authorization|[^:\s]*memory|user-to-user)[ \t]*:.*(?:\r\n[ \t].*)*/gim;
/** The same as a header or parameter of a URI. */
const HIDDEN_PARAMETERS = /(memory=|user-to-user=)[^;&?>\s]*/gi;
const SDP_TYPE = /^(?:content-type|c)[ \t]*:[ \t]*application\/sdp\b/im;
/** Media keys (RFC 4568, RFC 8866 section 5.12). */
const KEY_LINE = /^(?:a=crypto:|k=)/;

/**
 * A message's octets as text that may be kept (S-70). Bodies other than a session description are told by their length alone: one of INFO
 * is a key that the caller pressed.
 */
export function traceText(message: Uint8Array): string {
  const bytes = bufferOf(message);
  const end = bytes.indexOf("\r\n\r\n");
  const head = bytes.toString("latin1", 0, end < 0 ? bytes.length : end);
  const shown = head.replace(HIDDEN_HEADERS, `$1: ${LEFT_OUT}`).replace(HIDDEN_PARAMETERS, `$1${LEFT_OUT}`);
  const body = end < 0 ? new Uint8Array(0) : bytes.subarray(end + 4);
  if (body.length === 0) return `${shown}\r\n`;
  if (!SDP_TYPE.test(head)) return `${shown}\r\n\r\n(${body.length} octets left out)\r\n`;
  const lines = bytes
    .toString("utf8", end + 4)
    .split(/\r\n|\r|\n/)
    .map((line) => (KEY_LINE.test(line) ? `${line.split(":", 1)[0]!.slice(0, 8)}${LEFT_OUT}` : line));
  return `${shown}\r\n\r\n${lines.join("\r\n")}`;
}
