import { SAMPLES_PER_PACKET, SAMPLE_RATE_HZ, decodeUlaw } from "#src/kernel/g711.ts";
import type { AudioFrame } from "./recognition-result.ts";

const FRAMES_PER_SECOND = SAMPLE_RATE_HZ / SAMPLES_PER_PACKET;
const frames = (ms: number) => Math.round((ms / 1000) * FRAMES_PER_SECOND);

/** Audio kept from before the detector noticed speech: weak first sounds such as "f" come earlier. */
const LEAD = frames(300);
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

/** Silence after which there is time to decode ahead, after which a whole answer ends, and after which any does (docs/decisions/0012). */
const PAUSE = frames(200);
const REST = frames(500);
const END = frames(900);

/** What the latest frame brought: the caller began, paused, rested, or ended; `noise`: what had begun was no speech. */
export type EndpointingEvent = "begin" | "pause" | "rest" | "end" | "noise" | null;

/** Finds utterances in a stream of frames marked as speech or not. Time is counted in frames: no clock. */
export class Utterance {
  #frames: Float32Array[] = [];
  /** One per frame held: speech or not. */
  #speech: boolean[] = [];
  #isOpen = false;
  #silence = 0;
  #random = 1;
  /** Mean energies of background and speech, smoothed, for the signal-to-noise ratio. */
  #noise = 0;
  #signal = 0;

  /** Takes one frame. After `end` or `noise`, and when a `rest` was answered, call `close`. */
  push({ frame, speech }: AudioFrame): EndpointingEvent {
    const samples = Float32Array.from(decodeUlaw(frame), (sample) => (sample + this.#hiss()) / 32_768);
    this.#measure(samples, speech);
    this.#frames.push(samples);
    this.#speech.push(speech);
    if (!this.#isOpen) return this.#waitForSpeech();

    this.#silence = speech ? 0 : this.#silence + 1;
    if (this.#frames.length >= LONGEST) return "end";
    if (this.#silence === PAUSE) return this.#spoken() < SHORTEST ? "noise" : "pause";
    if (this.#silence === REST) return "rest";
    return this.#silence === END ? "end" : null;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Duration of the utterance without the silence at its end, ms. */
  get durationMs(): number {
    return ((this.#frames.length - this.#silence) * 1000) / FRAMES_PER_SECOND;
  }

  /** Level of speech over background, dB; unknown, thus high, before any background was heard. */
  get signalToNoiseDb(): number {
    if (this.#signal === 0) return 0;
    return this.#noise === 0 ? 60 : 10 * Math.log10(this.#signal / this.#noise);
  }

  /** The utterance, lead included. */
  samples(): Float32Array {
    const all = new Float32Array(this.#frames.length * SAMPLES_PER_PACKET);
    for (const [index, samples] of this.#frames.entries()) all.set(samples, index * SAMPLES_PER_PACKET);
    return all;
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

  #measure(samples: Float32Array, speech: boolean): void {
    const energy = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length + 1e-10;
    const follow = (level: number, share: number) => (level === 0 ? energy : level + (energy - level) * share);
    if (speech) this.#signal = follow(this.#signal, 0.02);
    else this.#noise = follow(this.#noise, 0.05);
  }
}
