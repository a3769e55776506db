import type { Clock } from "#src/kernel/clock.ts";
import type { SipRequest, SipResponse } from "../grammar/message.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import { T1, T2, TRANSACTION_LIFE } from "../transaction/timers.ts";
import { NoAck } from "./errors.ts";

/** A response that is sent again and again by the core, on every transport, until it is acknowledged. */
class Retransmission {
  /** The session description of what acknowledged it, null when that has none or nothing came any more. Rejects with NoAck after 64*T1. */
  readonly acknowledged: Promise<string | null>;
  readonly #settle = Promise.withResolvers<string | null>();
  #isOpen = true;
  #cancelRetry: () => void = () => {};
  readonly #cancelTimeout: () => void;

  /** `longest`: between two copies, ms. */
  constructor(clock: Clock, transaction: ServerTransaction, response: SipResponse, longest: number) {
    this.acknowledged = this.#settle.promise;
    const send = (interval: number) => {
      transaction.respond(response);
      this.#cancelRetry = clock.after(interval, () => send(Math.min(2 * interval, longest)));
    };
    this.#cancelTimeout = clock.after(TRANSACTION_LIFE, () => this.giveUp());
    send(T1);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Ends the retransmissions, as acknowledged: a BYE from the peer is as good as an ACK, and after a final response a provisional one means nothing. */
  stop(sdp: string | null = null): void {
    this.#close();
    this.#settle.resolve(sdp);
  }

  protected giveUp(): void {
    this.#close();
    this.#settle.reject(new NoAck());
  }

  #close(): void {
    this.#isOpen = false;
    this.#cancelRetry();
    this.#cancelTimeout();
  }
}

/** How often it may find neither the connection of its INVITE nor a new one: whoever comes back by another one does so at once. */
const MOST_UNSENT = 3;

/** A 2xx to INVITE, until its ACK (RFC 3261 section 13.3.1.4). */
export class SuccessRetransmission extends Retransmission {
  readonly #cseq: number;

  constructor(clock: Clock, transaction: ServerTransaction, response: SipResponse) {
    super(clock, transaction, response, T2);
    this.#cseq = transaction.request.cseq.number;
    let unsent = 0;
    transaction.onUnsent = () => {
      // A call that is talked on already has its whole time.
      if (transaction.flow.reliable && transaction.request.toTag === null && ++unsent === MOST_UNSENT) this.giveUp();
    };
  }

  receiveAck(ack: SipRequest): void {
    if (ack.cseq.number === this.#cseq) this.stop(ack.sdp);
  }
}

const RACK = /^([0-9]{1,10})[ \t]+([0-9]{1,10})[ \t]+([^ \t]+)$/;

/** A provisional response, until its PRACK (RFC 3262 section 3). */
export class ReliableProvisional extends Retransmission {
  readonly #transaction: ServerTransaction;
  readonly #rseq: number;

  /** `response` carries `Require: 100rel` and `RSeq: rseq`. */
  constructor(clock: Clock, transaction: ServerTransaction, response: SipResponse, rseq: number) {
    super(clock, transaction, response, Infinity);
    this.#transaction = transaction;
    this.#rseq = rseq;
  }

  /** Whether the PRACK's RAck names this response and it is the first to do so; another one is answered 481. */
  receivePrack(prack: SipRequest): boolean {
    const { number, method } = this.#transaction.request.cseq;
    const [, rseq, cseq, named] = RACK.exec(prack.fields.first("rack") ?? "") ?? [];
    if (!this.isOpen || Number(rseq) !== this.#rseq || Number(cseq) !== number || named !== method) return false;
    this.stop(prack.sdp);
    return true;
  }
}
