import { HeaderFields } from "./header-fields.ts";
import { SipRequest, SipResponse } from "./message.ts";
import { isBlank, isToken, trimBlank } from "./scanner.ts";
import { SipSyntaxError } from "./syntax-error.ts";
import { MAX_URI_LENGTH } from "./uri.ts";

/** Limits of S-84. */
export const MAX_MESSAGE_BYTES = 65_535;
const MAX_FIELDS = 128;
const MAX_LINE = 8_192;

/** Headers of which a request has exactly one; Max-Forwards and Content-Length may be absent (RFC 2543 peers). */
const SINGLE = ["from", "to", "call-id", "cseq", "max-forwards", "content-length", "content-type"];
const MAX_MAX_FORWARDS = 255;
const DIGITS = /^[0-9]+$/;
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/;
const STRAY_CONTROL = /(?<!\\)[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|[\n\r]/;
/** RFC 4475 3.1.2.18: a method we do not know is answered 501 whatever its CSeq says. */
export const KNOWN_METHODS: ReadonlySet<string> = new Set([
  "ACK",
  "BYE",
  "CANCEL",
  "INFO",
  "INVITE",
  "MESSAGE",
  "NOTIFY",
  "OPTIONS",
  "PRACK",
  "PUBLISH",
  "REFER",
  "REGISTER",
  "SUBSCRIBE",
  "UPDATE",
]);

/** What came of some octets. Nothing here throws: hostile octets are a normal case. */
export type Parsed =
  | { kind: "request"; request: SipRequest }
  | { kind: "response"; response: SipResponse }
  /** `request` is what can be told of the request, enough to answer `status`; null when there is nobody or nothing to answer. */
  | { kind: "malformed"; status: number; reason: string; request: SipRequest | null }
  /** Blank lines: somebody keeps a binding open. */
  | { kind: "nothing" };

/** A head read line by line; `problem` is the first thing wrong with it. */
export interface Head {
  startLine: string;
  fields: HeaderFields;
  problem: SipSyntaxError | null;
}

/** Reads one datagram (RFC 3261 section 18.3): octets behind Content-Length are ignored, too few of them are an error. */
export function parseDatagram(bytes: Buffer): Parsed {
  let start = 0;
  while (bytes[start] === 0x0d && bytes[start + 1] === 0x0a) start += 2;
  if (start >= bytes.length) return { kind: "nothing" };
  const end = bytes.indexOf("\r\n\r\n", start, "latin1");
  const head = parseHead(bytes.toString("latin1", start, end < 0 ? bytes.length : end));
  if (end < 0) head.problem ??= new SipSyntaxError("no end of the headers");
  let body = bytes.subarray(end < 0 ? bytes.length : end + 4);
  const length = contentLength(head);
  if (length !== null && length > body.length) head.problem ??= new SipSyntaxError("body shorter than Content-Length");
  if (length !== null) body = body.subarray(0, length);
  return assemble(head, body);
}

/** Splits a head into its start-line and fields, folded lines joined by one space (section 7.3.1). */
export function parseHead(octets: string): Head {
  const [startLine = "", ...lines] = octets.split("\r\n");
  const fields = new HeaderFields();
  let problem: SipSyntaxError | null = null;
  const note = (reason: string) => (problem ??= new SipSyntaxError(reason));
  if (startLine.length > MAX_LINE) note("line too long");
  let index = 0;
  while (index < lines.length) {
    let line = lines[index++] ?? "";
    let isTooLong = line.length > MAX_LINE;
    for (let next = lines[index]; next !== undefined && isBlank(next.charCodeAt(0)); next = lines[++index]) {
      isTooLong ||= line.length + next.length > MAX_LINE;
      if (!isTooLong) line += ` ${trimBlank(next)}`;
    }
    if (isTooLong) {
      note("line too long");
      continue;
    }
    if (fields.size >= MAX_FIELDS) {
      note("too many headers");
      break;
    }
    const colon = line.indexOf(":");
    const name = trimBlank(line.slice(0, Math.max(colon, 0)));
    if (!isToken(name) || isBlank(line.charCodeAt(0))) note("malformed header name");
    else if (hasStrayControl(line)) note("control character in a header");
    else fields.add(name, trimBlank(line.slice(colon + 1)));
  }
  return { startLine, fields, problem };
}

/** The declared length of the body; null when absent. What is wrong with it becomes the head's problem. */
export function contentLength(head: Head): number | null {
  const values = head.fields.all("content-length");
  const [value] = values;
  if (value === undefined) return null;
  if (values.length === 1 && DIGITS.test(value)) return Number(value);
  head.problem ??= new SipSyntaxError("malformed Content-Length");
  return null;
}

/** The message made of a head and its body, checked for what every element must refuse (RFC 3261 sections 8.1.1 and 16.3, RFC 4475). */
export function assemble(head: Head, body: Uint8Array): Parsed {
  const response = head.startLine.startsWith("SIP/") ? parseStatusLine(head, body) : null;
  const request = response ? null : parseRequestLine(head, body);
  try {
    if (response) return checkResponse(head, response);
    if (request) return checkRequest(head, request);
    throw new SipSyntaxError("malformed start-line");
  } catch (error) {
    if (!(error instanceof SipSyntaxError)) throw error;
    // Nobody answers an ACK (section 17) or a response.
    return { kind: "malformed", status: error.status, reason: error.message, request: request?.method === "ACK" ? null : request };
  }
}

/** `Request-Line`; only something that looks like one is answered at all. The version is checked by `checkRequest`. */
function parseRequestLine(head: Head, body: Uint8Array): SipRequest | null {
  const [method = "", ...rest] = head.startLine.split(" ");
  const version = rest.pop() ?? "";
  if (!isToken(method) || !/\bSIP\/[0-9]/i.test(head.startLine)) return null;
  if (!/^SIP\/[0-9]+\.[0-9]+$/i.test(version) || rest.length !== 1) head.problem ??= new SipSyntaxError("malformed Request-Line");
  else if (version.toUpperCase() !== "SIP/2.0") head.problem = new SipSyntaxError("version not supported", 505);
  return new SipRequest(method, rest.join(" "), head.fields, body);
}

function parseStatusLine(head: Head, body: Uint8Array): SipResponse | null {
  const [, status, reason = ""] = /^SIP\/2\.0 ([1-6][0-9][0-9])(?: (.*))?$/s.exec(head.startLine) ?? [];
  return status === undefined ? null : new SipResponse(Number(status), reason, head.fields, body);
}

function checkRequest(head: Head, request: SipRequest): Parsed {
  if (head.problem) throw head.problem;
  if (request.requestUri.length > MAX_URI_LENGTH) throw new SipSyntaxError("Request-URI too long", 414);
  checkSingles(request.fields);
  readAll(request);
  if (request.cseq.method !== request.method && KNOWN_METHODS.has(request.method)) throw new SipSyntaxError("CSeq names another method");
  const maxForwards = request.fields.first("max-forwards");
  if (maxForwards !== null && (!DIGITS.test(maxForwards) || Number(maxForwards) > MAX_MAX_FORWARDS))
    throw new SipSyntaxError("malformed Max-Forwards");
  void request.uri;
  return { kind: "request", request };
}

function checkResponse(head: Head, response: SipResponse): Parsed {
  if (head.problem) throw head.problem;
  checkSingles(response.fields);
  readAll(response);
  // Section 8.1.3.3: an answer with more than one Via was meant for somebody else.
  if (response.fields.list("via").length !== 1) throw new SipSyntaxError("more than one Via in a response");
  return { kind: "response", response };
}

function checkSingles(fields: HeaderFields): void {
  for (const name of SINGLE) if (fields.all(name).length > 1) throw new SipSyntaxError(`more than one ${name}`);
}

/** Reads every header each message must have, so that their accessors cannot fail later. */
function readAll(message: SipRequest | SipResponse): void {
  void [message.via, message.from, message.to, message.callId, message.cseq];
}

/** Whether a control character stands anywhere but behind the backslash of a quoted pair. */
function hasStrayControl(line: string): boolean {
  return CONTROL.test(line) && STRAY_CONTROL.test(line);
}
