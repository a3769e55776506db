import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import { isFlac, readFlac } from "./flac.ts";
import { toTelephone } from "./telephone.ts";
import { readWav, SoundFault } from "./wav.ts";

/** Largest file of a recording: a minute of stereo at 48 kHz. */
export const MAX_RECORDING_BYTES = 12 * 1024 * 1024;
const LONGEST_S = 60;
/** Shorter is a click. */
const SHORTEST_S = 0.2;

/**
 * A recorded sentence, a WAV or FLAC file, as calls play it: mu-law at 8 kHz, trimmed and at the level of the voice. Rejects with SoundFault.
 * Takes a second for a minute.
 */
export async function readRecording(file: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  if (file.length > MAX_RECORDING_BYTES) throw new SoundFault("is larger than 12 MiB");
  const { samples, rate } = isFlac(file) ? await readFlac(file, LONGEST_S) : readWav(file);
  if (samples.length > LONGEST_S * rate) throw new SoundFault(`is longer than ${LONGEST_S} s`);
  const ulaw = toTelephone(samples, rate);
  if (ulaw.length < SHORTEST_S * SAMPLE_RATE_HZ) throw new SoundFault("says nothing");
  return ulaw;
}
