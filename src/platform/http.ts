import { once } from "node:events";
import { type IncomingMessage, request as requestBy } from "node:http";
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as tlsConnect, createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { crashPoint } from "#src/kernel/crash-points.ts";
import { errorCode } from "#src/kernel/errors.ts";
import { unbracketed } from "#src/kernel/host-port.ts";
import { outgoingPortFault } from "#src/kernel/outgoing-port.ts";
import { createReach, parseCidrs, resolveName } from "./addresses.ts";

/** The one client for outgoing HTTP (S-50): gateways, card forwarding, status webhooks. */
export interface Outbound {
  /** Sends one request, once. Never throws for what a network can do. */
  send(request: OutboundRequest): Promise<OutboundAnswer>;
}

export interface OutboundRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Absolute, http or https, without user, password or fragment; port 443 or above 1023. */
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Overwritten with zeros before `send` resolves. */
  body?: Uint8Array;
  /** From the call of `send` to the last byte of the answer, name resolution and TLS included. Default 30 s. */
  timeoutMs?: number;
  /** Aborted: the deadline has passed. */
  signal?: AbortSignal;
  /** Longest body of an answer. Default 256 KiB. */
  maxBytes?: number;
  /** The status alone matters: a body that is too long, encoded, broken or without an end loses no answer. Default false. */
  statusOnly?: boolean;
  /** Refuse plain http. */
  httpsOnly?: boolean;
}

export type OutboundAnswer =
  /** Any status, redirects included, which are never followed. Header names are in lower case. */
  | { kind: "answered"; status: number; headers: Readonly<Record<string, string>>; body: Uint8Array }
  /** No connection stood, so no byte of the request can have been acted on. */
  | { kind: "not sent"; reason: string }
  /** A connection stood and no whole answer came: the request may have been acted on. */
  | { kind: "lost"; reason: string };

interface OutboundOptions {
  /** CIDRs outside the public address space that may be reached nevertheless. */
  allow: readonly string[];
  /** Names or addresses of our own services, never reached even when they are public. */
  ownHosts?: readonly string[];
  /** Further certification authorities, PEM. */
  extraCa?: readonly string[];
  /** All addresses of a name. Default: the system's resolver. */
  resolve?: (name: string) => Promise<string[]>;
}

const TIMEOUT_MS = 30_000;
const MAX_BODY_BYTES = 256 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_TOO_LONG = "answer headers too long";

/** A fault with the words for `reason`. The words are constants: they reach logs. */
class Refusal extends Error {}

/**
 * The request's body is written from the caller's own bytes, which are zeroed at the end. Copies that cannot be reached
 * from here: the TLS library's record buffer and the kernel's socket buffer.
 */
export function createOutbound({ allow, ownHosts = [], extraCa = [], resolve = resolveName }: OutboundOptions): Outbound {
  // One for all connections: to make it is 20 ms of this thread where authorities are added, as those of the simulators are.
  let made: SecureContext | null = null;
  const secureContext = () => (made ??= trusting(extraCa));
  const mayReach = createReach({ allow: parseCidrs("OUTBOUND_ALLOW", allow), ownHosts, resolve });

  /** Resolves the host once. One address that may not be reached condemns the name: the choice is not left to chance. */
  async function checkedAddresses(url: URL): Promise<string[]> {
    const host = hostOf(url);
    const addresses = isIP(host) ? [host] : await resolve(host).catch(() => []);
    if (addresses.length === 0) throw new Refusal("name not resolved");
    if (!(await mayReach(addresses))) throw new Refusal("address not allowed");
    return addresses;
  }

  async function exchange(request: OutboundRequest, signal: AbortSignal, onConnected: () => void): Promise<OutboundAnswer> {
    const url = checkedUrl(request);
    const addresses = await untilAborted(checkedAddresses(url), signal);
    const socket = await connected(addresses, url, secureContext, signal);
    onConnected();
    try {
      const answer = await answerOn(socket, url, request);
      crashPoint("response_begun");
      if (headLength(answer) > MAX_HEADER_BYTES) throw new Refusal(HEADERS_TOO_LONG);
      const headers = Object.fromEntries(Object.entries(answer.headersDistinct).map(([name, values]) => [name, (values ?? []).join(", ")]));
      const encoded = !["", "identity"].includes((headers["content-encoding"] ?? "").toLowerCase());
      if (encoded && !request.statusOnly) throw new Refusal("encoded answer");
      const body = await readBody(answer, request);
      return { kind: "answered", status: answer.statusCode ?? 0, headers, body };
    } finally {
      socket.destroy();
    }
  }

  return {
    async send(request) {
      const deadline = new AbortController();
      const pass = () => deadline.abort();
      const timer = setTimeout(pass, request.timeoutMs ?? TIMEOUT_MS);
      request.signal?.addEventListener("abort", pass, { once: true });
      if (request.signal?.aborted) pass();
      let connected = false;
      crashPoint("request_unsent");
      try {
        const answer = await exchange(request, deadline.signal, () => {
          connected = true;
          crashPoint("connection_open");
        });
        crashPoint("response_read");
        return answer;
      } catch (error) {
        const reason = deadline.signal.aborted ? "deadline passed" : reasonOf(error);
        return { kind: connected ? "lost" : "not sent", reason };
      } finally {
        clearTimeout(timer);
        request.signal?.removeEventListener("abort", pass);
        request.body?.fill(0);
      }
    },
  };
}

