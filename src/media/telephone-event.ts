import { type RtpPacket, sequenceDelta, timestampDelta } from "./rtp.ts";

/** A digit of the telephone: 0-9, 10 for *, 11 for #: the event codes of RFC 4733 section 3.2. */
export type DtmfDigit = number;
export const STAR: DtmfDigit = 10;
export const HASH: DtmfDigit = 11;

const EVENT_BYTES = 4;
const END_BIT = 0x80;
const LONGEST_SEGMENT = 0xffff;
/** Some end a segment with the last packet that is whole: samples of the longest usual one, 100 ms. */
const LONGEST_PACKET = 800;
/** How much of a segment's end may be lost, in samples: 1 s. */
const LOST_OF_SEGMENT = 8_000;
/** Events remembered: more than a call has, so that one which is sent again never counts, however late. */
const REMEMBERED = 1_000;
const FORGOTTEN = -1;
/** Packets further behind than this, 2 s, are of a sender that counts anew. */
const FURTHEST_BEHIND = 100;
/** -10 dBm0, as most telephones send. */
const VOLUME = 10;

/** A digit as far as its packets have told of it. */
export interface DownDigit {
  ssrc: number;
  timestamp: number;
  /** The longest duration seen, in samples. */
  duration: number;
}

interface Event extends DownDigit {
  code: number;
  ended: boolean;
}

/**
 * Turns telephone-event packets into digit presses (RFC 4733 section 2.5.2), each counted once.
 *
 * A digit is reported at the first packet of its event, whichever that is. All packets of an event carry the timestamp of
 * its start, so (SSRC, timestamp) tells events apart without their end: lost begins, lost ends, repeats, reordering
 * and gaps of 0 ms need no timer, and the digit is known about 100 ms before it is released.
 */
export class TelephoneEventReceiver {
  readonly #events: Event[] = [];
  /** Sequence number of the newest event's newest packet. */
  #sequence = 0;

  /** The digit that this packet is the first news of, or null. Events other than digits are null. */
  receive(packet: RtpPacket): DtmfDigit | null {
    const { payload, ssrc, timestamp, sequence } = packet;
    if (payload.length < EVENT_BYTES) return null;
    const code = payload[0] ?? 0;
    const ended = isEnded(payload);
    const duration = durationOf(payload);

    const known = this.#events.find((event) => event.ssrc === ssrc && event.timestamp === timestamp);
    if (!known && this.#isOvertaken(packet)) return null;
    if (!known || (known === this.#events.at(-1) && sequenceDelta(sequence, this.#sequence) > 0)) this.#sequence = sequence;
    const event = known ?? { code, ssrc, timestamp, duration, ended };
    const continued = known !== undefined || this.#continues(event, packet.marker);
    if (known) {
      known.duration = Math.max(known.duration, duration);
      known.ended ||= ended;
    } else {
      // Only the newest event needs its code: a row of them would be a card number.
      const previous = this.#events.at(-1);
      if (previous) previous.code = FORGOTTEN;
      this.#events.push(event);
      if (this.#events.length > REMEMBERED) this.#events.shift();
    }
    return continued || code > HASH ? null : code;
  }

  /** The newest event: while its digit is down, more packets of it will come. */
  get newest(): DownDigit | null {
    return this.#events.at(-1) ?? null;
  }

  /** Forgets everything, digits included. */
  clear(): void {
    for (const event of this.#events) event.code = FORGOTTEN;
    this.#events.length = 0;
  }

  /**
   * True when a digit's first packet comes after a later digit: it was sent before it. In this place it would make another number of
   * the caller's, perhaps a valid one; without it the number is too short.
   */
  #isOvertaken({ ssrc, timestamp, sequence }: RtpPacket): boolean {
    const last = this.#events.at(-1);
    if (!last || last.ssrc !== ssrc || timestampDelta(timestamp, last.timestamp) >= 0) return false;
    const behind = sequenceDelta(this.#sequence, sequence);
    return behind > 0 && behind < FURTHEST_BEHIND;
  }

  /**
   * True when a packet with a new timestamp belongs to the digit that is still down:
   * the next segment of a digit held over 8 s (RFC 4733 section 2.5.1.3), or a sender that wrongly moves the
   * timestamp along with the duration.
   */
  #continues(event: Event, marker: boolean): boolean {
    const last = this.#events.at(-1);
    if (!last || marker || last.ended || last.code !== event.code || last.ssrc !== event.ssrc) return false;
    const step = timestampDelta(event.timestamp, last.timestamp);
    const isHeld = isNextSegment(step) && last.duration >= step - LOST_OF_SEGMENT;
    return isHeld || (step > 0 && step === event.duration - last.duration);
  }
}

/** How long the digit of a telephone-event payload has been down, in samples. */
export function durationOf(payload: Uint8Array): number {
  return ((payload[2] ?? 0) << 8) | (payload[3] ?? 0);
}

/** Whether it has been let go. */
export function isEnded(payload: Uint8Array): boolean {
  return ((payload[1] ?? 0) & END_BIT) !== 0;
}

/** Whether a digit that began `step` samples later without a marker is the one before, held for over 8 s (RFC 4733 section 2.5.1.3). */
export function isNextSegment(step: number): boolean {
  return step >= LONGEST_SEGMENT - LONGEST_PACKET && step <= LONGEST_SEGMENT;
}

/** The payload of one telephone-event packet (RFC 4733 section 2.3); `duration` in samples since the event began. */
export function eventPayload(digit: DtmfDigit, duration: number, ended: boolean): Uint8Array {
  return Uint8Array.of(digit, (ended ? END_BIT : 0) | VOLUME, (duration >> 8) & 0xff, duration & 0xff);
}
