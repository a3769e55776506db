import { bufferOf } from "#src/kernel/bytes.ts";
import { decodeUlaw, SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";

/** What a file of sound holds: one channel of 16-bit samples. */
export interface Sound {
  samples: Int16Array<ArrayBuffer>;
  /** Hz. */
  rate: number;
}

/** Why a file cannot be used. The message is a clause, for whoever puts a place before it, and repeats nothing of the file. */
export class SoundFault extends Error {}

/** WAVE format tags (RFC 2361); an extensible format has the true one at the beginning of its sub-format. */
const PCM = 1;
const MULAW = 7;
const EXTENSIBLE = 0xfffe;
const SUB_FORMAT_AT = 24;

export const LOWEST_RATE_HZ = 8_000;
export const HIGHEST_RATE_HZ = 48_000;

interface Format {
  tag: number;
  channels: number;
  rate: number;
  bits: number;
}

/**
 * Reads a WAV file: 16-bit PCM or mu-law, mono or stereo, 8 to 48 kHz. Two channels become one. A length of the audio that is larger than
 * the file, as servers write it that begin before they know, means what is there. Throws SoundFault.
 */
export function readWav(file: Uint8Array): Sound {
  const bytes = bufferOf(file);
  if (bytes.toString("latin1", 0, 4) !== "RIFF" || bytes.toString("latin1", 8, 12) !== "WAVE")
    throw new SoundFault("is neither a WAV nor a FLAC file");
  let format: Format | null = null;
  for (let at = 12; at + 8 <= bytes.length;) {
    const length = bytes.readUInt32LE(at + 4);
    const chunk = bytes.subarray(at + 8, at + 8 + length);
    const id = bytes.toString("latin1", at, at + 4);
    if (id === "fmt ") format = readFormat(chunk);
    if (id === "data" && format) return readSamples(chunk, format);
    at += 8 + length + (length % 2);
  }
  throw new SoundFault("is a WAV file without audio");
}

function readFormat(chunk: Buffer): Format {
  if (chunk.length < 16) throw new SoundFault("is a WAV file with a broken head");
  const tag = chunk.readUInt16LE(0);
  const isExtended = tag === EXTENSIBLE && chunk.length >= SUB_FORMAT_AT + 2;
  return {
    tag: isExtended ? chunk.readUInt16LE(SUB_FORMAT_AT) : tag,
    channels: chunk.readUInt16LE(2),
    rate: chunk.readUInt32LE(4),
    bits: chunk.readUInt16LE(14),
  };
}

function readSamples(data: Buffer, { tag, channels, rate, bits }: Format): Sound {
  if (!(tag === PCM && bits === 16) && !(tag === MULAW && bits === 8)) throw new SoundFault("is neither 16-bit PCM nor mu-law");
  if (channels !== 1 && channels !== 2) throw new SoundFault(`has ${channels} channels, not one or two`);
  if (rate < LOWEST_RATE_HZ || rate > HIGHEST_RATE_HZ) throw new SoundFault(`has ${rate} Hz, not 8000 to 48000`);
  const all = tag === MULAW ? decodeUlaw(data) : Int16Array.from({ length: data.length >> 1 }, (_, index) => data.readInt16LE(2 * index));
  return { samples: mixed(all, channels), rate };
}

/** One channel, of one or of two interleaved ones. */
export function mixed(samples: Int16Array<ArrayBuffer>, channels: number): Int16Array<ArrayBuffer> {
  return channels === 1
    ? samples
    : Int16Array.from({ length: samples.length >> 1 }, (_, at) => (samples[2 * at]! + samples[2 * at + 1]!) / 2);
}

/** A WAV file of `data`: samples of 8 bits are mu-law, of 16 bits PCM. */
export function writeWav(
  data: Uint8Array,
  { rate = SAMPLE_RATE_HZ, bits = 8, channels = 1 }: { rate?: number; bits?: 8 | 16; channels?: number } = {},
): Buffer {
  const frameBytes = (channels * bits) / 8;
  const head = Buffer.alloc(44);
  head.write("RIFF", 0, "latin1");
  head.writeUInt32LE(36 + data.length, 4);
  head.write("WAVEfmt ", 8, "latin1");
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(bits === 16 ? PCM : MULAW, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * frameBytes, 28);
  head.writeUInt16LE(frameBytes, 32);
  head.writeUInt16LE(bits, 34);
  head.write("data", 36, "latin1");
  head.writeUInt32LE(data.length, 40);
  return Buffer.concat([head, data]);
}
