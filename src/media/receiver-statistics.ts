import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import type { ReportBlock } from "./rtcp.ts";
import { type RtpPacket, sequenceDelta } from "./rtp.ts";

/** A jump further than this is a sender that started again, not loss (RFC 3550 appendix A.1, MAX_DROPOUT). */
const MAX_DROPOUT = 3_000;

/** Counts what arrived of a stream: packets, loss and interarrival jitter (RFC 3550 sections 6.4.1, A.3, A.8). */
export class ReceiverStatistics {
  packets = 0;
  #ssrc: number | null = null;
  /** Sequence number of the newest packet, with its cycles above 16 bits. */
  #highest = 0;
  #expected = 0;
  #transit = 0;
  #jitter = 0;
  /** Both counts when the present source began, and at the last report. */
  #begun = { packets: 0, expected: 0 };
  #reported = { packets: 0, expected: 0 };

  /** Notes one packet that arrived at `now` (monotonic ms). Keypad events share one timestamp, so only audio times the stream. */
  note(packet: RtpPacket, now: number, isAudio: boolean): void {
    this.packets++;
    const arrival = (now * SAMPLE_RATE_HZ) / 1000;
    const transit = arrival - packet.timestamp;
    const isOther = packet.ssrc !== this.#ssrc;
    // Digits can have a source of their own beside the audio's: it is counted, but not reported on.
    if (isOther && !isAudio && this.#ssrc !== null) return void this.#expected++;
    const ahead = sequenceDelta(packet.sequence, this.#highest & 0xffff);
    if (isOther || Math.abs(ahead) > MAX_DROPOUT) {
      this.#begun = this.#reported = { packets: this.packets - 1, expected: this.#expected };
      this.#ssrc = packet.ssrc;
      this.#highest = packet.sequence;
      this.#expected++;
      this.#transit = transit;
      return;
    }
    if (ahead > 0) {
      this.#highest += ahead;
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

  /** What is told of the present source; the next one's fraction counts from here. Null: nothing has come. */
  report(): Omit<ReportBlock, "lastReport" | "delay"> | null {
    if (this.#ssrc === null) return null;
    const now = { packets: this.packets, expected: this.#expected };
    const expected = now.expected - this.#reported.expected;
    const lost = expected - (now.packets - this.#reported.packets);
    this.#reported = now;
    return {
      ssrc: this.#ssrc,
      fractionLost: expected > 0 && lost > 0 ? Math.min(255, Math.floor((lost * 256) / expected)) : 0,
      lost: now.expected - this.#begun.expected - (now.packets - this.#begun.packets),
      highestSequence: this.#highest % 0x1_0000_0000,
      jitter: Math.floor(this.#jitter),
    };
  }
}
