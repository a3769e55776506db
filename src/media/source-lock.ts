import { type RtpPacket, sequenceDelta } from "./rtp.ts";

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
/** Addresses of former descriptions that are known for such. */
const MAX_FORMER = 4;

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

/**
 * How sure it is that a source is the peer: one from before the latest description, any other, another port of its host or of the
 * host that signals for it, its exact address.
 */
const [FORMER, UNKNOWN, NEAR, NEGOTIATED] = [0, 1, 2, 3];

/**
 * Decides whose packets count, and where ours go (symmetric RTP, RFC 4961, with the narrow learning of S-85).
 *
 * The negotiated address locks at its first packet. A peer behind NAT sends from another one. From the host that its description names or
 * that its signalling comes from, it is believed at once, digits included: the caller's first words and keys count. From anywhere else it is
 * believed, and answered, once one stream of it has come in order for a while, as RFC 3550 appendix A.1 has new sources on probation. A
 * source that is surer, should it be heard within a second from then, takes the stream over; later it has to come in order for a while, and
 * the one before to be silent meanwhile. No other source counts.
 *
 * After a new description with another address what comes from the former source counts as before, but we send to the new address (RFC 3264
 * section 8.3.1), also where the former one goes on for long: nobody has to send from where he receives. Only a peer behind NAT, whom the
 * descriptions of that host have never led to, is answered again where he goes on, in order for a second.
 */
export class SourceLock {
  #negotiated: Address;
  readonly #signallingHost: string | null;
  /** Where the peer was before the latest description, the newest first. */
  #former: Address[] = [];
  /** Of these the one behind NAT that the new description leads to no more than the former one did. */
  #behindNat: Address | null = null;
  #current: Address | null = null;
  #target: Address;
  #isCertain = false;
  #learningSince = 0;
  #candidates: Candidate[] = [];

  /** `signallingHost`: where the peer's SIP comes from, when that is known. */
  constructor(negotiated: Address, signallingHost: string | null = null) {
    this.#negotiated = negotiated;
    this.#target = negotiated;
    this.#signallingHost = signallingHost;
  }

  /** Where to send: the learned source, before that the negotiated address. */
  get target(): Address {
    return this.#target;
  }

  /** A new description: learning starts again when it names another address, and then the answer is true. */
  renegotiate(negotiated: Address): boolean {
    if (same(negotiated, this.#negotiated)) return false;
    const isLearned = this.#current === this.#target && !same(this.#target, this.#negotiated);
    const source = isLearned ? this.#target : this.#current ? null : this.#behindNat;
    const leadsElsewhere = negotiated.host !== this.#negotiated.host && negotiated.host !== source?.host;
    this.#behindNat = leadsElsewhere ? null : source;
    this.#former = [this.#target, ...this.#former].slice(0, MAX_FORMER);
    this.#negotiated = negotiated;
    this.#target = negotiated;
    this.#current = null;
    this.#isCertain = false;
    this.#candidates = [];
    return true;
  }

  /** Classifies the source of one sound RTP packet at `now` (monotonic ms). */
  classify(source: Address, packet: Pick<RtpPacket, "ssrc" | "sequence">, now: number): SourceState {
    const isLocked = this.#isLocked(now);
    const current = this.#current;
    if (current && same(source, current)) {
      if (!isLocked) return this.#surenessOf(source) === UNKNOWN ? "learning" : "locked";
      // While it is heard nobody takes its place.
      if (this.#candidates.length > 0) this.#candidates = [];
      return "locked";
    }
    const sureness = this.#surenessOf(source);
    const held = current ? this.#surenessOf(current) : null;
    if (held !== null && sureness <= held) return "foreign";
    const isBelieved = (sureness >= NEAR && !isLocked) || (sureness === NEGOTIATED && held === FORMER);
    const since = isBelieved ? now : this.#provenSince(source, packet, now, sureness === FORMER ? LEARNING_MS : PROBATION_MS);
    if (since === null) return sureness === FORMER ? "locked" : "foreign";
    this.#take(source, sureness === NEGOTIATED);
    this.#learningSince = since;
    return sureness === UNKNOWN ? "learning" : "locked";
  }

  /** Whether a packet of this source can only be ignored. */
  ignores(source: Address, now: number): boolean {
    const current = this.#current;
    return current !== null && this.#isLocked(now) && !same(source, current) && this.#surenessOf(source) <= this.#surenessOf(current);
  }

  /** A packet of this source, which is not ignored, was found to be encrypted by the peer: nothing needs to be learned. */
  lockTo(source: Address): void {
    if (this.#current && same(source, this.#current)) this.#isCertain = true;
    else if (this.#surenessOf(source) !== FORMER) this.#take(source, true);
  }

  /** True when `host` may speak RTCP for the stream; its port is the peer's choice (RFC 3550 section 11). */
  knows(host: string): boolean {
    return host === this.#target.host || host === this.#current?.host;
  }

  #isLocked(now: number): boolean {
    return this.#current !== null && (this.#isCertain || now - this.#learningSince >= LEARNING_MS);
  }

  #surenessOf(source: Address): number {
    if (same(source, this.#negotiated)) return NEGOTIATED;
    if (this.#former.some((former) => same(source, former))) return FORMER;
    return source.host === this.#negotiated.host || source.host === this.#signallingHost ? NEAR : UNKNOWN;
  }

  #take(source: Address, isCertain: boolean): void {
    this.#current = source;
    if (this.#surenessOf(source) !== FORMER || (this.#behindNat && same(source, this.#behindNat))) this.#target = source;
    this.#isCertain = isCertain;
    this.#candidates = [];
  }

  /** When the stream of a source began, once it has come in order for long enough. */
  #provenSince(source: Address, packet: Pick<RtpPacket, "ssrc" | "sequence">, now: number, probationMs: number): number | null {
    const { packets, since } = this.#note(source, packet, now);
    return packets < PROBATION_PACKETS || now - since < probationMs ? null : since;
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
