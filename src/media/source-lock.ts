import type { RtpPacket } from "./rtp.ts";
import { sequenceDelta } from "./rtp.ts";

/** The time within which the true source of a stream may be learned, ms (S-85). */
const LEARNING_MS = 1_000;
/** A stream from another address than the negotiated one is believed after so many packets in order ... */
const PROBATION_PACKETS = 8;
/** ... over so long, ms: a burst of forged packets is over sooner. */
const PROBATION_MS = 120;
/** Packets lost between two of a stream in order, at most. */
const MAX_LOST = 3;
/** Sources on probation at a time: beyond, the least proven is forgotten, of several the one that came first. */
const MAX_CANDIDATES = 64;

export interface Address {
  host: string;
  port: number;
}

/** `foreign`: ignore the packet. `learning`: its audio counts, its digits do not yet. `locked`: the peer. */
export type SourceState = "foreign" | "learning" | "locked";

/** A source that may turn out to be the peer. */
interface Candidate {
  source: Address;
  ssrc: number;
  sequence: number;
  packets: number;
  since: number;
}

/** How sure it is that a source is the peer: its exact address, another port of its host or of the host that signals for it, or neither. */
const [UNKNOWN, NEAR, NEGOTIATED] = [0, 1, 2];

/**
 * Decides whose packets count, and where ours go (symmetric RTP, RFC 4961, with the narrow learning of S-85).
 *
 * The negotiated address locks at its first packet. A peer behind NAT sends from another one. From the host that its description names or
 * that its signalling comes from, it is believed at once, digits included: the caller's first words and keys count. From anywhere else it is
 * believed, and answered, once one stream of it has come in order for a while, as RFC 3550 appendix A.1 has new sources on probation. A
 * source that is surer, should it be heard within a second from then, takes the stream over. After that every other source is
 * ignored until a new description names another address.
 */
export class SourceLock {
  #negotiated: Address;
  readonly #signallingHost: string | null;
  #current: Address | null = null;
  #locked = false;
  #learningSince = 0;
  #candidates: Candidate[] = [];

  /** `signallingHost`: where the peer's SIP comes from, when that is known. */
  constructor(negotiated: Address, signallingHost: string | null = null) {
    this.#negotiated = negotiated;
    this.#signallingHost = signallingHost;
  }

  /** Where to send: the learned source, before that the negotiated address. */
  get target(): Address {
    return this.#current ?? this.#negotiated;
  }

  /** A new description: learning starts again when it names another address, and then the answer is true. */
  renegotiate(negotiated: Address): boolean {
    if (same(negotiated, this.#negotiated)) return false;
    this.#negotiated = negotiated;
    this.#current = null;
    this.#locked = false;
    this.#candidates = [];
    return true;
  }

  /** Classifies the source of one sound RTP packet at `now` (monotonic ms). */
  classify(source: Address, packet: Pick<RtpPacket, "ssrc" | "sequence">, now: number): SourceState {
    if (!this.#locked && this.#current && now - this.#learningSince >= LEARNING_MS) this.#lock(this.#current);
    if (this.#locked) return this.#current && same(source, this.#current) ? "locked" : "foreign";
    const sureness = this.#surenessOf(source);
    if (sureness === NEGOTIATED) {
      this.#lock(source);
      return "locked";
    }
    const current = this.#current;
    if (!current || (!same(source, current) && sureness > this.#surenessOf(current))) {
      const since = sureness === NEAR ? now : this.#provenSince(source, packet, now);
      if (since === null) return "foreign";
      this.#current = source;
      this.#learningSince = since;
    } else if (!same(source, current)) return "foreign";
    return sureness === NEAR ? "locked" : "learning";
  }

  /** Whether a packet of this source can only be ignored. */
  ignores(source: Address): boolean {
    return this.#locked && this.#current !== null && !same(source, this.#current);
  }

  /** A packet of this source was found to be encrypted by the peer: nothing needs to be learned. */
  lockTo(source: Address): void {
    if (!this.#locked) this.#lock(source);
  }

  /** True when `host` may speak RTCP for the stream; its port is the peer's choice (RFC 3550 section 11). */
  knows(host: string): boolean {
    return host === this.target.host;
  }

  #surenessOf(source: Address): number {
    if (same(source, this.#negotiated)) return NEGOTIATED;
    return source.host === this.#negotiated.host || source.host === this.#signallingHost ? NEAR : UNKNOWN;
  }

  /** When the stream of an unknown source began, once it has come in order for long enough. */
  #provenSince(source: Address, packet: Pick<RtpPacket, "ssrc" | "sequence">, now: number): number | null {
    const { packets, since } = this.#note(source, packet, now);
    return packets < PROBATION_PACKETS || now - since < PROBATION_MS ? null : since;
  }

  #lock(source: Address): void {
    this.#current = source;
    this.#locked = true;
    this.#candidates = [];
  }

  #note(source: Address, { ssrc, sequence }: Pick<RtpPacket, "ssrc" | "sequence">, now: number): Candidate {
    const known = this.#candidates.find((candidate) => same(candidate.source, source));
    const step = known ? sequenceDelta(sequence, known.sequence) : 0;
    if (known?.ssrc === ssrc && step > 0 && step <= 1 + MAX_LOST) {
      known.sequence = sequence;
      known.packets++;
      return known;
    }
    const fresh = { source, ssrc, sequence, packets: 1, since: now };
    const others = this.#candidates.filter((candidate) => candidate !== known).toSorted((a, b) => b.packets - a.packets);
    // The newest of equals first.
    this.#candidates = [fresh, ...others.slice(0, MAX_CANDIDATES - 1)];
    return fresh;
  }
}

function same(a: Address, b: Address): boolean {
  return a.port === b.port && a.host === b.host;
}
