import { isDeepStrictEqual } from "node:util";
import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import { LEAST_MARGIN, type Opinion, marginOf, opinion } from "./certainty.ts";
import type { Decoder, Decoders, Scored } from "./decoder.ts";
import { EXPIRY, expiryAcceptor } from "./phrases.ts";
import { withoutPrelude } from "./prelude.ts";
import type { RecognitionResult } from "./recognition-result.ts";
import { type Expiry, expiryOf } from "./spoken-numbers.ts";
import { LARGER_SPEAKER, SMALLER_SPEAKER, warp } from "./warp.ts";

/** A date that was begun anew takes seven. */
const LONGEST_SECONDS = 8;
/** A date fits its sound when it is not less likely than phones by more than this in each frame: most do. */
const FITTING_MARGIN = -1;
/** By how much a date that fits must lead all others, and one that fits less, in the engine's unit. */
const LEAST_LEAD = { fitting: 150, unfitting: 400 };

/** "March twenty" is the beginning of a date, and not of 2020: earlier years are not listened for. */
const EARLIEST_YEAR = 2022;

function dateIn(words: readonly string[]): Expiry | null {
  const date = expiryOf(withoutPrelude(words));
  return date && date.year >= EARLIEST_YEAR ? date : null;
}

const QUESTION = {
  grammar: EXPIRY,
  meaningOf: dateIn,
  leastMargin: () => LEAST_MARGIN,
};

/**
 * The expiry date in `samples`, or nothing. The other two voices are decoded aside, and how well a date fits its sound in them is measured where
 * that decides.
 */
export function understandDate(
  { scoring, aside }: Pick<Decoders, "scoring" | "aside">,
  samples: Float32Array,
  line: "quiet" | "noisy" | "bad",
): RecognitionResult {
  const nothing: RecognitionResult = { kind: "nothing" };
  if (samples.length > LONGEST_SECONDS * SAMPLE_RATE_HZ) return nothing;
  const voices = [SMALLER_SPEAKER, LARGER_SPEAKER].map((speaker) => {
    const voice = warp(samples, speaker);
    return { voice, heard: aside("scoring", EXPIRY, voice) };
  });
  const own = opinion(scoring, samples, QUESTION);
  if (!own) return nothing;
  const isFitting = own.margin >= FITTING_MARGIN;
  if (leadOf(scoring, samples, own) < (isFitting ? LEAST_LEAD.fitting : LEAST_LEAD.unfitting)) return nothing;
  const others: { voice: Float32Array; best: Scored; isSame: boolean }[] = [];
  for (const { voice, heard } of voices) {
    const best = heard();
    const meaning = best && QUESTION.meaningOf(best.words);
    if (!meaning) return nothing;
    others.push({ voice, best, isSame: isDeepStrictEqual(meaning, own.meaning) });
  }
  const isAgreed = others.every(({ isSame }) => isSame);
  if (!isAgreed && !(isFitting && others.some(({ voice, best, isSame }) => isSame && marginOf(scoring, voice, best) >= FITTING_MARGIN)))
    return nothing;
  return { kind: "expiry", ...own.meaning, certain: line !== "bad" };
}

/** By how much a date is likelier than any other: infinitely where those were given up on the way. */
function leadOf(decoder: Decoder, samples: Float32Array, { meaning, score }: Opinion<Expiry>): number {
  decoder.use(expiryAcceptor(meaning));
  const other = decoder.score(samples);
  return other ? score - other.score : Infinity;
}
