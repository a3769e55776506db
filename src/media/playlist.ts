import { SAMPLES_PER_PACKET, SILENCE } from "#src/kernel/g711.ts";
import type { Clip } from "./clip.ts";
import type { DtmfDigit } from "./telephone-event.ts";

/** One thing to send: audio, or a digit held down for `samples` (a whole number of packets). */
export type PlaylistPart = { clip: Clip } | { digit: DtmfDigit; samples: number };

/** What the next packet carries. `position`: samples of the digit's duration at the end of this packet. */
export type Packetful = { kind: "audio" } | { kind: "digit"; digit: DtmfDigit; position: number; last: boolean };

const AUDIO = { kind: "audio" } as const;

type Entry = { part: PlaylistPart } | { finished: string };

/** What a leg has to say, in order, cut into packets of 20 ms across the borders of its parts. */
export class Playlist {
  readonly #onFinished: (id: string) => void;
  #entries: Entry[] = [];
  /** Samples of the first entry already sent. */
  #position = 0;

  /** `onFinished(id)`: the packet with the last of that id's parts was cut. */
  constructor(onFinished: (id: string) => void) {
    this.#onFinished = onFinished;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  add(id: string, parts: PlaylistPart[]): void {
    this.#entries.push(...parts.map((part) => ({ part })), { finished: id });
  }

  /** Drops everything; nothing dropped is reported as finished. */
  clear(): void {
    this.#entries = [];
    this.#position = 0;
  }

  /**
   * Cuts the next packet; null when there is nothing to say. `payloadType`: the codec, 0 or 8. Audio is written to `datagram` from
   * `start` on, filled up with silence: prompts are kept in the form in which they are sent, and nothing is allocated for a packet.
   */
  next(payloadType: 0 | 8, datagram: Uint8Array, start: number): Packetful | null {
    let filled = 0;
    while (filled < SAMPLES_PER_PACKET) {
      this.#reportFinished();
      const [entry] = this.#entries;
      if (!entry || !("part" in entry)) break;
      if ("digit" in entry.part) {
        if (filled > 0) break;
        return this.#nextOfDigit(entry.part);
      }
      const { clip } = entry.part;
      const end = this.#position + SAMPLES_PER_PACKET - filled;
      const copied = clip.encoded(payloadType).copy(datagram, start + filled, this.#position, end);
      filled += copied;
      this.#advance(copied, clip.samples);
    }
    this.#reportFinished();
    if (filled === 0) return null;
    if (filled < SAMPLES_PER_PACKET) datagram.fill(SILENCE[payloadType], start + filled, start + SAMPLES_PER_PACKET);
    return AUDIO;
  }

  #nextOfDigit({ digit, samples }: { digit: DtmfDigit; samples: number }): Packetful {
    this.#advance(SAMPLES_PER_PACKET, samples);
    const last = this.#position === 0;
    const position = last ? samples : this.#position;
    this.#reportFinished();
    return { kind: "digit", digit, position, last };
  }

  #advance(samples: number, length: number): void {
    this.#position += samples;
    if (this.#position < length) return;
    this.#entries.shift();
    this.#position = 0;
  }

  #reportFinished(): void {
    for (let [entry] = this.#entries; entry && "finished" in entry; [entry] = this.#entries) {
      this.#entries.shift();
      this.#onFinished(entry.finished);
    }
  }
}
