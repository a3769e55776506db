import { encodeUlaw, SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import type { PlayPart } from "#src/media/index.ts";

/** Frequencies that sound together, and tone and pause by turns, ms. */
interface Tone {
  hz: readonly number[];
  cadenceMs: readonly number[];
  /** RMS against full scale. */
  dbfs: number;
}

/** As loud as a calm voice. */
const VOICE_DBFS = -22;
const NORTH_AMERICAN: Tone = { hz: [440, 480], cadenceMs: [2_000, 4_000], dbfs: VOICE_DBFS };
const BRITISH: Tone = { hz: [400, 450], cadenceMs: [400, 200, 400, 2_000], dbfs: VOICE_DBFS };
const EUROPEAN: Tone = { hz: [425], cadenceMs: [1_000, 4_000], dbfs: VOICE_DBFS };
/** Short, soft and low: it says that the line is alive, and is neither a ringing nor a busy tone. */
const WAITING = { hz: [330], cadenceMs: [120, 1_880], dbfs: -30 } as const satisfies Tone;

/** ITU-T E.180 Supplement 2, by ISO 3166-1 country; every other country hears the North American one. */
const RINGING: Readonly<Record<string, Tone>> = {
  ...Object.fromEntries(["GB", "IE", "AU", "NZ"].map((country) => [country, BRITISH])),
  ...Object.fromEntries(["AT", "BE", "CH", "DE", "DK", "ES", "FI", "IT", "NL", "NO", "PL", "SE"].map((country) => [country, EUROPEAN])),
  FR: { hz: [440], cadenceMs: [1_500, 3_500], dbfs: VOICE_DBFS },
};

const FULL_SCALE = 32_767;
/** Tone begins and ends within this time, so that it does not click. */
const RAMP_SAMPLES = 80;

/** What a caller hears while the other end rings, for `ms` and up to one cadence more. */
export function ringingTone(country: string, ms: number): PlayPart[] {
  return repeated(RINGING[country] ?? NORTH_AMERICAN, ms);
}

/** What a caller hears while his payment is under way and nothing is said, for `ms` and up to one cadence more. Most are decided before its first tone. */
export function waitingTone(ms: number): PlayPart[] {
  return [{ silenceMs: WAITING.cadenceMs[1] }, ...repeated(WAITING, ms)];
}

function repeated({ hz, cadenceMs, dbfs }: Tone, ms: number): PlayPart[] {
  const cadence = cadenceMs.map((length, index): PlayPart => (index % 2 === 0 ? { ulaw: sound(hz, length, dbfs) } : { silenceMs: length }));
  const total = cadenceMs.reduce((sum, length) => sum + length, 0);
  return Array.from({ length: Math.ceil(ms / total) }, () => cadence).flat();
}

function sound(hz: readonly number[], ms: number, dbfs: number): Uint8Array {
  const length = (ms * SAMPLE_RATE_HZ) / 1000;
  // A sine's RMS is its amplitude by the root of two; the powers of several add up.
  const amplitude = FULL_SCALE * 10 ** (dbfs / 20) * Math.sqrt(2 / hz.length);
  const ramp = (at: number) => Math.min(1, at / RAMP_SAMPLES, (length - 1 - at) / RAMP_SAMPLES);
  const sample = (at: number) => hz.reduce((sum, frequency) => sum + Math.sin((2 * Math.PI * frequency * at) / SAMPLE_RATE_HZ), 0);
  return encodeUlaw(Int16Array.from({ length }, (_, at) => amplitude * ramp(at) * sample(at)));
}
