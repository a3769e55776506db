import { OperatorError } from "#src/kernel/errors.ts";
import { encodeUlaw, SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";

/** WAVE format tags (RFC 2361). */
const PCM = 1;
const MULAW = 7;

/** mu-law samples of a mono WAV file at 8000 Hz, 16-bit PCM or mu-law. Throws OperatorError for any other. */
export function readWav(file: Buffer): Uint8Array {
  if (file.toString("latin1", 0, 4) !== "RIFF" || file.toString("latin1", 8, 12) !== "WAVE")
    throw new OperatorError("The file is not a WAV file.");
  let format: { tag: number; channels: number; rate: number; bits: number } | null = null;
  for (let at = 12; at + 8 <= file.length;) {
    const [id, length] = [file.toString("latin1", at, at + 4), file.readUInt32LE(at + 4)];
    const chunk = file.subarray(at + 8, at + 8 + length);
    if (id === "fmt ")
      format = { tag: chunk.readUInt16LE(0), channels: chunk.readUInt16LE(2), rate: chunk.readUInt32LE(4), bits: chunk.readUInt16LE(14) };
    if (id === "data" && format) return toUlaw(chunk, format);
    at += 8 + length + (length % 2);
  }
  throw new OperatorError("The WAV file has no audio.");
}

function toUlaw(data: Buffer, { tag, channels, rate, bits }: { tag: number; channels: number; rate: number; bits: number }): Uint8Array {
  if (channels !== 1 || rate !== SAMPLE_RATE_HZ)
    throw new OperatorError(`The WAV file must be mono at 8000 Hz; it has ${channels} channels at ${rate} Hz.`);
  if (tag === MULAW) return new Uint8Array(data);
  if (tag !== PCM || bits !== 16) throw new OperatorError("The WAV file must hold 16-bit PCM or mu-law.");
  const samples = Int16Array.from({ length: Math.floor(data.length / 2) }, (_, index) => data.readInt16LE(index * 2));
  return encodeUlaw(samples);
}
