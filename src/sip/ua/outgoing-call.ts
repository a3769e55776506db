import { contactOf, Dialog } from "../dialog/dialog.ts";
import { type Address, parseAddress } from "../grammar/address.ts";
import { HeaderFields } from "../grammar/header-fields.ts";
import { SipRequest, type SipResponse } from "../grammar/message.ts";
import { toOctets } from "../grammar/octets.ts";
import { quote } from "../grammar/scanner.ts";
import { parseUri, SipUri } from "../grammar/uri.ts";
import { cancellation, type ClientTransaction } from "../transaction/client-transaction.ts";
import { TRANSACTION_LIFE } from "../transaction/timers.ts";
import type { Target } from "../transport/locate.ts";
import type { Protocol } from "../transport/transport.ts";
import { type Agent, randomToken } from "./agent.ts";
import { CallDialog } from "./call-dialog.ts";
import { ALLOW } from "./checks.ts";
import { type Credentials, DigestClient } from "./digest.ts";
import { EarlyDialog } from "./early-dialog.ts";
import { InviteFailed } from "./errors.ts";
import { exchange, targetInDialog, targetOf } from "./exchange.ts";
import { agreedTerms } from "./session-timer.ts";

export interface InviteOptions {
  /** SIP URI. Headers behind its "?" become headers of the INVITE when their names begin with X- or are User-to-User. */
  target: string;
  /** SIP URI or name-addr. */
  from: string;
  /** Our session description. */
  offer: string;
  headers?: readonly (readonly [name: string, value: string])[];
  /** For the target: nobody else is given them. */
  credentials?: Credentials;
  /** After this long without an answer the call is cancelled and fails with 408, ms. */
  ringTimeoutMs: number;
  /** Keeps the call on this transport. */
  transport?: Protocol;
  /** Keeps the call from addresses that others may reach. */
  mayReach?: (address: string, port: number) => Promise<boolean>;
}

export interface Answered {
  dialog: CallDialog;
  sdp: string;
  /** It is an offer, and `onReoffer` has answered it. */
  isOffer: boolean;
}

/** Branches of a fork that may ring at a time, and that may answer: beyond, whoever is called would have us send to anybody. */
const MAX_BRANCHES = 16;
const URI_HEADER = /^(?:x-.+|user-to-user)$/i;

/** An INVITE of ours, from the first octet to its 2xx and every later copy of that (RFC 3261 section 13.2). */
export class OutgoingCall {
  readonly callId: string;
  /** The peer's session description; rejects with InviteFailed. */
  readonly answered: Promise<Answered>;
  /** 18x: the peer's phone rings. */
  onRinging: ((status: number) => void) | null = null;
  /** A branch of the peer's has described its side before the answer (RFC 3960): once a branch, the latest is the last to have rung. */
  onEarlyAnswer: ((sdp: string) => void) | null = null;
  /** A new offer of the callee's before his answer to the call, once that to ours is settled (RFC 3311): our answer, or null, which refuses it with 488. */
  onReoffer: ((offer: string) => string | null) | null = null;
  readonly #agent: Agent;
  readonly #digest: DigestClient | null;
  readonly #contactUser: string | null;
  readonly #settle = Promise.withResolvers<Answered>();
  /** By the tag of the 2xx: how to acknowledge it again. A proxy that forks may bring several. */
  readonly #acknowledgements = new Map<string, Promise<() => void>>();
  /** By the tag of the provisional response that made it. */
  readonly #early = new Map<string, EarlyDialog>();
  #settled = false;
  #transaction: ClientTransaction | null = null;
  #provisional = false;
  #givenUp = false;
  /** INVITEs that a CANCEL was sent for. */
  readonly #cancelled = new Set<ClientTransaction>();
  /** By the same tag: some name their session description while it rings and not again. */
  readonly #earlySdp = new Map<string, string>();
  /** By the same tag: the latest of `onReoffer`. */
  readonly #reoffers = new Map<string, { offer: string; answer: string }>();

