import { alawToUlaw, ulawToAlaw } from "#src/kernel/g711.ts";
import { type RtpPacket, sequenceDelta, timestampDelta } from "./rtp.ts";
import type { OutgoingFormat, StreamPacket } from "./sender.ts";
import { type DownDigit, durationOf, isEnded, isNextSegment } from "./telephone-event.ts";

/** The receiving end of a relay, as far as the relay uses it. */
export interface RelayTarget {
  /** null: the target may not be sent to. */
  readonly format: OutgoingFormat | null;
  joint(now: number): { sequence: number; timestamp: number };
  forward(packet: StreamPacket): void;
}

interface Shift {
  ssrc: number;
  /** The earliest sequence number of the source that is forwarded: that of the packet that was joined on, later one not far behind the newest. */
  from: number;
  sequence: number;
  timestamp: number;
}

/** No packet comes later than so many that were sent after it. */
const LATEST = 1_000;
/** Sources whose timestamps are remembered: audio, and digits under an SSRC of their own. */
const MAX_SOURCES = 4;

/**
 * Forwards one direction of a bridge packet by packet: the target's own SSRC, sequence numbers and timestamps shifted by a
 * constant so that loss and reordering stay visible to the far jitter buffer, payload types renamed, PCMU and PCMA converted.
 * Nothing is held back, so nothing from before the bridge can reach the target.
 */
export class Relay {
  readonly #target: RelayTarget;
  /** A digit that was already down when the bridge was made: it belongs to the collection and stays here (S-24). */
  #heldDigit: DownDigit | null;
  /** It is up again: only late packets of it can come still. */
  #isUp = false;
  #shift: Shift | null = null;
  /** By SSRC: all packets of a digit have one timestamp here, and need one there, whatever comes between them. */
  readonly #timestamps = new Map<number, number>();

  constructor(target: RelayTarget, heldDigit: DownDigit | null) {
    this.#target = target;
    this.#heldDigit = heldDigit;
  }

  /** Forwards a packet received at `now` (monotonic ms); `isEvent`: it is a telephone event, else it is audio. */
  forward(packet: RtpPacket, isEvent: boolean, now: number): void {
    const format = this.#target.format;
    // What is said to somebody who holds is not missing there: the stream goes on where it was, however long that takes.
    if (!format) return void (this.#shift = null);
    const payloadType = isEvent ? format.eventPayloadType : format.payloadType;
    if (payloadType === null || (isEvent && this.#isOld(packet))) return;
    const shift = this.#shiftFor(packet, now);
    const ahead = sequenceDelta(packet.sequence, shift.from);
    // From before the join: its sequence number there has been used already.
    if (ahead < 0) return;
    // Half a round of numbers, eleven minutes, further on they would count as before it again.
    if (ahead > LATEST) shift.from = (packet.sequence - LATEST) & 0xffff;
    this.#target.forward({
      sequence: (packet.sequence + shift.sequence) & 0xffff,
      timestamp: (packet.timestamp + shift.timestamp) >>> 0,
      marker: packet.marker,
      payloadType,
      payload: isEvent || packet.payloadType === payloadType ? packet.payload : transcode(packet.payload, format.payloadType),
    });
  }

  /** The target has sent packets of its own: what comes from here on is joined on behind them. */
  rejoin(): void {
    this.#shift = null;
    this.#timestamps.clear();
  }

  #isOld({ ssrc, timestamp, marker, payload }: RtpPacket): boolean {
    const held = this.#heldDigit;
    if (held?.ssrc !== ssrc) return false;
    const step = timestampDelta(timestamp, held.timestamp);
    const duration = durationOf(payload);
    // The next segment of one that is held for long, or a sender that moves the timestamp along with the duration.
    const isHeld = !marker && !this.#isUp && (isNextSegment(step) || step === duration - held.duration);
    if (step > 0 && !isHeld) this.#isUp = true;
    else if (step >= 0) {
      this.#heldDigit = { ssrc, timestamp, duration };
      this.#isUp ||= isEnded(payload);
    }
    return isHeld || step <= 0;
  }

  #shiftFor(packet: RtpPacket, now: number): Shift {
    if (this.#shift?.ssrc === packet.ssrc) return this.#shift;
    const { ssrc, sequence, timestamp } = packet;
    const joint = this.#target.joint(now);
    const known = this.#timestamps.get(ssrc);
    if (known === undefined && this.#timestamps.size >= MAX_SOURCES) this.#timestamps.clear();
    this.#timestamps.set(ssrc, known ?? joint.timestamp - timestamp);
    this.#shift = {
      ssrc,
      from: sequence,
      sequence: joint.sequence - sequence,
      timestamp: known ?? joint.timestamp - timestamp,
    };
    return this.#shift;
  }
}

function transcode(payload: Uint8Array, to: 0 | 8): Uint8Array {
  return to === 8 ? ulawToAlaw(payload) : alawToUlaw(payload);
}
