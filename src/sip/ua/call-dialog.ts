import { type Dialog, dialogKey } from "../dialog/dialog.ts";
import { type ResponseParts, respond, type SipRequest, type SipResponse } from "../grammar/message.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import type { Flow } from "../transport/transport.ts";
import { type Agent, contact, type DialogOwner } from "./agent.ts";
import { ACCEPT, ALLOW, SUPPORTED } from "./checks.ts";
import type { DigestClient } from "./digest.ts";
import { DTMF_TYPES, digitOf } from "./dtmf-relay.ts";
import { NoAck } from "./errors.ts";
import { admitResponses, dispatchAck, type Draft, exchange, targetOf } from "./exchange.ts";
import { SuccessRetransmission } from "./success-retransmission.ts";
import { type SessionTerms, sessionTerms, SessionTimer } from "./session-timer.ts";

/** Why a call ended without our doing: BYE, no ACK to the answer of a re-INVITE, no session refresh (RFC 4028), the agent stopping. */
export type EndReason = "bye" | "no-ack" | "session-expired" | "stopped";

export interface CallParts {
  dialog: Dialog;
  /** The flow the dialog was made over. */
  flow: Flow;
  /** The user part of our Contact. */
  contactUser: string | null;
  digest: DigestClient | null;
}

/** RFC 3261 section 14.2: when to try again, s. */
const RETRY_AFTER: ResponseParts = { headers: [["Retry-After", "5"]] };

/** An answered call: everything that happens inside its dialog. Set the handlers as soon as you have it. */
export class CallDialog implements DialogOwner {
  readonly id: string;
  readonly callId: string;
  readonly localTag: string;
  readonly remoteTag: string;
  /** The peer's latest session description. */
  remoteSdp: string | null = null;
  /** A new offer (null: the peer wants ours) -> our answer, or offer; null refuses with 488 and leaves the session as it was. */
  onReinvite: ((offer: string | null) => string | null) | null = null;
  /** The peer's answer to an offer `onReinvite` made. */
  onAnswer: ((sdp: string) => void) | null = null;
  /** A key from INFO as RFC 4733 event code: 0-9, 10 = "*", 11 = "#", 12-15 = A-D. */
  onDtmfDigit: ((event: number) => void) | null = null;
  readonly #agent: Agent;
  readonly #dialog: Dialog;
  readonly #parts: CallParts;
  readonly #sessionTimer: SessionTimer;
  readonly #admissions: (() => void)[];
  #ourSuccess: SuccessRetransmission | null = null;
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
    this.#sessionTimer = new SessionTimer(agent.clock, () => void this.#leave("session-expired"));
    this.#admissions = [admitResponses(agent, parts.flow)];
    agent.dialogs.set(this.id, this);
  }

  get ended(): boolean {
    return this.#ended !== null;
  }

  /** Called once when the call ends by anything but `bye`; at once when it has ended so before the handler was set. */
  set onBye(handler: ((reason: EndReason) => void) | null) {
    this.#onBye = handler;
    const ended = this.#ended;
    if (handler && ended && ended !== "ours") queueMicrotask(() => handler(ended));
  }

  get onBye(): ((reason: EndReason) => void) | null {
    return this.#onBye;
  }

  /**
   * Ends the call with BYE; resolves when the peer has answered, or never will. Safe to call on an ended call.
   * Throws TypeError for a header that would break the message (S-87).
   */
  bye(headers: readonly (readonly [name: string, value: string])[] = []): Promise<void> {
    return this.#leave("ours", headers);
  }

  /** Answers an INVITE of this dialog with 200 and `sdp`; resolves with the ACK's session description, rejects with NoAck after BYE was sent. */
  accept(transaction: ServerTransaction, sdp: string, terms: SessionTerms): Promise<string | null> {
    this.#sessionTimer.restart(terms);
    // A peer that sends a new INVITE has seen the answer to the one before.
    this.#ourSuccess?.stop();
    this.#ourSuccess = new SuccessRetransmission(
      this.#agent.clock,
      transaction,
      this.#success(transaction, { headers: terms.headers, sdp }),
    );
    return this.#ourSuccess.acknowledged.catch((error: unknown) => {
      void this.#leave("no-ack");
      throw error;
    });
  }

  /** Acknowledges the 2xx to `invite`, our own; the returned function does it again for each retransmission (section 13.2.2.4). */
  async acknowledge(invite: SipRequest): Promise<() => void> {
    const draft = this.#draft(this.#dialog.request("ACK", invite.cseq.number));
    const sent = draft && (await dispatchAck(this.#agent, draft, invite));
    if (!sent) return () => {};
    const release = admitResponses(this.#agent, sent.flow);
    if (this.ended) release();
    else this.#admissions.push(release);
    return sent.again;
  }

  receiveAck(ack: SipRequest): void {
    this.#ourSuccess?.receiveAck(ack);
  }

  receive(transaction: ServerTransaction): void {
    const { request } = transaction;
    if (!this.#dialog.accepts(request)) return this.#respond(transaction, 500, RETRY_AFTER);
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
        return this.#respond(transaction, 200, {
          headers: [
            ["Allow", ALLOW],
            ["Accept", ACCEPT],
            ["Supported", SUPPORTED],
          ],
        });
      default:
        // NOTIFY: we hold no subscription (RFC 6665 section 4.1.3).
        return this.#respond(transaction, 481);
    }
  }

  shutDown(): Promise<void> {
    return this.#leave("stopped");
  }

  #reinvite(transaction: ServerTransaction): void {
    const { request } = transaction;
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
    const terms = sessionTerms(request);
    if ("status" in terms) return this.#respond(transaction, terms.status, terms);
    const offer = request.sdp;
    const sdp = offer === null ? undefined : this.#negotiate(transaction, offer);
    if (sdp === null) return;
    if (offer === null) this.#dialog.refreshTarget(request);
    this.#sessionTimer.restart(terms);
    transaction.respond(this.#success(transaction, { headers: terms.headers, ...(sdp === undefined ? {} : { sdp }) }));
  }

  /** Our side of a new session description; null when the request has been refused with 488. */
  #negotiate(transaction: ServerTransaction, offer: string | null): string | null {
    const sdp = this.onReinvite?.(offer) ?? null;
    if (sdp === null) {
      this.#respond(transaction, 488);
      return null;
    }
    this.#dialog.refreshTarget(transaction.request);
    if (offer !== null) this.remoteSdp = offer;
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

  #success(transaction: ServerTransaction, parts: ResponseParts): SipResponse {
    const headers = [
      ["Contact", contact(this.#agent, transaction.flow.protocol, this.#parts.contactUser)],
      ["Allow", ALLOW],
      ["Supported", SUPPORTED],
      ["Server", this.#agent.userAgent],
      ...(parts.headers ?? []),
    ] as const;
    const response = respond(transaction.request, 200, this.localTag, { ...parts, headers });
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
    this.#end(reason);
    return leaving;
  }

  #end(reason: EndReason | "ours"): void {
    if (this.ended) return;
    this.#ended = reason;
    this.#agent.dialogs.delete(this.id);
    this.#sessionTimer.stop();
    this.#ourSuccess?.stop();
    for (const release of this.#admissions) release();
    if (reason !== "ours") this.#onBye?.(reason);
  }

  async #send(request: SipRequest): Promise<void> {
    const draft = this.#draft(request);
    if (draft) await exchange(this.#agent, draft);
  }

  #draft(request: SipRequest): Draft | null {
    const target = targetOf(this.#dialog.nextHop);
    return target && { request, target, flow: this.#parts.flow, digest: this.#parts.digest };
  }
}
