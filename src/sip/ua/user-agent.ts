import { createHmac } from "node:crypto";
import { type Clock, within } from "#src/kernel/clock.ts";
import type { Random } from "#src/kernel/random.ts";
import type { SipUser } from "#src/kernel/sip-trunk.ts";
import { Dialog, dialogKey, dialogOf, remoteTargetOf } from "../dialog/dialog.ts";
import { HeaderFields } from "../grammar/header-fields.ts";
import { type ResponseParts, respond, SipRequest, type SipResponse } from "../grammar/message.ts";
import type { Parsed } from "../grammar/parse.ts";
import { parseUri } from "../grammar/uri.ts";
import { parseVia } from "../grammar/via.ts";
import { TransactionLayer, type TransactionUser } from "../transaction/layer.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import { Access } from "../transport/access.ts";
import { type Ports, stampVia, TransportLayer } from "../transport/layer.ts";
import { type Resolver, systemResolver } from "../transport/locate.ts";
import type { TlsCertificate, TlsOptions } from "../transport/tls.ts";
import type { Admission, Flow, Receiver } from "../transport/transport.ts";
import { type Agent, type DialogOwner, randomToken, type SipLog, sipsNotAllowed } from "./agent.ts";
import { ABILITIES, ACCEPT, checkContent, checkTarget } from "./checks.ts";
import { DigestServer } from "./digest-server.ts";
import { exchange, targetInDialog, targetOf } from "./exchange.ts";
import { type TracedMessage, traceText } from "../trace.ts";
import { IncomingCall } from "./incoming-call.ts";
import { type InviteOptions, OutgoingCall } from "./outgoing-call.ts";
import { sessionTerms } from "./session-timer.ts";
import { StoppableClock } from "./stoppable-clock.ts";

export interface UserAgentOptions {
  clock: Clock;
  random: Random;
  /** Address to listen on, or its name; 0.0.0.0 and :: mean all. */
  host: string;
  /** UDP and TCP; 0: any port free in both. */
  port: number;
  /** TLS, on a port of its own; 0: any free one. Without it nothing is sent by TLS either. */
  tls?: TlsOptions & { port: number };
  /** How peers reach us: the host in Via and Contact. */
  publicHost: string;
  /** For User-Agent and Server (RFC 3261 section 20.41). */
  userAgent: string;
  /** IP addresses and CIDRs that may place calls; everybody else gets no answer to anything (S-80, S-82). */
  trunks: readonly string[];
  /** Who may place calls from other addresses too, by a password. */
  users?: readonly SipUser[];
  log?: SipLog;
  resolver?: Resolver;
  /**
   * Whether anything of ours may be sent to this IP address and port. Asked for each place that a target, a Contact or a Record-Route leads
   * to, however it was found; not for a trunk's address with a port over 1023. Default: everywhere.
   */
  mayReach?(address: string, port: number): Promise<boolean>;
  /** Seconds after which to ask again, when OPTIONS is to be answered 503 because a call would be; null when it would not. Default: never. */
  busyFor?(): number | null;
  /** A call: ring, answer or reject it. */
  onInvite(call: IncomingCall): void;
}

export interface UserAgent {
  /** Binds its ports. Rejects with OperatorError when one cannot be had. */
  start(): Promise<Ports>;
  /** The certificate that TLS connections from now on are made with. Throws OperatorError when it is unusable; then the one before stays. */
  renewCertificate(certificate: TlsCertificate): void;
  /** Places a call. Throws SipSyntaxError for a malformed URI, TypeError for a header that would break the message. */
  invite(options: InviteOptions): OutgoingCall;
  /** Asks a SIP URI for its OPTIONS and returns the status of the response; 408 when it is silent, 503 when it cannot be reached. Rejects with SipSyntaxError. */
  options(target: string): Promise<number>;
  /** Whether anything of ours may be sent to this IP address and port. */
  mayReach(address: string, port: number): Promise<boolean>;
  /** Shows each message that is read or sent from here on; null: none. Those of unknown peers are not read (S-82). */
  trace(show: ((message: TracedMessage) => void) | null): void;
  /** From here on OPTIONS and new INVITEs are answered 503; calls go on. */
  drain(): void;
  /** Ends what is left with BYE, waits a moment for their responses, closes the sockets. */
  stop(): Promise<void>;
  readonly activeTransactions: number;
  /** Whether the listener is bound, what comes is read, and a new request would get a transaction. Takes a second at most. */
  isServing(): Promise<boolean>;
}