  /** Throws SipSyntaxError for a malformed target or from, TypeError for a header that would break the message (S-87). */
  constructor(agent: Agent, options: InviteOptions) {
    this.#agent = agent;
    this.#digest = options.credentials ? new DigestClient(options.credentials, agent.random) : null;
    this.answered = this.#settle.promise;
    // Who only wants to cancel need not watch the promise.
    this.answered.catch(() => {});
    this.callId = agent.random.uuid();
    const request = invitation(this.callId, options, randomToken(agent.random));
    this.#contactUser = request.from.uri.user;
    const target = destination(options);
    if (target && agent.transports.speaks(target.protocol ?? "udp")) void this.#run(request, target, options);
    else this.#fail(416, "scheme or transport not supported");
  }

  /** Stops ringing: `answered` rejects with 487. A call answered meanwhile is ended with BYE. */
  cancel(): void {
    this.#giveUp(487, "cancelled");
  }

  async #run(request: SipRequest, target: Target, { ringTimeoutMs, mayReach }: InviteOptions): Promise<void> {
    const stopRinging = this.#agent.clock.after(ringTimeoutMs, () => this.#giveUp(408, "no answer in time"));
    const draft = { request, target, contactUser: this.#contactUser, digest: this.#digest, mayReach: mayReach ?? null };
    const outcome = await exchange(this.#agent, draft, {
      started: (transaction) => {
        this.#transaction = transaction;
        this.#provisional = false;
      },
      provisional: (response, transaction) => this.#receiveProvisional(response, transaction),
      success: (response, transaction) => this.#receiveSuccess(response, transaction),
      givenUp: () => this.#givenUp,
    });
    stopRinging();
    for (const early of this.#early.values()) early.end();
    if (outcome.status >= 300) this.#fail(outcome.status, outcome.reason, contactsOf(outcome.response));
  }

