import type { Clock } from "#src/kernel/clock.ts";
import type { SipRequest } from "../grammar/message.ts";
import type { Refusal } from "./checks.ts";

/** RFC 4028 section 4: the smallest interval worth a refresh, s. */
const MIN_SE = 90;
const VALUE = /^([0-9]{1,9})[ \t]*(?:;|$)/;
const REFRESHER_UAS = /;[ \t]*refresher[ \t]*=[ \t]*uas/i;

export interface SessionTerms {
  /** s; null: no timer runs. */
  interval: number | null;
  /** For the 2xx. */
  headers: readonly (readonly [name: string, value: string])[];
}

const NO_TIMER: SessionTerms = { interval: null, headers: [] };

/**
 * What we agree to as UAS (RFC 4028 section 9): the peer's interval, refreshed by the peer. A peer that wants us to
 * refresh gets no timer, which section 7.2 lets us do: our calls are over long before.
 */
export function sessionTerms(request: SipRequest): SessionTerms | Refusal {
  const value = request.fields.first("session-expires") ?? "";
  const interval = Number(VALUE.exec(value)?.[1] ?? 0);
  const supported = [...request.headers("supported"), ...request.headers("require")].some((tag) => tag.toLowerCase() === "timer");
  if (interval === 0 || !supported || REFRESHER_UAS.test(value)) return NO_TIMER;
  if (interval < MIN_SE) return { status: 422, headers: [["Min-SE", String(MIN_SE)]] };
  return {
    interval,
    headers: [
      ["Session-Expires", `${interval};refresher=uac`],
      ["Require", "timer"],
    ],
  };
}

/** Reports a session that was not refreshed, a little before it expires (section 10). */
export class SessionTimer {
  readonly #clock: Clock;
  readonly #onExpired: () => void;
  #cancel: (() => void) | null = null;

  constructor(clock: Clock, onExpired: () => void) {
    this.#clock = clock;
    this.#onExpired = onExpired;
  }

  /** Starts anew with the terms of the latest 2xx. */
  restart({ interval }: SessionTerms): void {
    this.stop();
    if (interval === null) return;
    const margin = Math.min(32, interval / 3);
    this.#cancel = this.#clock.after((interval - margin) * 1000, this.#onExpired);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }
}
