import { ALAW_SILENCE, SAMPLES_PER_PACKET, ULAW_SILENCE } from "#src/kernel/g711.ts";
import type { Clip } from "./clip.ts";
import type { DtmfDigit } from "./telephone-event.ts";

/** One thing to send: audio, or a digit held down for `samples` (a whole number of packets). */
export type PlaylistPart = { clip: Clip } | { digit: DtmfDigit; samples: number };

/** What the next packet carries. `position`: samples of the digit's duration at the end of this packet. */
export type Packetful = { kind: "audio"; payload: Uint8Array } | { kind: "digit"; digit: DtmfDigit; position: number; last: boolean };

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

  /** Cuts the next packet; null when there is nothing to say. `payloadType`: the codec, 0 or 8. */
  next(payloadType: 0 | 8): Packetful | null {
    let payload: Uint8Array | null = null;
    let filled = 0;
    while (filled < SAMPLES_PER_PACKET) {
      this.#reportFinished();
      const [entry] = this.#entries;
      if (!entry || !("part" in entry)) break;
      if ("digit" in entry.part) {
        if (payload) break;
        return this.#nextOfDigit(entry.part);
      }
      payload ??= Buffer.allocUnsafe(SAMPLES_PER_PACKET).fill(payloadType === 0 ? ULAW_SILENCE : ALAW_SILENCE);
      const { clip } = entry.part;
      const slice = clip.encoded(payloadType).subarray(this.#position, this.#position + SAMPLES_PER_PACKET - filled);
      payload.set(slice, filled);
      filled += slice.length;
      this.#advance(slice.length, clip.samples);
    }
    this.#reportFinished();
    return payload && { kind: "audio", payload };
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
