import type { Clock } from "#src/kernel/clock.ts";
import type { SipRequest, SipResponse } from "../grammar/message.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import { T1, T2, TRANSACTION_LIFE } from "../transaction/timers.ts";
import { NoAck } from "./errors.ts";

/** How often it may find neither the connection of its INVITE nor a new one: whoever comes back by another one does so at once. */
const MOST_UNSENT = 3;

/** A 2xx to INVITE, sent again and again by the core until its ACK comes, on every transport (RFC 3261 section 13.3.1.4). */
export class SuccessRetransmission {
  /** The session description of the ACK, null when it has none. Rejects with NoAck after 64*T1. */
  readonly acknowledged: Promise<string | null>;
  readonly #cseq: number;
  readonly #settle = Promise.withResolvers<string | null>();
  #cancelRetry: () => void = () => {};
  readonly #cancelTimeout: () => void;

  constructor(clock: Clock, transaction: ServerTransaction, response: SipResponse) {
    this.acknowledged = this.#settle.promise;
    this.#cseq = transaction.request.cseq.number;
    const send = (interval: number) => {
      transaction.respond(response);
      this.#cancelRetry = clock.after(interval, () => send(Math.min(2 * interval, T2)));
    };
    const giveUp = () => {
      this.#cancelRetry();
      this.#cancelTimeout();
      this.#settle.reject(new NoAck());
    };
    this.#cancelTimeout = clock.after(TRANSACTION_LIFE, giveUp);
    let unsent = 0;
    transaction.onUnsent = () => {
      // A call that is talked on already has its whole time.
      if (transaction.flow.reliable && transaction.request.toTag === null && ++unsent === MOST_UNSENT) giveUp();
    };
    send(T1);
  }

  receiveAck(ack: SipRequest): void {
    if (ack.cseq.number === this.#cseq) this.stop(ack.sdp);
  }

  /** Ends the retransmissions, as acknowledged. A BYE from the peer is as good as an ACK. */
  stop(sdp: string | null = null): void {
    this.#cancelRetry();
    this.#cancelTimeout();
    this.#settle.resolve(sdp);
  }
}
