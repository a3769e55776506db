import type { Clock } from "#src/kernel/clock.ts";
import type { SipRequest } from "../grammar/message.ts";

/** What became of a REFER (RFC 3515). */
export type ReferOutcome =
  /** It was not taken: the final status, or 408 and 503 of our own (RFC 3261 section 8.1.3.1). */
  | { kind: "refused"; status: number }
  /** The peer has called: the final status of that call. */
  | { kind: "called"; status: number }
  /** Taken, and no word of an end in time. `ringing`: a provisional status beyond 100 was the last one. */
  | { kind: "silent"; ringing: boolean }
  /** The peer hung up: before it had taken the REFER, or after that without a word of how its call went. `ringing`: as above, and it would have told of more. */
  | { kind: "left"; accepted: boolean; ringing: boolean };

/** The final NOTIFY may come behind the BYE: the subscription outlives the call (RFC 5057 section 4.1), ms. */
const AFTER_BYE_MS = 3_000;
const STATUS_LINE = /^SIP\/2\.0 ([1-6][0-9]{2})(?: |\r|\n|$)/;

/** The subscription that a REFER of ours makes, from the request to its last NOTIFY. */
export class Referral {
  readonly outcome: Promise<ReferOutcome>;
  readonly #clock: Clock;
  readonly #resolve: (outcome: ReferOutcome) => void;
  readonly #onLate: () => void;
  #cancelTimer: () => void;
  #accepted = false;
  #status = 100;
  /** The peer has ended the subscription before its call. */
  #isMute = false;
  #isLate = false;
  #isOver = false;

  /**
   * `timeoutMs`: for the answer and the peer's call together. A REFER that was taken cannot be taken back: `onLate` is called when that
   * call is answered after its time.
   */
  constructor(clock: Clock, timeoutMs: number, onLate: () => void) {
    const { promise, resolve } = Promise.withResolvers<ReferOutcome>();
    this.outcome = promise;
    this.#clock = clock;
    this.#resolve = resolve;
    this.#onLate = onLate;
    this.#cancelTimer = clock.after(timeoutMs, () => this.#fallSilent());
  }

  get isOpen(): boolean {
    return !this.#isOver;
  }

  /** The final response to the REFER. */
  answered(status: number): void {
    if (status >= 300) this.#end({ kind: "refused", status });
    else this.#accepted = true;
  }

  /** A NOTIFY of the dialog; the status of the response to it. It may come before the 202 (RFC 3515 section 2.4.4). */
  notified(request: SipRequest): number {
    if (this.#isOver) return 481;
    if (!/^refer(?:;|[ \t]|$)/i.test(request.header("event") ?? "")) return 489;
    this.#accepted = true;
    const body = Buffer.from(request.body.subarray(0, 64)).toString("latin1");
    this.#status = Number(STATUS_LINE.exec(body)?.[1] ?? this.#status);
    // Some tell of no more than the beginning: what becomes of it then is told by their BYE, or by nothing (RFC 3515 section 2.4.5).
    this.#isMute ||= /^terminated\b/i.test(request.header("subscription-state") ?? "");
    if (this.#status < 200) return 200;
    if (this.#isLate && this.#status < 300) this.#onLate();
    this.#end({ kind: "called", status: this.#status });
    return 200;
  }

  /** The peer has hung up. `after`: called when nothing more is waited for. */
  left(after: () => void): void {
    void this.outcome.then(after);
    if (!this.#accepted) return this.#end({ kind: "left", accepted: false, ringing: false });
    this.#cancelTimer();
    const ringing = this.#status > 100 && !this.#isMute;
    this.#cancelTimer = this.#clock.after(AFTER_BYE_MS, () => this.#end({ kind: "left", accepted: true, ringing }));
  }

  #fallSilent(): void {
    if (!this.#accepted) return this.#end({ kind: "refused", status: 408 });
    this.#isLate = true;
    this.#resolve({ kind: "silent", ringing: this.#status > 100 });
  }

  #end(outcome: ReferOutcome): void {
    this.#isOver = true;
    this.#cancelTimer();
    this.#resolve(outcome);
  }
}
