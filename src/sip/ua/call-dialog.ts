import { type Dialog, dialogKey } from "../dialog/dialog.ts";
import { type ResponseParts, respond, SipRequest, type SipResponse } from "../grammar/message.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import type { Flow } from "../transport/transport.ts";
import { type Agent, contact, type DialogOwner, retryAfter, sipsNotAllowed, warningOf } from "./agent.ts";
import { ABILITIES, ACCEPT, ALLOW, SUPPORTED } from "./checks.ts";
import type { DigestClient } from "./digest.ts";
import { DTMF_TYPES, digitOf } from "./dtmf-relay.ts";
import { NoAck } from "./errors.ts";
import { admitResponses, canFollow, dispatchAck, type Draft, exchange, type Outcome, targetInDialog } from "./exchange.ts";
import { Referral, type ReferOutcome } from "./referral.ts";
import { SuccessRetransmission } from "./retransmission.ts";
import { type RefreshMethod, SessionRefresh } from "./session-refresh.ts";
import { type SessionTerms, sessionTerms, SessionTimer } from "./session-timer.ts";

/**
 * Why a call ended without our doing: BYE, no ACK to the answer of a re-INVITE, no session refresh (RFC 4028), a peer that knows nothing of it,
 * one that has been referred and has connected its side elsewhere, the agent stopping.
 */
export type EndReason = "bye" | "no-ack" | "session-expired" | "gone" | "referred" | "stopped";

interface CallParts {
  dialog: Dialog;
  /** The flow the dialog was made over. */
  flow: Flow;
  /** The user part of our Contact. */
  contactUser: string | null;
  digest: DigestClient | null;
  /** What made the dialog: the INVITE that came, or the 2xx to ours. Its Allow says what the peer takes. */
  peer: SipRequest | SipResponse;
  /** Who made the Call-ID. */
  callIdIs: "ours" | "theirs";
}

export interface ReferOptions {
  to: string;
  by: string;
  timeoutMs: number;
}

/** Requests whose Contact is where the peer is from then on (RFC 3261 section 12.2, RFC 3311). One that cannot be is refused for itself alone: 488 leaves the dialog as it is (RFC 5057 section 5). */
const TARGET_REFRESH: ReadonlySet<string> = new Set(["INVITE", "UPDATE"]);

/** An answered call: everything that happens inside its dialog. Set the handlers as soon as you have it. */
export class CallDialog implements DialogOwner {
  readonly id: string;
  readonly callId: string;
  readonly localTag: string;
  readonly remoteTag: string;
  /** The peer's latest session description. */
  remoteSdp: string | null = null;
  /** Ours, offered again when a refresh has to be an INVITE. */
  localSdp: string | null = null;
  /** A new offer (null: the peer wants ours) -> our answer, or offer; null refuses with 488 and leaves the session as it was. Before it is set the peer is asked to try again. */
  onReinvite: ((offer: string | null) => string | null) | null = null;
  /** The peer's answer to an offer `onReinvite` made. */
  onAnswer: ((sdp: string) => void) | null = null;
  /** A key from INFO as RFC 4733 event code: 0-9, 10 = "*", 11 = "#", 12-15 = A-D. */
  onDtmfDigit: ((event: number) => void) | null = null;
  readonly #agent: Agent;
  readonly #dialog: Dialog;
  readonly #parts: CallParts;
  readonly #sessionTimer: SessionTimer;
  readonly #refresh: SessionRefresh;
  /** The way by which the peer spoke last: a router gives another port, a connection is made anew. */
  #flow: Flow;
  #admission: () => void;
  /** Of the way that our ACK took, where it is another one. */
  #acknowledgement: () => void = () => {};
  #ourSuccess: SuccessRetransmission | null = null;
  /** The INVITE whose 2xx has an offer that its ACK has not answered yet. */
  #offeredIn: ServerTransaction | null = null;
  #referral: Referral | null = null;
  #ended: EndReason | "ours" | null = null;
  #onBye: ((reason: EndReason) => void) | null = null;

