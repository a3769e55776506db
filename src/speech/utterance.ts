import { SAMPLES_PER_PACKET, SAMPLE_RATE_HZ, decodeUlaw } from "#src/kernel/g711.ts";
import type { AudioFrame } from "#src/kernel/g711.ts";
import { NoiseSuppression } from "./noise-suppression.ts";

const FRAMES_PER_SECOND = SAMPLE_RATE_HZ / SAMPLES_PER_PACKET;
const frames = (ms: number) => Math.round((ms / 1000) * FRAMES_PER_SECOND);

/** Audio kept from before the detector noticed speech: weak first sounds such as "f" come earlier. */
const LEAD = frames(300);
/** The same on a noisy line. */
const NOISY_LEAD = frames(120);
/** Level of speech over background in the telephone's band, dB, below which a line is noisy: pink noise of 20 dB is below, a quiet room above. */
export const NOISY_DB = 32;
/** Silence kept before and after speech. */
const PAUSE_KEPT = frames(300);
/** Speech frames among the last few that begin an utterance; fewer are a click. */
const ONSET = frames(60);
const ONSET_WINDOW = frames(100);
/** Speech in all, under which an utterance was a noise. */
const SHORTEST = frames(120);
/** Longest utterance; the rest of it is another one. */
const LONGEST = frames(20_000);

/**
 * Noise added to all audio, in 16-bit steps, 70 dB under speech: digital silence, as lost and suppressed packets are, has an energy of
 * zero, whose logarithm spoils the normalisation of the speech beside it.
 */
const HISS = 8;

/**
 * Silence after which there is time to decode ahead, after which an answer ends that can have nothing behind it, after which a whole one does,
 * and after which any does (docs/decisions/0012).
 */
const PAUSE = frames(200);
const COMPLETE = frames(360);
const REST = frames(500);
const END = frames(900);
/** Silence after which an answer ends of which only a part was heard: group by group, people pause longer. */
const TIMEOUT = frames(2_000);

/** Frames after a pause before which a caller who speaks on has not completed anything. */
export const UNTIL_COMPLETE = COMPLETE - PAUSE;

/** What the latest frame brought: the caller began, paused, completed, rested, or ended; `noise`: what had begun was no speech. */
export type EndpointingEvent = "begin" | "pause" | "complete" | "rest" | "end" | "timeout" | "noise" | null;

function join(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.length * SAMPLES_PER_PACKET);
  for (const [index, samples] of parts.entries()) all.set(samples, index * SAMPLES_PER_PACKET);
  return all;
}

/** Finds utterances in a stream of frames marked as speech or not. Time is counted in frames: no clock. */
export class Utterance {
  #frames: Float32Array[] = [];
  /** One per frame held: speech or not. */
  #speech: boolean[] = [];
  #isOpen = false;
  #silence = 0;
  #random = 1;
  readonly #suppression = new NoiseSuppression();
  /** Sum of the powers of the frames of speech, and how many these were. */
  #signal = 0;
  #signals = 0;

  /** Takes one frame; steady noise is taken out of it, or not. After `end` or `noise`, and when a `rest` was answered, call `close`. */
  push({ frame, speech }: AudioFrame, suppress = true): EndpointingEvent {
    const heard = decodeUlaw(frame);
    const samples = this.#suppression.push(heard, speech, suppress).map((sample) => (sample + this.#hiss()) / 32_768);
    if (speech) {
      this.#signal += this.#suppression.power;
      this.#signals++;
    }
    this.#frames.push(samples);
    this.#speech.push(speech);
    if (!this.#isOpen) return this.#waitForSpeech();

    this.#silence = speech ? 0 : this.#silence + 1;
    if (this.#frames.length >= LONGEST) return "timeout";
    if (this.#silence === PAUSE) return this.#spoken() < SHORTEST ? "noise" : "pause";
    if (this.#silence === COMPLETE) return "complete";
    if (this.#silence === REST) return "rest";
    if (this.#silence === END) return "end";
    return this.#silence === TIMEOUT ? "timeout" : null;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Duration of the utterance without the silence at its end, ms. */
  get durationMs(): number {
    return ((this.#frames.length - this.#silence) * 1000) / FRAMES_PER_SECOND;
  }

  /** Level of speech over background, dB. */
  get signalToNoiseDb(): number {
    return 10 * Math.log10(this.#signal / Math.max(1, this.#signals) / (this.#suppression.noisePower + HISS ** 2 / 3));
  }

  /** The utterance, lead included. */
  samples(): Float32Array {
    return join(this.#frames);
  }

  /** The utterance for decoding as a whole: long pauses cut short, and the beginning too where it is noise, which reads as a word. */
  compact(): Float32Array {
    const first = this.#speech.indexOf(true);
    const start = Math.max(0, first - (this.signalToNoiseDb < NOISY_DB ? NOISY_LEAD : LEAD));
    const kept = this.#frames.filter((_, at) => {
      if (at < start) return false;
      // Speech close before or after: it may have begun or ended in this frame, unnoticed by the detector.
      return this.#speech.slice(Math.max(0, at - PAUSE_KEPT), at + PAUSE_KEPT + 1).includes(true);
    });
    return join(kept);
  }

  /** The latest frame. */
  latest(): Float32Array {
    return this.#frames.at(-1) ?? new Float32Array(0);
  }

  /** Forgets and overwrites the utterance and waits for the next one. */
  close(): void {
    for (const samples of this.#frames) samples.fill(0);
    this.#frames = [];
    this.#speech = [];
    this.#isOpen = false;
    this.#silence = 0;
    this.#signal = 0;
    this.#signals = 0;
    this.#suppression.clear();
  }

  #waitForSpeech(): EndpointingEvent {
    if (this.#frames.length > LEAD) {
      this.#frames.shift()?.fill(0);
      this.#speech.shift();
    }
    const recent = this.#speech.slice(-ONSET_WINDOW).filter(Boolean).length;
    if (recent < ONSET) return null;
    this.#isOpen = true;
    this.#silence = 0;
    return "begin";
  }

  #spoken(): number {
    return this.#speech.filter(Boolean).length;
  }

  #hiss(): number {
    // The constants of C's example generator (ISO C annex); evenly spread is all it has to be.
    this.#random = (Math.imul(this.#random, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (this.#random / 0x7fff_ffff - 0.5) * 2 * HISS;
  }
}
