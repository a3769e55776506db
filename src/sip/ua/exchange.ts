import { isIP } from "node:net";
import { canonicalHost, unbracketed } from "#src/kernel/host-port.ts";
import { contactOf, type Dialog } from "../dialog/dialog.ts";
import { SipRequest, type SipResponse } from "../grammar/message.ts";
import { toOctets } from "../grammar/octets.ts";
import { parseUri, SipUri, type Uri } from "../grammar/uri.ts";
import { BRANCH_COOKIE } from "../grammar/via.ts";
import type { ClientTransaction } from "../transaction/client-transaction.ts";
import { LONGEST_RINGING, TRANSACTION_LIFE } from "../transaction/timers.ts";
import { type Hop, locate, type Target } from "../transport/locate.ts";
import type { Flow, Protocol } from "../transport/transport.ts";
import { type Agent, contact, randomToken } from "./agent.ts";
import { CREDENTIALS, type DigestClient } from "./digest.ts";
import { demandedReliability } from "./reliable-provisional.ts";
import { demandedInterval } from "./session-timer.ts";

/** A request to be sent, still without Via and Contact: those depend on the way it takes. */
export interface Draft {
  request: SipRequest;
  target: Target;
  /** The user part of the Contact to add; undefined: the request carries none. */
  contactUser?: string | null;
  /** The way the dialog was made by: used when it is a connection that leads to the target too, or when nothing else leads to the peer. */
  flow?: Flow | null;
  digest?: DigestClient | null;
  /** Keeps this request from addresses that others may reach. */
  mayReach?: ((address: string, port: number) => Promise<boolean>) | null;
}

/** How it ended: the final response, or a status of our own for silence (408) and for no way (503), RFC 3261 section 8.1.3.1. */
export interface Outcome {
  status: number;
  reason: string;
  response: SipResponse | null;
}

/** A server of several that has sent nothing by then, not even 100, is given up for the next one; Timer B would take 32 s of the caller's time. */
export const SILENT_SERVER_MS = 5_000;
/** The same for a callee's only server, or its last: it has had five copies of the INVITE, and sends 100 within 200 ms (section 17.2.1). */
const SILENT_CALLEE_MS = 10_000;

/** Somebody who follows an exchange. Responses of a server that was given up for the next one may come still. */
interface Watcher {
  started?(transaction: ClientTransaction): void;
  provisional?(response: SipResponse, transaction: ClientTransaction): void;
  /** Every 2xx, retransmissions and those of forked branches included (section 13.2.2.4). */
  success?(response: SipResponse, transaction: ClientTransaction): void;
  /** True when nothing more shall be sent. */
  givenUp?(): boolean;
}

/**
 * Sends a request and waits for its end: finds the server, tries the next one when a server is silent, gone or responds with 503
 * (RFC 3263 section 4.3), answers one challenge of each kind, and asks for a longer session interval, or takes reliable provisional responses,
 * where that is demanded. Never rejects.
 */
export async function exchange(agent: Agent, draft: Draft, watcher: Watcher = {}): Promise<Outcome> {
  const hops = await hopsOf(agent, draft);
  draft.digest?.bind(hops.map(({ address }) => address));
  let outcome: Outcome = { status: 503, reason: "no address for the target", response: null };
  for (const hop of hops) {
    outcome = await tryHop(agent, draft, hop, watcher, hop !== hops.at(-1));
    if (watcher.givenUp?.() || (outcome.response !== null && outcome.status !== 503)) break;
  }
  return outcome;
}

/** The request again, as the peer's refusal demands it. Its credentials are used up (RFC 7616 section 3.4): who wants new ones asks for them. */
function asDemanded(request: SipRequest, response: SipResponse): SipRequest | null {
  const demanded = demandedInterval(request, response) ?? demandedReliability(request, response);
  if (!demanded) return null;
  const fields = request.fields.without(CREDENTIALS);
  for (const [name, value] of demanded) fields.add(name, value);
  fields.replaceFirst("CSeq", `${request.cseq.number + 1} ${request.method}`);
  return new SipRequest(request.method, request.requestUri, fields, request.body);
}

/** What one server was sent last: the transaction is the same by whatever connection. */
interface Sending {
  request: SipRequest;
  branch: string;
}

/**
 * One server; twice, where the connection to it is given up at its end: one that was kept from before may have been so for long. The very
 * request as before: a server that has read it takes it for a retransmission, where a new one of this number would be a loop (RFC 3261
 * section 8.2.2.2), or asked for twice.
 */