  constructor(agent: Agent, parts: CallParts) {
    const { dialog } = parts;
    this.id = dialogKey(dialog.id);
    this.callId = dialog.id.callId;
    this.localTag = dialog.id.localTag;
    this.remoteTag = dialog.id.remoteTag;
    this.#agent = agent;
    this.#dialog = dialog;
    this.#parts = parts;
    this.#sessionTimer = new SessionTimer(agent.clock, {
      onRefresh: (interval) => void this.#refresh.run(interval),
      onExpired: () => void this.#leave("session-expired"),
    });
    this.#refresh = new SessionRefresh(this.#sessionTimer, agent.random, parts.callIdIs, refreshMethod(parts.peer), {
      send: (method, headers) => this.#sendRefresh(method, headers),
      gone: () => void this.#leave("session-expired"),
      isOver: () => this.ended,
    });
    this.#flow = parts.flow;
    this.#admission = admitResponses(agent, parts.flow, dialog.nextHop);
    agent.dialogs.set(this.id, this);
  }

  get ended(): boolean {
    return this.#ended !== null;
  }

  /** Whom the peer was referred to has answered it after the time of `refer`. */
  get isTakenOver(): boolean {
    return this.#ended === "referred";
  }

  /** Called once when the call ends by anything but `bye`; at once when it has ended so before the handler was set. */
  set onBye(handler: ((reason: EndReason) => void) | null) {
    this.#onBye = handler;
    const ended = this.#ended;
    if (handler && ended && ended !== "ours") queueMicrotask(() => handler(ended));
  }

  /**
   * Ends the call with BYE; resolves when the peer has answered, or never will. Safe to call on an ended call.
   * Throws TypeError for a header that would break the message (S-87).
   */
  bye(headers: readonly (readonly [name: string, value: string])[] = []): Promise<void> {
    return this.#leave("ours", headers);
  }

  /**
   * Asks the peer to call `to`, a SIP URI, and follows how that goes, for `timeoutMs` in all (RFC 3515). The call stays up: whoever sees
   * success ends it. Success that is told of later ends it by itself. `by`: the URI of Referred-By (RFC 3892). Throws TypeError for a URI that would break the message (S-87).
   */
  async refer({ to, by, timeoutMs }: ReferOptions): Promise<ReferOutcome> {
    const referral = new Referral(this.#agent.clock, timeoutMs, () => void this.#leave("referred"));
    const request = this.#dialog.request("REFER");
    request.fields.addText("Refer-To", `<${to}>`).addText("Referred-By", `<${by}>`).add("Allow", ALLOW);
    const draft = this.ended ? null : this.#draft(request);
    if (!draft) return { kind: "left", accepted: false, ringing: false };
    this.#referral = referral;
    const sent = { ...draft, contactUser: this.#parts.contactUser };
    void exchange(this.#agent, sent, { givenUp: () => this.ended }).then(({ status, response }) => {
      if (response) this.#dialog.sent(response.cseq.number);
      // RFC 3261 section 12.2.1.2.
      if (status === 481) void this.#leave("gone");
      if (referral.isOpen) referral.answered(status);
    });
    return await referral.outcome;
  }

  /** Answers an INVITE of this dialog with 200 and `sdp`, null when the peer has it already; resolves with the ACK's session description, rejects with NoAck after BYE was sent. */
  accept(transaction: ServerTransaction, sdp: string | null, terms: SessionTerms): Promise<string | null> {
    this.#sessionTimer.restart(terms);
    // A peer that sends a new INVITE has seen the answer to the one before.
    this.#ourSuccess?.stop();
    this.#ourSuccess = new SuccessRetransmission(this.#agent.clock, transaction, this.#success(transaction, terms, sdp));
    this.#offeredIn = transaction.request.sdp === null && sdp !== null ? transaction : null;
    return this.#ourSuccess.acknowledged
      .finally(() => {
        if (this.#offeredIn === transaction) this.#offeredIn = null;
      })
      .catch((error: unknown) => {
        void this.#leave("no-ack");
        throw error;
      });
  }

  /** Runs the session timer that the 2xx to our INVITE has agreed to. */
  keepTime(terms: SessionTerms): void {
    this.#sessionTimer.restart(terms);
  }

  /** Acknowledges the 2xx to `invite`, our own; the returned function does it again for each retransmission (section 13.2.2.4). */
  async acknowledge(invite: SipRequest): Promise<() => void> {
    const draft = this.#draft(this.#dialog.request("ACK", invite.cseq.number));
    const sent = draft && (await dispatchAck(this.#agent, draft, invite));
    if (!sent) return () => {};
    const release = admitResponses(this.#agent, sent.flow);
    this.#acknowledgement();
    this.#acknowledgement = release;
    if (this.ended) release();
    return sent.again;
  }

  receiveAck(ack: SipRequest): void {
    this.#ourSuccess?.receiveAck(ack);
  }

  receive(transaction: ServerTransaction): void {
    const { request } = transaction;
    if (!this.#dialog.accepts(request)) return this.#respond(transaction, 500, retryAfter(this.#agent));
    // What is left of it: the subscription of a REFER, and a BYE that crosses ours (RFC 5407 section 3.2.1).
    if (this.ended && request.method !== "NOTIFY") return this.#respond(transaction, request.method === "BYE" ? 200 : 481);
    this.#follow(transaction.flow);
    if (TARGET_REFRESH.has(request.method) && !canFollow(this.#agent, this.#dialog, request, this.#flow))
      return this.#respond(transaction, 488, sipsNotAllowed(this.#agent));
    switch (request.method) {
      case "BYE":
        this.#respond(transaction, 200);
        return this.#end("bye");
      case "INVITE":
        return this.#reinvite(transaction);
      case "UPDATE":
        return this.#update(transaction);
      case "INFO":
        return this.#info(transaction);
      case "OPTIONS":
        return this.#respond(transaction, 200, ABILITIES);
      case "NOTIFY":
        // Without a REFER of ours we hold no subscription (RFC 6665 section 4.1.3).
        return this.#respond(transaction, this.#referral?.notified(request) ?? 481);
      default:
        return this.#respond(transaction, 481);
    }
  }

  shutDown(): Promise<void> {
    return this.#leave("stopped");
  }

  #follow(flow: Flow): void {
    const { address, port, protocol } = this.#flow;
    if (this.#flow === flow || this.ended) return;
    // Of datagrams each has a flow of its own.
    if (!flow.reliable && flow.address === address && flow.port === port && flow.protocol === protocol) return;
    this.#flow = flow;
    this.#admit();
  }

  #admit(): void {
    this.#admission();
    this.#admission = admitResponses(this.#agent, this.#flow, this.#dialog.nextHop);
    if (this.ended) this.#admission();
  }

  #reinvite(transaction: ServerTransaction): void {
    const { request } = transaction;
    if (this.#refresh.inviting || this.#offeredIn) return this.#respond(transaction, 491);
    const terms = sessionTerms(request);
    if ("status" in terms) return this.#respond(transaction, terms.status, terms);
    const offer = request.sdp;
    const sdp = this.#negotiate(transaction, offer);
    if (sdp === null) return;
    this.accept(transaction, sdp, terms)
      .then((answer) => {
        if (offer !== null || answer === null || this.ended) return;
        this.remoteSdp = answer;
        this.onAnswer?.(answer);
      })
      .catch((error: unknown) => {
        // Without an ACK `accept` has ended the call already.
        if (!(error instanceof NoAck)) this.#agent.log.warn("sip_fault", { error });
      });
  }

  /** RFC 3311: like a re-INVITE, without ACK; without a body it only refreshes session and target. */
  #update(transaction: ServerTransaction): void {
    const { request } = transaction;
    const offer = request.sdp;
    // Two offers at once (RFC 3311 section 5.2).
    if (offer !== null && (this.#refresh.inviting || this.#offeredIn)) return this.#respond(transaction, 491);
    const terms = sessionTerms(request);
    if ("status" in terms) return this.#respond(transaction, terms.status, terms);
    const sdp = offer === null ? null : this.#negotiate(transaction, offer);
    if (offer !== null && sdp === null) return;
    if (offer === null) this.#refreshTarget(request);
    this.#sessionTimer.restart(terms);
    transaction.respond(this.#success(transaction, terms, sdp));
  }

  /** Our side of a new session description; null when the request has been refused: with 491 as long as nobody looks after the call yet, else with 488. */
  #negotiate(transaction: ServerTransaction, offer: string | null): string | null {
    const sdp = this.onReinvite?.(offer) ?? null;
    if (sdp === null) {
      if (!this.onReinvite) this.#respond(transaction, 491);
      else this.#respond(transaction, 488, { headers: [warningOf(this.#agent, "nothing in the new description can be done")] });
      return null;
    }
    this.#refreshTarget(transaction.request);
    if (offer !== null) this.remoteSdp = offer;
    this.localSdp = sdp;
    return sdp;
  }

  #info(transaction: ServerTransaction): void {
    const { body } = transaction.request;
    const key = body.length === 0 ? null : digitOf(body);
    const understood = key !== null || body.length === 0;
    body.fill(0);
    if (!understood) return this.#respond(transaction, 415, { headers: [["Accept", DTMF_TYPES.join(", ")]] });
    this.#respond(transaction, 200);
    if (key !== null) this.onDtmfDigit?.(key);
  }

  /** A target refresh request (section 12.2): its Contact, and its Allow where it has one. */
  #refreshTarget(message: SipRequest | SipResponse): void {
    if (canFollow(this.#agent, this.#dialog, message, this.#flow)) this.#dialog.refreshTarget(message);
    this.#admit();
    if (message.fields.first("allow") !== null) this.#refresh.method = refreshMethod(message);
  }

  /** One session refresh. An INVITE offers again what we have, so that nothing changes but the time (RFC 4028 section 7.4). */
  async #sendRefresh(method: RefreshMethod, headers: readonly (readonly [name: string, value: string])[]): Promise<Outcome> {
    const { fields, requestUri } = this.#dialog.request(method);
    for (const [name, value] of headers) fields.add(name, value);
    fields.add("Allow", ALLOW);
    const offer = method === "INVITE" ? this.localSdp : null;
    if (offer !== null) fields.add("Content-Type", ACCEPT);
    const request = new SipRequest(method, requestUri, fields, offer === null ? undefined : Buffer.from(offer, "utf8"));
    const draft = this.#draft(request);
    if (!draft) return { status: 503, reason: "no way to the peer", response: null };
    let acknowledged: Promise<() => void> | null = null;
    const success = (response: SipResponse, invite: SipRequest): void => {
      if (acknowledged) return void acknowledged.then((again) => again());
      this.#refreshTarget(response);
      if (method !== "INVITE") return;
      acknowledged = this.acknowledge(invite);
      this.remoteSdp = response.sdp ?? this.remoteSdp;
      if (response.sdp !== null) this.onAnswer?.(response.sdp);
    };
    const outcome = await exchange(
      this.#agent,
      { ...draft, contactUser: this.#parts.contactUser },
      { success: (response, sent) => success(response, sent.request), givenUp: () => this.ended },
    );
    if (outcome.response) this.#dialog.sent(outcome.response.cseq.number);
    return outcome;
  }

  #success(transaction: ServerTransaction, terms: SessionTerms, sdp: string | null): SipResponse {
    const headers = [
      ["Contact", contact(this.#agent, transaction.flow.protocol, this.#parts.contactUser, transaction.request)],
      ["Allow", ALLOW],
      ["Supported", SUPPORTED],
      ["Server", this.#agent.userAgent],
      ...terms.headers,
    ] as const;
    const response = respond(transaction.request, 200, this.localTag, sdp === null ? { headers } : { headers, sdp });
    // Only the response that makes the dialog needs the route, but copying it always does no harm (section 12.1.1).
    response.fields.copy("Record-Route", transaction.request.fields);
    return response;
  }

  #respond(transaction: ServerTransaction, status: number, parts?: ResponseParts): void {
    transaction.respond(respond(transaction.request, status, this.localTag, parts));
  }

  /** Ends the call by BYE. */
  #leave(reason: EndReason | "ours", headers: readonly (readonly [name: string, value: string])[] = []): Promise<void> {
    if (this.ended) return Promise.resolve();
    const request = this.#dialog.request("BYE");
    for (const [name, value] of headers) request.fields.addText(name, value);
    const leaving = this.#send(request);
    this.#end(reason, leaving);
    return leaving;
  }

  /** `leaving`: until our BYE is answered, or never will be. */
  #end(reason: EndReason | "ours", leaving: Promise<void> | null = null): void {
    if (this.ended) return;
    this.#ended = reason;
    const forget = () => void this.#agent.dialogs.delete(this.id);
    const left = () => (leaving ? void leaving.then(forget) : forget());
    if (this.#referral?.isOpen) this.#referral.left(left);
    else left();
    this.#sessionTimer.stop();
    this.#ourSuccess?.stop();
    this.#admission();
    this.#acknowledgement();
    if (reason !== "ours") this.#onBye?.(reason);
  }

  async #send(request: SipRequest): Promise<void> {
    const draft = this.#draft(request);
    if (draft) await exchange(this.#agent, draft);
  }

  #draft(request: SipRequest): Draft | null {
    const flow = this.#flow;
    const { nextHop } = this.#dialog;
    const target = targetInDialog(this.#agent, nextHop, flow);
    return target && { request, target, flow, digest: this.#parts.digest };
  }
}

/** How to refresh a session with a peer that has sent this (RFC 4028 section 7.4). */
function refreshMethod(message: SipRequest | SipResponse): RefreshMethod {
  return message.headers("allow").some((method) => method === "UPDATE") ? "UPDATE" : "INVITE";
}
