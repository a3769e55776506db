import { SAMPLES_PER_PACKET } from "#src/kernel/g711.ts";

/** Length of a window, of the step between two (three windows overlap, which with Hann's window adds up to a constant) and of the transform. */
const WINDOW = 240;
const HOP = 80;
const SIZE = 256;
const BINS = SIZE / 2 + 1;
/** Root of Hann's window, applied before and after; the sum of three overlapping ones is 1.5. */
const SHAPE = Float64Array.from({ length: WINDOW }, (_, at) => Math.sin((Math.PI * (at + 0.5)) / WINDOW));
const OVERLAP = 1.5;
/** Mean power of a signal for each unit of the power of one of its lines, both halves of the spectrum counted. */
const POWER = 2 / SIZE / (WINDOW / 2);
/** The telephone's band begins at 200 Hz; hum and wind are below it. */
const LOWEST = Math.ceil((200 * SIZE) / 8000);

/** Least part of the amplitude that is left: 14 dB of suppression at most, so that no tones of its own remain. */
const LEAST_GAIN = 0.2;
/** How much the former window counts for the signal-to-noise ratio of this one (Ephraim and Malah, 1984). */
const MEMORY = 0.9;
/** How fast the estimate follows once it stands, by window. */
const LEARNING = 0.03;
/** Frames without speech before one counts as background: words end in sounds too weak for the detector. */
const SETTLED = 4;
/** Level of background, 16-bit steps squared, from which on it is suppressed: -60 dBFS. */
const NOISY_POWER = 33 ** 2;

const COSINES = Float64Array.from({ length: SIZE / 2 }, (_, at) => Math.cos((2 * Math.PI * at) / SIZE));
const SINES = Float64Array.from({ length: SIZE / 2 }, (_, at) => Math.sin((2 * Math.PI * at) / SIZE));

/** Discrete Fourier transform in place (Cooley and Tukey), without scaling; of its inverse when real and imaginary parts change places. */
function transform(real: Float64Array, imaginary: Float64Array): void {
  for (let at = 1, mirrored = 0; at < SIZE; at++) {
    let bit = SIZE >> 1;
    for (; mirrored & bit; bit >>= 1) mirrored ^= bit;
    mirrored ^= bit;
    if (at >= mirrored) continue;
    for (const part of [real, imaginary]) [part[at], part[mirrored]] = [part[mirrored] as number, part[at] as number];
  }
  for (let half = 1; half < SIZE; half *= 2) {
    const stride = SIZE / 2 / half;
    for (let start = 0; start < SIZE; start += 2 * half) {
      for (let at = 0; at < half; at++) {
        const low = start + at;
        const high = low + half;
        const cosine = COSINES[at * stride] as number;
        const sine = SINES[at * stride] as number;
        const x = (real[high] as number) * cosine + (imaginary[high] as number) * sine;
        const y = (imaginary[high] as number) * cosine - (real[high] as number) * sine;
        real[high] = (real[low] as number) - x;
        imaginary[high] = (imaginary[low] as number) - y;
        real[low] = (real[low] as number) + x;
        imaginary[low] = (imaginary[low] as number) + y;
      }
    }
  }
}

/** Takes steady noise out of a line: Wiener's filter, its estimate of the noise from the frames without speech. One frame late. */
export class NoiseSuppression {
  readonly #input = new Float64Array(WINDOW);
  readonly #output = new Float64Array(WINDOW);
  readonly #noise = new Float64Array(BINS);
  /** Power of the former window's estimated signal. */
  readonly #signal = new Float64Array(BINS);
  readonly #real = new Float64Array(SIZE);
  readonly #imaginary = new Float64Array(SIZE);
  /** Mean powers in the telephone's band, 16-bit steps squared: of the background, and of the latest window. */
  noisePower = 0;
  power = 0;
  #learned = 0;
  #silence = 0;

  /** The next frame in 16-bit steps, and whether it is speech; answers the frame before it, as it was unless noise is to be taken out. */
  push(samples: ArrayLike<number>, speech: boolean, suppress: boolean): Float32Array<ArrayBuffer> {
    const clean = new Float32Array(SAMPLES_PER_PACKET);
    this.#silence = speech ? 0 : this.#silence + 1;
    for (let from = 0; from < SAMPLES_PER_PACKET; from += HOP) {
      this.#input.copyWithin(0, HOP);
      this.#output.copyWithin(0, HOP);
      this.#output.fill(0, WINDOW - HOP);
      for (let at = 0; at < HOP; at++) this.#input[WINDOW - HOP + at] = samples[from + at] as number;
      this.#filter(suppress);
      clean.set(this.#output.subarray(0, HOP), from);
    }
    return clean;
  }

  /** Overwrites the audio held; what is known of the noise stays. */
  clear(): void {
    for (const part of [this.#input, this.#output, this.#signal, this.#real, this.#imaginary]) part.fill(0);
  }

  #filter(suppress: boolean): void {
    const [real, imaginary] = [this.#real.fill(0), this.#imaginary.fill(0)];
    for (let at = 0; at < WINDOW; at++) real[at] = (this.#input[at] as number) * (SHAPE[at] as number);
    transform(real, imaginary);
    const isBackground = this.#silence >= SETTLED || this.#learned === 0;
    const share = isBackground ? Math.max(LEARNING, 1 / ++this.#learned) : 0;
    this.noisePower = 0;
    this.power = 0;
    for (let bin = 0; bin < BINS; bin++) {
      const power = (real[bin] as number) ** 2 + (imaginary[bin] as number) ** 2;
      this.#noise[bin] = (this.#noise[bin] as number) + (power - (this.#noise[bin] as number)) * share;
      if (bin < LOWEST) continue;
      this.noisePower += (this.#noise[bin] as number) * POWER;
      this.power += power * POWER;
    }
    for (let bin = 0; bin < BINS; bin++) {
      const noise = (this.#noise[bin] as number) + 1e-9;
      const power = (real[bin] as number) ** 2 + (imaginary[bin] as number) ** 2;
      const ratio = (MEMORY * (this.#signal[bin] as number)) / noise + (1 - MEMORY) * Math.max(0, power / noise - 1);
      const gain = !suppress || this.noisePower < NOISY_POWER ? 1 : Math.max(LEAST_GAIN, ratio / (1 + ratio));
      this.#signal[bin] = power * gain * gain;
      for (const at of bin === 0 || bin === SIZE / 2 ? [bin] : [bin, SIZE - bin]) {
        real[at] = (real[at] as number) * gain;
        imaginary[at] = (imaginary[at] as number) * gain;
      }
    }
    transform(imaginary, real);
    for (let at = 0; at < WINDOW; at++)
      this.#output[at] = (this.#output[at] as number) + ((real[at] as number) / SIZE / OVERLAP) * (SHAPE[at] as number);
  }
}