/** INVITEs one source may have unanswered (S-83). */
const MAX_PENDING_PER_SOURCE = 200;
/** Transactions at once; beyond, new requests are answered without one (S-83). */
const MAX_TRANSACTIONS = 20_000;
const UNAVAILABLE: ResponseParts = { headers: [["Retry-After", "10"]] };
const PROBE_BYTES = 16;
/** How much larger an answer by UDP to somebody who has proved nothing may be than what he sent (S-82). */
const UNPROVED_GROWTH = 1.5;
/** One line of the log for all that peers without a right to call do in this time, ms. */
const NOTED_MS = 60_000;
/** How long `stop` waits for the responses to its BYEs, ms. */
const SHUTDOWN_MS = 500;
/** RFC 5626 section 3.5.1. */
const LONGEST_PING = 4;
const SILENT: SipLog = { debug: () => {}, warn: () => {} };

export function createUserAgent(options: UserAgentOptions): UserAgent {
  return new Core(options);
}

/** The core of RFC 3261 section 5: both sides of the user agent, above the transactions. */
class Core implements UserAgent, Agent, Receiver, TransactionUser {
  readonly clock: StoppableClock;
  readonly random: Random;
  readonly log: SipLog;
  readonly userAgent: string;
  readonly access: Access;
  readonly transports: TransportLayer;
  readonly transactions: TransactionLayer;
  readonly resolver: Resolver;
  readonly dialogs = new Map<string, DialogOwner>();
  readonly #options: UserAgentOptions;
  readonly #statelessKey: Uint8Array;
  readonly #passwords: DigestServer | null;
  /** Unanswered INVITEs by source address. */
  readonly #pending = new Map<string, number>();
  readonly #calls = new WeakMap<ServerTransaction, IncomingCall>();
  #draining = false;
  #showTraced: ((message: TracedMessage) => void) | null = null;
  #probe: Promise<boolean> | null = null;
  /** What anybody can make the log say, by event: how often since its last line, and when the next may be written. */
  readonly #noted = new Map<string, { count: number; next: number }>();

  constructor(options: UserAgentOptions) {
    this.log = options.log ?? SILENT;
    this.clock = new StoppableClock(options.clock, (error) => this.log.warn("sip_fault", { error }));
    this.random = options.random;
    this.userAgent = options.userAgent;
    const { trunks, users = [], publicHost, tls = null } = options;
    const byCertificate = (tls?.certificate.clientCa ?? null) !== null;
    this.access = new Access({ trunks, byPassword: users.length > 0, byCertificate }, this.clock);
    this.transports = new TransportLayer({ receiver: this, clock: this.clock, publicHost, tls });
    this.#passwords = users.length > 0 ? new DigestServer(users, this.clock, options.random.bytes(32)) : null;
    this.transactions = new TransactionLayer(this, this.clock);
    this.resolver = options.resolver ?? systemResolver;
    this.#options = options;
    this.#statelessKey = options.random.bytes(16);
  }

