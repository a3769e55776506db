import { type RtpPacket, sequenceDelta } from "./rtp.ts";

/** A stream of a packet each 20 ms that has not been heard for so long, ms, has ended or begun anew. */
const SILENT_MS = 60;

/**
 * Decides which synchronisation sources of the peer's address count (S-85): a datagram's source address can be forged, the 32 bits
 * of a running stream's SSRC must be guessed as well. The first one counts. Another takes its place when that is silent and two packets
 * of it have come in a row (RFC 3550 appendix A.1); or it carries the digits, where a peer sends those under an SSRC of their own
 * from the beginning.
 */
export class SsrcCheck {
  #main: { ssrc: number; receivedAt: number } | null = null;
  /** Under which SSRC digits come; null before the first digit. */
  #events: number | null = null;
  #candidate: { ssrc: number; sequence: number } | null = null;

  /**
   * Whether a packet of the peer's address, read at `now` (monotonic ms), belongs to its stream. `readUntil`: what came before this
   * has been read; a stream is not silent because the thread was held up.
   */
  accepts({ ssrc, sequence }: Pick<RtpPacket, "ssrc" | "sequence">, isEvent: boolean, now: number, readUntil = now): boolean {
    this.#main ??= { ssrc, receivedAt: now };
    if (ssrc === this.#main.ssrc) {
      this.#main.receivedAt = now;
      if (isEvent) this.#events = ssrc;
      return true;
    }
    if (isEvent && ssrc === this.#events) return true;
    const isSilent = readUntil - this.#main.receivedAt >= SILENT_MS;
    const mayBring = isSilent || (isEvent && this.#events === null);
    const inRow = this.#candidate?.ssrc === ssrc && sequenceDelta(sequence, this.#candidate.sequence) === 1;
    this.#candidate = mayBring ? { ssrc, sequence } : null;
    if (!mayBring || !inRow) return false;
    this.#candidate = null;
    if (isEvent && !isSilent) this.#events = ssrc;
    else {
      this.#main = { ssrc, receivedAt: now };
      this.#events = isEvent ? ssrc : null;
    }
    return true;
  }

  /** Whether packets of this source have counted as the peer's stream. */
  isMain(ssrc: number): boolean {
    return this.#main?.ssrc === ssrc;
  }

  /** The source has said BYE: another may take its place as if it had long been silent. */
  leave(ssrc: number): void {
    if (this.#main?.ssrc === ssrc) this.#main.receivedAt = Number.NEGATIVE_INFINITY;
  }

  /** The peer has described itself anew: whatever comes first counts. */
  reset(): void {
    this.#main = null;
    this.#events = null;
    this.#candidate = null;
  }
}
