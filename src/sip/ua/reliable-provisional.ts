import type { Clock } from "#src/kernel/clock.ts";
import type { SipRequest, SipResponse } from "../grammar/message.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import { T1, TRANSACTION_LIFE } from "../transaction/timers.ts";

const RACK = /^([0-9]{1,10})[ \t]+([0-9]{1,10})[ \t]+([^ \t]+)$/;

/** A provisional response, sent again and again until its PRACK comes, on every transport (RFC 3262 section 3). */
export class ReliableProvisional {
  /** The session description of the PRACK, null when it has none or none came any more. Rejects with NoPrack after 64*T1. */
  readonly acknowledged: Promise<string | null>;
  readonly #transaction: ServerTransaction;
  readonly #rseq: number;
  readonly #settle = Promise.withResolvers<string | null>();
  #isOpen = true;
  #cancelRetry: () => void = () => {};
  readonly #cancelTimeout: () => void;

  /** `response` carries `Require: 100rel` and `RSeq: rseq`. */
  constructor(clock: Clock, transaction: ServerTransaction, response: SipResponse, rseq: number) {
    this.acknowledged = this.#settle.promise;
    this.#transaction = transaction;
    this.#rseq = rseq;
    const send = (interval: number) => {
      transaction.respond(response);
      this.#cancelRetry = clock.after(interval, () => send(2 * interval));
    };
    this.#cancelTimeout = clock.after(TRANSACTION_LIFE, () => {
      this.#close();
      this.#settle.reject(new NoPrack());
    });
    send(T1);
  }

  /** Whether the PRACK's RAck names this response and it is the first to do so; another one is answered 481. */
  receivePrack(prack: SipRequest): boolean {
    const { number, method } = this.#transaction.request.cseq;
    const [, rseq, cseq, named] = RACK.exec(prack.fields.first("rack") ?? "") ?? [];
    if (!this.#isOpen || Number(rseq) !== this.#rseq || Number(cseq) !== number || named !== method) return false;
    this.stop(prack.sdp);
    return true;
  }

  /** Ends the retransmissions: after a final response they mean nothing any more. */
  stop(sdp: string | null = null): void {
    this.#close();
    this.#settle.resolve(sdp);
  }

  #close(): void {
    this.#isOpen = false;
    this.#cancelRetry();
    this.#cancelTimeout();
  }
}

/** A reliable provisional response was not acknowledged within 64*T1. */
export class NoPrack extends Error {
  constructor() {
    super("no PRACK came for the provisional response");
    this.name = "NoPrack";
  }
}
