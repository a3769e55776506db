/** Warps by which a decoding is repeated: a vocal tract a little shorter or longer, well within what people differ by, so that what was said is heard again. */
export const SMALLER_SPEAKER = 1.06;
export const LARGER_SPEAKER = 0.95;

/**
 * The same speech by another speaker: played `factor` times as fast, by linear interpolation, so that pitch and formants rise by it. A
 * decoder that is sure of a word finds it in both; one that guessed often guesses something else.
 */
export function warp(samples: Float32Array, factor: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: Math.max(0, Math.floor((samples.length - 1) / factor)) }, (_, at) => {
    const place = at * factor;
    const left = samples[Math.floor(place)] ?? 0;
    return left + ((samples[Math.floor(place) + 1] ?? 0) - left) * (place % 1);
  });
}
