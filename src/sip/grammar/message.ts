import { type Address, parseAddress } from "./address.ts";
import { HeaderFields } from "./header-fields.ts";
import { sdpPart } from "./multipart.ts";
import { fromOctets, toOctets } from "./octets.ts";
import { reasonPhrase } from "./reasons.ts";
import { isToken } from "./scanner.ts";
import { SipSyntaxError } from "./syntax-error.ts";
import { type Uri, parseUri } from "./uri.ts";
import { parseVia, type Via } from "./via.ts";

/** RFC 3261 section 20.16: a sequence number is a 32-bit unsigned integer. */
const MAX_CSEQ = 2 ** 32 - 1;
const CSEQ = /^([0-9]+)[ \t]+([^ \t]+)$/;
/** More of them mean nothing to a user agent, and reading thousands would take long. */
const MAX_ADDRESSES = 16;
const EMPTY = new Uint8Array(0);

export interface CSeq {
  number: number;
  method: string;
}

/** What requests and responses share (RFC 3261 section 7). Typed headers are read when asked for, once, and throw SipSyntaxError when malformed. */
abstract class SipMessage {
  readonly fields: HeaderFields;
  /** The body's octets. They may hold keypad digits (INFO): whoever reads those wipes them. */
  readonly body: Uint8Array;
  readonly #read = new Map<string, unknown>();

  constructor(fields: HeaderFields, body: Uint8Array = EMPTY) {
    this.fields = fields;
    this.body = body;
  }

  /** The first line of a header as text, null when absent. Names are compared without case, compact forms are known. */
  header(name: string): string | null {
    return this.fields.text(name);
  }

  /** Each line of a header as text, lists as they are. */
  lines(name: string): string[] {
    return this.fields.all(name).map(fromOctets);
  }

  /** Every value of a header as text, comma-separated lists split. */
  headers(name: string): string[] {
    return this.fields.list(name);
  }

  /** The readable ones of the first addresses in a header such as Contact or P-Asserted-Identity. */
  addresses(name: string): Address[] {
    const values = this.fields.list(name).slice(0, MAX_ADDRESSES);
    return values.flatMap((value) => {
      try {
        return [parseAddress(value)];
      } catch {
        return [];
      }
    });
  }

  get via(): Via {
    return this.#once("via", (value) => parseVia(value).via);
  }

  get from(): Address {
    return this.#once("from", parseAddress);
  }

  get to(): Address {
    return this.#once("to", parseAddress);
  }

  get callId(): string {
    return this.#once("call-id", (value) => (/^[^ \t]+$/.test(value) ? value : malformed("malformed Call-ID")));
  }

  get cseq(): CSeq {
    return this.#once("cseq", parseCSeq);
  }

  get fromTag(): string | null {
    return this.from.params.get("tag");
  }

  get toTag(): string | null {
    return this.to.params.get("tag");
  }

  /** Media type of the body in lower case without parameters, null when the header is absent. */
  get contentType(): string | null {
    return this.fields.first("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? null;
  }

  /** The session description in the body, or in one of its parts; null when there is none. */
  get sdp(): string | null {
    if (this.body.length === 0) return null;
    if (this.contentType === "application/sdp") return Buffer.from(this.body).toString("utf8");
    return this.contentType?.startsWith("multipart/") ? sdpPart(this.fields.first("content-type") ?? "", this.body) : null;
  }

  protected abstract get startLine(): string;

  /** The message as it goes on the wire, Content-Length computed. */
  toBytes(): Buffer {
    const head = `${this.startLine}\r\n${this.fields.toString()}Content-Length: ${this.body.length}\r\n\r\n`;
    return Buffer.concat([Buffer.from(head, "latin1"), this.body]);
  }

  #once<T>(name: string, read: (value: string) => T): T {
    if (!this.#read.has(name)) this.#read.set(name, read(this.fields.first(name) ?? malformed(`missing ${name}`)));
    return this.#read.get(name) as T;
  }
}

export class SipRequest extends SipMessage {
  readonly method: string;
  /** The Request-URI as written. */
  readonly requestUri: string;
  #uri: Uri | null = null;

  constructor(method: string, requestUri: string, fields: HeaderFields = new HeaderFields(), body?: Uint8Array) {
    super(fields, body);
    this.method = method;
    this.requestUri = requestUri;
  }

  /** The Request-URI, read. */
  get uri(): Uri {
    this.#uri ??= parseUri(this.requestUri);
    return this.#uri;
  }

  protected get startLine(): string {
    return `${this.method} ${this.requestUri} SIP/2.0`;
  }
}

export class SipResponse extends SipMessage {
  readonly status: number;
  /** Reason phrase, an octet string. */
  readonly reason: string;

  constructor(status: number, reason: string, fields: HeaderFields = new HeaderFields(), body?: Uint8Array) {
    super(fields, body);
    this.status = status;
    this.reason = reason;
  }

  protected get startLine(): string {
    return `SIP/2.0 ${this.status} ${this.reason}`;
  }
}

/** What a response adds to the header fields copied from its request. */
export interface ResponseParts {
  reason?: string;
  headers?: readonly (readonly [name: string, value: string])[];
  /** Sent as application/sdp. */
  sdp?: string;
}

/**
 * A response to `request` (RFC 3261 section 8.2.6): Via, From, To, Call-ID and CSeq as they came, To with `toTag` where
 * it had none. Works on malformed requests too: what is absent or unreadable there is left as it is. Throws TypeError for
 * a header that would break the message (S-87).
 */
export function respond(request: SipRequest, status: number, toTag: string | null, parts: ResponseParts = {}): SipResponse {
  const fields = new HeaderFields().copy("Via", request.fields).copy("From", request.fields);
  const to = request.fields.first("to");
  if (to !== null) fields.add("To", toTag === null || hasTag(request) ? to : `${to};tag=${toTag}`);
  for (const name of ["Call-ID", "CSeq"]) {
    const value = request.fields.first(name);
    if (value !== null) fields.add(name, value);
  }
  for (const [name, value] of parts.headers ?? []) fields.addText(name, value);
  const body = parts.sdp === undefined ? undefined : Buffer.from(parts.sdp, "utf8");
  if (body) fields.add("Content-Type", "application/sdp");
  const reason = parts.reason === undefined ? reasonPhrase(status) : toOctets(parts.reason.replace(/[\x00-\x1f\x7f]/g, " "));
  return new SipResponse(status, reason, fields, body);
}

function hasTag(request: SipRequest): boolean {
  try {
    return request.toTag !== null;
  } catch {
    return false;
  }
}

function parseCSeq(value: string): CSeq {
  const [, digits = "", method = ""] = CSEQ.exec(value) ?? malformed("malformed CSeq");
  if (!isToken(method) || Number(digits) > MAX_CSEQ) malformed("malformed CSeq");
  return { number: Number(digits), method };
}

function malformed(reason: string): never {
  throw new SipSyntaxError(reason);
}