  start(): Promise<Ports> {
    return this.transports.listen(this.#options.host, this.#options.port);
  }

  renewCertificate(certificate: TlsCertificate): void {
    this.transports.renewCertificate(certificate);
  }

  invite(options: InviteOptions): OutgoingCall {
    return new OutgoingCall(this, options);
  }

  async options(target: string): Promise<number> {
    const to = targetOf(parseUri(target));
    if (!to) return 503;
    const fields = new HeaderFields()
      .add("Max-Forwards", "70")
      .add("From", `<sip:${this.transports.sentBy("udp")}>;tag=${randomToken(this.random)}`)
      .add("To", `<${target}>`)
      .add("Call-ID", this.random.uuid())
      .add("CSeq", "1 OPTIONS")
      .add("Accept", ACCEPT);
    const outcome = await exchange(this, { request: new SipRequest("OPTIONS", target, fields), target: to, contactUser: null });
    return outcome.status;
  }

  trace(show: ((message: TracedMessage) => void) | null): void {
    this.#showTraced = show;
  }

  drain(): void {
    this.#draining = true;
  }

  async stop(): Promise<void> {
    this.drain();
    const shutdowns = Promise.all([...this.dialogs.values()].map((owner) => owner.shutDown()));
    await within(this.clock, SHUTDOWN_MS, shutdowns, () => null);
    this.transactions.stop();
    this.clock.stop();
    await this.transports.close();
  }

  async mayReach(address: string, port: number): Promise<boolean> {
    return (port > 1023 && this.access.isTrunk(address)) || (await this.#options.mayReach?.(address, port)) !== false;
  }

  get activeTransactions(): number {
    return this.transactions.size;
  }

  async isServing(): Promise<boolean> {
    // One probe at a time, for all who ask meanwhile.
    this.#probe ??= this.transports.isAlive(this.random.bytes(PROBE_BYTES)).finally(() => (this.#probe = null));
    return this.transactions.size < MAX_TRANSACTIONS && (await this.#probe);
  }

  // Receiver: what the transports bring.

  admits(address: string): Admission {
    return this.#met(address, this.access.admits(address));
  }

  admitsHandshake(address: string): Admission {
    return this.#met(address, this.access.admitsHandshake(address));
  }

  admitsStreamed(address: string): boolean {
    return this.access.admitsStreamed(address);
  }

  receive(parsed: Parsed, flow: Flow): void {
    if (this.#showTraced) this.#traceParsed(parsed, flow);
    try {
      if (parsed.kind === "response") this.transactions.receiveResponse(parsed.response);
      else if (parsed.kind === "request") this.#receiveRequest(parsed.request, flow);
      else if (parsed.kind === "malformed") this.#receiveMalformed(parsed, flow);
    } catch (error) {
      // Whatever one message does, the next one must be served.
      this.log.warn("sip_fault", { error, host: flow.address });
    }
  }

  sends(bytes: Uint8Array, flow: Flow): void {
    if (this.#showTraced && bytes.length > LONGEST_PING) this.#trace("sent", bytes, flow);
  }

  #traceParsed(parsed: Parsed, flow: Flow): void {
    if (parsed.kind === "nothing") return;
    const message = parsed.kind === "response" ? parsed.response : parsed.request;
    if (!message) return;
    const bytes = message.toBytes();
    this.#trace("received", bytes, flow);
    // It may have a keypad digit.
    bytes.fill(0);
  }

  #trace(direction: TracedMessage["direction"], bytes: Uint8Array, { protocol, address, port }: Flow): void {
    this.#showTraced?.({ direction, protocol, address, port, text: traceText(bytes) });
  }

  /** They get no answer, so the log is where the operator of a trunk that is not listed finds out why. */
  #met(address: string, admission: Admission): Admission {
    if (admission === "refused") this.#note("sip_unknown_peer_ignored", address);
    return admission;
  }

  #note(event: string, host: string, fields = {}): void {
    const { count, next } = this.#noted.get(event) ?? { count: 0, next: 0 };
    const isDue = this.clock.monotonic() >= next;
    if (isDue) this.log.warn(event, { host, count: count + 1, ...fields });
    this.#noted.set(event, isDue ? { count: 0, next: this.clock.monotonic() + NOTED_MS } : { count: count + 1, next });
  }

  #receiveRequest(request: SipRequest, flow: Flow): void {
    const inside = this.transactions.knows(request, flow) || this.dialogs.has(dialogKey(dialogOf(request)));
    stampVia(request, flow);
    // Whom we have called may talk to us inside that call, and no more.
    if (!inside && !this.access.mayCall(flow) && !this.#provesPassword(request, flow)) return flow.settled(request);
    if (!inside && request.method !== "ACK" && this.transactions.size >= MAX_TRANSACTIONS) {
      return this.#respondStateless(request, flow, 503, UNAVAILABLE);
    }
    this.transactions.receiveRequest(request, flow);
  }

  #receiveMalformed({ request, status, reason }: Extract<Parsed, { kind: "malformed" }>, flow: Flow): void {
    this.log.debug("sip_malformed", { status, reason, host: flow.address });
    if (request && this.access.mayCall(flow)) this.#respondStateless(request, flow, status, {});
  }

  /** Whether an INVITE carries a user's password; if not it is asked for, at no more cost to a forged source than its own packet (S-82). */
  #provesPassword(request: SipRequest, flow: Flow): boolean {
    if (!this.#passwords || request.method !== "INVITE") return false;
    const found = this.#passwords.check(request, flow.address);
    if (found === "accepted") return true;
    if (request.fields.first("authorization") !== null) this.#note("sip_password_refused", flow.address, { reason: found });
    const headers = this.#passwords.challenge(flow.address, found === "stale");
    this.#respondStateless(request, flow, 401, { headers }, UNPROVED_GROWTH);
    return false;
  }

