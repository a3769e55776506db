import { SAMPLES_PER_PACKET, SAMPLE_RATE_HZ, encodeUlaw } from "#src/kernel/g711.ts";
import type { Acceptor } from "./acceptor.ts";
import { type Delivery, type FliteVoice, speak } from "./flite.ts";
import type { AudioFrame } from "#src/kernel/g711.ts";
import { toEightKilohertz } from "./telephone.ts";
import { warp as warped } from "./warp.ts";
import { writeWav } from "./wav.ts";

/** Utterances and other sounds on a telephone line, for tests and measurements. All are reproducible. */

/** Line noise of a quiet telephone: about 60 dB under speech. */
function lineNoise(samples: number): Float64Array {
  let seed = 1;
  return Float64Array.from({ length: samples }, () => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fff_ffff;
    return (seed / 0x7fff_ffff - 0.5) * 16;
  });
}

export interface Speaking extends Delivery {
  voice?: FliteVoice;
  /** Length of the speaker's vocal tract: 1.1 sounds a tenth smaller, pitch and formants alike; the tempo stays. */
  warp?: number;
  /** Silence before and after, ms. */
  beforeMs?: number;
  afterMs?: number;
}

/** Speech as 8 kHz samples, 16-bit range, without a line around it. kal16 is the voice the recogniser understands best, slt the worst. */
export function speechOf(text: string, { voice = "kal16", stretch = 1, pitch = 1, warp = 1 }: Speaking = {}): Float64Array<ArrayBuffer> {
  const spoken = speak(text, voice, { stretch: stretch * warp, pitch });
  const samples = warp === 1 ? spoken : Int16Array.from(warped(Float32Array.from(spoken), warp));
  return toEightKilohertz(samples, voice === "kal" ? 8_000 : 16_000);
}

/** A sound on a quiet line, with silence around it. */
export function onLine(sound: ArrayLike<number>, { beforeMs = 500, afterMs = 1_000 }: Pick<Speaking, "beforeMs" | "afterMs"> = {}) {
  const before = beforeMs * 8;
  return Int16Array.from(lineNoise(before + sound.length + afterMs * 8), (noise, at) => Math.round(noise + (sound[at - before] ?? 0)));
}

/** A caller's utterance as 8 kHz samples, 16-bit range, on a quiet line. */
export function utteranceOf(text: string, speaking: Speaking = {}): Int16Array<ArrayBuffer> {
  return onLine(speechOf(text, speaking), speaking);
}

/** One of several sine tones at once, for so many ms, then silence. Without frequencies it is silence alone. */
export interface Beep {
  hertz: readonly number[];
  onMs: number;
  offMs?: number;
}

/** Tones one after the other, as 8 kHz samples: call progress tones, melodies. `harmonics`: overtones falling by 6 dB each. */
export function tones(beeps: readonly Beep[], { amplitude = 6_000, harmonics = 1 } = {}): Float64Array<ArrayBuffer> {
  const parts = beeps.map(({ hertz, onMs, offMs = 0 }) =>
    Float64Array.from({ length: (onMs + offMs) * 8 }, (_, at) => {
      if (at >= onMs * 8) return 0;
      // 5 ms of rise and fall, which every network and instrument has.
      const edge = Math.min(1, at / 40, (onMs * 8 - at) / 40);
      let sample = 0;
      for (const each of hertz)
        for (let harmonic = 1; harmonic <= harmonics; harmonic++)
          sample += Math.sin((2 * Math.PI * each * harmonic * at) / SAMPLE_RATE_HZ) / 2 ** (harmonic - 1);
      return (amplitude * edge * sample) / Math.max(1, hertz.length);
    }),
  );
  const all = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Busy and ringing of North America (ITU-T E.180 supplement 2). */
export const busyTone = (times: number) => tones(Array.from({ length: times }, () => ({ hertz: [480, 620], onMs: 500, offMs: 500 })));
export const ringbackTone = (times: number) =>
  tones(Array.from({ length: times }, () => ({ hertz: [440, 480], onMs: 2_000, offMs: 1_000 })));

/** Notes as semitones over A4 (440 Hz), each so many ms, a little apart. */
export const melody = (notes: readonly number[], noteMs: number, harmonics = 4) =>
  tones(
    notes.map((note) => ({ hertz: [440 * 2 ** (note / 12)], onMs: Math.round(noteMs * 0.9), offMs: Math.round(noteMs * 0.1) })),
    { harmonics },
  );

/** Packets of 20 ms; speech is what stands 30 dB or less under the loudest packet. */
export function framesOf(samples: Int16Array): AudioFrame[] {
  const packets = Array.from({ length: Math.floor(samples.length / SAMPLES_PER_PACKET) }, (_, at) =>
    samples.subarray(at * SAMPLES_PER_PACKET, (at + 1) * SAMPLES_PER_PACKET),
  );
  const energies = packets.map((packet) => packet.reduce((sum, sample) => sum + sample * sample, 0));
  const loudest = Math.max(...energies);
  return packets.map((packet, at) => ({ frame: encodeUlaw(packet), speech: (energies[at] ?? 0) > loudest / 1000 }));
}

/** A WAV file: of 16-bit samples as PCM, of bytes as mu-law. */
export function wavOf(samples: Int16Array | Uint8Array, rate: number, { channels = 1 } = {}): Buffer {
  const data = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  return writeWav(data, { rate, bits: samples instanceof Int16Array ? 16 : 8, channels });
}

/** True when some path of a grammar spells `words`. */
export function accepts({ start, final, arcs }: Acceptor, words: readonly string[]): boolean {
  const silently = (states: Set<number>) => {
    for (const state of states) for (const arc of arcs) if (arc.from === state && arc.word === null) states.add(arc.to);
    return states;
  };
  let states = silently(new Set([start]));
  for (const word of words)
    states = silently(new Set(arcs.filter((arc) => states.has(arc.from) && arc.word === word).map((arc) => arc.to)));
  return states.has(final);
}
