import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import type { DtmfDigit } from "./telephone-event.ts";

/** ITU-T Q.23: one frequency of each group, in Hz. */
const LOW_GROUP = [697, 770, 852, 941] as const;
const HIGH_GROUP = [1209, 1336, 1477, 1633] as const;
/** Digits by row and column; null: A-D, which no caller's telephone has. */
const KEYPAD: readonly (readonly (DtmfDigit | null)[])[] = [
  [1, 2, 3, null],
  [4, 5, 6, null],
  [7, 8, 9, null],
  [10, 0, 11, null],
];

/** Samples in a block, 12.75 ms: long enough to tell neighbouring frequencies apart. */
const BLOCK = 102;
/** Samples from block to block: they overlap by half. */
const STEP = 51;
/** ITU-T Q.24: 40 ms of tone always fill four blocks and are accepted; 23 ms reach three at most and are refused. */
const BLOCKS_TO_ACCEPT = 4;
/** Q.24 again: a dropout of 10 ms spoils three blocks at most, a pause of 40 ms at least four. */
const BLOCKS_TO_RELEASE = 4;
/** Weakest tone accepted, each frequency: about -36 dBm0, as mean square of a 16-bit sample. */
const WEAKEST = 2 * 10 ** 4;
/** The high group may be 4 dB stronger or 8 dB weaker than the low one (Q.24, as AT&T and most of Europe set it). */
const HIGH_OVER_LOW = 10 ** 0.4;
const LOW_OVER_HIGH = 10 ** 0.8;
/** The strongest frequency of a group over any other of the same group: 6 dB; leakage between the bins is below. */
const CLEAR_WINNER = 4;
/** Share of the block's energy that the two frequencies hold; speech spreads its energy, tones do not. */
const SHARE_OF_ENERGY = 0.75;

/**
 * Digits in the audio itself (ITU-T Q.23, Q.24), for peers that send no telephone events. One Goertzel filter per frequency.
 * A digit is reported once, about 32 ms after it began.
 */
export class ToneReceiver {
  readonly #block = new Float64Array(BLOCK);
  #filled = 0;
  #candidate: DtmfDigit | null = null;
  #agreed = 0;
  #down: DtmfDigit | null = null;
  #missed = 0;

  /** Takes any number of 16-bit samples at 8 kHz; calls `onDigit` for each digit that begins in them. */
  receive(samples: Int16Array, onDigit: (digit: DtmfDigit) => void): void {
    for (const sample of samples) {
      this.#block[this.#filled++] = sample;
      if (this.#filled < BLOCK) continue;
      const digit = this.#follow(digitOf(this.#block));
      this.#block.copyWithin(0, STEP);
      this.#filled = BLOCK - STEP;
      if (digit !== null) onDigit(digit);
    }
  }

  /** Forgets the audio held. */
  clear(): void {
    this.#block.fill(0);
    this.#filled = 0;
    this.#candidate = null;
    this.#down = null;
  }

  #follow(detected: DtmfDigit | null): DtmfDigit | null {
    this.#agreed = detected !== null && detected === this.#candidate ? this.#agreed + 1 : 1;
    this.#candidate = detected;
    if (this.#down !== null) {
      this.#missed = detected === this.#down ? 0 : this.#missed + 1;
      if (this.#missed < BLOCKS_TO_RELEASE) return null;
      this.#down = null;
    }
    if (detected === null || this.#agreed < BLOCKS_TO_ACCEPT) return null;
    this.#down = detected;
    this.#missed = 0;
    return detected;
  }
}

function digitOf(block: Float64Array): DtmfDigit | null {
  let energy = 0;
  for (const sample of block) energy += sample * sample;
  // Silence, most of what a caller sends, costs no filters.
  if (energy < WEAKEST * BLOCK) return null;
  const low = strongest(block, LOW_GROUP);
  const high = strongest(block, HIGH_GROUP);
  if (!low || !high || low.power < WEAKEST || high.power < WEAKEST) return null;
  if (high.power > low.power * HIGH_OVER_LOW || low.power > high.power * LOW_OVER_HIGH) return null;
  if ((low.power + high.power) * BLOCK < SHARE_OF_ENERGY * energy) return null;
  return KEYPAD[low.index]?.[high.index] ?? null;
}

/** The group's strongest frequency and the mean square of a sine with that strength; null without a clear winner. */
function strongest(block: Float64Array, group: readonly number[]): { index: number; power: number } | null {
  const powers = group.map((frequency) => goertzel(block, frequency));
  const power = Math.max(...powers);
  const index = powers.indexOf(power);
  return powers.every((other, at) => at === index || other * CLEAR_WINNER < power) ? { index, power } : null;
}

/** Mean square of the part of `block` at `frequency`. */
function goertzel(block: Float64Array, frequency: number): number {
  const turn = 2 * Math.cos((2 * Math.PI * frequency) / SAMPLE_RATE_HZ);
  let previous = 0;
  let beforeThat = 0;
  for (const sample of block) {
    const next = sample + turn * previous - beforeThat;
    beforeThat = previous;
    previous = next;
  }
  const power = previous * previous + beforeThat * beforeThat - turn * previous * beforeThat;
  return (2 * power) / (BLOCK * BLOCK);
}

/** Of each of the two tones that are sent, in 16-bit samples. */
const AMPLITUDE = 6000;

/** The two tones of a digit as 16-bit samples. */
export function toneOf(digit: DtmfDigit, samples: number): Int16Array<ArrayBuffer> {
  const row = KEYPAD.findIndex((digits) => digits.includes(digit));
  const column = KEYPAD[row]?.indexOf(digit) ?? -1;
  const turn = (frequency = 0) => (2 * Math.PI * frequency) / SAMPLE_RATE_HZ;
  const [low, high] = [turn(LOW_GROUP[row]), turn(HIGH_GROUP[column])];
  return Int16Array.from({ length: samples }, (_, at) => AMPLITUDE * (Math.sin(low * at) + Math.sin(high * at)));
}
