import { Dialog, dialogKey } from "../dialog/dialog.ts";
import { type ResponseParts, respond, type SipRequest } from "../grammar/message.ts";
import type { SipUri } from "../grammar/uri.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import type { Protocol } from "../transport/transport.ts";
import { type Agent, contact, type DialogOwner, randomToken, retryAfter, sipsNotAllowed, warningOf } from "./agent.ts";
import { CallDialog } from "./call-dialog.ts";
import { ALLOW } from "./checks.ts";
import { CallOver } from "./errors.ts";
import { canFollow } from "./exchange.ts";
import { requiresReliable } from "./reliable-provisional.ts";
import { ReliableProvisional } from "./retransmission.ts";
import { earlyRefresh, type SessionTerms } from "./session-timer.ts";

/** An INVITE waiting for our answer: an early dialog (RFC 3261 sections 12 and 13.3). Answer or reject it. */
export class IncomingCall implements DialogOwner {
  readonly request: SipRequest;
  readonly callId: string;
  /** `isTrunk`: its address or certificate is a trunk's, so that what it asserts counts (RFC 3325); false: it has shown a password. */
  readonly source: { address: string; port: number; transport: Protocol; isTrunk: boolean };
  /** The caller's session description; null: the caller wants ours, and answers it in the ACK. */
  readonly offer: string | null;
  readonly #agent: Agent;
  readonly #transaction: ServerTransaction;
  readonly #dialog: Dialog;
  readonly #localTag: string;
  readonly #key: string;
  readonly #terms: SessionTerms;
  readonly #settled: () => void;
  #state: "open" | "over" | "cancelled" = "open";
  #onCancel: (() => void) | null = null;
  /** For a caller who requires reliable provisional responses: ours, and what its PRACK brought. */
  #provisional: ReliableProvisional | null = null;
  #ready: Promise<string | null> | null = null;

