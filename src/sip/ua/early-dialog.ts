import { contactOf, Dialog, dialogKey } from "../dialog/dialog.ts";
import { type ResponseParts, respond, type SipRequest, type SipResponse } from "../grammar/message.ts";
import { SipUri } from "../grammar/uri.ts";
import type { ClientTransaction } from "../transaction/client-transaction.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import type { Target } from "../transport/locate.ts";
import type { Flow } from "../transport/transport.ts";
import { type Agent, contact, type DialogOwner, retryAfter } from "./agent.ts";
import type { DigestClient } from "./digest.ts";
import { exchange, targetInDialog } from "./exchange.ts";
import { rseqOf } from "./reliable-provisional.ts";
import { earlyRefresh } from "./session-timer.ts";

interface EarlyParts {
  contactUser: string | null;
  digest: DigestClient | null;
  /** Our answer to a new offer of the callee's (RFC 3311); null: it cannot be done. */
  onOffer: (offer: string) => string | null;
}

/**
 * A dialog that a provisional response to an INVITE of ours has made (RFC 3261 section 12.1), until the final one: what the callee asks in it,
 * and our acknowledgements of what it sends reliably.
 */
export class EarlyDialog implements DialogOwner {
  readonly #agent: Agent;
  readonly #dialog: Dialog;
  readonly #key: string;
  readonly #contactUser: string | null;
  readonly #flow: Flow;
  readonly #digest: DigestClient | null;
  readonly #onOffer: EarlyParts["onOffer"];
  /** A response that is sent reliably has answered our offer. */
  #isAnswered = false;
  /** Of the latest response that was sent reliably. */
  #rseq: number | null = null;
  #isAcknowledging = false;
  #isOver = false;
  /** The number of our latest request in the dialog. */
  cseq: number;

  constructor(
    agent: Agent,
    { request: invite, flow }: ClientTransaction,
    response: SipResponse,
    { contactUser, digest, onOffer }: EarlyParts,
  ) {
    this.#agent = agent;
    this.#dialog = Dialog.uac(invite, response, contactOf(response) ?? new SipUri(invite.requestUri));
    this.#key = dialogKey(this.#dialog.id);
    this.#contactUser = contactUser;
    this.#flow = flow;
    this.#digest = digest;
    this.#onOffer = onOffer;
    this.cseq = invite.cseq.number;
    agent.dialogs.set(this.#key, this);
  }

  /**
   * Acknowledges a provisional response that is sent reliably by PRACK (RFC 3262 section 4), one at a time: the next one is not sent before
   * (section 3). False: it is to be passed over, as it has been seen already, or comes again in its turn.
   */
  acknowledge(response: SipResponse): boolean {
    const rseq = rseqOf(response);
    if (rseq === null) return true;
    if (this.#isAcknowledging || (this.#rseq !== null && rseq !== this.#rseq + 1)) return false;
    this.#rseq = rseq;
    this.#isAnswered ||= response.sdp !== null;
    const request = this.#dialog.request("PRACK");
    request.fields.add("RAck", `${rseq} ${response.cseq.number} INVITE`);
    this.cseq = request.cseq.number;
    const target = targetInDialog(this.#agent, this.#dialog.nextHop, this.#flow);
    if (target) void this.#send(request, target);
    return true;
  }

  receive(transaction: ServerTransaction): void {
    const { request, flow } = transaction;
    const reply = (status: number, parts?: ResponseParts) => transaction.respond(respond(request, status, null, parts));
    if (!this.#dialog.accepts(request)) return reply(500, retryAfter(this.#agent));
    const { method } = request;
    // Our offer is still unanswered (RFC 3261 section 14.2, RFC 3311 section 5.2).
    if (method === "INVITE" || (method === "UPDATE" && request.sdp !== null && !this.#isAnswered)) return reply(491);
    if (method === "UPDATE") {
      const refreshed = earlyRefresh(request, contact(this.#agent, flow.protocol, this.#contactUser, request));
      if (request.sdp === null || refreshed.status >= 300) return reply(refreshed.status, refreshed);
      const sdp = this.#onOffer(request.sdp);
      return sdp === null ? reply(488) : reply(200, { ...refreshed, sdp });
    }
    request.body.fill(0);
    reply(method === "OPTIONS" || method === "INFO" ? 200 : 481);
  }

  /** There is no 2xx of ours. */
  receiveAck(): void {}

  /** The INVITE is cancelled, or abandoned, by whoever placed the call. */
  shutDown(): Promise<void> {
    return Promise.resolve();
  }

  /** The call is answered, maybe in this very dialog, or has failed. */
  end(): void {
    this.#isOver = true;
    if (this.#agent.dialogs.get(this.#key) === this) this.#agent.dialogs.delete(this.#key);
  }

  async #send(request: SipRequest, target: Target): Promise<void> {
    this.#isAcknowledging = true;
    const draft = { request, target, flow: this.#flow, digest: this.#digest };
    const { response } = await exchange(this.#agent, draft, { givenUp: () => this.#isOver });
    this.#isAcknowledging = false;
    if (!response) return;
    this.#dialog.sent(response.cseq.number);
    this.cseq = Math.max(this.cseq, response.cseq.number);
  }
}
