import type { Clock } from "#src/kernel/clock.ts";
import { Lateness } from "#src/media/index.ts";
import type { Log } from "#src/platform/index.ts";

/** Why a new call is refused with 503. */
export type RefusalReason = "draining" | "max_calls" | "overload";

interface AdmissionControlOptions {
  clock: Clock;
  log: Pick<Log, "warn" | "info">;
  /** Calls at a time, at most. */
  maxCalls: number;
  /** Counts a refused call. */
  onRefused?: (reason: RefusalReason) => void;
}

/** What is measured, each as what nine of ten stay under, ms. */
interface MeasuredLateness {
  /** RTP packets against their slots. */
  media: number;
  /** Timers of the main thread. */
  main: number;
}

/**
 * Above `refuse` for two windows in a row new calls are refused, until both were below `admit` in eight windows with none above
 * `refuse` between them.
 */
const LIMITS: Readonly<Record<keyof MeasuredLateness, { refuse: number; admit: number }>> = {
  // Jitter buffers begin at 40 ms: nobody on the line notices 10.
  media: { refuse: 10, admit: 5 },
  // A key stops a prompt this much later. Lateness tells times up to 64 ms.
  main: { refuse: 60, admit: 40 },
};
export const WINDOW_MS = 250;
const WINDOWS_TO_REFUSE = 2;
const WINDOWS_TO_ADMIT = 8;
/** Nine of ten: one stall, by garbage collection or the host, refuses nobody. */
const SHARE = 0.9;
const TICK_MS = 20;

/**
 * With fewer on the line the lateness is not their calls' doing, but a start's or a neighbour's on the machine: turning a caller away
 * would help nobody.
 */
const FEW_CALLS = 25;
/** INVITEs that are being looked up at a time: so many are no burst for one session, but a flood, which may well be what makes us late. */
const MANY_PENDING = 50;

/** After so many seconds a caller may come again (RFC 3261 section 21.5.4). */
const RETRY_AFTER_S: Readonly<Record<RefusalReason, number>> = { draining: 30, max_calls: 30, overload: 10 };

/**
 * Decides whether a new call is let in: by MAX_CALLS, and by how late the pacer and the main thread are, measured all the time. A process
 * that has no time for more calls says so while those it has still sound right.
 */
export class AdmissionControl {
  readonly #options: AdmissionControlOptions;
  readonly #mainTimers = new Lateness();
  #measured: MeasuredLateness = { media: 0, main: 0 };
  #reported: { media: number; at: number } | null = null;
  #windowEnds = 0;
  #tooLate = 0;
  #inTime = 0;
  #refusing: { since: number; refused: number } | null = null;
  #isFull = false;
  #isDraining = false;
  #cancelTick = () => {};

  constructor(options: AdmissionControlOptions) {
    this.#options = options;
  }

  /** Measures the main thread from here on; the returned function ends it. */
  start(): () => void {
    this.#windowEnds = this.#options.clock.monotonic() + WINDOW_MS;
    this.#tick();
    return () => this.#cancelTick();
  }

  /** The media thread's own measurement, about each 250 ms; a thread that is held up is late with it as well. */
  noteMedia(ms: number): void {
    this.#reported = { media: ms, at: this.#options.clock.monotonic() };
  }

  /** Admits no more calls. */
  drain(): void {
    this.#isDraining = true;
  }

  get measured(): MeasuredLateness {
    return this.#measured;
  }

  get isOverloaded(): boolean {
    return this.#refusing !== null;
  }

  /** As `refuse`, for somebody who only asks: nothing is counted. */
  busyFor(active: number, pending = 0): number | null {
    const reason = this.#reason(active, pending);
    return reason && RETRY_AFTER_S[reason];
  }

  /** Seconds after which to try again when a call beside `active` others, of which `pending` are still being looked up, may not be let in; null when it may. */
  refuse(active: number, pending = 0): { reason: RefusalReason; retryAfterS: number } | null {
    const reason = this.#reason(active, pending);
    if (reason === null) return null;
    this.#options.onRefused?.(reason);
    if (reason === "overload" && this.#refusing) this.#countRefused(this.#refusing);
    return { reason, retryAfterS: RETRY_AFTER_S[reason] };
  }

  #reason(active: number, pending: number): RefusalReason | null {
    const { maxCalls, log } = this.#options;
    const isFull = active >= maxCalls;
    if (isFull && !this.#isFull) log.warn("max_calls_reached", { count: active });
    this.#isFull = isFull;
    if (this.#isDraining) return "draining";
    if (isFull) return "max_calls";
    const isMuch = active - pending >= FEW_CALLS || pending >= MANY_PENDING;
    return this.#refusing && isMuch ? "overload" : null;
  }

  #tick(): void {
    const { clock } = this.#options;
    const due = clock.monotonic() + TICK_MS;
    this.#cancelTick = clock.after(TICK_MS, () => {
      const now = clock.monotonic();
      this.#mainTimers.note(now - due);
      if (now >= this.#windowEnds) this.#endWindow(now);
      this.#tick();
    });
  }

  #endWindow(now: number): void {
    this.#windowEnds = now + WINDOW_MS;
    const overdue = this.#reported ? now - this.#reported.at - 2 * WINDOW_MS : 0;
    this.#measured = { media: Math.max(this.#reported?.media ?? 0, overdue), main: this.#mainTimers.quantile(SHARE) };
    this.#mainTimers.clear();
    const { media, main } = this.#measured;
    const isLate = media > LIMITS.media.refuse || main > LIMITS.main.refuse;
    this.#tooLate = isLate ? this.#tooLate + 1 : 0;
    if (isLate) this.#inTime = 0;
    else if (media < LIMITS.media.admit && main < LIMITS.main.admit) this.#inTime++;
    if (!this.#refusing && this.#tooLate >= WINDOWS_TO_REFUSE) {
      this.#refusing = { since: now, refused: 0 };
      this.#inTime = 0;
    } else if (this.#refusing && this.#inTime >= WINDOWS_TO_ADMIT) this.#stopRefusing(now, this.#refusing);
  }

  /** The log tells of the first call that is turned away, and of the end. */
  #countRefused(refusing: { refused: number }): void {
    if (refusing.refused++ > 0) return;
    const { media, main } = this.#measured;
    const isMedia = media > LIMITS.media.refuse;
    this.#options.log.warn("calls_refused", {
      reason: isMedia ? "media thread late" : "main thread late",
      ms: Math.round(isMedia ? media : main),
    });
  }

  #stopRefusing(now: number, { since, refused }: { since: number; refused: number }): void {
    this.#refusing = null;
    if (refused > 0) this.#options.log.info("calls_admitted_again", { ms: Math.round(now - since), count: refused });
  }
}
