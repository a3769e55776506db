import { bufferOf } from "#src/kernel/bytes.ts";
import { SAMPLE_RATE_HZ, ULAW_SILENCE, ulawToAlaw } from "#src/kernel/g711.ts";

export const SAMPLES_PER_MS = SAMPLE_RATE_HZ / 1000;

/** One piece of audio in both laws; A-law is made at its first use and kept. */
export class Clip {
  readonly #ulaw: Buffer;
  #alaw: Buffer | null = null;

  constructor(ulaw: Uint8Array) {
    this.#ulaw = bufferOf(ulaw);
  }

  static silence(samples: number): Clip {
    return new Clip(new Uint8Array(samples).fill(ULAW_SILENCE));
  }

  get samples(): number {
    return this.#ulaw.length;
  }

  /** The audio as payload type 0 (PCMU) or 8 (PCMA). */
  encoded(payloadType: 0 | 8): Buffer {
    if (payloadType === 0) return this.#ulaw;
    this.#alaw ??= bufferOf(ulawToAlaw(this.#ulaw));
    return this.#alaw;
  }
}
