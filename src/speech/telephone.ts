import { SAMPLE_RATE_HZ, encodeUlaw } from "#src/kernel/g711.ts";

/** Taps of the low-pass filter before every second sample is dropped; odd, so that its delay is whole samples. */
const TAPS = 63;
/** Pass band of the telephone network ends at 3400 Hz (ITU-T G.712); the alias band begins at 4000 Hz. */
const CUTOFF_HZ = 3600;
/** A frame this far below full scale is silence: -50 dBFS. */
const SILENCE_RMS = 100;
/** Silence kept at either end, so that the first and last sounds are not clipped. */
const MARGIN_MS = 40;
/** Speech level after normalising: about -20 dBFS, usual for announcements, which leaves room for peaks. */
const TARGET_RMS = 3300;
const MAX_GAIN = 4;
const MAX_PEAK = 31_000;
const FRAME = SAMPLE_RATE_HZ / 100;

/** Blackman-windowed sinc at twice the telephone's rate, scaled to gain 1 at 0 Hz. */
const LOW_PASS = (() => {
  const middle = (TAPS - 1) / 2;
  const taps = Float64Array.from({ length: TAPS }, (_, index) => {
    const x = 2 * Math.PI * (CUTOFF_HZ / (2 * SAMPLE_RATE_HZ)) * (index - middle);
    const angle = (2 * Math.PI * index) / (TAPS - 1);
    return (x === 0 ? 1 : Math.sin(x) / x) * (0.42 - 0.5 * Math.cos(angle) + 0.08 * Math.cos(2 * angle));
  });
  const sum = taps.reduce((total, tap) => total + tap, 0);
  return taps.map((tap) => tap / sum);
})();

/** 16 kHz to 8 kHz: low-pass, then every second sample. */
export function halve(samples: Int16Array): Float64Array<ArrayBuffer> {
  const middle = (TAPS - 1) / 2;
  return Float64Array.from({ length: samples.length >> 1 }, (_, at) => {
    let sum = 0;
    for (let tap = 0; tap < TAPS; tap++) sum += (LOW_PASS[tap] ?? 0) * (samples[2 * at + tap - middle] ?? 0);
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

/** A prompt ready for the wire: 16-bit samples at 16 kHz to mu-law at 8 kHz, trimmed and brought to one level. */
export function toTelephone(samples: Int16Array): Uint8Array<ArrayBuffer> {
  return encodeUlaw(Int16Array.from(normalise(trim(halve(samples))), Math.round));
}
