import { bufferOf } from "#src/kernel/bytes.ts";
import { HIGHEST_RATE_HZ, LOWEST_RATE_HZ, mixed, type Sound, SoundFault } from "./wav.ts";

/** Of libFLAC's decoder: it can go on below this, the others are ends (FLAC__StreamDecoderState). */
const END_OF_STREAM = 4;
const INITIALISED = 0;

interface Format {
  rate: number;
  channels: number;
  bits: number;
}

export const isFlac = (file: Uint8Array): boolean => Buffer.from(file.subarray(0, 4)).toString("latin1") === "fLaC";

/**
 * Reads a FLAC file (RFC 9639): mono or stereo, up to 24 bits, 8 to 48 kHz; two channels become one. Reading ends soon after `longestS` seconds.
 * libFLAC is loaded here, in its JavaScript form: Node.js does not fetch the WebAssembly one from a file. Rejects with SoundFault.
 */
export async function readFlac(file: Uint8Array, longestS: number): Promise<Sound> {
  const flac = (await import("libflacjs")).default("min");
  if (!flac.isReady()) await new Promise<void>((resolve) => flac.on("ready", () => resolve()));
  const decoder = flac.create_libflac_decoder(true);
  const found: { format: Format | null; isBroken: boolean } = { format: null, isBroken: false };
  let read = 0;
  const blocks: Uint8Array[][] = [];
  const status = flac.init_decoder_stream(
    decoder,
    (most) => {
      const buffer = file.subarray(read, read + most) as Uint8Array<ArrayBuffer>;
      read += buffer.length;
      return { buffer, readDataLength: buffer.length, error: false };
    },
    (channels) => void blocks.push(channels),
    () => (found.isBroken = true),
    (head) => {
      if (head) found.format = { rate: head.sampleRate, channels: head.channels, bits: head.bitsPerSample };
    },
  );
  try {
    if (status !== INITIALISED) throw new SoundFault("is a FLAC file that cannot be read");
    flac.FLAC__stream_decoder_process_until_end_of_metadata(decoder);
    const { rate, channels, bits } = checked(found.format);
    const most = longestS * rate * bytesOf(bits);
    for (let bytes = 0, at = 0; bytes <= most && flac.FLAC__stream_decoder_get_state(decoder) < END_OF_STREAM;) {
      if (!flac.FLAC__stream_decoder_process_single(decoder) || found.isBroken) throw new SoundFault("is a broken FLAC file");
      for (; at < blocks.length; at++) bytes += blocks[at]![0]!.length;
    }
    return { samples: mixed(samplesOf(blocks, channels, bits), channels), rate };
  } finally {
    flac.FLAC__stream_decoder_delete(decoder);
  }
}

/** In which the decoder hands a sample over. */
const bytesOf = (bits: number): number => (bits <= 8 ? 1 : bits <= 16 ? 2 : 4);

function checked(format: Format | null): Format {
  if (format === null) throw new SoundFault("is a FLAC file with a broken head");
  const { rate, channels, bits } = format;
  if (channels !== 1 && channels !== 2) throw new SoundFault(`has ${channels} channels, not one or two`);
  if (bits > 24) throw new SoundFault(`has ${bits} bits a sample, not 8 to 24`);
  if (rate < LOWEST_RATE_HZ || rate > HIGHEST_RATE_HZ) throw new SoundFault(`has ${rate} Hz, not 8000 to 48000`);
  return format;
}

/** Little-endian samples of each channel's blocks as 16 bits, the channels interleaved. */
function samplesOf(blocks: readonly Uint8Array[][], channels: number, bits: number): Int16Array<ArrayBuffer> {
  const bytes = bytesOf(bits);
  const total = blocks.reduce((sum, [first]) => sum + first!.length / bytes, 0);
  const samples = new Int16Array(total * channels);
  let at = 0;
  for (const block of blocks) {
    const views = block.map(bufferOf);
    for (let offset = 0; offset < views[0]!.length; offset += bytes)
      for (const view of views) samples[at++] = Math.trunc(view.readIntLE(offset, bytes) * 2 ** (16 - bits));
  }
  return samples;
}
