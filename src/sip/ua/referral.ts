import type { Clock } from "#src/kernel/clock.ts";
import type { SipRequest } from "../grammar/message.ts";

/** What became of a REFER (RFC 3515). */
export type ReferOutcome =
  /** It was not taken: the final status, or 408 and 503 of our own (RFC 3261 section 8.1.3.1). */
  | { kind: "refused"; status: number }
  /** The peer has called: the final status of that call. */
  | { kind: "called"; status: number }
  /** Taken, and no word of an end in time: the peer's call goes on, as far as anybody knows. */
  | { kind: "silent" }
  /** Taken, and the subscription was ended without a status: nothing more will be told of the peer's call, which may have succeeded. */
  | { kind: "untold" }
  /**
   * The peer hung up: before it had taken the REFER, or after that without a word of how its call went. `ringing`: a provisional status beyond
   * 100 was the last one, and it would have told of more.
   */
  | { kind: "left"; accepted: boolean; ringing: boolean };

/** The final NOTIFY may come behind the BYE: the subscription outlives the call (RFC 5057 section 4.1), ms. */
const AFTER_BYE_MS = 3_000;
/** A BYE may come behind the NOTIFY that ends the subscription, as it does where the peer has connected its side, ms. */
const BYE_AFTER_MS = 3_000;
const STATUS_LINE = /^SIP\/2\.0 ([1-6][0-9]{2})(?: |\r|\n|$)/;
/** The subscription might be made again: what it told of goes on (RFC 6665 section 4.1.3). */
const GOES_ON = /;[ \t]*reason[ \t]*=[ \t]*(?:timeout|deactivated|probation)\b/i;

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
  #hasLeft = false;
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

  /** The final response to the REFER. Who has told of its call has taken it, whatever became of the response. */
  answered(status: number): void {
    if (status >= 300 && !this.#accepted) this.#end({ kind: "refused", status });
    else this.#accepted = true;
  }

  /** A NOTIFY of the dialog; the status of the response to it. It may come before the 202 (RFC 3515 section 2.4.4). */
  notified(request: SipRequest): number {
    if (this.#isOver) return 481;
    if (!/^refer(?:;|[ \t]|$)/i.test(request.header("event") ?? "")) return 489;
    this.#accepted = true;
    const body = Buffer.from(request.body.subarray(0, 64)).toString("latin1");
    const told = STATUS_LINE.exec(body)?.[1];
    this.#status = Number(told ?? this.#status);
    const state = request.header("subscription-state") ?? "";
    const isLast = /^terminated\b/i.test(state);
    // Some tell of no more than the beginning: what becomes of it then is told by their BYE, or by nothing (RFC 3515 section 2.4.5).
    this.#isMute ||= isLast;
    if (this.#status < 200) {
      if (isLast && told === undefined && !this.#hasLeft && !GOES_ON.test(state)) this.#endIn(BYE_AFTER_MS, { kind: "untold" });
      return 200;
    }
    if (this.#isLate && this.#status < 300) this.#onLate();
    this.#end({ kind: "called", status: this.#status });
    return 200;
  }

  /** The peer has hung up. `after`: called when nothing more is waited for. */
  left(after: () => void): void {
    this.#hasLeft = true;
    void this.outcome.then(after);
    if (!this.#accepted) return this.#end({ kind: "left", accepted: false, ringing: false });
    this.#endIn(AFTER_BYE_MS, { kind: "left", accepted: true, ringing: this.#status > 100 && !this.#isMute });
  }

  #endIn(ms: number, outcome: ReferOutcome): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(ms, () => this.#end(outcome));
  }

  #fallSilent(): void {
    if (!this.#accepted) return this.#end({ kind: "refused", status: 408 });
    this.#isLate = true;
    this.#resolve({ kind: "silent" });
  }

  #end(outcome: ReferOutcome): void {
    this.#isOver = true;
    this.#cancelTimer();
    this.#resolve(outcome);
  }
}