/** The headers with the one `Accept-Encoding` that we read. */
function identityOnly(headers: OutboundRequest["headers"]): Record<string, string> {
  const others = Object.entries(headers).filter(([name]) => name.toLowerCase() !== "accept-encoding");
  return { ...Object.fromEntries(others), "accept-encoding": "identity" };
}

function checkedUrl({ url: text, httpsOnly = false }: OutboundRequest): URL {
  const url = URL.parse(text);
  if (!url) throw new Refusal("bad address");
  if (url.protocol !== "https:" && (httpsOnly || url.protocol !== "http:")) throw new Refusal("https required");
  if (url.username !== "" || url.password !== "" || text.includes("#")) throw new Refusal("user or fragment in the address");
  if (outgoingPortFault(url) !== null) throw new Refusal("port not allowed");
  return url;
}

/**
 * Opens the one connection, to the addresses that were checked and no other: a second look-up could answer differently.
 * The name is still what TLS verifies and what the Host header says. From the signal's end the socket is destroyed.
 */
async function connected(addresses: readonly string[], url: URL, secureContext: () => SecureContext, signal: AbortSignal): Promise<Socket> {
  if (signal.aborted) throw new Refusal("deadline passed");
  const host = hostOf(url);
  const secure = url.protocol === "https:";
  const target = {
    host,
    port: Number(url.port || 443),
    autoSelectFamily: true,
    noDelay: true,
    lookup: ((_name, _options, callback) => {
      callback(
        null,
        addresses.map((address) => ({ address, family: isIP(address) })),
      );
    }) as LookupFunction,
  };
  const security = () => ({
    servername: isIP(host) ? "" : host,
    secureContext: secureContext(),
    rejectUnauthorized: true,
    ALPNProtocols: ["http/1.1"],
  });
  const socket = secure ? tlsConnect({ ...target, ...security() }) : connect(target);
  const onDeadline = () => void socket.destroy(new Refusal("deadline passed"));
  signal.addEventListener("abort", onDeadline, { once: true });
  socket.once("close", () => signal.removeEventListener("abort", onDeadline));
  // A socket may fail twice; the second time nobody is left to be told.
  socket.on("error", () => {});
  await once(socket, secure ? "secureConnect" : "connect");
  return socket;
}

/** Sends the request as the only one of its connection: no tenant meets another's. Resolves with the head of the final answer. */
function answerOn(socket: Socket, url: URL, { method, headers, body }: OutboundRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = requestBy({
      createConnection: () => socket,
      method,
      path: url.pathname + url.search,
      headers: { ...identityOnly(headers), host: url.host },
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    // All of them: one that is left out could be the one that says how the body is encoded.
    sent.maxHeadersCount = 0;
    sent.once("response", resolve);
    // Nobody asked for another protocol. Without a listener Node closes the connection and says nothing: `send` would never end.
    sent.once("upgrade", () => reject(new Refusal("broken answer")));
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Bytes of the answer's headers as they came. Its parser counts names and values alone: many short ones have as much around them. */
function headLength({ rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((sum, text) => sum + text.length + ": ".length, 0);
}

/** TLS 1.2 at least, verified by the authorities that this host trusts and the `extra` ones. */
function trusting(extra: readonly string[]): SecureContext {
  return createSecureContext({
    minVersion: "TLSv1.2",
    ...(extra.length === 0 ? {} : { ca: [...getCACertificates("default"), ...extra] }),
  });
}

function hostOf(url: URL): string {
  return unbracketed(url.hostname);
}

async function readBody(
  body: AsyncIterable<Uint8Array>,
  { maxBytes = MAX_BODY_BYTES, statusOnly = false }: OutboundRequest,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBytes) throw new Refusal("answer too long");
    }
  } catch (error) {
    if (!statusOnly) throw error;
  }
  return Buffer.concat(chunks, Math.min(length, maxBytes));
}

/** `work`, or a rejection as soon as the deadline passes. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Refusal("deadline passed")), { once: true });
    work.then(resolve, reject);
  });
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "network unreachable",
  ECONNRESET: "connection reset",
  EPIPE: "connection reset",
  HPE_HEADER_OVERFLOW: HEADERS_TOO_LONG,
};

function reasonOf(error: unknown): string {
  if (error instanceof Refusal) return error.message;
  const code = errorCode(error);
  if (/^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|EPROTO|HOSTNAME)/.test(code)) return "TLS refused";
  return REASONS[code] ?? (code.startsWith("HPE_") ? "broken answer" : "connection failed");
}