async function tryHop(agent: Agent, draft: Draft, hop: Hop, watcher: Watcher, hasNext: boolean): Promise<Outcome> {
  const sending = { request: draft.request, branch: newBranch(agent) };
  for (let isLast = false; ; isLast = true) {
    const flow = await openFlow(agent, draft, hop);
    if (!flow) return { status: 503, reason: "the target cannot be reached", response: null };
    const outcome = await tryFlow(agent, draft, sending, flow, watcher, hasNext);
    if (isLast || outcome.response !== null || outcome.status !== 503 || !flow.reliable) return outcome;
  }
}

async function tryFlow(agent: Agent, draft: Draft, sending: Sending, flow: Flow, watcher: Watcher, hasNext: boolean): Promise<Outcome> {
  const forget = admitResponses(agent, flow);
  let isLost = false;
  try {
    for (;;) {
      if (watcher.givenUp?.()) return { status: 487, reason: "given up", response: null };
      const { request, branch } = sending;
      const outcome = await send(agent, complete(agent, draft, request, branch, flow), flow, watcher, hasNext);
      isLost = request.method === "INVITE" && outcome.response === null;
      const { response } = outcome;
      const again = response && (draft.digest?.authorize(request, response, flow.address) ?? asDemanded(request, response));
      if (!again) return outcome;
      Object.assign(sending, { request: again, branch: newBranch(agent) });
    }
  } finally {
    // Who has read it may answer still.
    if (isLost) agent.clock.after(LONGEST_RINGING, forget);
    else forget();
  }
}

/**
 * The servers of the target, of several of one name the one first that has made the dialog: the others need not know of it. One that nobody
 * knows the address of is sought where the dialog came from.
 */
async function hopsOf(agent: Agent, { target, flow }: Draft): Promise<Hop[]> {
  const hops = await locate(target, agent.resolver, agent.random).catch(() => []);
  if (!flow) return hops;
  const isOwn = (hop: Hop) => Number(hop.address === flow.address);
  if (hops.length > 0) return hops.toSorted((one, other) => isOwn(other) - isOwn(one));
  const { address, port } = flow;
  return [{ protocol: target.protocol ?? flow.protocol, address, port, name: address }];
}

/**
 * The way to one server: the dialog's own connection where it leads there, else what the transports open. All that is left to a peer behind a
 * router, whose Contact cannot be sent to from here, is the way that the dialog came by: there the peer gets our responses too.
 */
async function openFlow(agent: Agent, draft: Draft, hop: Hop): Promise<Flow | null> {
  const own = draft.flow?.listening ? draft.flow : null;
  const fits = draft.target.protocol === null || draft.target.protocol === own?.protocol;
  if (own?.reliable && fits && own.address === hop.address) return own;
  // What is to be encrypted on every hop goes by no other connection (RFC 3261 section 26.2.2).
  const last = hop.protocol !== "tls" || own?.protocol === "tls" ? own : null;
  const { address, port } = hop;
  if (!(await agent.mayReach(address, port)) || (await draft.mayReach?.(address, port)) === false) {
    agent.log.warn("sip_address_not_allowed", { method: draft.request.method, host: address, port });
    return last;
  }
  return agent.transports.flowTo(hop, draft.request, draft.target.protocol !== null).catch((error: unknown) => {
    agent.log.warn("sip_not_connected", { method: draft.request.method, host: address, port, reason: hop.protocol, error });
    return last;
  });
}

function newBranch({ random }: Agent): string {
  return BRANCH_COOKIE + randomToken(random);
}

/** The request as it leaves: our Via on top, and our Contact for this transport. */
function complete(agent: Agent, draft: Draft, request: SipRequest, branch: string, flow: Flow): SipRequest {
  const fields = request.fields.clone().prepend("Via", agent.transports.via(flow, branch));
  if (draft.contactUser !== undefined) fields.add("Contact", contact(agent, flow.protocol, draft.contactUser, request));
  return new SipRequest(request.method, request.requestUri, fields.add("User-Agent", agent.userAgent), request.body);
}

/**
 * Lets the peer's packets in and keeps its connection; the returned function stops that once late retransmissions have died out. `from`: its
 * requests may come from there too. A trunk balances its INVITEs and speaks inside the call by itself.
 */
export function admitResponses(agent: Agent, flow: Flow, from: Uri | null = null): () => void {
  const releases = [agent.access.expect(flow.address), flow.keep()];
  const host = from && hostInDialog(from);
  if (host !== null && isIP(host)) releases.push(agent.access.expect(canonicalHost(host)));
  return () => void agent.clock.after(TRANSACTION_LIFE, () => releases.forEach((release) => release()));
}

