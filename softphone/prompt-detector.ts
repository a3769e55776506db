/**
 * Hears the service's prompts in received audio without guessing: over a clean path the packets carry the very bytes of
 * the rendered prompt, so a stretch of each prompt is looked for in the stream. It tells a scripted caller which question
 * it was asked.
 */

/** Bytes of a prompt that are looked for: 12 ms of audio, more than any two prompts have in common. */
const FINGERPRINT_BYTES = 96;
/** mu-law codes this close to silence say nothing about which prompt it is. */
const QUIET = 0x18;

/** A prompt that can be heard: its words, and the stretch of its audio that is looked for. */
export interface PromptFingerprint {
  text: string;
  /** The caller is to answer now. */
  asks: boolean;
  bytes: Buffer;
}

/** Magnitude of a mu-law code on its own scale, 0 = silence (G.711: the code is inverted). */
const loudness = (code: number) => ~code & 0x7f;

/** Picks the first stretch of the prompt's audio that is loud enough to be told apart; none for silence. */
export function fingerprintOf(text: string, asks: boolean, ulaw: Uint8Array): PromptFingerprint[] {
  for (let start = 0; start + FINGERPRINT_BYTES <= ulaw.length; start += FINGERPRINT_BYTES / 2) {
    const stretch = ulaw.subarray(start, start + FINGERPRINT_BYTES);
    const loud = stretch.reduce((count, code) => count + (loudness(code) > QUIET ? 1 : 0), 0);
    if (loud > FINGERPRINT_BYTES * 0.75) return [{ text, asks, bytes: Buffer.from(stretch) }];
  }
  return [];
}

/** Listens for a set of known prompts in a mu-law stream. */
export class PromptDetector {
  readonly #fingerprints: readonly PromptFingerprint[];
  readonly #onDetected: (prompt: PromptFingerprint) => void;
  #window = Buffer.alloc(0);

  constructor(fingerprints: readonly PromptFingerprint[], onDetected: (prompt: PromptFingerprint) => void) {
    this.#fingerprints = fingerprints;
    this.#onDetected = onDetected;
  }

  /** Takes the next received audio; reports each known prompt once for every time it is played. */
  push(ulaw: Uint8Array): void {
    const stream = Buffer.concat([this.#window, ulaw]);
    for (const fingerprint of this.#fingerprints) {
      // A match that lay whole in the former window was reported then.
      if (stream.includes(fingerprint.bytes, Math.max(0, this.#window.length - FINGERPRINT_BYTES + 1))) this.#onDetected(fingerprint);
    }
    this.#window = Buffer.from(stream.subarray(-(FINGERPRINT_BYTES - 1)));
  }
}
