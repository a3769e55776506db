import { SAMPLES_PER_PACKET, encodeUlaw } from "#src/kernel/g711.ts";
import { type FliteVoice, speak } from "./flite.ts";
import type { AudioFrame } from "./recognition-result.ts";
import { halve } from "./telephone.ts";

/** Line noise of a quiet telephone: about 60 dB under speech. Reproducible. */
function noise(samples: number): Float64Array {
  let seed = 1;
  return Float64Array.from({ length: samples }, () => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fff_ffff;
    return (seed / 0x7fff_ffff - 0.5) * 16;
  });
}

export interface Speaking {
  voice?: FliteVoice;
  /** Duration factor. */
  stretch?: number;
  /** Silence before and after, ms. */
  beforeMs?: number;
  afterMs?: number;
}

/** A caller's utterance as 8 kHz samples, 16-bit range, on a quiet line. kal16 is the voice the recogniser understands best, slt the worst. */
export function utteranceOf(
  text: string,
  { voice = "kal16", stretch = 1, beforeMs = 500, afterMs = 1_000 }: Speaking = {},
): Int16Array<ArrayBuffer> {
  const speech = halve(speak(text, voice, stretch));
  const before = beforeMs * 8;
  return Int16Array.from(noise(before + speech.length + afterMs * 8), (hiss, at) => Math.round(hiss + (speech[at - before] ?? 0)));
}

/** Packets of 20 ms; speech is what stands 30 dB or less under the loudest packet. */
export function framesOf(samples: Int16Array): AudioFrame[] {
  const packets = Array.from({ length: Math.floor(samples.length / SAMPLES_PER_PACKET) }, (_, at) =>
    samples.subarray(at * SAMPLES_PER_PACKET, (at + 1) * SAMPLES_PER_PACKET),
  );
  const energies = packets.map((packet) => packet.reduce((sum, sample) => sum + sample * sample, 0));
  const loudest = Math.max(...energies);
  return packets.map((packet, at) => ({ frame: encodeUlaw(packet), speech: (energies[at] ?? 0) > loudest / 1000 }));
}
