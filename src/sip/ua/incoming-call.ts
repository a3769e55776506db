import { Dialog, dialogKey } from "../dialog/dialog.ts";
import { type ResponseParts, respond, type SipRequest } from "../grammar/message.ts";
import type { SipUri } from "../grammar/uri.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import type { Protocol } from "../transport/transport.ts";
import { type Agent, contact, type DialogOwner, randomToken } from "./agent.ts";
import { CallDialog } from "./call-dialog.ts";
import { CallOver } from "./errors.ts";
import type { SessionTerms } from "./session-timer.ts";

/** An INVITE waiting for our answer: an early dialog (RFC 3261 sections 12 and 13.3). Answer or reject it. */
export class IncomingCall implements DialogOwner {
  readonly request: SipRequest;
  readonly callId: string;
  readonly source: { address: string; port: number; transport: Protocol };
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

  /** `target` is the INVITE's Contact; `settled` is called once, when the INVITE has its final response. */
  constructor(agent: Agent, transaction: ServerTransaction, target: SipUri, terms: SessionTerms, settled: () => void) {
    const { request, flow } = transaction;
    this.request = request;
    this.callId = request.callId;
    this.source = { address: flow.address, port: flow.port, transport: flow.protocol };
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

  get onCancel(): (() => void) | null {
    return this.#onCancel;
  }

  /** 180 Ringing. */
  ring(): void {
    if (this.#state !== "open") return;
    const user = this.#contactUser;
    const headers = [["Contact", contact(this.#agent, this.#transaction.flow.protocol, user)]] as const;
    const response = respond(this.request, 180, this.#localTag, { headers });
    response.fields.copy("Record-Route", this.request.fields);
    this.#transaction.respond(response);
  }

  /**
   * 200 with our answer, or our offer when `offer` is null. Resolves when the ACK has come, with `remoteSdp` set to the
   * caller's side. Rejects with CallOver when the call had been cancelled or rejected, with NoAck when no ACK came in 32 s.
   */
  async answer(sdp: string): Promise<CallDialog> {
    if (this.#state !== "open") throw new CallOver();
    this.#close("over");
    const parts = { dialog: this.#dialog, flow: this.#transaction.flow, contactUser: this.#contactUser, digest: null };
    const dialog = new CallDialog(this.#agent, parts);
    dialog.remoteSdp = this.offer;
    const acknowledged = await dialog.accept(this.#transaction, sdp, this.#terms);
    dialog.remoteSdp ??= acknowledged;
    return dialog;
  }

  /**
   * A final response of 300 or more; without effect when the call is over. Throws TypeError for a header that would break
   * the message (S-87).
   */
  reject(status: number, parts: Omit<ResponseParts, "sdp"> = {}): void {
    if (this.#state !== "open") return;
    const response = respond(this.request, status, this.#localTag, parts);
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
    if (!this.#dialog.accepts(request)) return reply(500, { headers: [["Retry-After", "5"]] });
    if (request.method === "BYE") {
      reply(200);
      return this.#cancel();
    }
    // INVITE and UPDATE: the first offer is still unanswered (section 14.2, RFC 3311 section 5.2).
    if (request.method === "INVITE" || request.method === "UPDATE") return reply(500, { headers: [["Retry-After", "5"]] });
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

  #cancel(): void {
    if (this.#state !== "open") return;
    this.#close("cancelled");
    this.#transaction.respond(respond(this.request, 487, this.#localTag));
    this.#onCancel?.();
  }

  #close(state: "over" | "cancelled"): void {
    this.#state = state;
    this.#agent.dialogs.delete(this.#key);
    this.#settled();
  }
}
