import { encodeUlaw, SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import type { PlayPart } from "#src/media/index.ts";

/** Frequencies that sound together, and tone and pause by turns, ms. */
interface RingingTone {
  hz: readonly number[];
  cadenceMs: readonly number[];
}

const NORTH_AMERICAN: RingingTone = { hz: [440, 480], cadenceMs: [2_000, 4_000] };
const BRITISH: RingingTone = { hz: [400, 450], cadenceMs: [400, 200, 400, 2_000] };
const EUROPEAN: RingingTone = { hz: [425], cadenceMs: [1_000, 4_000] };

/** ITU-T E.180 Supplement 2, by ISO 3166-1 country; every other country hears the North American one. */
const TONES: Readonly<Record<string, RingingTone>> = {
  ...Object.fromEntries(["GB", "IE", "AU", "NZ"].map((country) => [country, BRITISH])),
  ...Object.fromEntries(["AT", "BE", "CH", "DE", "DK", "ES", "FI", "IT", "NL", "NO", "PL", "SE"].map((country) => [country, EUROPEAN])),
  FR: { hz: [440], cadenceMs: [1_500, 3_500] },
};

/** RMS of the tone against full scale: as loud as a calm voice. */
const LEVEL_DBFS = -22;
const FULL_SCALE = 32_767;
/** Tone begins and ends within this time, so that it does not click. */
const RAMP_SAMPLES = 80;

/** What a caller hears while the other end rings, for `ms` and up to one cadence more. */
export function ringingTone(country: string, ms: number): PlayPart[] {
  const { hz, cadenceMs } = TONES[country] ?? NORTH_AMERICAN;
  const cadence = cadenceMs.map((length, index): PlayPart => (index % 2 === 0 ? { ulaw: tone(hz, length) } : { silenceMs: length }));
  const total = cadenceMs.reduce((sum, length) => sum + length, 0);
  return Array.from({ length: Math.ceil(ms / total) }, () => cadence).flat();
}

function tone(hz: readonly number[], ms: number): Uint8Array {
  const length = (ms * SAMPLE_RATE_HZ) / 1000;
  // A sine's RMS is its amplitude by the root of two; the powers of several add up.
  const amplitude = FULL_SCALE * 10 ** (LEVEL_DBFS / 20) * Math.sqrt(2 / hz.length);
  const ramp = (at: number) => Math.min(1, at / RAMP_SAMPLES, (length - 1 - at) / RAMP_SAMPLES);
  const sample = (at: number) => hz.reduce((sum, frequency) => sum + Math.sin((2 * Math.PI * frequency * at) / SAMPLE_RATE_HZ), 0);
  return encodeUlaw(Int16Array.from({ length }, (_, at) => amplitude * ramp(at) * sample(at)));
}
