/**
 * ITU-T G.711: companded telephone audio, 8000 Hz, one byte a sample.
 * Linear samples are signed 16-bit. Encoders work by table: one look-up a sample.
 */
export const SAMPLE_RATE_HZ = 8000;
/** One packet: 20 ms of audio. */
export const SAMPLES_PER_PACKET = 160;
/** A silent mu-law sample. */
export const ULAW_SILENCE = 0xff;
/** A silent A-law sample. */
export const ALAW_SILENCE = 0xd5;

/** The silent sample of payload type 0 (PCMU) and 8 (PCMA). */
export const SILENCE = { 0: ULAW_SILENCE, 8: ALAW_SILENCE } as const;

function expandUlaw(code: number): number {
  const inverted = ~code & 0xff;
  const exponent = (inverted >> 4) & 7;
  const magnitude = (((inverted & 0x0f) << 3) + 0x84) << exponent;
  return inverted & 0x80 ? 0x84 - magnitude : magnitude - 0x84;
}

function expandAlaw(code: number): number {
  const toggled = code ^ 0x55;
  const exponent = (toggled >> 4) & 7;
  const mantissa = ((toggled & 0x0f) << 4) + (exponent === 0 ? 8 : 0x108);
  const magnitude = exponent > 1 ? mantissa << (exponent - 1) : mantissa;
  return toggled & 0x80 ? magnitude : -magnitude;
}

const ULAW_TO_LINEAR = Int16Array.from({ length: 256 }, (_, code) => expandUlaw(code));
const ALAW_TO_LINEAR = Int16Array.from({ length: 256 }, (_, code) => expandAlaw(code));

/** The code nearest to each sample, at the index that its 16 bits are when read without a sign. */
function nearestCodes(expand: Int16Array): Uint8Array {
  const order = [...expand.keys()].sort((a, b) => expand[a]! - expand[b]!);
  const ascending = new Uint8Array(65536);
  let [from, below] = [0, expand[order[0]!]!];
  for (const code of order) {
    const level = expand[code]!;
    // Halfway between two levels the higher one; mu-law has two codes for 0.
    if (level !== below) from = Math.ceil((below + level) / 2) + 32768;
    ascending.fill(code, from);
    below = level;
  }
  const codes = new Uint8Array(65536);
  codes.set(ascending.subarray(32768));
  codes.set(ascending.subarray(0, 32768), 32768);
  return codes;
}

const LINEAR_TO_ULAW = nearestCodes(ULAW_TO_LINEAR);
const LINEAR_TO_ALAW = nearestCodes(ALAW_TO_LINEAR);
const ULAW_TO_ALAW = Uint8Array.from(ULAW_TO_LINEAR, (sample) => LINEAR_TO_ALAW[sample & 0xffff] ?? 0);
const ALAW_TO_ULAW = Uint8Array.from(ALAW_TO_LINEAR, (sample) => LINEAR_TO_ULAW[sample & 0xffff] ?? 0);

function map<T extends Uint8Array | Int16Array>(source: ArrayLike<number>, table: ArrayLike<number>, target: T): T {
  for (let index = 0; index < source.length; index++) target[index] = table[(source[index] as number) & 0xffff] as number;
  return target;
}

/** mu-law to signed 16-bit samples, into `samples` where an array is to be used again. */
export function decodeUlaw(ulaw: Uint8Array, samples = new Int16Array(ulaw.length)): Int16Array<ArrayBuffer> {
  return map(ulaw, ULAW_TO_LINEAR, samples);
}

/** A-law to signed 16-bit samples. */
export function decodeAlaw(alaw: Uint8Array): Int16Array<ArrayBuffer> {
  return map(alaw, ALAW_TO_LINEAR, new Int16Array(alaw.length));
}

/** Signed 16-bit samples to mu-law. */
export function encodeUlaw(samples: Int16Array): Uint8Array<ArrayBuffer> {
  return map(samples, LINEAR_TO_ULAW, new Uint8Array(samples.length));
}

/** Signed 16-bit samples to A-law. */
export function encodeAlaw(samples: Int16Array): Uint8Array<ArrayBuffer> {
  return map(samples, LINEAR_TO_ALAW, new Uint8Array(samples.length));
}

/** mu-law to A-law without a detour through linear samples. */
export function ulawToAlaw(ulaw: Uint8Array): Uint8Array<ArrayBuffer> {
  return map(ulaw, ULAW_TO_ALAW, new Uint8Array(ulaw.length));
}

/** A-law to mu-law, into `ulaw`, which may be the same array. */
export function alawToUlaw<T extends Uint8Array = Uint8Array<ArrayBuffer>>(alaw: Uint8Array, ulaw = new Uint8Array(alaw.length) as T): T {
  return map(alaw, ALAW_TO_ULAW, ulaw);
}

/** 20 ms of received audio, 160 mu-law samples, and whether it is speech. A recogniser's port carries arrays of them. */
export interface AudioFrame {
  frame: Uint8Array;
  speech: boolean;
}
