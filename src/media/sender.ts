import { SAMPLES_PER_PACKET, SILENCE } from "#src/kernel/g711.ts";
import type { Clock } from "#src/kernel/clock.ts";
import { SAMPLES_PER_MS } from "./clip.ts";
import { eventPayload } from "./telephone-event.ts";
import { type Paced, type Pacer, PERIOD_MS } from "./pacer.ts";
import { type Packetful, type PlaylistPart, Playlist } from "./playlist.ts";
import { type RtpPacket, HEADER_BYTES, sequenceDelta, timestampDelta, writeRtp, writeRtpHeader } from "./rtp.ts";

/** A packet without its stream: the sender puts in its own SSRC. */
export type StreamPacket = Omit<RtpPacket, "ssrc">;

/** Unpredictable starting values of a stream (RFC 3550 section 5.1). */
export interface StreamSeed {
  ssrc: number;
  sequence: number;
  timestamp: number;
}

/** What the peer takes. */
export interface OutgoingFormat {
  payloadType: 0 | 8;
  eventPayloadType: number | null;
}

interface SenderOptions {
  clock: Clock;
  pacer: Pacer;
  seed: StreamSeed;
  /** Sends at once; true when the datagram is still needed, because the socket is busy. */
  transmit: (datagram: Uint8Array) => boolean;
  onPlayed: (id: string) => void;
  /** Called once in each period while the leg sends. */
  onPeriod: (now: number) => void;
}

/** A thread held up longer than this skips the time lost; shorter delays are made good by sending at once. */
const LONGEST_CATCH_UP_MS = 60;
/** RFC 4733 section 2.5.1.4. */
const END_PACKETS = 3;
const EVENT_BYTES = 4;

/** The datagrams of all legs of the thread, one after the other; a new one where the former still waits to be sent. */
const datagrams = {
  audio: Buffer.alloc(HEADER_BYTES + SAMPLES_PER_PACKET),
  event: Buffer.alloc(HEADER_BYTES + EVENT_BYTES),
};

/**
 * The outgoing stream of one leg: one SSRC, unbroken sequence numbers and timestamps across prompts.
 * Silence is sent between prompts, because NAT bindings and peers' RTP time-outs take a quiet stream for a dead one.
 *
 * Timestamps follow real time: the next packet's audio begins at `due`. A prompt that meets silence leaves at once,
 * which is up to one period ahead of `due` (the lead); the first silence after it is sent on time again. So no sample is
 * sent twice, none is skipped, and the stream never runs away from the clock.
 */
