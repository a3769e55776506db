import { SAMPLE_RATE_HZ, SAMPLES_PER_PACKET, ULAW_SILENCE } from "#src/kernel/g711.ts";
import { type RtpPacket, sequenceDelta, timestampDelta } from "./rtp.ts";

/** Packets held back for a missing one. More waiting would not help: whoever listens here is a recogniser, not an ear. */
const DEPTH = 3;
/** A sequence jump further than this is a sender that started again. */
const RESTART = 100;
/** Longest hole filled with silence, in samples: one second. */
const LONGEST_HOLE = SAMPLE_RATE_HZ;

const SILENCE = new Uint8Array(SAMPLES_PER_PACKET).fill(ULAW_SILENCE);

interface Held {
  sequence: number;
  timestamp: number;
  /** null: a packet without audio, such as a keypad event. */
  ulaw: Uint8Array | null;
}

/**
 * Puts received audio in order and cuts it into frames of 160 mu-law samples (20 ms); holes become silence, late packets
 * are dropped. `onFrame` gets a frame that is used again: copy what is to be kept, and write nothing into it; `isLost`: it is silence in place
 * of what was sent and never came, not a pause of the peer's.
 */
export class JitterBuffer {
  readonly #onFrame: (frame: Uint8Array, isLost: boolean) => void;
  readonly #frame = new Uint8Array(SAMPLES_PER_PACKET);
  #filled = 0;
  #ssrc: number | null = null;
  #nextSequence = 0;
  #nextTimestamp = 0;
  #held: Held[] = [];

  constructor(onFrame: (frame: Uint8Array, isLost: boolean) => void) {
    this.#onFrame = onFrame;
  }

  /** Takes one packet; `ulaw` is its audio (copied when it is held back, and the copy wiped after use), or null when it carries none. */
  push(packet: RtpPacket, ulaw: Uint8Array | null): void {
    const { sequence, timestamp, ssrc } = packet;
    const ahead = sequenceDelta(sequence, this.#nextSequence);
    if (ssrc !== this.#ssrc || Math.abs(ahead) > RESTART) this.#restart(packet);
    else if (ahead < 0) return;
    if (this.#held.length === 0 && sequence === this.#nextSequence) return this.#release(sequence, timestamp, ulaw);
    this.#held.push({ sequence, timestamp, ulaw: ulaw && new Uint8Array(ulaw) });
    this.#held.sort((a, b) => sequenceDelta(a.sequence, b.sequence));
    while (this.#held[0] && (this.#held[0].sequence === this.#nextSequence || this.#held.length > DEPTH)) {
      this.#releaseHeld(this.#held.shift() as Held);
    }
  }

  /** Puts 20 ms of silence where nothing arrives: a peer that stops sending while its caller is silent. */
  fill(): void {
    if (this.#ssrc === null) return;
    this.#emitSilence(SAMPLES_PER_PACKET);
    this.#nextTimestamp += SAMPLES_PER_PACKET;
  }

  /** Overwrites and drops all audio held. */
  clear(): void {
    for (const { ulaw } of this.#held) ulaw?.fill(0);
    this.#held = [];
    this.#frame.fill(0);
    this.#filled = 0;
    this.#ssrc = null;
  }

  #restart(packet: RtpPacket): void {
    for (const held of this.#held.splice(0)) this.#releaseHeld(held);
    this.#ssrc = packet.ssrc;
    this.#nextSequence = packet.sequence;
    this.#nextTimestamp = packet.timestamp;
  }

  #releaseHeld({ sequence, timestamp, ulaw }: Held): void {
    this.#release(sequence, timestamp, ulaw);
    ulaw?.fill(0);
  }

  #release(sequence: number, timestamp: number, ulaw: Uint8Array | null): void {
    const isLost = sequence !== this.#nextSequence;
    this.#nextSequence = (sequence + 1) & 0xffff;
    if (!ulaw) return;
    const hole = timestampDelta(timestamp, this.#nextTimestamp);
    if (hole > 0) this.#emitSilence(Math.min(hole, LONGEST_HOLE), isLost);
    this.#emit(ulaw);
    this.#nextTimestamp = timestamp + ulaw.length;
  }

  #emitSilence(samples: number, isLost = false): void {
    for (let rest = samples; rest > 0; rest -= SAMPLES_PER_PACKET)
      this.#emit(rest < SAMPLES_PER_PACKET ? SILENCE.subarray(0, rest) : SILENCE, isLost);
  }

  /** A frame that holds anything that came is none that was lost. */
  #emit(ulaw: Uint8Array, isLost = false): void {
    if (this.#filled === 0 && ulaw.length === SAMPLES_PER_PACKET) return this.#onFrame(ulaw, isLost);
    for (let at = 0; at < ulaw.length;) {
      const part = ulaw.subarray(at, at + SAMPLES_PER_PACKET - this.#filled);
      this.#frame.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled < SAMPLES_PER_PACKET) continue;
      this.#filled = 0;
      this.#onFrame(this.#frame, false);
    }
  }
}