/**
 * Sends the ACK to a 2xx, which has no answer; `again` repeats the very same octets. It carries the credentials of its `invite` where
 * they may go. Null when there is no way to the target.
 */
export async function dispatchAck(agent: Agent, draft: Draft, invite: SipRequest): Promise<{ flow: Flow; again: () => void } | null> {
  for (const hop of await hopsOf(agent, draft)) {
    const flow = await openFlow(agent, draft, hop);
    if (!flow) continue;
    const { method, requestUri, fields } = draft.request;
    const ack = new SipRequest(method, requestUri, fields.clone());
    if (draft.digest?.isFor(flow.address)) draft.digest.repeat(ack, invite);
    const bytes = complete(agent, draft, ack, newBranch(agent), flow).toBytes();
    // Nothing would come back from one that it could not be sent to, of a family that is not spoken here say.
    const isSent = await flow.send(bytes).then(
      () => true,
      () => false,
    );
    if (isSent) return { flow, again: () => void flow.send(bytes).catch(() => {}) };
  }
  return null;
}

/** Host, port and transport a URI asks for (RFC 3263 section 4.1); null when there is no such transport for it. */
export function targetOf(uri: Uri): Target | null {
  if (!(uri instanceof SipUri)) return null;
  const asked = uri.params.get("transport")?.toLowerCase() ?? "";
  if (!Object.hasOwn(PROTOCOLS[uri.scheme], asked)) return null;
  return { host: uri.host, port: uri.port, protocol: PROTOCOLS[uri.scheme][asked] ?? null };
}

/**
 * As `targetOf`, for an address that a peer has named for a dialog: its `maddr` counts before its host (RFC 3263 section 4). That of a callback
 * does not, whose host is what the project's rules were asked about. Of a transport that is not spoken here, WebSocket's among them, the peer is
 * where the dialog came from, by `flow`; null for sips, which goes on TLS alone (RFC 3261 section 26.2.2).
 */
export function targetInDialog({ transports }: Agent, uri: Uri, flow: Flow): Target | null {
  const target = targetOf(uri);
  if (target && transports.speaks(target.protocol ?? "udp")) return { ...target, host: hostInDialog(uri) ?? target.host };
  const { address: host, port, protocol } = flow;
  return uri.scheme === "sips" && protocol !== "tls" ? null : { host, port, protocol };
}

/** Whether the Contact of a target refresh request, or of its 2xx, may become the dialog's target: our BYE must be able to leave. */
export function canFollow(agent: Agent, dialog: Dialog, message: SipRequest | SipResponse, flow: Flow): boolean {
  const target = contactOf(message);
  return target === null || targetInDialog(agent, dialog.nextHopTo(target), flow) !== null;
}

function hostInDialog(uri: Uri): string | null {
  return uri instanceof SipUri ? unbracketed(uri.params.get("maddr") || uri.host) : null;
}

/** Whether requests to this SIP URI leave over TLS and nothing else. */
export function isOverTls(uri: string): boolean {
  return targetOf(parseUri(toOctets(uri)))?.protocol === "tls";
}

/** By what the URI's `transport` says; sips means TLS, over TCP (RFC 3261 section 26.2.2, RFC 5630 section 3.1.3). */
const PROTOCOLS: Readonly<Record<SipUri["scheme"], Readonly<Record<string, Protocol | null>>>> = {
  sip: { "": null, udp: "udp", tcp: "tcp", tls: "tls" },
  sips: { "": "tls", tcp: "tls", tls: "tls" },
};

function send(agent: Agent, request: SipRequest, flow: Flow, watcher: Watcher, hasNext: boolean): Promise<Outcome> {
  return new Promise((resolve) => {
    const silent = () => resolve({ status: 408, reason: "no answer", response: null });
    const longest = hasNext ? SILENT_SERVER_MS : request.toTag === null ? SILENT_CALLEE_MS : null;
    const stopWaiting = longest !== null && request.method === "INVITE" ? agent.clock.after(longest, silent) : () => {};
    const transaction = agent.transactions.request(request, flow, {
      onResponse: (response) => {
        stopWaiting();
        if (response.status < 200) return watcher.provisional?.(response, transaction);
        if (response.status < 300) watcher.success?.(response, transaction);
        resolve({ status: response.status, reason: response.reason, response });
      },
      onFailed: (why) => {
        stopWaiting();
        if (why === "timeout") silent();
        else resolve({ status: 503, reason: "the transport failed", response: null });
      },
    });
    watcher.started?.(transaction);
  });
}