  #receiveProvisional(response: SipResponse, transaction: ClientTransaction): void {
    if (transaction !== this.#transaction) return this.#sendCancel(transaction);
    this.#provisional = true;
    if (this.#givenUp || this.#settled) return this.#sendCancel(transaction);
    const { toTag } = response;
    if (response.status > 100 && toTag !== null && !this.#early.has(toTag) && this.#early.size < MAX_BRANCHES) {
      const onOffer = (offer: string) => this.#receiveReoffer(toTag, offer);
      const parts = { contactUser: this.#contactUser, digest: this.#digest, onOffer };
      this.#early.set(toTag, new EarlyDialog(this.#agent, transaction, response, parts));
    }
    if (this.#early.get(toTag ?? "")?.acknowledge(response) === false) return;
    if (response.sdp !== null) this.#noteEarlySdp(toTag ?? "", response.sdp);
    if (response.status > 100) this.onRinging?.(response.status);
  }

  #receiveReoffer(tag: string, offer: string): string | null {
    const answer = this.onReoffer?.(offer) ?? null;
    if (answer !== null) this.#reoffers.set(tag, { offer, answer });
    return answer;
  }

  /** The first one of a branch is its answer, whatever others follow (RFC 3261 section 13.2.1). */
  #noteEarlySdp(tag: string, sdp: string): void {
    if (this.#earlySdp.has(tag) || this.#earlySdp.size >= MAX_BRANCHES) return;
    this.#earlySdp.set(tag, sdp);
    this.onEarlyAnswer?.(sdp);
  }

  #receiveSuccess(response: SipResponse, transaction: ClientTransaction): void {
    const { request: invite, flow } = transaction;
    const tag = response.toTag ?? "";
    const known = this.#acknowledgements.get(tag);
    if (known) return void known.then((again) => again());
    if (this.#acknowledgements.size >= MAX_BRANCHES) return;
    const place = new SipUri(invite.requestUri);
    const named = Dialog.uac(invite, response, contactOf(response) ?? place);
    const isReachable = targetInDialog(this.#agent, named.nextHop, flow) !== null;
    // The callee is told that there is no call where our INVITE went.
    const reached = isReachable ? named : Dialog.uac(invite, response, place, []);
    reached.sent(this.#early.get(tag)?.cseq ?? 0);
    const parts = { dialog: reached, flow, contactUser: this.#contactUser, digest: this.#digest };
    const dialog = new CallDialog(this.#agent, { ...parts, peer: response, callIdIs: "ours" });
    const reoffer = this.#reoffers.get(tag);
    dialog.localSdp = reoffer?.answer ?? invite.sdp;
    dialog.keepTime(agreedTerms(response));
    const acknowledged = dialog.acknowledge(invite);
    this.#acknowledgements.set(tag, acknowledged);
    const isLate = transaction !== this.#transaction;
    const sdp = reoffer?.offer ?? response.sdp ?? this.#earlySdpOf(tag);
    if (this.#settled || isLate || sdp === null || !isReachable) {
      // Nobody waits for this one: given up meanwhile, a second branch of a fork, a server that was silent for too long, or nothing to talk by.
      void acknowledged.then(() => dialog.bye());
      if (!isLate && !isReachable) this.#fail(416, "the answer names a place that cannot be reached");
      else if (!isLate) this.#fail(488, "no session description in the answer");
      return;
    }
    this.#settled = true;
    dialog.remoteSdp = sdp;
    void acknowledged.then(() => this.#settle.resolve({ dialog, sdp, isOffer: reoffer !== undefined }));
  }

  #earlySdpOf(tag: string): string | null {
    const [only, another] = this.#earlySdp.values();
    return this.#earlySdp.get(tag) ?? (another === undefined ? (only ?? null) : null);
  }

  #giveUp(status: number, reason: string): void {
    if (this.#settled) return;
    this.#givenUp = true;
    this.#fail(status, reason);
    // Before a provisional response there is nothing to cancel yet (section 9.1).
    if (this.#provisional && this.#transaction) this.#sendCancel(this.#transaction);
  }

  #sendCancel(invite: ClientTransaction): void {
    if (this.#cancelled.has(invite)) return;
    this.#cancelled.add(invite);
    const cancel = cancellation(invite.request);
    void invite.flow.renewed().then(
      (flow) => this.#agent.transactions.request(cancel, flow, { onResponse: () => {}, onFailed: () => {} }),
      (error: unknown) => this.#agent.log.warn("sip_not_connected", { method: cancel.method, host: invite.flow.address, error }),
    );
    this.#agent.clock.after(TRANSACTION_LIFE, () => invite.abandon());
  }

  #fail(status: number, reason: string, contacts: readonly string[] = []): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#settle.reject(new InviteFailed(status, reason, contacts));
  }
}

/** The INVITE without what depends on its way (section 8.1.1). */
function invitation(callId: string, options: InviteOptions, tag: string): SipRequest {
  const target = parseUri(toOctets(options.target));
  const requestUri = target instanceof SipUri ? target.requestUri : target.toString();
  const from = parseAddress(toOctets(options.from));
  const display = from.display === null ? "" : `${quote(toOctets(from.display))} `;
  const fields = new HeaderFields()
    .add("Max-Forwards", "70")
    .add("From", `${display}<${from.uri.toString()}>;tag=${tag}`)
    .add("To", `<${requestUri}>`)
    .add("Call-ID", callId)
    .add("CSeq", "1 INVITE")
    .add("Allow", ALLOW)
    .add("Supported", "timer");
  for (const [name, value] of options.headers ?? []) fields.addText(name, value);
  for (const [name, value] of target.headers) if (URI_HEADER.test(name)) fields.addText(name, value);
  fields.add("Content-Type", "application/sdp");
  return new SipRequest("INVITE", requestUri, fields, Buffer.from(options.offer, "utf8"));
}

/** Where a response says that the target is (RFC 3261 sections 8.1.3.4 and 20.10); those of others are something else. */
function contactsOf(response: SipResponse | null): string[] {
  if (!response || response.status > 302) return [];
  const preference = ({ params }: Address) => Number(params.get("q") ?? 1);
  const contacts = response.addresses("contact").toSorted((one, other) => preference(other) - preference(one));
  return contacts.map(({ uri }) => uri.toString());
}

/** Where the INVITE goes; null when the target or its transport is none we speak. */
function destination({ target, transport }: InviteOptions): Target | null {
  const named = targetOf(parseUri(toOctets(target)));
  return named && { ...named, protocol: transport ?? named.protocol };
}