  /** A response without a transaction (section 8.2.7): equal requests get equal tags. */
  #respondStateless(request: SipRequest, flow: Flow, status: number, parts: ResponseParts, growth = Infinity): void {
    const identity = ["via", "from", "call-id", "cseq"].map((name) => request.fields.first(name) ?? "").join("\n");
    const tag = createHmac("sha256", this.#statelessKey).update(identity).digest("hex").slice(0, 20);
    const response = respond(request, status, tag, parts);
    if (!flow.reliable && response.toBytes().length > growth * request.toBytes().length) return;
    void this.#sendStateless(flow, request, response).catch(() => {});
  }

  /** A request whose Via cannot be read is answered to where its packet came from. */
  #sendStateless(flow: Flow, request: SipRequest, response: SipResponse): Promise<void> {
    try {
      parseVia(request.fields.first("via") ?? "");
    } catch {
      return flow.send(response.toBytes());
    }
    return this.send(flow, request, response);
  }

  // TransactionUser: what the transactions make of it.

  send(flow: Flow, request: SipRequest, response: SipResponse): Promise<void> {
    const sent = this.transports.respond(flow, request.via, response.toBytes());
    if (response.status >= 200) flow.settled(request);
    return sent;
  }

  onAck(ack: SipRequest): void {
    this.dialogs.get(dialogKey(dialogOf(ack)))?.receiveAck(ack);
  }

  onCancel(cancel: ServerTransaction, invite: ServerTransaction | null): void {
    const call = invite && this.#calls.get(invite);
    if (call) return call.receiveCancel(cancel);
    this.#respond(cancel, invite ? 200 : 481);
  }

  onRequest(transaction: ServerTransaction): void {
    try {
      this.#serve(transaction);
    } catch (error) {
      this.log.warn("sip_fault", { error, host: transaction.flow.address });
      const call = this.#calls.get(transaction);
      if (call) call.reject(500);
      else if (transaction.finalStatus === null) this.#respond(transaction, 500);
    }
  }

  /** RFC 3261 section 8.2, in its order; a To tag leads into a dialog (section 12.2.2). */
  #serve(transaction: ServerTransaction): void {
    const { request } = transaction;
    const wrongTarget = checkTarget(request, transaction.flow.protocol);
    if (wrongTarget) return this.#respond(transaction, wrongTarget.status, wrongTarget);
    const owner = request.toTag === null ? null : this.dialogs.get(dialogKey(dialogOf(request)));
    if (owner === undefined) return this.#respond(transaction, 481);
    if (transaction.merged) return this.#respond(transaction, 482);
    const wrongContent = checkContent(request, transaction.flow.protocol);
    if (wrongContent) return this.#respond(transaction, wrongContent.status, wrongContent);
    if (request.method === "REFER") return this.#respond(transaction, 603);
    if (owner) return owner.receive(transaction);
    if (request.method === "INVITE") return this.#invited(transaction);
    if (request.method === "OPTIONS") return this.#asked(transaction);
    this.#respond(transaction, 481);
  }

  #asked(transaction: ServerTransaction): void {
    if (this.#draining) return this.#respond(transaction, 503, UNAVAILABLE);
    const busyFor = this.#options.busyFor?.() ?? null;
    if (busyFor !== null) return this.#respond(transaction, 503, { headers: [["Retry-After", String(busyFor)]] });
    this.#respond(transaction, 200, ABILITIES);
  }

  #invited(transaction: ServerTransaction): void {
    const { request, flow } = transaction;
    const pending = this.#pending.get(flow.address) ?? 0;
    if (this.#draining || pending >= MAX_PENDING_PER_SOURCE) return this.#respond(transaction, 503, UNAVAILABLE);
    const target = remoteTargetOf(request);
    if (!target) return this.#respond(transaction, 400);
    // Our BYE could not leave.
    const { nextHop } = Dialog.uas(request, "", target);
    if (!targetInDialog(this, nextHop, flow)) return this.#respond(transaction, 480, sipsNotAllowed(this));
    const terms = sessionTerms(request);
    if ("status" in terms) return this.#respond(transaction, terms.status, terms);
    this.#pending.set(flow.address, pending + 1);
    const call = new IncomingCall(this, transaction, target, terms, () => this.#settled(flow.address));
    this.#calls.set(transaction, call);
    this.#options.onInvite(call);
  }

  #settled(address: string): void {
    const left = (this.#pending.get(address) ?? 1) - 1;
    if (left > 0) this.#pending.set(address, left);
    else this.#pending.delete(address);
  }

  #respond(transaction: ServerTransaction, status: number, parts?: ResponseParts): void {
    transaction.respond(respond(transaction.request, status, randomToken(this.random), parts));
  }
}
