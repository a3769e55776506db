import type { Random } from "#src/kernel/random.ts";
import type { Outcome } from "./exchange.ts";
import { agreedTerms, minimumOf, type SessionTimer } from "./session-timer.ts";

/** The request that refreshes: UPDATE where the peer takes it (RFC 4028 section 7.4). */
export type RefreshMethod = "UPDATE" | "INVITE";

interface RefreshHooks {
  /** Sends the request with these headers; never rejects. */
  send(method: RefreshMethod, headers: readonly (readonly [name: string, value: string])[]): Promise<Outcome>;
  /** The peer knows nothing of the dialog any more, or is silent. */
  gone(): void;
  isOver(): boolean;
}

/** A failed refresh is tried again until the session expires, ms. */
const RETRY_MS = 10_000;
/** RFC 3261 section 14.1: after a 491 who does not own the Call-ID waits up to 2 s, who owns it 2.1 to 4 s; in units of 10 ms. */
const GLARE = { theirs: [0, 200], ours: [210, 190] } as const;

/** Refreshes a session whose refresher we are (RFC 4028 sections 7.4 and 10). */
export class SessionRefresh {
  readonly #timer: SessionTimer;
  readonly #random: Random;
  readonly #hooks: RefreshHooks;
  readonly #callIdIs: keyof typeof GLARE;
  #method: RefreshMethod;
  #running = false;

  constructor(timer: SessionTimer, random: Random, callIdIs: keyof typeof GLARE, method: RefreshMethod, hooks: RefreshHooks) {
    this.#timer = timer;
    this.#random = random;
    this.#callIdIs = callIdIs;
    this.#method = method;
    this.#hooks = hooks;
  }

  /** Whether an INVITE of ours is unanswered: one of the peer's is answered 491 meanwhile (RFC 3261 section 14.2). */
  get inviting(): boolean {
    return this.#running && this.#method === "INVITE";
  }

  /** The peer has said anew which methods it takes. */
  set method(method: RefreshMethod) {
    if (!this.#running) this.#method = method;
  }

  /** One refresh, and its repetition as what comes back demands. `interval` in s. */
  async run(interval: number): Promise<void> {
    if (this.#running || this.#hooks.isOver()) return;
    this.#running = true;
    const { status, response } = await this.#attempt(interval, []);
    this.#running = false;
    if (this.#hooks.isOver()) return;
    if (status === 481 || status === 408) this.#hooks.gone();
    else if (status < 300 && response) this.#timer.restart(agreedTerms(response));
    else this.#timer.refreshAfter(status === 491 ? this.#glarePause() : RETRY_MS);
  }

  async #attempt(interval: number, minimum: readonly (readonly [name: string, value: string])[]): Promise<Outcome> {
    const headers = [["Session-Expires", `${interval};refresher=uac`], ["Supported", "timer"], ...minimum] as const;
    const outcome = await this.#hooks.send(this.#method, headers);
    if (this.#hooks.isOver()) return outcome;
    const least = outcome.status === 422 && outcome.response ? minimumOf(outcome.response) : 0;
    if (least > interval) return await this.#attempt(least, [["Min-SE", String(least)]]);
    if (this.#method !== "UPDATE" || (outcome.status !== 405 && outcome.status !== 501)) return outcome;
    this.#method = "INVITE";
    return await this.#attempt(interval, minimum);
  }

  #glarePause(): number {
    const [least, span] = GLARE[this.#callIdIs];
    return 10 * (least + ((this.#random.bytes(1)[0] ?? 0) % span));
  }
}
