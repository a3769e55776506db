import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";

/**
 * Tells a human voice from noise, tones and music, whatever the words. A grammar finds words in anything: a hiss comes out as "yup", a
 * hum as "wrong", because no model of the recogniser stands for them.
 */

const FRAME = SAMPLE_RATE_HZ / 50;
/** Pitches of the human voice, as periods in samples: 400 to 60 Hz. */
const SHORTEST_PERIOD = SAMPLE_RATE_HZ / 400;
const LONGEST_PERIOD = Math.floor(SAMPLE_RATE_HZ / 60);
/** Frames this far under the loudest are not judged, nor is digital near-silence. */
const RANGE_DB = 25;
const QUIETEST_DB = -60;
/** Correlation of a frame with itself one period later, from which on it is voiced. */
const VOICED = 0.7;
/** Voiced frames in the shortest word: 100 ms. Breath and line noise have next to none. */
const LEAST_VOICED = 5;
const LEAST_SHARE = 0.2;
/** Two frames have one pitch when it differs by no more than this. A voice glides; a note and a hum stand still. */
const SAME_PITCH = 0.006;
const MOST_STEADY = 0.65;
/** Share of the energy that the eight strongest of 240 lines of the spectrum may have (15.6 Hz each): tones have all of it. */
const MOST_CONCENTRATED = 0.98;
const STRONGEST = 8;
/** The spectrum's lines in Hz: 125 Hz up to the end of the telephone's band. */
const LINES = Array.from({ length: 248 }, (_, at) => ((at + 8) * SAMPLE_RATE_HZ) / 512);
/** Frames whose spectrum is looked at: enough for a middle value. */
const SPECTRA = 24;

/** True when `samples` (8 kHz, -1 to 1) can hold speech: enough of it is voiced, its pitch moves, and its energy is spread. */
export function isVoice(samples: Float32Array): boolean {
  const voiced: Float32Array[] = [];
  let judged = 0;
  let pairs = 0;
  let steady = 0;
  let former: number | null = null;
  const levels = Array.from({ length: Math.floor(samples.length / FRAME) }, (_, at) =>
    levelOf(samples.subarray(at * FRAME, (at + 1) * FRAME)),
  );
  const loudest = levels.toSorted((a, b) => b - a)[Math.floor(levels.length / 10)] ?? 0;
  for (const [at, level] of levels.entries()) {
    // Two frames, so that the longest period fits into them twice.
    const window = samples.subarray(Math.max(0, (at - 0.5) * FRAME), (at + 1.5) * FRAME);
    const isJudged = level >= Math.max(loudest - RANGE_DB, QUIETEST_DB) && window.length === 2 * FRAME;
    const period = isJudged ? periodOf(window) : null;
    if (isJudged) judged++;
    if (period !== null) voiced.push(window);
    if (period !== null && former !== null) {
      pairs++;
      if (Math.abs(period / former - 1) < SAME_PITCH) steady++;
    }
    former = period;
  }
  if (voiced.length < LEAST_VOICED || voiced.length < judged * LEAST_SHARE || steady > pairs * MOST_STEADY) return false;
  const every = Math.ceil(voiced.length / SPECTRA);
  const concentrations = voiced.filter((_, at) => at % every === 0).map(concentrationOf);
  return (concentrations.toSorted((a, b) => a - b)[concentrations.length >> 1] ?? 1) <= MOST_CONCENTRATED;
}

function levelOf(samples: Float32Array): number {
  return 10 * Math.log10(energyOf(samples) / samples.length + 1e-10);
}

function energyOf(samples: Float32Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return sum;
}

/** The period of a voiced window, in samples: where it resembles itself most. Null when it does not. */
function periodOf(window: Float32Array): number | null {
  const head = window.subarray(0, FRAME);
  const energy = energyOf(head);
  let best = VOICED;
  let period: number | null = null;
  for (let lag = SHORTEST_PERIOD; lag <= LONGEST_PERIOD; lag++) {
    const later = window.subarray(lag, lag + FRAME);
    let product = 0;
    for (let at = 0; at < FRAME; at++) product += (head[at] ?? 0) * (later[at] ?? 0);
    const likeness = product / Math.sqrt(energy * energyOf(later) + 1e-12);
    if (likeness <= best) continue;
    best = likeness;
    period = lag;
  }
  return period;
}

/** Share of the energy in the strongest lines of the spectrum. */
function concentrationOf(window: Float32Array): number {
  // Hann's window keeps a tone from leaking over all lines.
  const shaped = window.map((sample, at) => sample * Math.sin((Math.PI * at) / window.length) ** 2);
  const powers = LINES.map((hertz) => {
    // Goertzel's recurrence: the power of one line.
    const factor = 2 * Math.cos((2 * Math.PI * hertz) / SAMPLE_RATE_HZ);
    let [last, before] = [0, 0];
    for (const sample of shaped) [last, before] = [sample + factor * last - before, last];
    return last * last + before * before - factor * last * before;
  }).toSorted((a, b) => b - a);
  const sum = (part: readonly number[]) => part.reduce((total, power) => total + power, 0);
  return sum(powers.slice(0, STRONGEST)) / (sum(powers) + 1e-12);
}
