import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import { toTelephone } from "./telephone.ts";
import { readWav, SoundFault } from "./wav.ts";

/** Largest file of a recording: a minute of stereo at 48 kHz. */
export const MAX_RECORDING_BYTES = 12 * 1024 * 1024;
const LONGEST_S = 60;
/** Shorter is a click. */
const SHORTEST_S = 0.2;

/** A recorded sentence as calls play it: mu-law at 8 kHz, trimmed and at the level of the voice. Throws SoundFault. Takes a second for a minute. */
export function readRecording(file: Uint8Array): Uint8Array<ArrayBuffer> {
  if (file.length > MAX_RECORDING_BYTES) throw new SoundFault("is larger than 12 MiB");
  const { samples, rate } = readWav(file);
  if (samples.length > LONGEST_S * rate) throw new SoundFault(`is longer than ${LONGEST_S} s`);
  const ulaw = toTelephone(samples, rate);
  if (ulaw.length < SHORTEST_S * SAMPLE_RATE_HZ) throw new SoundFault("says nothing");
  return ulaw;
}
