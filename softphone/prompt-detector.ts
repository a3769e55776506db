/**
 * Hears the service's prompts in received audio without guessing: over a clean path the packets carry the very bytes of
 * the rendered prompt, so a stretch of each prompt is looked for in the stream. It tells a scripted caller which question
 * it was asked.
 */

/** Bytes of a stretch that is looked for: 12 ms of audio, more than any two prompts have in common. */
const STRETCH_BYTES = 96;
/** Of each prompt, this far apart: the packet of one of them may come too late from a busy machine, and its neighbours with it. */
const STRETCHES = 2;
const APART_BYTES = 1600;
/** mu-law codes this close to silence say nothing about which prompt it is. */
const QUIET = 0x18;

/** A prompt that can be heard: its words, and the stretches of its audio that are looked for. */
export interface PromptFingerprint {
  text: string;
  /** The caller is to answer now. */
  asks: boolean;
  /** Of the whole prompt. */
  byteLength: number;
  stretches: { offset: number; bytes: Buffer }[];
}

/** Magnitude of a mu-law code on its own scale, 0 = silence (G.711: the code is inverted). */
const loudness = (code: number) => ~code & 0x7f;

/** Loud enough to be told from silence and from what else is said. */
const isLoud = (ulaw: Uint8Array) => ulaw.reduce((count, code) => count + (loudness(code) > QUIET ? 1 : 0), 0) > ulaw.length * 0.75;

/** The first words of a call are on their way before a busy telephone has read the answer: a longer prompt is known by what comes after. */
const SKIPPED_BYTES = 3200;
const LONGER_BYTES = 8000;

/**
 * Picks the first stretches of the prompt's audio that are loud enough to be told apart and that none of the `others` holds, as two
 * prompts that begin alike do; none for silence.
 */
export function fingerprintOf(text: string, asks: boolean, ulaw: Uint8Array, others: readonly Buffer[] = []): PromptFingerprint[] {
  const stretches: PromptFingerprint["stretches"] = [];
  let offset = ulaw.length > LONGER_BYTES ? SKIPPED_BYTES : 0;
  while (offset + STRETCH_BYTES <= ulaw.length && stretches.length < STRETCHES) {
    const bytes = Buffer.from(ulaw.subarray(offset, offset + STRETCH_BYTES));
    const isItsOwn = isLoud(bytes) && !others.some((other) => other.includes(bytes));
    if (isItsOwn) stretches.push({ offset, bytes });
    offset += isItsOwn ? APART_BYTES : STRETCH_BYTES / 2;
  }
  return stretches.length > 0 ? [{ text, asks, byteLength: ulaw.length, stretches }] : [];
}

/** What is looked for of a sentence, piece after piece: 20 ms of audio each, a packet's worth. */
const PIECE_BYTES = 160;
/** In a row. A packet that came too late spoils as many; a different word spoils many more. */
const SPOILT_PIECES = 3;

/**
 * True when all of a prompt is in what was heard, but for its first words and for single packets that were lost: prompts that
 * differ in one word differ behind the first ones, and for longer than a packet.
 */
export function isHeardIn(heard: Uint8Array, prompt: Uint8Array): boolean {
  const stream = Buffer.from(heard.buffer, heard.byteOffset, heard.byteLength);
  let [at, found, spoilt, spoiltInARow] = [0, 0, 0, 0];
  for (let start = prompt.length > LONGER_BYTES ? SKIPPED_BYTES : 0; start + PIECE_BYTES <= prompt.length; start += PIECE_BYTES) {
    const piece = prompt.subarray(start, start + PIECE_BYTES);
    if (!isLoud(piece)) continue;
    const place = stream.indexOf(piece, at);
    if (place < 0) {
      spoilt++;
      if (++spoiltInARow > SPOILT_PIECES) return false;
    } else {
      [at, spoiltInARow] = [place + PIECE_BYTES, 0];
      found++;
    }
  }
  return found > spoilt;
}

/** Two stretches whose prompt would have begun this close together are of one playing; lost packets move them a little. */
const SAME_PLAYING_BYTES = 1600;

/** Listens for a set of known prompts in a mu-law stream. */
export class PromptDetector {
  readonly #fingerprints: readonly PromptFingerprint[];
  readonly #onDetected: (prompt: PromptFingerprint) => void;
  #window = Buffer.alloc(0);
  /** Bytes of the stream before the window. */
  #passed = 0;
  /** Where in the stream each prompt was last heard to begin. */
  readonly #begun = new Map<PromptFingerprint, number>();

  constructor(fingerprints: readonly PromptFingerprint[], onDetected: (prompt: PromptFingerprint) => void) {
    this.#fingerprints = fingerprints;
    this.#onDetected = onDetected;
  }

  /** Takes the next received audio; reports each known prompt once for every time it is played. */
  push(ulaw: Uint8Array): void {
    const stream = Buffer.concat([this.#window, ulaw]);
    // A match that lay whole in the former window was seen then.
    const from = Math.max(0, this.#window.length - STRETCH_BYTES + 1);
    for (const fingerprint of this.#fingerprints) {
      for (const { offset, bytes } of fingerprint.stretches) {
        const at = stream.indexOf(bytes, from);
        if (at >= 0 && this.#isNew(fingerprint, this.#passed + at - offset)) this.#onDetected(fingerprint);
      }
    }
    this.#window = Buffer.from(stream.subarray(-(STRETCH_BYTES - 1)));
    this.#passed += stream.length - this.#window.length;
  }

  #isNew(fingerprint: PromptFingerprint, begin: number): boolean {
    const last = this.#begun.get(fingerprint) ?? -Infinity;
    this.#begun.set(fingerprint, begin);
    return Math.abs(begin - last) > Math.min(SAME_PLAYING_BYTES, fingerprint.byteLength / 2);
  }
}
