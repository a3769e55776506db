import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import type { RtpPacket } from "./rtp.ts";
import { sequenceDelta } from "./rtp.ts";

/** A jump further than this is a sender that started again, not loss (RFC 3550 appendix A.1, MAX_DROPOUT). */
const MAX_DROPOUT = 3_000;

/** Counts what arrived of a stream: packets, loss and interarrival jitter (RFC 3550 sections 6.4.1, A.3, A.8). */
export class ReceiverStatistics {
  packets = 0;
  #ssrc: number | null = null;
  #highest = 0;
  #expected = 0;
  #transit = 0;
  #jitter = 0;

  /** Notes one packet that arrived at `now` (monotonic ms). Keypad events share one timestamp, so only audio times the stream. */
  note(packet: RtpPacket, now: number, isAudio: boolean): void {
    this.packets++;
    const arrival = (now * SAMPLE_RATE_HZ) / 1000;
    const transit = arrival - packet.timestamp;
    const ahead = sequenceDelta(packet.sequence, this.#highest);
    if (packet.ssrc !== this.#ssrc || Math.abs(ahead) > MAX_DROPOUT) {
      this.#ssrc = packet.ssrc;
      this.#highest = packet.sequence;
      this.#expected++;
      this.#transit = transit;
      return;
    }
    if (ahead > 0) {
      this.#highest = packet.sequence;
      this.#expected += ahead;
    }
    if (!isAudio) return;
    const change = Math.abs(transit - this.#transit);
    this.#transit = transit;
    // Past a second it is a timestamp that wrapped or began anew.
    if (change < SAMPLE_RATE_HZ) this.#jitter += (change - this.#jitter) / 16;
  }

  /** Packets that never came; duplicates can hide some, never make it negative. */
  get lost(): number {
    return Math.max(0, this.#expected - this.packets);
  }

  get jitterMs(): number {
    return (this.#jitter * 1000) / SAMPLE_RATE_HZ;
  }
}
