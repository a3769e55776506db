import type { Clock } from "#src/kernel/clock.ts";
import type { SipRequest, SipResponse } from "../grammar/message.ts";
import type { Refusal } from "./checks.ts";
import { hasOption } from "./option-tags.ts";

/** RFC 4028 section 4: the smallest interval worth a refresh, s. */
const MIN_SE = 90;
/** Longer than any call, and what a timer of the host can wait: one set for more than 2**31 ms ends at once. s. */
const MAX_INTERVAL = 2_000_000;
const VALUE = /^([0-9]+)[ \t]*(?:;|$)/;
const REFRESHER = /;[ \t]*refresher[ \t]*=[ \t]*(uac|uas)(?![\w-])/i;

export interface SessionTerms {
  /** s; null: no timer runs. */
  interval: number | null;
  /** Whether we are who refreshes. */
  ours: boolean;
  /** For the 2xx. */
  headers: readonly (readonly [name: string, value: string])[];
}

const NO_TIMER: SessionTerms = { interval: null, ours: false, headers: [] };

/**
 * What we agree to as UAS (RFC 4028 section 9, table 2): the interval asked for, refreshed by whom the peer names, else by the peer
 * when it knows timers, else by us: then a proxy between has asked. Too short an interval is refused to a peer that knows timers,
 * and left alone for one that could not make sense of 422.
 */
export function sessionTerms(request: SipRequest): SessionTerms | Refusal {
  const value = request.fields.first("session-expires") ?? "";
  const interval = secondsOf(value);
  const isKnown = hasOption(request, "supported", "timer") || hasOption(request, "require", "timer");
  if (interval === 0 || (interval < MIN_SE && !isKnown)) return NO_TIMER;
  if (interval < MIN_SE) return { status: 422, headers: [["Min-SE", String(MIN_SE)]] };
  const refresher = isKnown ? (refresherOf(value) ?? "uac") : "uas";
  const headers: [string, string][] = [["Session-Expires", `${interval};refresher=${refresher}`]];
  if (isKnown) headers.push(["Require", "timer"]);
  return { interval, ours: refresher === "uas", headers };
}

/**
 * The response to an UPDATE without an offer before its call is answered: it refreshes the session and the target (RFC 3311 section 5.2). What is
 * agreed to holds until then: the answer to the INVITE has terms of its own.
 */
export function earlyRefresh(request: SipRequest, contact: string): Refusal {
  const terms = sessionTerms(request);
  return "status" in terms ? terms : { status: 200, headers: [["Contact", contact], ...terms.headers] };
}

/** What a peer has agreed to in the 2xx to a request of ours (section 7.2). Without a Session-Expires no timer runs. */
export function agreedTerms(response: SipResponse): SessionTerms {
  const value = response.fields.first("session-expires") ?? "";
  const interval = secondsOf(value);
  return interval === 0 ? NO_TIMER : { interval: Math.max(interval, MIN_SE), ours: refresherOf(value) !== "uas", headers: [] };
}

/** The smallest interval that a 422 lets us ask for, s (section 5). */
export function minimumOf(response: SipResponse): number {
  return secondsOf(response.fields.first("min-se") ?? "");
}

/**
 * What the INVITE is to have besides after a 422 to one that asked for no interval: a proxy between us had asked for too short a one (section
 * 7.3). Null for any other response; a refresh asks again by itself.
 */
export function demandedInterval(request: SipRequest, response: SipResponse): SessionTerms["headers"] | null {
  const least = response.status === 422 ? minimumOf(response) : 0;
  if (least === 0 || request.fields.first("session-expires") !== null) return null;
  return [
    ["Session-Expires", String(least)],
    ["Min-SE", String(least)],
  ];
}

function secondsOf(value: string): number {
  return Math.min(Number(VALUE.exec(value)?.[1] ?? 0), MAX_INTERVAL);
}

function refresherOf(value: string): string | null {
  return REFRESHER.exec(value)?.[1]?.toLowerCase() ?? null;
}

/** Tells when to refresh a session, and that it was not refreshed a little before it expires (section 10). */
export class SessionTimer {
  readonly #clock: Clock;
  readonly #onRefresh: (interval: number) => void;
  readonly #onExpired: () => void;
  #interval = 0;
  #cancelRefresh: (() => void) | null = null;
  #cancelExpiry: (() => void) | null = null;

  /** `onRefresh`: it is upon us to refresh, with this interval, s. */
  constructor(clock: Clock, { onRefresh, onExpired }: { onRefresh: (interval: number) => void; onExpired: () => void }) {
    this.#clock = clock;
    this.#onRefresh = onRefresh;
    this.#onExpired = onExpired;
  }

  /** Starts anew with the terms of the latest 2xx. */
  restart({ interval, ours }: Pick<SessionTerms, "interval" | "ours">): void {
    this.stop();
    if (interval === null) return;
    this.#interval = interval;
    const margin = Math.min(32, interval / 3);
    this.#cancelExpiry = this.#clock.after((interval - margin) * 1000, this.#onExpired);
    if (ours) this.refreshAfter((interval / 2) * 1000);
  }

  /** The next refresh is due in `ms`, while the session has not expired. */
  refreshAfter(ms: number): void {
    this.#cancelRefresh?.();
    this.#cancelRefresh = this.#clock.after(ms, () => this.#onRefresh(this.#interval));
  }

  stop(): void {
    this.#cancelRefresh?.();
    this.#cancelExpiry?.();
    this.#cancelRefresh = this.#cancelExpiry = null;
  }
}
