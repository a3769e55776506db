import { SAMPLE_RATE_HZ, encodeUlaw } from "#src/kernel/g711.ts";

/** Half the length of the low-pass filter before samples are dropped, in samples at 16 kHz. */
const HALF_LENGTH = 31;
/** Pass band of the telephone network ends at 3400 Hz (ITU-T G.712); the alias band begins at 4000 Hz. */
const CUTOFF_HZ = 3600;
/** A frame this far below full scale is silence: -50 dBFS. */
const SILENCE_RMS = 100;
/** Silence kept at either end, so that the first and last sounds are not clipped. */
export const MARGIN_MS = 40;
/** Speech level after normalising: about -20 dBFS, usual for announcements, which leaves room for peaks. */
const TARGET_RMS = 3300;
const MAX_GAIN = 4;
/** 1 dB below full scale, with room for the rounding of mu-law. */
const MAX_PEAK = 28_500;
const FRAME = SAMPLE_RATE_HZ / 100;

/** The filter's taps around a moment that lies `fraction` of a sample behind one of `rate` Hz: a Blackman-windowed sinc with gain 1 at 0 Hz. */
function lowPass(rate: number, fraction: number): Float64Array {
  const width = (HALF_LENGTH * rate) / (2 * SAMPLE_RATE_HZ);
  const middle = Math.ceil(width);
  const taps = Float64Array.from({ length: 2 * middle + 1 }, (_, index) => {
    const distance = index - middle - fraction;
    if (Math.abs(distance) > width) return 0;
    const x = ((2 * Math.PI * CUTOFF_HZ) / rate) * distance;
    const angle = Math.PI * (1 + distance / width);
    return (x === 0 ? 1 : Math.sin(x) / x) * (0.42 - 0.5 * Math.cos(angle) + 0.08 * Math.cos(2 * angle));
  });
  const sum = taps.reduce((total, tap) => total + tap, 0);
  return taps.map((tap) => tap / sum);
}

/** Samples of `rate` Hz, 8000 or more, at 8 kHz. */
export function toEightKilohertz(samples: Int16Array, rate: number): Float64Array<ArrayBuffer> {
  if (rate === SAMPLE_RATE_HZ) return Float64Array.from(samples);
  // Moments repeat after so many: one filter each (80 for 44.1 kHz, one for whole multiples of 8 kHz).
  const filters = new Map<number, Float64Array>();
  return Float64Array.from({ length: Math.floor((samples.length * SAMPLE_RATE_HZ) / rate) }, (_, at) => {
    const remainder = (at * rate) % SAMPLE_RATE_HZ;
    const taps = filters.get(remainder) ?? lowPass(rate, remainder / SAMPLE_RATE_HZ);
    filters.set(remainder, taps);
    const first = Math.floor((at * rate) / SAMPLE_RATE_HZ) - (taps.length - 1) / 2;
    let sum = 0;
    for (let tap = 0; tap < taps.length; tap++) sum += (taps[tap] ?? 0) * (samples[first + tap] ?? 0);
    return sum;
  });
}

function rms(samples: Float64Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length));
}

/** The part between the first and the last frame of sound, with a little silence around it. */
function trim(samples: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const margin = (MARGIN_MS * SAMPLE_RATE_HZ) / 1000;
  const loud = (start: number) => rms(samples.subarray(start, start + FRAME)) > SILENCE_RMS;
  let start = 0;
  while (start < samples.length && !loud(start)) start += FRAME;
  let end = samples.length;
  while (end > start && !loud(Math.max(0, end - FRAME))) end -= FRAME;
  return samples.subarray(Math.max(0, start - margin), end + margin);
}

/** Brings speech to one level; pauses do not count, and no peak is cut. */
function normalise(samples: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  let energy = 0;
  let loud = 0;
  for (let at = 0; at < samples.length; at += FRAME) {
    const level = rms(samples.subarray(at, at + FRAME));
    if (level <= SILENCE_RMS) continue;
    energy += level * level;
    loud++;
  }
  if (loud === 0) return samples;
  const peak = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 1);
  const gain = Math.min(TARGET_RMS / Math.sqrt(energy / loud), MAX_GAIN, MAX_PEAK / peak);
  return samples.map((sample) => sample * gain);
}

/** A prompt ready for the wire: 16-bit samples of `rate` Hz to mu-law at 8 kHz, trimmed and brought to one level. */
export function toTelephone(samples: Int16Array, rate = 2 * SAMPLE_RATE_HZ): Uint8Array<ArrayBuffer> {
  return encodeUlaw(Int16Array.from(normalise(trim(toEightKilohertz(samples, rate))), Math.round));
}
