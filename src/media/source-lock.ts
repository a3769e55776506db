/** The time within which the true source of a stream may be learned, ms (S-85). */
const LEARNING_MS = 1_000;

export interface Address {
  host: string;
  port: number;
}

/** `foreign`: ignore the packet. `learning`: its audio counts, its digits do not yet. `locked`: the peer. */
export type SourceState = "foreign" | "learning" | "locked";

/**
 * Decides whose packets count (symmetric RTP, RFC 4961, with the narrow learning of S-85).
 *
 * The negotiated address locks at its first packet. A peer behind NAT sends from another one: the first such address is
 * held for one second from its first packet, and the negotiated address, should it be heard within that second, takes the stream over
 * (the one re-latch). After that every other source is ignored until a new description names another address.
 */
export class SourceLock {
  #negotiated: Address;
  #current: Address | null = null;
  #locked = false;
  #learningSince = 0;

  constructor(negotiated: Address) {
    this.#negotiated = negotiated;
  }

  /** Where to send: the learned source, before that the negotiated address. */
  get target(): Address {
    return this.#current ?? this.#negotiated;
  }

  /** A new description: learning starts again when it names another address. */
  renegotiate(negotiated: Address): void {
    if (same(negotiated, this.#negotiated)) return;
    this.#negotiated = negotiated;
    this.#current = null;
    this.#locked = false;
  }

  /** Judges the source of one sound RTP packet at `now` (monotonic ms). */
  judge(source: Address, now: number): SourceState {
    if (!this.#locked && this.#current && now - this.#learningSince >= LEARNING_MS) this.#locked = true;
    if (this.#locked) return this.#current && same(source, this.#current) ? "locked" : "foreign";
    if (same(source, this.#negotiated)) {
      this.#current = source;
      this.#locked = true;
      return "locked";
    }
    if (!this.#current) {
      this.#current = source;
      this.#learningSince = now;
    }
    return same(source, this.#current) ? "learning" : "foreign";
  }

  /** True when `host` may speak RTCP for the stream; its port is the peer's choice (RFC 3550 section 11). */
  knows(host: string): boolean {
    return host === this.target.host;
  }
}

function same(a: Address, b: Address): boolean {
  return a.port === b.port && a.host === b.host;
}
