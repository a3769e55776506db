import { Dialog, dialogKey } from "../dialog/dialog.ts";
import { type ResponseParts, respond, type SipResponse } from "../grammar/message.ts";
import { SipUri } from "../grammar/uri.ts";
import type { ClientTransaction } from "../transaction/client-transaction.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import { type Agent, contact, type DialogOwner, retryAfter } from "./agent.ts";
import { earlyRefresh } from "./session-timer.ts";

/** A dialog that a provisional response to an INVITE of ours has made (RFC 3261 section 12.1), until the final one: what the callee asks in it. */
export class EarlyDialog implements DialogOwner {
  readonly #agent: Agent;
  readonly #dialog: Dialog;
  readonly #key: string;
  readonly #contactUser: string | null;

  constructor(agent: Agent, { request: invite }: ClientTransaction, response: SipResponse, contactUser: string | null) {
    this.#agent = agent;
    // Nothing of ours is sent in it, so that it needs no target.
    this.#dialog = Dialog.uac(invite, response, new SipUri(invite.requestUri));
    this.#key = dialogKey(this.#dialog.id);
    this.#contactUser = contactUser;
    agent.dialogs.set(this.#key, this);
  }

  receive(transaction: ServerTransaction): void {
    const { request, flow } = transaction;
    const reply = (status: number, parts?: ResponseParts) => transaction.respond(respond(request, status, null, parts));
    if (!this.#dialog.accepts(request)) return reply(500, retryAfter(this.#agent));
    const { method } = request;
    // Our offer is still unanswered (RFC 3261 section 14.2, RFC 3311 section 5.2).
    if (method === "INVITE" || (method === "UPDATE" && request.sdp !== null)) return reply(491);
    if (method === "UPDATE") {
      const refreshed = earlyRefresh(request, contact(this.#agent, flow.protocol, this.#contactUser, request));
      return reply(refreshed.status, refreshed);
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
    if (this.#agent.dialogs.get(this.#key) === this) this.#agent.dialogs.delete(this.#key);
  }
}
