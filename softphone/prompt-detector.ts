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

/** The first words of a call are on their way before a busy telephone has read the answer: a longer prompt is known by what comes after. */
const SKIPPED_BYTES = 3200;
const LONGER_BYTES = 8000;

/**
 * Picks the first stretch of the prompt's audio that is loud enough to be told apart and that none of the `others` holds, as two
 * prompts that begin alike do; none for silence.
 */
export function fingerprintOf(text: string, asks: boolean, ulaw: Uint8Array, others: readonly Buffer[] = []): PromptFingerprint[] {
  for (
    let start = ulaw.length > LONGER_BYTES ? SKIPPED_BYTES : 0;
    start + FINGERPRINT_BYTES <= ulaw.length;
    start += FINGERPRINT_BYTES / 2
  ) {
    const stretch = ulaw.subarray(start, start + FINGERPRINT_BYTES);
    const loud = stretch.reduce((count, code) => count + (loudness(code) > QUIET ? 1 : 0), 0);
    if (loud <= FINGERPRINT_BYTES * 0.75 || others.some((other) => other.includes(stretch))) continue;
    return [{ text, asks, bytes: Buffer.from(stretch) }];
  }
  return [];
}

/** True when all of a prompt is in what was heard, but for its first words: prompts that differ in one word differ behind them. */
export function isHeardIn(heard: Uint8Array, prompt: Uint8Array): boolean {
  return Buffer.from(heard).includes(Buffer.from(prompt.subarray(prompt.length > LONGER_BYTES ? SKIPPED_BYTES : 0)));
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
