import type { Clock } from "#src/kernel/clock.ts";

/** How a key reaches us: in the audio stream (RFC 4733 or tones), or as SIP INFO (RFC 6086). */
export type KeyPath = "rtp" | "info";

/** The same key comes by the other way within this time, an INFO that was sent three times included (2 * T1 after the second), ms. */
const ECHO_MS = 2_000;

/**
 * Some telephones send each key by both ways at once: it counts once. Whichever way spoke last is believed; the other one is heard
 * again only when that has been silent for a while, as after a transfer at the peer's end. Keeps no digit, which may be a card's.
 */
export class KeySource {
  readonly #clock: Pick<Clock, "monotonic">;
  #path: KeyPath | null = null;
  #at = 0;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Whether a key that came by `path` is a new one. */
  accepts(path: KeyPath): boolean {
    const now = this.#clock.monotonic();
    if (this.#path !== null && this.#path !== path && now - this.#at < ECHO_MS) return false;
    this.#path = path;
    this.#at = now;
    return true;
  }
}
