import { type RtpPacket, sequenceDelta, timestampDelta } from "./rtp.ts";

/** A digit of the telephone: 0-9, 10 for *, 11 for #: the event codes of RFC 4733 section 3.2. */
export type DtmfDigit = number;
export const STAR: DtmfDigit = 10;
export const HASH: DtmfDigit = 11;

const EVENT_BYTES = 4;
const LAST_KEY = 15;
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
 * and gaps of 0 ms need no timer, and the digit is known about 100 ms before it is released. Of senders that let the timestamp
 * stand still between digits, or move it within one, what each packet says of its digit tells them apart.
 */
export class TelephoneEventReceiver {
  readonly #events: Event[] = [];
  /** Sequence number of the newest event's newest packet. */
  #sequence = 0;

  /** The digit that this packet is the first news of, or null. Events other than digits are null. */
  receive(packet: RtpPacket): DtmfDigit | null {
    const { payload, ssrc, timestamp, sequence } = packet;
    if (payload.length < EVENT_BYTES) return null;
    const event = { code: payload[0] ?? 0, ssrc, timestamp, duration: durationOf(payload), ended: isEnded(payload) };
    const newest = this.#events.at(-1);
    const known = this.#events.findLast((other) => other.ssrc === ssrc && other.timestamp === timestamp);
    const isNewer = known === newest && sequenceDelta(sequence, this.#sequence) > 0;
    if (known && !(isNewer && hasFollowed(event, known))) {
      if (isNewer) this.#sequence = sequence;
      if (known.code === event.code) {
        known.duration = Math.max(known.duration, event.duration);
        known.ended ||= event.ended;
      }
      return null;
    }
    if (!known && this.#isOvertaken(packet)) return null;
    const continued = !known && this.#continues(event, packet.marker);
    this.#sequence = sequence;
    // Only the newest event needs its code: a row of them would be a card number.
    if (newest) newest.code = FORGOTTEN;
    this.#events.push(event);
    if (this.#events.length > REMEMBERED) this.#events.shift();
    return continued || event.code > HASH ? null : event.code;
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
   * timestamp along with the duration, or a relay that moves it when the end is repeated.
   */
  #continues(event: Event, marker: boolean): boolean {
    const last = this.#events.at(-1);
    if (!last || marker || last.code !== event.code || last.ssrc !== event.ssrc) return false;
    const step = timestampDelta(event.timestamp, last.timestamp);
    // A digit pressed anew cannot begin before the one before was let go.
    if (last.ended) return event.ended && event.duration === last.duration && step > 0 && step < last.duration;
    const isHeld = isNextSegment(step) && last.duration >= step - LOST_OF_SEGMENT;
    return isHeld || (step > 0 && step === event.duration - last.duration);
  }
}

/** Whether a later packet with the timestamp of an event is of the next digit: another one, or the same one down once more. */
function hasFollowed(event: Event, before: Event): boolean {
  return event.code !== before.code || (before.ended && !event.ended && event.duration < before.duration);
}

/** Whether this is the whole payload of an event that is a key, A to D included. */
export function isKey(payload: Uint8Array): boolean {
  return payload.length === EVENT_BYTES && (payload[0] ?? 0) <= LAST_KEY;
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
