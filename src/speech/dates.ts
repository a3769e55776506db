import { isDeepStrictEqual } from "node:util";
import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import { LEAST_MARGIN, type Opinion, opinion } from "./certainty.ts";
import type { Decoder } from "./decoder.ts";
import { EXPIRY, expiryAcceptor } from "./phrases.ts";
import { withoutPrelude } from "./prelude.ts";
import type { RecognitionResult } from "./recognition-result.ts";
import { type Expiry, expiryOf } from "./spoken-numbers.ts";
import { LARGER_SPEAKER, SMALLER_SPEAKER, warp } from "./warp.ts";

/** A date that was begun anew takes seven. */
const LONGEST_SECONDS = 8;
/** A date fits its sound when it is not less likely than phones by more than this in each frame: most do. */
const FITTING_MARGIN = -1;
/** By how much a date that fits less must lead all others, in the engine's unit. */
const LEAST_LEAD = 400;

const QUESTION = {
  grammar: EXPIRY,
  meaningOf: (words: readonly string[]) => expiryOf(withoutPrelude(words)),
  leastMargin: () => LEAST_MARGIN,
};

/** The expiry date in `samples`, or nothing. `decoder` must be one whose scores can be compared. Three opinions, for a doubtful date a decoding more. */
export function understandDate(decoder: Decoder, samples: Float32Array, isClear: boolean): RecognitionResult {
  if (samples.length > LONGEST_SECONDS * SAMPLE_RATE_HZ) return { kind: "nothing" };
  const own = opinion(decoder, samples, QUESTION);
  if (!own) return { kind: "nothing" };
  const others: Opinion<Expiry>[] = [];
  for (const speaker of [SMALLER_SPEAKER, LARGER_SPEAKER]) {
    const other = opinion(decoder, warp(samples, speaker), QUESTION);
    if (!other) return { kind: "nothing" };
    others.push(other);
  }
  const same = others.filter(({ meaning }) => isDeepStrictEqual(meaning, own.meaning));
  const isAgreed = same.length === others.length;
  const fits = ({ margin }: Opinion<Expiry>) => margin >= FITTING_MARGIN;
  const isCertain = fits(own) ? isAgreed || same.some(fits) : isAgreed && leadOf(decoder, samples, own) >= LEAST_LEAD;
  return isCertain ? { kind: "expiry", ...own.meaning, certain: isClear } : { kind: "nothing" };
}

/** By how much a date is likelier than any other: infinitely where those were given up on the way. */
function leadOf(decoder: Decoder, samples: Float32Array, { meaning, score }: Opinion<Expiry>): number {
  decoder.use(expiryAcceptor(meaning));
  const other = decoder.score(samples);
  return other ? score - other.score : Infinity;
}