export class Sender implements Paced {
  packets = 0;
  /** Of payload. */
  octets = 0;
  readonly #options: SenderOptions;
  readonly #playlist: Playlist;
  readonly ssrc: number;
  #sequence: number;
  #timestamp: number;
  #due: number;
  #lead = 0;
  #talking = false;
  /** Periods went by unsent since the last packet. */
  #skipped = false;
  /** When the digit that is down went down: the timestamp of all its packets, whatever is skipped meanwhile. */
  #digitStart = 0;
  #format: OutgoingFormat | null = null;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#playlist = new Playlist(options.onPlayed);
    this.ssrc = options.seed.ssrc;
    this.#sequence = options.seed.sequence;
    this.#timestamp = options.seed.timestamp;
    this.#due = options.clock.monotonic();
  }

  /** Sends from here on, the first packet at once, in `format`; a running stream only changes its format. */
  resume(format: OutgoingFormat): void {
    const wasSilent = this.#format === null;
    this.#format = format;
    if (!wasSilent) return;
    this.#skipTo(this.#options.clock.monotonic());
    this.#hurry();
  }

  /** Sends nothing more; what there is to say waits for `resume`. */
  pause(): void {
    this.#format = null;
    this.#talking = false;
    this.#options.pacer.cancel(this);
  }

  /** Appends to what there is to say. */
  play(id: string, parts: PlaylistPart[]): void {
    const wasIdle = this.#playlist.isEmpty;
    this.#playlist.add(id, parts);
    if (wasIdle && this.#format) this.#hurry();
  }

  stopPlayback(): void {
    this.#playlist.clear();
  }

  /** The stream's timestamp at `now` (monotonic ms). */
  timestampAt(now: number): number {
    return (this.#timestamp + Math.round((now - this.#due) * SAMPLES_PER_MS)) >>> 0;
  }

  /** Where another stream can be joined on at `now` without a step back. */
  joint(now: number): { sequence: number; timestamp: number } {
    this.#skipTo(now);
    return { sequence: this.#sequence, timestamp: this.#timestamp };
  }

  /** Sends a packet of another stream under our SSRC; numbers as counted from `joint`. */
  forward(packet: StreamPacket): void {
    // Only forwards: a reordered packet or an event's old timestamp must not make our own next packet step back.
    if (sequenceDelta(packet.sequence, this.#sequence) >= 0) this.#sequence = (packet.sequence + 1) & 0xffff;
    const next = (packet.timestamp + SAMPLES_PER_PACKET) >>> 0;
    if (timestampDelta(next, this.#timestamp) > 0) this.#timestamp = next;
    this.#due = this.#options.clock.monotonic() + PERIOD_MS;
    this.packets++;
    this.octets += packet.payload.length;
    this.#options.transmit(writeRtp({ ...packet, ssrc: this.ssrc }));
  }

  /** Sends one packet of silence between those that are forwarded. */
  sendSilence({ payloadType }: OutgoingFormat): void {
    this.#skipTo(this.#options.clock.monotonic());
    this.#skipped = false;
    datagrams.audio.fill(SILENCE[payloadType], HEADER_BYTES);
    this.#send("audio", true, payloadType, this.#timestamp);
    this.#timestamp = (this.#timestamp + SAMPLES_PER_PACKET) >>> 0;
    this.#due += PERIOD_MS;
  }

  onSlot(now: number): number | null {
    this.#options.onPeriod(now);
    return this.#step(now);
  }

  /** Sends the next packet as early as the lead allows. */
  #hurry(): void {
    const now = this.#options.clock.monotonic();
    this.#lead = Math.min(Math.max(this.#due - now, 0), PERIOD_MS);
    const at = this.#due - this.#lead;
    const next = at <= now ? this.#step(now) : at;
    if (next !== null) this.#options.pacer.schedule(this, next);
  }

  #step(now: number): number | null {
    if (!this.#format) return null;
    if (now - this.#due + this.#lead > LONGEST_CATCH_UP_MS) this.#skipTo(now);
    const packetful = this.#playlist.next(this.#format.payloadType, datagrams.audio, HEADER_BYTES);
    if (!packetful && this.#lead > 0) {
      this.#lead = 0;
      return this.#due;
    }
    this.#sendPacketful(this.#format, packetful);
    this.#timestamp = (this.#timestamp + SAMPLES_PER_PACKET) >>> 0;
    this.#due += PERIOD_MS;
    this.#talking = packetful !== null;
    return this.#due - this.#lead;
  }

  #sendPacketful({ payloadType, eventPayloadType }: OutgoingFormat, packetful: Packetful | null): void {
    // RFC 3551 section 4.1: the first packet after a time in which none was sent has the marker.
    const marker = this.#skipped || (packetful !== null && !this.#talking);
    this.#skipped = false;
    if (packetful?.kind !== "digit") {
      if (!packetful) datagrams.audio.fill(SILENCE[payloadType], HEADER_BYTES);
      return this.#send("audio", marker, payloadType, this.#timestamp);
    }
    if (eventPayloadType === null) return;
    const { digit, position, last } = packetful;
    if (position === SAMPLES_PER_PACKET) this.#digitStart = this.#timestamp;
    for (let copy = 0; copy < (last ? END_PACKETS : 1); copy++) {
      const isFirst = position === SAMPLES_PER_PACKET && copy === 0;
      datagrams.event.set(eventPayload(digit, position, last), HEADER_BYTES);
      this.#send("event", isFirst, eventPayloadType, this.#digitStart);
    }
  }

  /** Sends the datagram whose payload has been written, with the next sequence number. */
  #send(kind: keyof typeof datagrams, marker: boolean, payloadType: number, timestamp: number): void {
    writeRtpHeader(datagrams[kind], marker, payloadType, this.#sequence, timestamp, this.ssrc);
    this.#sequence = (this.#sequence + 1) & 0xffff;
    this.#transmit(kind);
  }

  #transmit(kind: keyof typeof datagrams): void {
    this.packets++;
    this.octets += datagrams[kind].length - HEADER_BYTES;
    if (this.#options.transmit(datagrams[kind])) datagrams[kind] = Buffer.alloc(datagrams[kind].length);
  }

  /** Lets the whole periods before `now` pass unsent: timestamps move on, sequence numbers do not. */
  #skipTo(now: number): void {
    const periods = Math.floor((now - this.#due + this.#lead) / PERIOD_MS);
    if (periods <= 0) return;
    this.#due += periods * PERIOD_MS;
    this.#timestamp = (this.#timestamp + periods * PERIOD_MS * SAMPLES_PER_MS) >>> 0;
    this.#talking = false;
    this.#skipped = true;
  }
}