  /** `target` is the INVITE's Contact; `settled` is called once, when the INVITE has its final response. */
  constructor(agent: Agent, transaction: ServerTransaction, target: SipUri, terms: SessionTerms, settled: () => void) {
    const { request, flow } = transaction;
    this.request = request;
    this.callId = request.callId;
    const isTrunk = agent.access.mayCall(flow);
    this.source = { address: flow.address, port: flow.port, transport: flow.protocol, isTrunk };
    this.offer = request.sdp;
    this.#agent = agent;
    this.#transaction = transaction;
    this.#localTag = randomToken(agent.random);
    this.#dialog = Dialog.uas(request, this.#localTag, target);
    this.#key = dialogKey(this.#dialog.id);
    this.#terms = terms;
    this.#settled = settled;
    agent.dialogs.set(this.#key, this);
  }

  /** Whether the caller gave up before our answer; the INVITE has been answered 487 then. */
  get cancelled(): boolean {
    return this.#state === "cancelled";
  }

  /** Called once when the caller gives up before our answer; at once when that has happened already. */
  set onCancel(handler: (() => void) | null) {
    this.#onCancel = handler;
    if (handler && this.cancelled) queueMicrotask(handler);
  }

  /** 180 Ringing. */
  ring(): void {
    if (this.#state !== "open") return;
    const response = respond(this.request, 180, this.#localTag, { headers: [this.#contact] });
    response.fields.copy("Record-Route", this.request.fields);
    this.#transaction.respond(response);
  }

  /**
   * Resolves when the 200 may be sent. A caller who requires reliable provisional responses (RFC 3262) first gets a 180, or a 183 with
   * our offer when `offer` is null, and has to acknowledge it; for all others it is now. `sdp` as for `answer`. Rejects with CallOver
   * when the call is cancelled or rejected meanwhile; without a PRACK in 32 s it has been rejected with 504, with no answer in it with 400.
   */
  async ready(sdp: string): Promise<void> {
    if (requiresReliable(this.request)) this.#ready ??= this.#acknowledgedBefore(sdp);
    await this.#ready;
    if (this.#state !== "open") throw new CallOver();
  }

  /**
   * 200 with our answer, or our offer when `offer` is null. Resolves when the ACK has come, with `remoteSdp` set to the
   * caller's side. Rejects with CallOver when the call had been cancelled or rejected, with NoAck when no ACK came in 32 s.
   * `made` gets the dialog as the 200 leaves: keys and new descriptions may overtake the ACK, or come although it was lost.
   */
  async answer(sdp: string, made: (dialog: CallDialog) => void = () => {}): Promise<CallDialog> {
    if (requiresReliable(this.request)) await this.ready(sdp);
    // A caller who was offered our side in the 183 has answered it: then the 200 has none (RFC 3262 section 5).
    const early = this.#ready && this.offer === null ? await this.#ready : null;
    if (this.#state !== "open") throw new CallOver();
    this.#close("over");
    const parts = { dialog: this.#dialog, flow: this.#transaction.flow, contactUser: this.#contactUser, digest: null };
    const dialog = new CallDialog(this.#agent, { ...parts, peer: this.request, callIdIs: "theirs" });
    dialog.localSdp = sdp;
    dialog.remoteSdp = this.offer ?? early;
    made(dialog);
    const acknowledged = await dialog.accept(this.#transaction, early === null ? sdp : null, this.#terms);
    dialog.remoteSdp ??= acknowledged;
    return dialog;
  }

  /**
   * A final response of 300 or more; without effect when the call is over. `warning`: what is wrong, for people to read. Throws TypeError for a
   * header that would break the message (S-87).
   */
  reject(status: number, { warning, ...parts }: Omit<ResponseParts, "sdp"> & { warning?: string } = {}): void {
    if (this.#state !== "open") return;
    const headers = [...(parts.headers ?? []), ...(warning === undefined ? [] : [warningOf(this.#agent, warning)])];
    const response = respond(this.request, status, this.#localTag, { ...parts, headers });
    this.#close("over");
    this.#transaction.respond(response);
  }

  /** The CANCEL, answered; its 200 carries the tag of the INVITE's responses (section 9.2). */
  receiveCancel(cancel: ServerTransaction): void {
    cancel.respond(respond(cancel.request, 200, this.#localTag));
    this.#cancel();
  }

  receive(transaction: ServerTransaction): void {
    const { request } = transaction;
    const reply = (status: number, more?: ResponseParts) => transaction.respond(respond(request, status, this.#localTag, more));
    if (!this.#dialog.accepts(request)) return reply(500, retryAfter(this.#agent));
    if (request.method === "BYE") {
      reply(200);
      return this.#cancel();
    }
    if (request.method === "PRACK") return reply(this.#provisional?.receivePrack(request) === true ? 200 : 481);
    if (request.method === "UPDATE" && !canFollow(this.#agent, this.#dialog, request, transaction.flow))
      return reply(488, sipsNotAllowed(this.#agent));
    if (request.method === "UPDATE" && request.sdp === null) {
      const refreshed = earlyRefresh(request, this.#contact[1]);
      if (refreshed.status < 300) this.#dialog.refreshTarget(request);
      return reply(refreshed.status, refreshed);
    }
    // The first offer, theirs or ours, is still unanswered (section 14.2, RFC 3311 section 5.2).
    if (request.method === "UPDATE" && this.offer === null) return reply(491);
    if (request.method === "INVITE" || request.method === "UPDATE") return reply(500, retryAfter(this.#agent));
    request.body.fill(0);
    reply(request.method === "NOTIFY" ? 481 : 200);
  }

  /** No 2xx has been sent yet. */
  receiveAck(): void {}

  shutDown(): Promise<void> {
    this.reject(503);
    return Promise.resolve();
  }

  get #contactUser(): string | null {
    return this.request.uri.user;
  }

  get #contact(): readonly [name: string, value: string] {
    return ["Contact", contact(this.#agent, this.#transaction.flow.protocol, this.#contactUser, this.request)];
  }

  #cancel(): void {
    if (this.#state !== "open") return;
    this.#close("cancelled");
    this.#transaction.respond(respond(this.request, 487, this.#localTag));
    this.#onCancel?.();
  }

  /** Sends the provisional response and waits for its PRACK; the answer to our offer that it brings, null when we made none. */
  async #acknowledgedBefore(sdp: string): Promise<string | null> {
    if (this.#state !== "open") throw new CallOver();
    // RFC 3262 section 3: from 1 to 2**31 - 1.
    const rseq = (Buffer.from(this.#agent.random.bytes(4)).readUInt32BE() >>> 1) | 1;
    const headers = [this.#contact, ["Require", "100rel"], ["RSeq", String(rseq)], ["Allow", ALLOW]] as const;
    const parts = this.offer === null ? { headers, sdp } : { headers };
    const response = respond(this.request, this.offer === null ? 183 : 180, this.#localTag, parts);
    response.fields.copy("Record-Route", this.request.fields);
    this.#provisional = new ReliableProvisional(this.#agent.clock, this.#transaction, response, rseq);
    const acknowledged = await this.#provisional.acknowledged.catch(() => {
      this.reject(504);
      return null;
    });
    if (this.#state === "open" && this.offer === null && acknowledged === null) this.reject(400);
    return acknowledged;
  }

  #close(state: "over" | "cancelled"): void {
    this.#state = state;
    this.#provisional?.stop();
    this.#agent.dialogs.delete(this.#key);
    this.#settled();
  }
}
